"""What is wrong with the configuration is said exactly, for every method."""

from typing import Any

import pytest

from testbed.executable import ABSENT, Answer, Cpi, config

pytestmark = pytest.mark.usefixtures("warm")

NOWHERE = "http://127.0.0.1:1"
SECRET = "value-secret-88d0"
RETRIES = "aws:max_retries"
REGION = "aws:region, or aws:ec2_endpoint and aws:elb_endpoint"
NO_KEYS = "Must use access_key_id and secret_access_key with static credentials_source"
NEEDLESS_KEYS = "Can't use access_key_id and secret_access_key with env_or_profile credentials_source"


def refused(answer: Answer, message: str) -> None:
    """Check that a call was refused with this message and a plain envelope."""
    details = f"Arguments are not correct, details: '{message}'"
    assert answer.error == {"type": "InvalidCall", "message": details, "ok_to_retry": False}
    assert answer.document["log"] == ""
    assert answer.returncode == 0


@pytest.mark.parametrize(
    ("aws", "message"),
    [
        ({"max_retries": ABSENT}, f"missing configuration parameters > {RETRIES}"),
        ({"max_retries": None}, f"missing configuration parameters > {RETRIES}"),
        ({"region": ABSENT}, f"missing configuration parameters > {REGION}"),
        ({"region": "", "elb_endpoint": None}, f"missing configuration parameters > {REGION}"),
        ({"region": None, "ec2_endpoint": ABSENT}, f"missing configuration parameters > {REGION}"),
        (
            {"region": ABSENT, "max_retries": ABSENT, "credentials_source": "x"},
            f"missing configuration parameters > {RETRIES}, {REGION}",
        ),
        ({"credentials_source": "keychain"}, "Unknown credentials_source keychain"),
        ({"access_key_id": ABSENT}, NO_KEYS),
        ({"secret_access_key": ""}, NO_KEYS),
        ({"access_key_id": None, "secret_access_key": None, "credentials_source": None}, NO_KEYS),
        ({"credentials_source": "env_or_profile"}, NEEDLESS_KEYS),
        ({"credentials_source": "env_or_profile", "secret_access_key": None}, NEEDLESS_KEYS),
    ],
)
def test_message(aws: dict[str, Any], message: str) -> None:
    """Each rule has its message; several missing parameters are joined."""
    refused(Cpi(config(NOWHERE, **aws)).call("info"), message)


@pytest.mark.parametrize("method", ["ping", "current_vm_id", "delete_snapshot", "has_vm"])
def test_every_method(method: str) -> None:
    """The configuration is checked before anything else about the call, its arguments too."""
    cpi = Cpi(config(NOWHERE, max_retries=ABSENT))
    refused(cpi.call(method, None, None, None), f"missing configuration parameters > {RETRIES}")


@pytest.mark.parametrize(
    ("aws", "context", "message"),
    [
        ({}, {"max_retries": None}, f"missing configuration parameters > {RETRIES}"),
        ({}, {"secret_access_key": None}, NO_KEYS),
        ({}, {"credentials_source": "env_or_profile"}, NEEDLESS_KEYS),
        (
            {"region": ABSENT, "max_retries": ABSENT, "elb_endpoint": ABSENT},
            {"max_retries": 0},
            f"missing configuration parameters > {REGION}",
        ),
        ({"metadata_options": {}}, {"metadata_options": SECRET}, "metadata_options"),
    ],
)
def test_context_is_checked(aws: dict[str, Any], context: dict[str, Any], message: str) -> None:
    """The context is merged before the checks: its null takes a key of the file away."""
    answer = Cpi(config(NOWHERE, **aws)).call("info", context=context)
    assert answer.error["type"] == "InvalidCall"
    assert message in answer.error["message"]
    assert SECRET not in answer.stdout.decode() + answer.stderr


def test_context_completes() -> None:
    """What the file lacks or has wrongly, the context may supply."""
    cpi = Cpi(config(NOWHERE, region=ABSENT, ec2_endpoint=7, credentials_source="x", max_retries="many"))
    context = {"region": "us-east-1", "ec2_endpoint": None, "max_retries": 0}
    context |= {"credentials_source": "env_or_profile", "access_key_id": None, "secret_access_key": None}
    assert cpi.call("ping", context=context).ok() == "pong"


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("region", [SECRET], "Array"),
        ("secret_access_key", {SECRET: SECRET}, "Hash"),
        ("max_retries", SECRET, "String"),
        ("default_security_groups", [SECRET, None], "Array"),
    ],
)
def test_type_in_aws(key: str, value: Any, kind: str) -> None:
    """A value of the wrong kind is refused by its key and its kind, never by itself."""
    answer = Cpi(config(NOWHERE, **{key: value})).call("info")
    assert answer.error["type"] == "InvalidCall"
    assert f"aws:{key} " in answer.error["message"]
    assert answer.error["message"].endswith(f", got {kind}'")
    assert SECRET not in answer.stdout.decode() + answer.stderr


@pytest.mark.parametrize(
    ("section", "value", "named"),
    [
        ("aws", [SECRET], "aws "),
        ("agent", [SECRET], "agent "),
        ("registry", SECRET, "registry "),
        ("registry", {"endpoint": {SECRET: 1}}, "registry:endpoint "),
        ("registry", {"endpoint": NOWHERE, "user": [SECRET]}, "registry:user "),
        ("registry", {"endpoint": NOWHERE, "password": 5}, "registry:password "),
        ("debug", SECRET, "debug "),
        ("debug", {"cpi": [SECRET]}, "debug:cpi "),
        ("debug", {"cpi": {"api_version": SECRET}}, "debug:cpi:api_version "),
        ("debug", {"cpi": {"api_version": True}}, "debug:cpi:api_version "),
        ("debug", {"cpi": {"log_level": SECRET}}, "debug.cpi.log_level "),
    ],
)
def test_type_elsewhere(section: str, value: Any, named: str) -> None:
    """The other sections are refused by their keys in the same way."""
    document = config(NOWHERE)
    document["cloud"]["properties"][section] = value
    answer = Cpi(document).call("ping")
    assert answer.error["type"] == "InvalidCall"
    assert f" {named}" in answer.error["message"]
    assert SECRET not in answer.stdout.decode() + answer.stderr


@pytest.mark.parametrize(
    ("named", "endpoint"),
    [
        ("aws:ec2_endpoint", "https://"),
        ("aws:ec2_endpoint", "https://my_host"),
        ("aws:elb_endpoint", "-a.example"),
        ("aws.ebs_endpoint", ".".join(["x" * 63] * 4)),
        ("aws.sts_endpoint", "127.0.0.1\0"),
        ("aws.sts_endpoint", "http://127.0.0.1:port"),
        ("registry:endpoint", "http://a-.example"),
        ("registry:endpoint", "http://127.0.0.1:25777/\x1b"),
        ("registry:endpoint", f"http://user:{SECRET}@127.0.0.1:25777x"),
        ("registry:endpoint", f"http://user:{SECRET}/2@127.0.0.1:25777"),
    ],
)
def test_endpoint_that_is_none(named: str, endpoint: str) -> None:
    """An endpoint that has no host, or no number for a port, is refused by its key."""
    section, key = named.replace(":", ".").split(".")
    document = config(NOWHERE, registry={})
    document["cloud"]["properties"][section][key] = endpoint
    for call in (["ping"], ["has_disk", "vol-00000000000000001"]):
        answer = Cpi(document).call(*call)
        assert answer.error["type"] == "InvalidCall"
        assert f" {named} " in answer.error["message"]
        assert " a host" in answer.error["message"]
    assert SECRET not in answer.stdout.decode() + answer.stderr


@pytest.mark.parametrize(
    ("debug", "version"),
    [
        (ABSENT, 3),
        ({"cpi": {"api_version": 2}}, 2),
        ({"cpi": {"api_version": 9}}, 3),
    ],
)
def test_supported_version(debug: Any, version: int) -> None:
    """Info answers the lower of 3 and what is configured, whatever the request asks for."""
    document = config(NOWHERE)
    if debug is not ABSENT:
        document["cloud"]["properties"]["debug"] = debug
    assert Cpi(document).call("info", api_version=3).ok()["api_version"] == version
