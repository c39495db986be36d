"""Texts that others write are read once, however long: what a rule reads again and again does not end.

A test that fails here fails by its time: two minutes for less than a second's work.
"""

from collections.abc import Callable

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws.load_balancers import recorded_targets
from bosh_aws_cpi.aws.sdk.errors import NO_CAPACITY
from bosh_aws_cpi.aws.sdk.translation import explain
from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.config.values import external_id, https_url, region, role_arn
from bosh_aws_cpi.errors import BoshError
from bosh_aws_cpi.redact import MASK, Redactor
from bosh_aws_cpi.tag_names import TARGET_TAG
from bosh_aws_cpi.tools.checks.documents import load_yaml
from bosh_aws_cpi.tools.diagnosis import console

LENGTH = 1 << 20


def long(unit: str) -> str:
    """Repeat a text up to a mebibyte."""
    return unit * (LENGTH // len(unit))


@pytest.mark.parametrize(
    ("start", "unit"),
    [
        *(
            ("", unit)
            for unit in ("a-", "token-", "eyJhbGciOi_-", '"', "\\", "'token", "key=", "x: ", "://a:")
        ),
        *(("", unit) for unit in ('"key": "', '"key": {', "key: \\'", '"key": ', '"key": 1', "key: \\")),
        *(("", unit) for unit in ("-----BEGIN A", "-----BEGIN A-----", "-----END A", "<SessionToken>")),
        *(('password: "', unit) for unit in ("\\", "\\a", '\\"', "'")),
        *((f'password: {long(chr(92))}"', unit) for unit in ("\\", '\\"')),
        ("password: ", "1"),
    ],
)
def test_masked(start: str, unit: str) -> None:
    """A log line or an error is masked."""
    secret = '"password": "agent", "a": "b"'
    masked = Redactor()(f"{secret} {start}{long(unit)}")
    assert masked.startswith(f'"password": "{MASK}", "a": "b" ')
    if start == 'password: "':  # a value that is not closed is masked to its end
        assert masked.endswith(f'"{MASK}"')


def of_aws(code: str, message: str) -> ClientError:
    """Return an error of AWS."""
    return ClientError({"Error": {"Code": code, "Message": message}}, "RunInstances")


def refused(read: Callable[[], object]) -> bool:
    """Read a value of the configuration or a file: it must be refused."""
    with pytest.raises(BoshError):
        read()
    return True


READ: dict[str, Callable[[], bool]] = {
    "console-word": lambda: console.mask(long("_"), str) == long("_"),
    "console-words": lambda: console.mask(long("a_"), str) == long("a_"),
    "console-token": lambda: console.mask(long("eyJ-"), str) == long("eyJ-"),
    "console-key": lambda: console.mask(long("-----END A"), str) == long("-----END A"),
    "console-name": lambda: console.mask(long(f"{'token' * 8}: ;"), str) == long(f"{'token' * 8}: ;"),
    "console-finding": lambda: console.findings(long("persistent disk ")) == [],
    "tag": lambda: not list(recorded_targets({f"{TARGET_TAG}a_1": f"arn:a {long(':')}x"})),
    "code": lambda: NO_CAPACITY(of_aws(f"Insufficient{long('Capacity')}.", "")),
    "limit": lambda: "LimitExceeded" in explain(of_aws(f"{long('LimitExceeded')}-", "")),
    "message": lambda: long("i-0") in explain(of_aws("InvalidInstanceID.NotFound", long("i-0"))),
    "region": lambda: refused(lambda: region(f"{long('a-')}1a", AwsConfig.region)),
    "role": lambda: refused(lambda: role_arn(long("arn:aws-"), AwsConfig.role_arn)),
    "external-id": lambda: refused(lambda: external_id(long("a"), AwsConfig.external_id)),
    "tag-of-yaml": lambda: refused(lambda: load_yaml("cloud.yml", f"a: !%27%22{long('%20')} b".encode())),
}


@pytest.mark.parametrize("name", READ)
def test_read(name: str) -> None:
    """A tag, an error of AWS, the console, a value of the configuration or a file is read."""
    assert READ[name]()


@pytest.mark.parametrize("unit", ["a.", "a@", ":", f"{'a' * 63}.", "a" * 64], ids=repr)
def test_url(unit: str) -> None:
    """A URL is read."""
    refused(lambda: https_url(f"https://{long(unit)}/ ", AwsConfig.ec2_endpoint))
