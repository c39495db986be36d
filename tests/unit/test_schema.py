"""The JSON Schemas: they accept what is right, and find mistakes where they are."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import certifi
import pytest
import yaml
from jsonschema import Draft202012Validator, validators

from bosh_aws_cpi.config.cpi_config import KEYS
from bosh_aws_cpi.config.values import Key
from bosh_aws_cpi.errors import CloudError, InvalidCall
from bosh_aws_cpi.properties.vm import MetadataOptions
from testbed.cloud import ROOT
from testbed.world import World
from tests.stories.checked_config import GONE, Route, changed, right
from tests.stories.right_configs import RIGHT, VARIABLES

SCHEMA = "docs/cloud-config.schema.json"
JOB = "jobs/aws_cpi"
JOB_SCHEMA = f"{JOB}/properties_schema.json"
FILES = [text for name, texts in RIGHT.items() if name != "create-env" for text in texts]
OF_VM: Route = ("vm_types", 0, "cloud_properties")
CONFIG = right(cast("World", SimpleNamespace(zone="a", other_zone="b", subnet_ids=["s-0", "s-1", "s-2"])))


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    """Return a validator with the committed schema."""
    schema = json.loads((ROOT / SCHEMA).read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def marked(validator: Draft202012Validator, config: Any) -> list[Route]:
    """Return what leads to each value that the schema rejects."""
    return [tuple(error.absolute_path) for error in validator.iter_errors(config)]


@pytest.mark.parametrize("text", [*FILES, VARIABLES])
def test_right(validator: Draft202012Validator, text: str) -> None:
    """A right cloud config is valid, also with variables."""
    assert marked(validator, yaml.safe_load(text)) == []


@pytest.mark.parametrize(
    ("route", "value", "depth"),
    [
        ((*OF_VM, "instance_type"), ["m5.large"], 4),
        ((*OF_VM, "security_groups"), ["web", {}], 5),
        ((*OF_VM, "spot_bid_price"), 0, 4),
        ((*OF_VM, "root_disk", "size"), "10 GB", 5),
        ((*OF_VM, "cpu_options"), {"amd_sev_snp": "on"}, 5),
        ((*OF_VM, "metadata_options"), {"http_put_response_hop_limit": "two"}, 5),
        ((*OF_VM, "lb_target_groups"), [{"name": "web", "port": 70_000}], 6),
        ((*OF_VM, "lb_target_groups"), [{"arn": "arn:aws:elasticloadbalancing:a:1:targetgroup/web"}], 6),
        ((*OF_VM, "advertised_routes"), [{"destination": "10.9.0.0/16"}], 5),
        ((*OF_VM, "instance_typo"), "m5.large", 3),
        (("vm_typos",), [], 0),
        (("vm_types", 0, "name"), GONE, 2),
        (("disk_types", 0, "disk_size"), 0, 3),
        (("networks", 0, "type"), "static", 3),
        (("networks", 0, "subnets", 0, "rnage"), "10.0.0.0/24", 4),
        (("networks", 0, "subnets", 0, "dns"), "10.0.0.2", 5),
        (("networks", 1, "managed"), True, 2),
        (("networks", 1, "subnets", 0, "range"), "10.0.0.0/24", 4),
        (("networks", 2, "subnets"), [{"range": "10.0.0.0/24"}], 4),
        (("compilation", "network"), GONE, 1),
    ],
)
def test_mistake(validator: Draft202012Validator, route: Route, value: Any, depth: int) -> None:
    """Values of a wrong type, unknown keys, and what BOSH refuses, are rejected where they stand."""
    assert marked(validator, CONFIG) == []
    (found,) = marked(validator, changed(CONFIG, route, value))
    assert len(found) == depth
    assert all(one == other for one, other in zip(found, route, strict=False))


@pytest.mark.parametrize(
    ("route", "value"),
    [
        (("compilation", "az"), 1),
        (("networks", 0, "subnets", 0, "azs"), [1, "z2"]),
        (("networks", 0, "subnets", 0, "reserved"), [["10.0.0.5"], [["10.0.0.6-10.0.0.9"], None]]),
        (("networks", 0, "subnets", 0, "cloud_properties", "security_groups"), "web"),
        (("networks", 0, "subnets", 0, "cloud_properties", "security_groups"), [["web"], "bosh"]),
        ((".anchors",), {"a": 1}),
        (("anchors",), [1]),
    ],
)
def test_accepted(validator: Draft202012Validator, route: Route, value: Any) -> None:
    """Files that the Director and the CPI accept, or ignore on purpose, are valid."""
    assert marked(validator, changed(CONFIG, route, value)) == []


@pytest.mark.parametrize(
    ("text", "is_integer"),
    [("25_000", True), ("1_0_0", True), ("25_000_", False), ("1__0", False), ("3000", False)],
)
def test_underscores(validator: Draft202012Validator, text: str, *, is_integer: bool) -> None:
    """An integer with underscores is valid for editors, too, which read it as a string."""
    route = ("disk_types", 0, "disk_size")
    assert marked(validator, changed(CONFIG, route, text)) == ([] if is_integer else [route])


def test_descriptions() -> None:
    """Each key is described."""
    schema = json.loads((ROOT / SCHEMA).read_text(encoding="utf-8"))
    shapes = [schema, *(each.get("else", each) for each in schema["$defs"].values())]
    described = [each.get("description") for shape in shapes for each in shape.get("properties", {}).values()]
    assert len(described) > 100
    assert all(described)


def is_certificate(_: object, value: object) -> bool:
    """Whether a value is certificates, as the Director sees it; the same of an empty string."""
    if value == "":
        return True
    try:
        return isinstance(value, str) and bool(ssl.create_default_context(cadata=value).get_ca_certs())
    except ssl.SSLError:
        return False


@pytest.fixture(scope="module")
def job_validator() -> Any:
    """Return a validator of the job's properties that has the Director's type `certificate`."""
    types = Draft202012Validator.TYPE_CHECKER.redefine("certificate", is_certificate)
    schema = json.loads((ROOT / JOB_SCHEMA).read_text(encoding="utf-8"))
    extended = validators.extend(Draft202012Validator, type_checker=types)  # type: ignore[no-untyped-call]
    return extended(schema)


def laid(path: str, value: Any) -> Any:
    """Return a value below the sections of a path."""
    for name in reversed(path.split(".")):
        value = {name: value}
    return value


NUMBERS = (True, False, 0, 1, 3, 15, -1, 1.5)
TEXTS = ("", "8", "info", "a b", "é", "a\n", "a\nb")
WHOLES: tuple[Any, ...] = ([], ["a"], [1], {}, {"a": 1})
HOP_LIMITS = [{"http_put_response_hop_limit": each} for each in (1, 64, 65, "2", "2\n", "abc", None)]
OPTIONS = (*HOP_LIMITS, {"http_tokens": 1}, {"http_protocol_ipv_6": "enabled"}, {"a": None})
LEFT_TO_CPI = ("must be a host", "must be an absolute path", "is a zone of")
"""Parts of the errors about contents that the schema does not check."""


@pytest.mark.parametrize("key", [key for key in KEYS if key.job is None], ids=lambda key: key.path)
def test_job_property(job_validator: Any, key: Key[Any]) -> None:
    """A value of a property is invalid exactly when the executable rejects it; the wrong value is named."""
    for value in (*NUMBERS, *TEXTS, *WHOLES, *(OPTIONS if key.name == "metadata_options" else ())):
        try:
            given = key.kind(value, key)
            if key.name == "metadata_options":
                MetadataOptions.parse(given, {})
            expected = []
        except (InvalidCall, CloudError) as error:
            is_content = ", got" not in str(error) and any(each in str(error) for each in LEFT_TO_CPI)
            is_for_template = key.path == "debug.event_log" and value is True
            option = value if key.name == "metadata_options" and isinstance(value, dict) else ()
            wrong = (*key.path.split("."), *option)
            expected = [] if is_content or is_for_template else [wrong]
        found = marked(job_validator, laid(key.path, value))
        routes = [route[: len(route) if not isinstance(route[-1], int) else -1] for route in found]
        assert routes == expected, f"{key.path}: {value!r}"


def test_right_job_properties(job_validator: Any) -> None:
    """The defaults and examples of the job's spec are valid, and so is null, which the Director sets."""
    properties = yaml.safe_load((ROOT / JOB / "spec").read_text(encoding="utf-8"))["properties"]
    given = [
        (path, value)
        for path, each in properties.items()
        for value in [None, each.get("default"), each.get("example")]
        if path != "aws.connection_options.ca_cert"
    ]
    roots = Path(certifi.where()).read_text(encoding="utf-8")
    given += [("aws.connection_options.ca_cert", value) for value in (None, "", " \n", roots)]
    assert len(given) > 100
    assert [each for each in given if marked(job_validator, laid(*each))] == []


def test_committed() -> None:
    """The committed schemas are those that the models and the keys give."""
    assert run(ROOT, "--check") == (0, "")


def run(root: Path, *arguments: str) -> tuple[int, str]:
    """Run the script of a folder as a person does; return its status and what it says."""
    command = [sys.executable, str(root / "scripts/schema"), *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.returncode, done.stderr
