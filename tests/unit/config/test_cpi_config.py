"""The configuration: cpi.json with the request's context merged over its aws section."""

from typing import Any

import pytest

from bosh_aws_cpi.config import cpi_config
from bosh_aws_cpi.model import Encryption
from testbed.executable import ABSENT
from tests.unit.config.parsing import parse, refusal
from tests.unit.conftest import ProgramLog

ENDPOINTS = {"ec2_endpoint": "ec2.eu-west-3.example.com", "elb_endpoint": "elb.example"}
DEFAULT_KEY = Encryption(key_source="aws.kms_key_arn")


@pytest.mark.parametrize(
    ("key", "value", "attribute", "expected"),
    [
        ("max_retries", 0, "max_retries", 0),
        ("tags", {"a": 1, "b": True}, "tags", {"a": "1", "b": "true"}),
        ("tags", None, "tags", {}),
        ("connection_options", {"ca_cert": "x"}, "ca_cert", "x"),
        ("connection_options", {"ca_cert": " \n"}, "ca_cert", None),
        ("connection_options", None, "ca_cert", None),
        ("dualstack", "false", "dualstack", True),
        ("dualstack", None, "dualstack", False),
        ("session_token", "", "session_token", None),
        ("default_security_groups", ["a", "b"], "default_security_groups", ["a", "b"]),
        ("default_security_groups", None, "default_security_groups", []),
        ("encrypted", 0, "encryption", DEFAULT_KEY.replace(encrypted=True)),
        ("encrypted", False, "encryption", DEFAULT_KEY),
        ("kms_key_arn", "arn:k", "encryption", DEFAULT_KEY.replace(kms_key_arn="arn:k")),
        ("metadata_options", {"http_tokens": "required"}, "metadata_options", {"http_tokens": "required"}),
        *(("stemcell_upload", given, "stemcell_upload", "ebs_direct") for given in ("ebs_direct", None, "")),
        ("stemcell_upload", "volume", "stemcell_upload", "volume"),
        *(("skip_os_shutdown", given, "skip_os_shutdown", given) for given in (True, False, None)),
        *(("spread", given, "spread", given) for given in ("prefer", False, None)),
        ("enable_describe_instance_types", None, "enable_describe_instance_types", False),
        ("credentials_source", None, "credentials_source", "static"),
        ("ec2_endpoint", "host:8080", "endpoints", {"ec2": "https://host:8080"}),
        ("ec2_endpoint", "http://host", "endpoints", {"ec2": "http://host"}),
        ("elb_endpoint", "host", "endpoints", {"elb": "https://host", "elbv2": "https://host"}),
        ("ebs_endpoint", "host", "endpoints", {"ebs": "https://host"}),
        ("ec2_endpoint", "", "endpoints", {}),
    ],
)
def test_aws_section(key: str, value: object, attribute: str, expected: object) -> None:
    """Each key of the aws section says one thing, from the file as from the context."""
    assert getattr(parse({key: value}).aws, attribute) == expected
    assert getattr(parse(context={key: value}).aws, attribute) == expected


def test_quoted_boolean(program_log: ProgramLog) -> None:
    """A boolean given as a string counts as true, with a warning: its author may mean the opposite."""
    parse({"encrypted": "false", "dualstack": False})
    assert [(record.level, record.text) for record in program_log.records] == [
        ("WARNING", "aws.encrypted 'false' is given as a string, which counts as true")
    ]


@pytest.mark.parametrize(
    ("stemcell", "overrides", "is_copied"),
    [
        ({"kernel_id": "aki-1"}, {"kernel_id": "aki-1"}, False),
        ({"disk": 1, "copy_from_region": True, "copy_completion_minutes": 15}, {"disk": 1}, True),
        *(({"copy_from_region": given}, {}, False) for given in (False, None)),
        (None, {}, False),
    ],
)
def test_stemcell(stemcell: object, overrides: dict[str, Any], *, is_copied: bool) -> None:
    """All but two keys of aws.stemcell are for the stemcells' cloud properties, known or not."""
    read = parse({"stemcell": stemcell}).aws.stemcell
    assert (read.overrides, read.copy_from_region) == (overrides, is_copied)


@pytest.mark.parametrize(
    ("aws", "environ", "region"),
    [
        (ENDPOINTS, {"AWS_REGION": "us-west-1"}, "us-east-1"),
        ({**ENDPOINTS, "region": None}, {}, "eu-west-3"),
        ({**ENDPOINTS, "region": ""}, {"AWS_REGION": "us-west-1"}, "us-west-1"),
        ({**ENDPOINTS, "region": ABSENT, "ec2_endpoint": "http://ec2.x-y-1.api.aws:1/"}, {}, "x-y-1"),
        ({**ENDPOINTS, "region": ABSENT, "ec2_endpoint": "http://127.0.0.1:1"}, {"AWS_REGION": "a"}, "a"),
    ],
)
def test_region(aws: dict[str, Any], environ: dict[str, str], region: str) -> None:
    """The region is what is given; with both endpoints it may come from AWS_REGION or the host's name."""
    assert parse(aws, environ=environ).aws.region == region


@pytest.mark.parametrize(
    ("aws", "environ"),
    [
        ({}, {"AWS_REGION": "us-west-1"}),
        ({"ec2_endpoint": "ec2.eu-west-3.amazonaws.com"}, {}),
        ({"elb_endpoint": "h"}, {"AWS_REGION": "us-west-1"}),
        ({**ENDPOINTS, "ec2_endpoint": "ec2.amazonaws.com"}, {}),
    ],
)
def test_no_region(aws: dict[str, Any], environ: dict[str, str]) -> None:
    """Without both endpoints neither the environment nor a host's name gives the region."""
    said = refusal({"region": ABSENT, **aws}, environ=environ)
    assert said.startswith("missing configuration parameters > aws:region, or ")


@pytest.mark.parametrize(
    ("endpoint", "base_url"),
    [
        ("h", "http://h"),
        ("https://u:p%40@h:25777/sub", "https://u:p%40@h:25777/sub"),
        ("u:p@h:1", "http://u:p@h:1"),
        ("[::1]:1", "http://[::1]:1"),
    ],
)
def test_registry_endpoint(endpoint: str, base_url: str) -> None:
    """The registry's endpoint is kept as it was configured, for the agent, and beside that has a scheme."""
    registry = parse(registry={"endpoint": endpoint}).registry
    assert registry is not None
    assert (registry.endpoint, registry.base_url) == (endpoint, base_url)


def test_other_sections() -> None:
    """Agent, registry and log level are taken as they are; an empty endpoint is no registry."""
    parsed = parse(
        agent={"mbus": "nats://m", "ntp": []},
        registry={"endpoint": "h:1", "user": "u", "password": ""},
        debug={"cpi": {"log_level": "debug"}},
    )
    assert parsed.agent == {"mbus": "nats://m", "ntp": []}
    assert parsed.registry == cpi_config.RegistryConfig(endpoint="h:1", user="u", password=None)
    assert parsed.debug_cpi.log_level == "debug"
    announced = [parse(debug={"cpi": {"api_version": each}}).debug_cpi.api_version for each in (None, 2, 99)]
    assert announced == [3, 2, 3]
    assert parse(registry={"endpoint": "", "user": "u", "password": 1}).registry is None
    assert parse(agent=None, registry=None, debug=None).agent == {}


@pytest.mark.parametrize("request_id", ["", None, 7])
def test_no_request_id(request_id: object) -> None:
    """An id that tells no request from another is none: two calls with it must not share what they create."""
    assert parse(context={"request_id": request_id}).request_id is None
    assert parse(context={"request_id": "cpi-7"}).request_id == "cpi-7"


@pytest.mark.parametrize(
    ("aws", "looks"),
    [
        ({}, True),
        ({"fast_path_delete": True}, False),
        ({"fast_path_delete": True, "deregister_on_delete": True}, True),
        ({"fast_path_delete": True, "skip_os_shutdown": False}, True),
    ],
)
def test_deletion_that_looks(aws: dict[str, Any], *, looks: bool) -> None:
    """On the fast path, delete_vm sees the VM's tags only for a deregistration or a skipped shutdown."""
    assert parse(aws).aws.looks_at_deleted_vms is looks


def test_secrets_in_sight() -> None:
    """A configuration that is printed shows no secret."""
    whole = parse(
        {"access_key_id": "AKIASHOWN", "secret_access_key": "hidden1", "session_token": "hidden2"},
        agent={"mbus": "nats://u:hidden3@h"},
        registry={"endpoint": "http://u:hidden4@h", "password": "hidden5"},
    )
    shown = f"{whole!r} {whole.aws!r} {whole.registry!r}"
    assert "hidden" not in shown
    assert "AKIASHOWN" not in shown
    assert "us-east-1" in shown
