"""The table of cpi.json's keys."""

from __future__ import annotations

import re
from typing import Any

import pytest

from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.config import cpi_config, keys, values
from bosh_aws_cpi.config.keys import KEYS
from bosh_aws_cpi.errors import InvalidCall
from bosh_aws_cpi.redact import Redactor
from testbed.cloud import ROOT

LEAST: dict[str, Any] = {
    "aws": {"max_retries": 8, "region": "r", "access_key_id": "AKIA1", "secret_access_key": "secret"},
    "registry": {"endpoint": "http://h"},
}
SECRET = "hunter2-hunter2"
TEMPLATE = (ROOT / "jobs/aws_cpi/templates/cpi.json.erb").read_text()
OF_A_KIND: dict[Any, Any] = {values.anything: "something", values.flag: True}
"""For the kinds that take any value: one that changes what the parser returns."""


def configuration(path: str, value: object) -> dict[str, Any]:
    """Return the least configuration with a key in it."""
    document: dict[str, Any] = {name: dict(section) for name, section in LEAST.items()}
    *parents, last = path.split(".")
    place = document
    for parent in parents:
        place = place.setdefault(parent, {})
    place[last] = value
    return document


def absent(path: str) -> dict[str, Any]:
    """Return the least configuration without a key."""
    document = configuration(path, None)
    *parents, last = path.split(".")
    place = document
    for parent in parents:
        place = place[parent]
    del place[last]
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
    """The parser reads each key: it refuses one of another kind by its name, or returns what it says."""
    section = "aws" if key.path.startswith("aws.") else "cpi"
    unread = f"config/{section}_config.py does not read {key.path}"
    if key.kind in OF_A_KIND:
        without = parsed(configuration(key.path, None))
        assert parsed(configuration(key.path, OF_A_KIND[key.kind])) != without, unread
        return
    said = refusal(configuration(key.path, 1.5))
    assert f"configuration parameter {key.shown} must be" in said, unread


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
        assert parsed(absent(key.path)) == parsed(configuration(key.path, key.default))


@pytest.mark.parametrize("key", [key for key in KEYS if key.job is None], ids=lambda key: key.path)
def test_template(key: values.Key[Any]) -> None:
    """The job's template names each key of its own; the release tests render it."""
    name = key.path.rpartition(".")[2]
    is_found = re.search(rf"\b{name}\b", TEMPLATE) is not None
    assert is_found, f"jobs/aws_cpi/templates/cpi.json.erb does not render {key.path}"


def test_no_key_of_the_template_is_unknown() -> None:
    """A call never warns of what the job's template writes into cpi.json, or of any row of the table."""
    section = TEMPLATE.partition("\naws = {")[2].partition("agent = {")[0]
    written = set(re.findall(r'"(\w+)" =>|, "(\w+)"|aws\["(\w+)"\]', section))
    names = {name for groups in written for name in groups if name}
    assert len(names) > 25
    assert names - keys.IN_AWS == {
        *("kernel_id", "copy_from_region", "copy_completion_minutes"),
        *("deprecate_at", "share_with", "imds_support", "tpm_support"),
    }
    whole = {"cloud": {"properties": {"aws": dict.fromkeys(keys.IN_AWS)}}}
    assert cpi_config.unknown_keys(whole, {"director_uuid": "", "request_id": "", "vm": {}}) == set()
    assert cpi_config.unknown_keys(whole, {"regoin": ""}) == {"regoin"}
    assert cpi_config.unknown_keys([], {}) == set()


def test_drained_targets() -> None:
    """The time that a drained target is waited for is the one that the text gives."""
    assert f"up to {timing.TARGETS_DRAINED.seconds:.0f} seconds" in keys.DEREGISTER_ON_DELETE.description


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
