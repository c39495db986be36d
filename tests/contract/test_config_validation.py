"""Configurations that are refused: each message, for every method."""

from typing import Any

import pytest

from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.config.values import boolean
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
        ({"max_retries": None}, f"missing configuration parameters > {RETRIES}"),
        (
            {"region": "us-east-1a"},
            "configuration parameter aws:region must be a region: 'us-east-1a' is a zone of us-east-1",
        ),
        ({"region": "", "elb_endpoint": None}, f"missing configuration parameters > {REGION}"),
        ({"region": None, "ec2_endpoint": ABSENT}, f"missing configuration parameters > {REGION}"),
        (
            {"region": ABSENT, "max_retries": ABSENT, "credentials_source": "x"},
            f"missing configuration parameters > {RETRIES}, {REGION}",
        ),
        (
            {"credentials_source": "keychain"},
            "Unknown credentials_source keychain. It must be static or env_or_profile",
        ),
        ({"access_key_id": ABSENT}, NO_KEYS),
        ({"secret_access_key": ""}, NO_KEYS),
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
        ({"metadata_options": {}}, {"metadata_options": SECRET}, "metadata_options"),
    ],
)
def test_context_is_checked(aws: dict[str, Any], context: dict[str, Any], message: str) -> None:
    """The context is merged before the checks: its null takes a key of the file away."""
    answer = Cpi(config(NOWHERE, **aws)).call("info", context=context)
    assert answer.error["type"] == "InvalidCall"
    assert message in answer.error["message"]
    assert SECRET not in answer.stdout.decode() + answer.stderr


ONE_LINE = (
    "has a space, a line break or another character that is not printable ASCII: write the value on one line "
    "(in YAML without |), without typographic quotation marks"
)


@pytest.mark.parametrize(
    ("key", "end", "in_context"),
    [
        *(
            (key, "\n", False)
            for key in ("access_key_id", "secret_access_key", "session_token", "region", "role_arn")
        ),
        *(("secret_access_key", end, True) for end in (" ", "\x7f", "\xa0", "\u200b", "\u201d")),
    ],
)
def test_unprintable(key: str, end: str, *, in_context: bool) -> None:
    """What a request to AWS can't carry is refused when it is read, by its key, and not shown."""
    given: dict[str, Any] = {key: f"{SECRET}{end}"}
    cpi = Cpi(config(NOWHERE, **({} if in_context else given)))
    answer = cpi.call("info", context=given if in_context else {})
    refused(answer, f"configuration parameter aws:{key} {ONE_LINE}")
    assert SECRET not in answer.stderr


def test_unprintable_region_of_the_environment() -> None:
    """The environment's region is judged as a configured one."""
    answer = Cpi(config(NOWHERE, region=ABSENT), env={"AWS_REGION": "us-east-1\n"}).call("info")
    refused(answer, f"configuration parameter aws:region (AWS_REGION) {ONE_LINE}")


def test_context_completes() -> None:
    """The context may supply keys that are missing or wrong in the file."""
    cpi = Cpi(config(NOWHERE, region=ABSENT, ec2_endpoint=7, credentials_source="x", max_retries="many"))
    context = {"region": "us-east-1", "ec2_endpoint": None, "max_retries": 0}
    context |= {"credentials_source": "env_or_profile", "access_key_id": None, "secret_access_key": None}
    assert cpi.call("ping", context=context).ok() == "pong"


A_ROLE = "the ARN of a role, such as arn:aws:iam::123456789012:role/NAME"
COUNT = "a whole number, 0 or more"
TEXTS = "a list of strings"
TRUTH = "true or false"
STRICT = [
    *(key.name for key in AwsConfig.rows.values() if key.kind is boolean and key.is_new),
    "skip_os_shutdown",
]
"""Keys that the Ruby release never read, so that its rule of what is true does not apply to them."""
ENDPOINT = "a host, host:port or http(s) URL"
NO_UNDERSCORES = ENDPOINT.replace("a host", "a host without underscores", 1)
NO_HOSTS = [
    *("https://", "http://:80", "h:port", "h:0", "h:70000", "http://h:-1", "///"),
    *("two words", "h\n", "127.0.0.1\0", "http://127.0.0.1:25777/\x1b", "http://[::1", "http://[::1]x"),
    *("http://[1::2::3]", "a..b", ".a", "-a.example", "http://a-.example", "a%zz", "a" * 64),
    *(".".join(["x" * 63] * 4), f"http://user:{SECRET}@127.0.0.1:25777x"),
    f"http://user:{SECRET}/2@127.0.0.1:25777",
]
"""Texts that have no host, or no number for a port."""


@pytest.mark.parametrize(
    ("section", "value", "named", "complaint"),
    [
        ("aws", [SECRET], "aws", "an object, got Array"),
        ("aws", {"secret_access_key": {SECRET: SECRET}}, "aws:secret_access_key", "a string, got Hash"),
        ("aws", {"max_retries": SECRET}, "aws:max_retries", f"{COUNT}, got String"),
        ("aws", {"max_retries": True}, "aws:max_retries", f"{COUNT}, got Boolean"),
        ("aws", {"max_retries": -1}, "aws:max_retries", f"{COUNT}, got Integer"),
        (
            "aws",
            {"default_security_groups": [SECRET, None]},
            "aws:default_security_groups",
            f"{TEXTS}, got Array",
        ),
        ("aws", {"default_root_disk": SECRET}, "aws.default_root_disk", "an object, got String"),
        ("aws", {"stemcell_upload": SECRET}, "aws.stemcell_upload", "ebs_direct or volume, got String"),
        ("aws", {"spread": True}, "aws.spread", "prefer or false, got Boolean"),
        *(
            ("aws", {"role_arn": wrong}, "aws:role_arn", A_ROLE)
            for wrong in (
                "bosh",
                "arn:aws:iam::123456789012:instance-profile/bosh",
                "arn:aws:iam::123456789012:role/",
                "arn:aws:iam::12345:role/bosh",
                "arn:aws:sts::123456789012:assumed-role/bosh/session",
            )
        ),
        *(("aws", {key: "false"}, f"aws.{key}", f"{TRUTH}, got String") for key in STRICT),
        (
            "aws",
            {"stemcell": {"copy_from_region": ""}},
            "aws.stemcell.copy_from_region",
            f"{TRUTH}, got String",
        ),
        (
            "aws",
            {"connection_options": {"ca_cert": [SECRET]}},
            "aws.connection_options.ca_cert",
            "a string, got Array",
        ),
        ("agent", [SECRET], "agent", "an object, got Array"),
        ("registry", {"endpoint": {SECRET: 1}}, "registry:endpoint", "a string, got Hash"),
        ("registry", {"endpoint": NOWHERE, "password": 5}, "registry:password", "a string, got Integer"),
        ("debug", {"cpi": [SECRET]}, "debug:cpi", "an object, got Array"),
        ("debug", {"cpi": {"api_version": SECRET}}, "debug:cpi:api_version", "1, 2 or 3, got String"),
        ("debug", {"cpi": {"api_version": 0}}, "debug:cpi:api_version", "1, 2 or 3, got Integer"),
        (
            "debug",
            {"cpi": {"log_level": [SECRET]}},
            "debug.cpi.log_level",
            "one of debug, info, warn, error, got Array",
        ),
        *(
            (section, {key: text}, f"{section}{mark}{key}", ENDPOINT)
            for section, mark, key in [("aws", ":", "ec2_endpoint"), ("registry", ":", "endpoint")]
            for text in ("https://", f"http://user:{SECRET}@127.0.0.1:25777x")
        ),
        *(("aws", {"sts_endpoint": text}, "aws.sts_endpoint", ENDPOINT) for text in NO_HOSTS),
        ("aws", {"ec2_endpoint": "https://my_host"}, "aws:ec2_endpoint", NO_UNDERSCORES),
    ],
)
def test_value(section: str, value: Any, named: str, complaint: str) -> None:
    """A wrong value is refused by its key, with what the key needs; the value itself is not shown."""
    document = config(NOWHERE)
    properties = document["cloud"]["properties"]
    is_key = section == "aws" and isinstance(value, dict)
    properties[section] = {**properties["aws"], **value} if is_key else value
    answer = Cpi(document).call("ping")
    refused(answer, f"configuration parameter {named} must be {complaint}")
    assert SECRET not in answer.stdout.decode() + answer.stderr


def test_unknown_connection_option() -> None:
    """The only connection option is ca_cert."""
    answer = Cpi(config(NOWHERE, connection_options={"ca_cert": "x", "ssl": True})).call("ping")
    said = "aws.connection_options has the unknown key 'ssl': it can only have ca_cert"
    assert said in answer.error["message"]
