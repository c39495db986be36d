"""`config/cpi.json` and `config/cacert.pem`: every property's way to what the program reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from bosh_aws_cpi.config import cpi_config, loading
from bosh_aws_cpi.config.values import Key
from testbed.executable import ABSENT
from testbed.job import Render

NASTY = (
    "  a'b\"c''\n\r\n\t$HOME ${HOME} $(id) `id` %s %% \\ \\n \\' #{1 + 1} <%= 1 %> <%- %> %> "
    "{{x}} ((y)) & < > \u2028 \xe9\xdf \u65e5\u672c \U0001f600 --- : - [ # !  "
)
KEYS = {"aws.access_key_id": "AKIATEST", "aws.secret_access_key": "secret-4d1f"}
REGISTRY = {"registry.username": "u", "registry.password": "p", "registry.host": "10.0.0.6"}
DEFAULTS = {
    "aws": {
        "credentials_source": "static",
        "access_key_id": None,
        "secret_access_key": None,
        "session_token": None,
        "role_arn": None,
        "default_iam_instance_profile": None,
        "default_key_name": None,
        "default_security_groups": ["bosh"],
        "region": "us-east-1",
        "max_retries": 8,
        "dualstack": False,
        "encrypted": False,
        "kms_key_arn": None,
        "metadata_options": None,
        "enable_describe_instance_types": True,
    },
    "agent": {"ntp": ["0.pool.ntp.org", "1.pool.ntp.org"]},
    "debug": {"cpi": {"api_version": 3}},
}
AS_THEY_ARE = {"agent.mbus": "agent.mbus", "ntp": "agent.ntp"}
"""Properties that arrive unchanged in a key that has another name, or other properties too."""
PLACES = {
    name: path.replace(".", " ")
    for name, path in {
        **{key.path: key.path for key in cpi_config.KEYS if key.job is None},
        **AS_THEY_ARE,
    }.items()
}
COMPOSED = {name for key in cpi_config.KEYS for name in key.job or ()} - PLACES.keys()
IN_OTHER_FILES = {
    *("aws.connection_options.ca_cert", "env.http_proxy", "env.https_proxy", "env.no_proxy"),
}
REQUIRED = {key.path for key in cpi_config.KEYS if key.is_required_by_job}
STRINGS = sorted(PLACES.keys() - {"aws.default_security_groups", "aws.metadata_options", "ntp"})


def sections(render: Render, properties: Mapping[str, object]) -> dict[str, Any]:
    """Render cpi.json, and return what is in its `properties`."""
    document = json.loads(render("config/cpi.json", properties))
    assert document.keys() == {"cloud"}
    assert document["cloud"].keys() == {"plugin", "properties"}
    assert document["cloud"]["plugin"] == "aws"
    found: dict[str, Any] = document["cloud"]["properties"]
    return found


def at(document: Any, place: str) -> Any:
    """Return what is at a place in a document; its keys are separated by spaces."""
    for key in place.split():
        document = document[key]
    return document


def parsed(render: Render, folder: Path, properties: Mapping[str, object]) -> cpi_config.CpiConfig:
    """Render cpi.json, and read it as the program does."""
    path = folder / "cpi.json"
    path.write_bytes(render("config/cpi.json", properties).encode())
    return cpi_config.parse(loading.read(str(path)), {}, {})


def test_defaults(render: Render) -> None:
    """With the required properties alone every default is in its place, and nothing else is there."""
    assert sections(render, {}) == DEFAULTS


def test_every_property_is_known(job_spec: dict[str, Any]) -> None:
    """Each property of the job leads to a key or into another file, and each that a key has is declared."""
    declared = job_spec["properties"].keys()
    leading = PLACES.keys() | COMPOSED
    problems = [f"jobs/aws_cpi/spec lacks {name}" for name in leading - declared]
    unknown = declared - leading - IN_OTHER_FILES
    problems += [f"{name} of jobs/aws_cpi/spec leads to no row of config/" for name in unknown]
    assert problems == []
    assert declared >= IN_OTHER_FILES


ALL = {
    **dict.fromkeys(PLACES.keys() - {"agent.mbus"}, "given"),
    **dict.fromkeys(COMPOSED, "given"),
}
"""Everything at once; `agent.mbus` would hide the properties of NATS."""
FROM_JOB = [key for key in cpi_config.KEYS if key.job != ()]


@pytest.mark.parametrize("key", FROM_JOB, ids=lambda key: key.path)
def test_every_key_is_rendered(render: Render, key: Key[Any]) -> None:
    """Each key of cpi.json changes with every property that it comes from."""
    place = key.path.replace(".", " ")
    try:
        before = at(sections(render, ALL), place)
    except KeyError:
        pytest.fail(f"templates/cpi.json.erb does not render {key.path}")
    for name in key.job or (key.path,):
        others = {"agent.nats.address": None} if name == "nats.address" else {}
        assert at(sections(render, {**ALL, **others, name: "another"}), place) != before, (
            f"templates/cpi.json.erb does not render {name} into {key.path}"
        )


def test_only_keys_are_rendered(render: Render) -> None:
    """All that is rendered is a key of the table."""
    rendered = set(leaves(sections(render, ALL)))
    assert {
        f"{path} has no row in the sections of config/"
        for path in rendered - {key.path for key in cpi_config.KEYS}
    } == set()


def leaves(section: dict[str, Any], parents: str = "") -> Iterator[str]:
    """Name all values of a document by their dotted paths."""
    for name, value in section.items():
        path = f"{parents}{name}"
        yield from leaves(value, f"{path}.") if isinstance(value, dict) else [path]


@pytest.mark.parametrize("name", STRINGS)
def test_any_text_arrives(render: Render, name: str) -> None:
    """Quotes, newlines, signs of shells and templates, and characters beyond ASCII arrive unchanged."""
    assert at(sections(render, {name: NASTY}), PLACES[name]) == NASTY


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("aws.default_security_groups", [NASTY, "sg-1", ""]),
        ("aws.metadata_options", {NASTY: NASTY, "http_put_response_hop_limit": 2, "deep": {"er": [NASTY]}}),
        ("ntp", [NASTY]),
        ("aws.max_retries", 0),
        ("aws.enable_describe_instance_types", False),
        ("aws.default_root_disk", {"type": "gp3", "iops": 4000, "kms_key_arn": NASTY, "encrypted": None}),
        ("aws.skip_os_shutdown", False),
        ("aws.tags", {NASTY: NASTY, "cost-center": 4711}),
        ("aws.ec2_endpoint", ""),
    ],
)
def test_any_type_arrives(render: Render, name: str, value: object) -> None:
    """Lists, mappings, numbers, both truths and what is empty arrive as they are."""
    assert at(sections(render, {name: value}), PLACES[name]) == value


@pytest.mark.parametrize("name", sorted(PLACES.keys() - REQUIRED))
def test_null_is_not_given(render: Render, name: str) -> None:
    """A property that the manifest sets to null has its default."""
    assert sections(render, {name: None}) == DEFAULTS


@pytest.mark.parametrize("name", sorted(REQUIRED))
@pytest.mark.parametrize("value", [ABSENT, None])
def test_required_properties(refusal: Render, name: str, value: object) -> None:
    """Without a region, or without security groups, rendering fails, and says which property is missing."""
    assert refusal("config/cpi.json", {name: value}) == f"Can't find property '{name}'"


def test_event_log(render: Render, tmp_path: Path) -> None:
    """`true` is the path in the job's own folder of logs; another path stays, and `false` means no log."""
    path = "/var/vcap/sys/log/aws_cpi/events.log"
    assert sections(render, {"debug.event_log": True})["debug"]["event_log"] == path
    for value, expected in ((True, path), ("/tmp/x", "/tmp/x"), (False, None)):  # noqa: S108 - only a text
        assert parsed(render, tmp_path, {**KEYS, "debug.event_log": value}).debug.event_log == expected


def test_registry_port(render: Render) -> None:
    """The registry's port is 25777 unless another is given; a port alone configures no registry."""
    assert urlsplit(sections(render, REGISTRY)["registry"]["endpoint"]).port == 25777
    assert "registry" not in sections(render, {"registry.port": 25778})


@pytest.mark.parametrize("missing", sorted(REGISTRY))
def test_registry_needs_all(refusal: Render, missing: str) -> None:
    """When one of user, password and host is missing, rendering fails, and says which."""
    given = {name: value for name, value in REGISTRY.items() if name != missing}
    assert refusal("config/cpi.json", given) == f"Can't find property '{missing}'"


def test_registry_of_numbers(render: Render, tmp_path: Path) -> None:
    """A user and a password that YAML takes for numbers are text to the program."""
    numbers = {**REGISTRY, "registry.username": 7, "registry.password": 12345}
    registry = parsed(render, tmp_path, {**KEYS, **numbers}).registry
    assert registry is not None
    assert (registry.user, registry.password) == ("7", "12345")
    assert registry.endpoint == "http://7:12345@10.0.0.6:25777"


@pytest.mark.parametrize(
    ("properties", "mbus"),
    [
        ({"nats.address": "10.0.0.6", "nats.password": "p"}, "nats://nats:p@10.0.0.6:4222"),
        (
            {"agent.nats.address": "10.0.0.7", "nats.address": "10.0.0.6", "nats.password": "p"},
            "nats://nats:p@10.0.0.7:4222",
        ),
        (
            {"nats.address": "10.0.0.6", "nats.user": "me", "nats.password": "p", "nats.port": 4223},
            "nats://me:p@10.0.0.6:4223",
        ),
        ({"nats.address": "n", "nats.password": NASTY}, f"nats://nats:{NASTY}@n:4222"),
        ({"nats.address": "n", "nats.password": 12345}, "nats://nats:12345@n:4222"),
        ({"agent.mbus": "https://mbus:p@10.0.0.6:6868", "nats.address": "n"}, "https://mbus:p@10.0.0.6:6868"),
    ],
)
def test_mbus(render: Render, properties: dict[str, object], mbus: str) -> None:
    """The bus is `agent.mbus`, or what the nats properties say, with the password as it is."""
    assert sections(render, properties)["agent"]["mbus"] == mbus


@pytest.mark.parametrize(
    ("properties", "missing"),
    [
        ({"nats.address": "n"}, "'nats.password'"),
        ({"nats.password": "p"}, "'agent.nats.address', or 'nats.address'"),
    ],
)
def test_mbus_by_halves(refusal: Render, properties: dict[str, object], missing: str) -> None:
    """NATS with its address or password alone fails to render, and what is missing is named."""
    assert refusal("config/cpi.json", properties) == f"Can't find property {missing}"


def test_no_mbus(render: Render) -> None:
    """The user and port of NATS alone make no bus."""
    assert "mbus" not in sections(render, {"nats.user": "me", "nats.port": 4223})["agent"]


def test_program_reads_the_registry(render: Render, tmp_path: Path) -> None:
    """Whatever text the registry's password holds, the program has the same, beside the URL and in it."""
    read = parsed(render, tmp_path, {**KEYS, **REGISTRY, "registry.password": NASTY})
    assert read.registry is not None
    assert read.registry.user == "u"
    assert read.registry.password == NASTY
    parts = urlsplit(read.registry.endpoint)
    assert unquote(parts.password or "") == NASTY
    assert (parts.hostname, parts.port) == ("10.0.0.6", 25777)


def test_ca_certificates(render: Render) -> None:
    """cacert.pem is the property, not a byte more or less; without it, it is empty."""
    assert render("config/cacert.pem", {"aws.connection_options.ca_cert": NASTY}) == NASTY
    assert render("config/cacert.pem", {}) == ""
