"""Configurations that are refused, and in which words."""

from __future__ import annotations

from typing import Any

import pytest

from bosh_aws_cpi.config import cpi_config
from bosh_aws_cpi.errors import CPIAPIVersionNotSupported, InvalidCall, Unknown

AWS: dict[str, Any] = {
    "max_retries": 8,
    "region": "us-east-1",
    "access_key_id": "AKIA1",
    "secret_access_key": "secret",
}
ENDPOINTS = {"ec2_endpoint": "ec2.eu-west-3.amazonaws.com", "elb_endpoint": "elb.example"}
ABSENT = object()
NO_REGION = "aws:region, or aws:ec2_endpoint and aws:elb_endpoint"
STATIC = "Must use access_key_id and secret_access_key with static credentials_source"
PROFILE = "Can't use access_key_id and secret_access_key with env_or_profile credentials_source"


NEW = {
    *("connection_options", "default_ephemeral_disk", "default_root_disk", "ebs_endpoint", "external_id"),
    *("session_tags", "stemcell_upload", "sts_endpoint", "tags", "vm_resources_families"),
}
"""Keys that the Ruby release lacks: messages name them as the pages do."""


def named(key: str) -> str:
    """Return the name of a key of ``aws`` in messages."""
    return f"aws.{key}" if key in NEW else f"aws:{key}"


def refused(
    message: str, aws: dict[str, Any] | None = None, environ: dict[str, str] | None = None, **sections: Any
) -> None:
    """Expect the least configuration, with what is given, to be refused with exactly this message."""
    section = {key: value for key, value in {**AWS, **(aws or {})}.items() if value is not ABSENT}
    document = {"cloud": {"properties": {"aws": section, **sections}}}
    with pytest.raises(InvalidCall) as caught:
        cpi_config.parse(document, {}, environ or {})
    assert caught.value.message == f"Arguments are not correct, details: '{message}'"


@pytest.mark.parametrize(
    ("aws", "environ", "missing"),
    [
        ({"max_retries": ABSENT}, {}, "aws:max_retries"),
        ({"max_retries": None}, {}, "aws:max_retries"),
        ({"region": ABSENT}, {"AWS_REGION": "us-west-1"}, NO_REGION),
        ({"region": "", "ec2_endpoint": "ec2.eu-west-3.amazonaws.com"}, {}, NO_REGION),
        ({"region": None, "elb_endpoint": "h"}, {"AWS_REGION": "us-west-1"}, NO_REGION),
        ({"region": None, **ENDPOINTS, "ec2_endpoint": "127.0.0.1"}, {}, NO_REGION),
        ({"region": None, **ENDPOINTS, "ec2_endpoint": "ec2.amazonaws.com"}, {}, NO_REGION),
        ({"max_retries": None, "region": None}, {}, f"aws:max_retries, {NO_REGION}"),
    ],
)
def test_missing_parameters(aws: dict[str, Any], environ: dict[str, str], missing: str) -> None:
    """All parameters that are missing are named at once."""
    refused(f"missing configuration parameters > {missing}", aws=aws, environ=environ)


@pytest.mark.parametrize(
    ("aws", "message"),
    [
        ({"access_key_id": ABSENT}, STATIC),
        ({"secret_access_key": ""}, STATIC),
        ({"credentials_source": "env_or_profile"}, PROFILE),
        ({"credentials_source": "env_or_profile", "access_key_id": None}, PROFILE),
        ({"credentials_source": "ENV"}, "Unknown credentials_source ENV"),
    ],
)
def test_credentials_that_contradict(aws: dict[str, Any], message: str) -> None:
    """Static credentials need both keys, a profile goes with none, and there is no third source."""
    refused(message, aws=aws)


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("credentials_source", ["hunter2"], "static or env_or_profile, got Array"),
        ("max_retries", "8", "a whole number, 0 or more, got String"),
        ("max_retries", True, "a whole number, 0 or more, got Boolean"),
        ("max_retries", -1, "a whole number, 0 or more, got Integer"),
        ("max_retries", 1.0, "a whole number, 0 or more, got Float"),
        *((key, 5, "a string, got Integer") for key in ("region", "access_key_id", "secret_access_key")),
        *((key, ["x"], "a string, got Array") for key in ("ec2_endpoint", "elb_endpoint", "sts_endpoint")),
        *((key, {}, "a string, got Hash") for key in ("ebs_endpoint", "session_token", "role_arn")),
        ("default_key_name", 1.5, "a string, got Float"),
        ("default_iam_instance_profile", {"name": "p"}, "a string, got Hash"),
        ("kms_key_arn", False, "a string, got Boolean"),
        ("default_security_groups", "bosh", "a list of strings, got String"),
        ("default_security_groups", ["bosh", 1], "a list of strings, got Array"),
        ("metadata_options", [], "an object, got Array"),
        ("default_root_disk", "gp3", "an object, got String"),
        ("vm_resources_families", "t3", "a list of strings, got String"),
        ("default_ephemeral_disk", 10240, "an object, got Integer"),
        ("stemcell", "x", "an object, got String"),
        ("connection_options", "x", "an object, got String"),
        ("tags", [], "an object, got Array"),
        ("session_tags", "x", "an object, got String"),
        ("external_id", 5, "a string, got Integer"),
        ("stemcell_upload", "zip", "ebs_direct or volume, got String"),
        ("stemcell_upload", True, "ebs_direct or volume, got Boolean"),
    ],
)
def test_wrong_types(key: str, value: object, complaint: str) -> None:
    """A value of a wrong type is refused by its name and type, never by what it is."""
    refused(f"configuration parameter {named(key)} must be {complaint}", aws={key: value})


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ({"ca_cert": ["x"]}, ".ca_cert must be a string, got Array"),
        ({"ca_cert": "x", "ssl": True}, " has the unknown key 'ssl': it can only have ca_cert"),
    ],
)
def test_connection_options(value: object, complaint: str) -> None:
    """Of the options of connections there is one, and a wrong one is refused by its name."""
    refused(f"configuration parameter aws.connection_options{complaint}", aws={"connection_options": value})


@pytest.mark.parametrize(
    ("sections", "complaint"),
    [
        ({"agent": "x"}, "agent must be an object, got String"),
        ({"registry": [1]}, "registry must be an object, got Array"),
        ({"registry": {"endpoint": 1}}, "registry:endpoint must be a string, got Integer"),
        (
            {"registry": {"endpoint": "h", "password": 12345}},
            "registry:password must be a string, got Integer",
        ),
        ({"registry": {"endpoint": "h", "user": {}}}, "registry:user must be a string, got Hash"),
        ({"debug": 1}, "debug must be an object, got Integer"),
        ({"debug": {"cpi": "x"}}, "debug:cpi must be an object, got String"),
        ({"debug": {"cpi": {"api_version": "3"}}}, "debug:cpi:api_version must be 1, 2 or 3, got String"),
        ({"debug": {"cpi": {"api_version": 0}}}, "debug:cpi:api_version must be 1, 2 or 3, got Integer"),
        ({"debug": {"cpi": {"api_version": True}}}, "debug:cpi:api_version must be 1, 2 or 3, got Boolean"),
        (
            {"debug": {"cpi": {"log_level": "loud"}}},
            "debug.cpi.log_level must be one of debug, info, warn, error, got String",
        ),
        (
            {"debug": {"cpi": {"log_level": ["info"]}}},
            "debug.cpi.log_level must be one of debug, info, warn, error, got Array",
        ),
    ],
)
def test_wrong_types_elsewhere(sections: dict[str, Any], complaint: str) -> None:
    """The other sections are checked alike."""
    refused(f"configuration parameter {complaint}", **sections)


def test_aws_section_that_is_none() -> None:
    """An aws section that is no object is refused too."""
    with pytest.raises(InvalidCall) as caught:
        cpi_config.parse({"cloud": {"properties": {"aws": []}}}, {}, {})
    assert caught.value.message == (
        "Arguments are not correct, details: 'configuration parameter aws must be an object, got Array'"
    )


@pytest.mark.parametrize(
    "endpoint",
    [
        *(
            "https://",
            "http://:80",
            "h:port",
            "h:0",
            "h:70000",
            "http://h:-1",
            "two words",
            "h\n",
            "http://[::1",
            "http://[::1]x",
            "http://[1::2::3]",
            "a..b",
            ".a",
            "a%zz",
            "a" * 64,
        ),
        "///",
    ],
)
@pytest.mark.parametrize("key", ["aws:ec2_endpoint", "aws.sts_endpoint", "registry:endpoint"])
def test_endpoints_that_are_none(key: str, endpoint: str) -> None:
    """What is no host, with or without a port, and no URL, is refused by its name."""
    section, name = key.replace(":", ".").split(".")
    given: dict[str, Any] = {section: {name: endpoint}}
    refused(f"configuration parameter {key} must be a host, host:port or http(s) URL", **given)


@pytest.mark.parametrize(
    "document",
    [None, [], "x", {}, {"cloud": None}, {"cloud": []}, {"cloud": {}}, {"cloud": {"properties": 1}}],
)
def test_no_cloud_properties(document: object) -> None:
    """A file without cloud.properties is none."""
    with pytest.raises(Unknown) as caught:
        cpi_config.parse(document, {}, {})
    assert caught.value.message == "Could not find cloud properties in the configuration"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, ""), (0, "0"), (-1, "-1"), (True, "true"), ("2", "2"), (2.0, "2.0")],
)
def test_stemcell_version_that_is_none(value: object, shown: str) -> None:
    """Null and what is no positive integer is no stemcell version."""
    with pytest.raises(CPIAPIVersionNotSupported) as caught:
        cpi_config.stemcell_api_version(value)
    assert caught.value.message == f"Stemcell API version '{shown}' is not supported."
    assert cpi_config.stemcell_api_version(7) == 7
