"""Configurations that are refused: each message, which shows no value but words and numbers."""

from typing import Any

import botocore.session
import pytest

from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.config.values import boolean, fill_region
from testbed.executable import ABSENT
from tests.unit.config.parsing import ROLE_ARN, parse, refusal

SECRET = "value-secret-88d0"
RETRIES = "aws:max_retries"
REGION = "aws:region, or aws:ec2_endpoint and aws:elb_endpoint"
NO_KEYS = "Must use access_key_id and secret_access_key with static credentials_source"
NEEDLESS_KEYS = "Can't use access_key_id and secret_access_key with env_or_profile credentials_source"
ONE_LINE = (
    "has a space, a line break or another character that is not printable ASCII: write the value on one line "
    "(in YAML without |), without typographic quotation marks"
)
A_ROLE = "the ARN of a role, such as arn:aws:iam::123456789012:role/NAME"
COUNT = "a whole number, 0 or more"
TRUTH = "true or false"
STRICT = [
    *(key.name for key in AwsConfig.rows.values() if key.kind is boolean and key.is_new),
    "skip_os_shutdown",
]
"""Keys that the Ruby release never read, so that its rule of what is true does not apply to them."""
ENDPOINT = "a host, host:port or http(s) URL"
NO_UNDERSCORES = ENDPOINT.replace("a host", "a host without underscores", 1)
NO_HOSTS = [
    *("https://", "http://:80", "h:port", "h:0", "h:65536", "http://h:-1"),
    *("two words", "h\n", "127.0.0.1\0", "http://127.0.0.1:25777/\x1b", "http://[::1", "http://[::1]x"),
    *("http://[1::2::3]", "a..b", "-a.example", "http://a-.example", "a%zz", "a" * 64),
    *(".".join(["x" * 63] * 4), f"http://user:{SECRET}@127.0.0.1:25777x"),
    f"http://user:{SECRET}/2@127.0.0.1:25777",
]
"""Texts that have no host, or no number for a port."""


@pytest.mark.parametrize(
    ("aws", "message"),
    [
        ({"region": "us-east-1a"}, "aws:region must be a region: 'us-east-1a' is a zone of us-east-1"),
        ({"region": "", "elb_endpoint": None}, f"missing configuration parameters > {REGION}"),
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
        ({"external_id": "bosh-1"}, "aws.external_id needs aws.role_arn"),
        ({"session_tags": {"a": "b"}}, "aws.session_tags needs aws.role_arn"),
        (
            {"secret_access_key": "AKIAIOSFODNN7EXAMPLE"},
            "aws:secret_access_key looks like an access key: swap it with aws:access_key_id",
        ),
        (
            {"access_key_id": "ASIAIOSFODNN7EXAMPLE"},
            "aws:access_key_id begins with ASIA, so it is temporary: add its token, aws:session_token",
        ),
        (
            {"region": "cn-north-1", "role_arn": ROLE_ARN},
            "aws:role_arn must begin with arn:aws-cn:, as all roles of cn-north-1 do",
        ),
        (
            {"connection_options": {"ca_cert": "x", "ssl": True}},
            "aws.connection_options has the unknown key 'ssl': it can only have ca_cert",
        ),
    ],
)
def test_message(aws: dict[str, Any], message: str) -> None:
    """Each rule has its message; several missing parameters are joined."""
    assert refusal(aws).removeprefix("configuration parameter ") == message


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        *(("encrypt", "encrypted"), ("kms_key_id", "kms_key_arn"), ("fip", "fips")),
        ("metadata_option", "metadata_options"),
    ],
)
def test_mistyped_security(wrong: str, near: str) -> None:
    """A key that is like one without which disks, VMs or calls are less safe is refused."""
    said = f"configuration parameter aws.{wrong} is unknown: did you mean aws.{near}?"
    assert refusal({wrong: True}) == refusal(context={wrong: True}) == said


@pytest.mark.parametrize(
    "aws",
    [
        {"access_key_id": "ASIAIOSFODNN7EXAMPLE", "session_token": "token"},
        {"region": "us-gov-west-1", "role_arn": ROLE_ARN.replace("aws", "aws-us-gov")},
    ],
)
def test_what_aws_accepts(aws: dict[str, Any]) -> None:
    """Temporary keys with their token, a role of the partition, and endpoints of the region are right."""
    parse(aws)


def test_partitions() -> None:
    """The regions of each partition are known by their beginnings."""
    session = botocore.session.get_session()
    for partition in session.get_available_partitions():
        regions = session.get_available_regions("ec2", partition, allow_non_regional=False)
        assert {fill_region("PARTITION", region) for region in regions} <= {partition}


def test_context() -> None:
    """The context is merged before the checks: it may take a key of the file away, or replace a wrong one."""
    assert refusal(context={"secret_access_key": None}) == NO_KEYS
    said = refusal({"metadata_options": {}}, context={"metadata_options": SECRET})
    assert said == "configuration parameter aws:metadata_options must be an object, got String"
    wrong = {"region": ABSENT, "ec2_endpoint": 7, "max_retries": "many"}
    assert parse(wrong, {"region": "us-west-1", "ec2_endpoint": None, "max_retries": 0}).aws.max_retries == 0


@pytest.mark.parametrize(
    ("key", "end"),
    [
        *((key, "\n") for key in ("access_key_id", "session_token", "region", "role_arn")),
        *(("secret_access_key", end) for end in ("\n", " ", "\x7f", "\xa0", "\u201d")),
    ],
)
def test_unprintable(key: str, end: str) -> None:
    """What a request to AWS can't carry is refused when it is read, by its key."""
    assert refusal({key: f"{SECRET}{end}"}) == f"configuration parameter aws:{key} {ONE_LINE}"


def test_unprintable_region_of_the_environment() -> None:
    """The environment's region is judged as a configured one."""
    aws = {"region": ABSENT, "ec2_endpoint": "h", "elb_endpoint": "h"}
    said = refusal(aws, environ={"AWS_REGION": "us-east-1\n"})
    assert said == f"configuration parameter aws:region (AWS_REGION) {ONE_LINE}"


@pytest.mark.parametrize(
    ("section", "value", "named", "complaint"),
    [
        ("aws", {"secret_access_key": {SECRET: SECRET}}, "aws:secret_access_key", "a string, got Hash"),
        ("aws", {"max_retries": SECRET}, "aws:max_retries", f"{COUNT}, got String"),
        ("aws", {"max_retries": True}, "aws:max_retries", f"{COUNT}, got Boolean"),
        ("aws", {"max_retries": -1}, "aws:max_retries", f"{COUNT}, got Integer"),
        (
            "aws",
            {"default_security_groups": [SECRET, None]},
            "aws:default_security_groups",
            "a list of strings, got Array",
        ),
        ("aws", {"default_root_disk": SECRET}, "aws.default_root_disk", "an object, got String"),
        ("aws", {"stemcell_upload": SECRET}, "aws.stemcell_upload", "ebs_direct or volume, got String"),
        ("aws", {"spread": True}, "aws.spread", "prefer or false, got Boolean"),
        *(
            ("aws", {"role_arn": wrong}, "aws:role_arn", A_ROLE)
            for wrong in (
                "arn:aws:iam::123456789012:instance-profile/bosh",
                "arn:aws:iam::123456789012:role/",
                "arn:aws:iam::12345:role/bosh",
                "arn:aws:sts::123456789012:assumed-role/bosh/session",
            )
        ),
        *(("aws", {key: "false"}, f"aws.{key}", f"{TRUTH}, got String") for key in STRICT),
        ("aws", {"skip_os_shutdown": 1}, "aws.skip_os_shutdown", f"{TRUTH}, got 1"),
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
        ("registry", {"endpoint": "https://"}, "registry:endpoint", ENDPOINT),
        ("registry", {"endpoint": "http://h", "password": 5}, "registry:password", "a string, got Integer"),
        ("debug", {"cpi": [SECRET]}, "debug:cpi", "an object, got Array"),
        ("debug", {"cpi": {"api_version": SECRET}}, "debug:cpi:api_version", "1, 2 or 3, got String"),
        ("debug", {"cpi": {"api_version": 0}}, "debug:cpi:api_version", "1, 2 or 3, got Integer"),
        (
            "debug",
            {"cpi": {"log_level": [SECRET]}},
            "debug.cpi.log_level",
            "one of debug, info, warn, error, got Array",
        ),
        *(("aws", {"sts_endpoint": text}, "aws.sts_endpoint", ENDPOINT) for text in NO_HOSTS),
        ("aws", {"ec2_endpoint": "https://my_host"}, "aws:ec2_endpoint", NO_UNDERSCORES),
    ],
)
def test_value(section: str, value: Any, named: str, complaint: str) -> None:
    """A wrong value is refused by its key, with what the key needs; the value itself is not shown."""
    said = refusal(value) if section == "aws" else refusal(**{section: value})
    assert said == f"configuration parameter {named} must be {complaint}"


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("external_id", "x", "2 to 1224"),
        ("external_id", "a b", "2 to 1224"),
        ("session_tags", {"a,b": "c"}, "'a,b'"),
        ("session_tags", {"a": "b\n"}, "'a'"),
        ("session_tags", {"AWS:a": "c"}, "'AWS:a'"),
        ("session_tags", {"Team": "a", "team": "b"}, "'Team' and 'team'"),
        ("session_tags", {"a": ["c"]}, "'a'"),
    ],
)
def test_session_that_sts_refuses(key: str, value: Any, why: str) -> None:
    """Values that STS would refuse are an error that names the key and the tag."""
    said = refusal({"role_arn": ROLE_ARN, key: value})
    assert said.startswith(f"configuration parameter aws.{key}")
    assert why in said
