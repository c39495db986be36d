"""The table of cpi.json's keys."""

from __future__ import annotations

import re
from typing import Any

import pytest

from bosh_aws_cpi.config import cpi_config, values
from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.config.cpi_config import KEYS
from bosh_aws_cpi.errors import InvalidCall
from bosh_aws_cpi.redact import Redactor
from testbed.cloud import ROOT

LEAST: dict[str, Any] = {
    "aws": {"max_retries": 8, "region": "r", "access_key_id": "AKIA1", "secret_access_key": "secret"},
    "registry": {"endpoint": "http://h"},
}
SECRET = "hunter2-hunter2"
STORIES = "\n".join(
    path.read_text() for name in ("contract", "stories") for path in (ROOT / "tests" / name).glob("*.py")
)


def configuration(path: str, value: object) -> dict[str, Any]:
    """Return the least configuration with a key in it."""
    document: dict[str, Any] = {name: dict(section) for name, section in LEAST.items()}
    *parents, last = path.split(".")
    place = document
    for parent in parents:
        place = place.setdefault(parent, {})
    place[last] = value
    return document


def parsed(properties: dict[str, Any]) -> dict[str, Any]:
    """Parse a configuration; the result shows all of it."""
    return vars(cpi_config.parse({"cloud": {"properties": properties}}, {}, {}))


def refusal(properties: dict[str, Any]) -> str:
    """Return why a configuration is refused; nothing when it is not."""
    try:
        parsed(properties)
    except InvalidCall as error:
        return error.message
    return ""


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.path)
def test_read(key: values.Key[Any]) -> None:
    """The parser reads each key: it refuses a value of another kind by the key's name."""
    takes_any = key.kind is values.anything or (key.kind is values.boolean and not key.is_new)
    said = refusal(configuration(key.path, 1.5))
    assert takes_any or f"configuration parameter {key.shown} must be" in said


OWN = [key for key in KEYS if key.is_new and key.kind is not values.https_url]
"""Our own keys, without the endpoints: a test of the console takes them all."""


@pytest.mark.parametrize("key", OWN, ids=lambda key: key.path)
def test_has_a_story(key: values.Key[Any]) -> None:
    """Each key of our own is in a story."""
    is_found = re.search(rf"\b{key.name}\b", STORIES) is not None
    assert is_found, f"no file in tests/stories or tests/contract has {key.path}"


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.path)
def test_required(key: values.Key[Any]) -> None:
    """Without a key that is required nothing works; of the others, the static keys alone are needed."""
    properties = configuration(key.path, None)
    if key.is_required:
        with pytest.raises(InvalidCall, match=key.path.replace(".", ":")):
            parsed(properties)
    elif key.path not in {"aws.access_key_id", "aws.secret_access_key"}:
        assert parsed(properties)


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.path)
def test_default(key: values.Key[Any]) -> None:
    """An absent key counts as its default."""
    if key.default is not None:
        assert parsed(LEAST) == parsed(configuration(key.path, key.default))


def test_unknown_keys() -> None:
    """No key of the table is unknown, and none of a request's context."""
    whole = {"cloud": {"properties": {"aws": dict.fromkeys(AwsConfig.rows)}}}
    assert cpi_config.unknown_keys(whole, {"director_uuid": "", "request_id": "", "vm": {}}) == set()
    assert cpi_config.unknown_keys(whole, {"regoin": ""}) == {"regoin"}
    assert cpi_config.unknown_keys([], {}) == set()


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.path)
def test_secret(key: values.Key[Any]) -> None:
    """A secret is masked in the log once the configuration was read; other values are not."""
    redact = Redactor()
    redact.learn(configuration(key.path, f"nats://u:{SECRET}@h" if key.path in URLS else SECRET))
    assert (SECRET not in redact(f"about {SECRET} here")) == key.is_secret


URLS = {"agent.mbus", "registry.endpoint"}
"""Whose password is what is secret in them."""


def test_rows() -> None:
    """Each key has one row, with a sentence about it."""
    paths = [key.path for key in KEYS]
    assert len(paths) > 30
    assert len(set(paths)) == len(paths)
    for key in KEYS:
        assert key.description.endswith("."), key.path
        assert "\n" not in key.description
