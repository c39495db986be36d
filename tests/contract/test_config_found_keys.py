"""Keys that nobody configured are secrets too: the environment's, the instance's, a role's.

Every one of them holds the word SEEDED: where that word is to be seen, a secret is.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import ABSENT, Answer, Cpi, config
from testbed.imds import CREDENTIALS, ROLE, Imds

pytestmark = pytest.mark.usefixtures("warm")

DISK = "vol-00000000000000001"
FOUND = {"AccessKeyId": "ASIASEEDED0000000009", "SecretAccessKey": "s/SEEDED+", "SessionToken": "t/SEEDED="}

NAMES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
ENVIRONMENT = dict(zip(NAMES, FOUND.values(), strict=True))


def cpi_of(fake_aws: FakeAws, env: dict[str, str] | None = None, **aws: Any) -> Cpi:
    """Return the executable, logging all it does."""
    document = config(fake_aws.endpoint, max_retries=0, **aws)
    document["cloud"]["properties"]["debug"] = {"cpi": {"log_level": "debug"}}
    return Cpi(document, env=env)


def from_source(fake_aws: FakeAws, env: dict[str, str]) -> Cpi:
    """Return the executable with keys from elsewhere."""
    keys = {"access_key_id": ABSENT, "secret_access_key": ABSENT}
    return cpi_of(fake_aws, env, credentials_source="env_or_profile", **keys)


def assume(fake_aws: FakeAws, *more: tuple[str, str]) -> Answer:
    """Make a call with a role whose keys are known."""
    known = [(f"<{name}>[^<]*</{name}>", f"<{name}>{value}</{name}>") for name, value in FOUND.items()]
    fake_aws.rule(action="AssumeRole", replace=[*known, *more])
    return cpi_of(fake_aws, role_arn="arn:aws:iam::123456789012:role/cpi").call("has_disk", DISK)


def of_environment(fake_aws: FakeAws) -> Answer:
    """Make a call with the environment's keys."""
    return from_source(fake_aws, ENVIRONMENT).call("has_disk", DISK)


def beside_environment(fake_aws: FakeAws) -> Answer:
    """Make a call with other keys than the environment's."""
    return cpi_of(fake_aws, ENVIRONMENT).call("has_disk", DISK)


def of_instance(fake_aws: FakeAws, end: int | None = None) -> Answer:
    """Make a call with the instance profile's keys; `end` cuts the metadata."""
    with Imds() as server:
        keys = {**FOUND, "Token": FOUND["SessionToken"]}
        whole = json.dumps({**json.loads(server.documents[CREDENTIALS + ROLE]), **keys})
        server.documents[CREDENTIALS + ROLE] = whole[:end]
        return from_source(fake_aws, server.environment).call("has_disk", DISK)


@pytest.mark.parametrize("call", [assume, of_environment, beside_environment, of_instance])
def test_found_keys(fake_aws: FakeAws, call: Callable[[FakeAws], Answer]) -> None:
    """The keys of a role, the environment and an instance profile are taken out of what EC2 says."""
    message = f"not with {FOUND} and {json.dumps(FOUND)} and {' '.join(FOUND.values())}"
    fake_aws.refuse("DescribeVolumes", "UnauthorizedOperation", message, 403)
    hidden(call(fake_aws))
    assert fake_aws.actions()[-1] == "DescribeVolumes"


def test_broken_answer(fake_aws: FakeAws) -> None:
    """An answer of STS or of the metadata that can't be read is not shown."""
    hidden(assume(fake_aws, ("</AssumeRoleResponse>.*", "")))
    hidden(of_instance(fake_aws, -1))
    assert fake_aws.actions() == ["AssumeRole"]


def hidden(answer: Answer) -> None:
    """Check for a typed error that holds no key, in its log neither."""
    assert answer.error["type"] == "Bosh::Clouds::CloudError"
    assert "SEEDED" not in answer.stdout.decode() + answer.stderr
