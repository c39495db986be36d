"""What operators' commands make of AWS's answers and errors."""

from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError, ParamValidationError, ReadTimeoutError
from botocore.parsers import ResponseParserError

from bosh_aws_cpi.aws.sdk.errors import BALANCER_MISSING, DRY_RUN_PASSED, ELEMENT, KEYS_REFUSED
from bosh_aws_cpi.call_statistics import CallStatistics
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.tools.asking import Asker, ReadingClients, keys_error
from bosh_aws_cpi.tools.findings import Severity
from bosh_aws_cpi.tools.preflight import verdict_of


def answered(code: str, operation: str = "RunInstances") -> ClientError:
    """Return an error of AWS."""
    return ClientError({"Error": {"Code": code, "Message": "m"}}, operation)


@pytest.mark.parametrize(
    ("code", "state"),
    [
        ("DryRunOperation", "allowed"),
        ("LoadBalancerNotFound", "allowed"),
        ("UnauthorizedOperation", "missing"),
        ("AccessDeniedException", "missing"),
        ("InvalidInstanceID.NotFound", "not checkable"),
        ("InvalidSubnetID.Malformed", "not checkable"),
        ("InvalidID", "not checkable"),
        ("RequestLimitExceeded", "no verdict"),
    ],
)
def test_judged(code: str, state: str) -> None:
    """A dry run's own code, and codes that prove the permission, mean "allowed"; "not found" proves nothing.

    Any other code is no verdict.
    """
    verdict = verdict_of(answered(code), BALANCER_MISSING | DRY_RUN_PASSED)
    assert verdict.state == state
    assert (code in verdict.why) is (state not in {"allowed", "missing"})


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("create_volume", {"AvailabilityZone": "a"}),
        ("run_instances", {"MinCount": 1, "MaxCount": 1}),
        ("run_instances", {"MinCount": 1, "MaxCount": 1, "DryRun": False}),
    ],
)
def test_reading_clients(cloud: Cloud, operation: str, arguments: dict[str, Any]) -> None:
    """Clients that only read make no call that changes something, unless it is a dry run."""
    clients = ReadingClients(cloud.config.aws, CallStatistics(), lambda **_: None)
    with pytest.raises(ValueError, match="is no read"):
        getattr(clients.ec2, operation)(**arguments)


@pytest.mark.parametrize("source", ["static", "env_or_profile"])
def test_keys_are_not_taken(cloud: Cloud, source: str) -> None:
    """A code about the keys becomes an error that says where the keys come from."""
    code = "SignatureDoesNotMatch"
    config = cloud.config.aws.replace(credentials_source=source)
    assert KEYS_REFUSED(answered(code))
    error = keys_error(config, answered(code))
    where = {"static": "aws.access_key_id", "env_or_profile": "the instance profile"}[source]
    assert where in error.message
    assert f"{code}: m" in error.message
    assert not KEYS_REFUSED(answered("UnauthorizedOperation"))


@pytest.mark.parametrize("again", ["", "Repeat this command"])
def test_role_of_a_single_call(cloud: Cloud, again: str) -> None:
    """A role that can't be assumed ends a command, unless each of its calls stands for itself."""

    def call() -> None:
        raise answered("Throttling", "AssumeRole")

    asker = Asker(cloud.config.aws, again=again, keys_accepted=bool(again))
    if again:
        assert asker.ask("routes", call) is None
        (found,) = asker.not_checked
        assert found.what.startswith("routes: AssumeRole failed with Throttling")
        return
    with pytest.raises(CloudError, match=r"aws\.role_arn"):
        asker.ask("routes", call)


def test_throttled() -> None:
    """A service that throttles to the end is not called again; other services are."""
    asked = []

    def throttled() -> str:
        asked.append("ec2")
        raise answered("RequestLimitExceeded", "DescribeKeyPairs")

    aws: Any = SimpleNamespace(role_arn=None)
    asker = Asker(aws)
    assert asker.ask("key pairs", throttled) is None
    assert asker.ask("hosts", throttled) is None
    assert asker.ask("instance profiles", lambda: "bosh", "iam") == "bosh"
    assert asked == ["ec2"]
    why = "ec2 throttles the calls: DescribeKeyPairs failed with RequestLimitExceeded: m"
    for what, found in zip(("key pairs", "hosts"), asker.not_checked, strict=True):
        assert (found.severity, found.remedy) == (Severity.NOT_CHECKED, "Repeat this command later")
        assert found.what.startswith(f"{what}: {why}")


def test_throttled_once() -> None:
    """Where each call stands for itself, a throttled call leaves out only what it asked for."""
    aws: Any = SimpleNamespace(role_arn=None)
    asker = Asker(aws, again="Repeat this command")

    def throttled() -> str:
        raise answered("Throttling")

    assert asker.ask("routes", throttled) is None
    assert asker.ask("hosts", lambda: "host") == "host"
    assert [(each.what.partition(":")[0], each.remedy) for each in asker.not_checked] == [
        ("routes", "Repeat this command")
    ]


@pytest.mark.parametrize("again", ["", "Repeat this command"])
def test_timeout(cloud: Cloud, again: str) -> None:
    """A service that does not answer in time is not called again, also where each call stands for itself."""
    asked = []

    def wait() -> str:
        asked.append("ec2")
        raise ReadTimeoutError(endpoint_url="https://example.test")

    asker = Asker(cloud.config.aws, again=again)
    assert [asker.ask(what, wait) for what in ("routes", "hosts")] == [None, None]
    assert asked == ["ec2"]
    assert [each.what.partition(":")[0] for each in asker.not_checked] == ["routes", "hosts"]
    assert all("it does not answer in time" in each.what for each in asker.not_checked)


@pytest.mark.parametrize("has_answered", [False, True])
def test_without_a_result(cloud: Cloud, *, has_answered: bool) -> None:
    """A call that the SDK refuses to make is left out alone: its service may answer others.

    So is an answer that lacks an element, but AWS has then accepted the keys.
    """
    asker = Asker(cloud.config.aws)
    error: Exception = ParamValidationError(report="no id")
    if has_answered:
        error = ResponseParserError("no element")
        setattr(error, ELEMENT, "hostId")

    def wrong() -> str:
        raise error

    assert asker.ask("hosts", wrong) is None
    assert asker.are_keys_accepted is has_answered
    assert asker.ask("routes", lambda: "route") == "route"
    (found,) = asker.not_checked
    assert found.what.startswith("hosts: " if has_answered else "hosts: ParamValidationError: ")
