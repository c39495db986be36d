"""What AWS's answers to RunInstances mean."""

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError, ReadTimeoutError

from bosh_aws_cpi.aws.sdk.error_codes import (
    AT_FAULT,
    NO_CAPACITY,
    QUOTA_REACHED,
    RESERVATION_CLOSED,
    THROTTLED,
    TOKEN_SPENT,
)
from bosh_aws_cpi.aws.sdk.errors import Call
from bosh_aws_cpi.cpi.vms.create.instance import outcome_of
from bosh_aws_cpi.errors import CloudError, VMCreationFailed
from bosh_aws_cpi.plan import launch_outcomes as outcomes
from bosh_aws_cpi.plan.launch_outcomes import Rule
from tests.unit.aws.timing_script import knowing

FREE = "There aren't sufficient free Ipv4 addresses or prefixes"
GROUP = "limit of instances in this spread placement group"


def refusal(code: str, message: str = "no", status: int = 400) -> ClientError:
    """Return an error of RunInstances."""
    answer = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status, "RequestId": "r"},
    }
    return ClientError(answer, "RunInstances")  # type: ignore[arg-type] # as much of it as is read


@pytest.mark.parametrize(
    ("codes", "rule"),
    [
        (NO_CAPACITY | {"InsufficientQuantumCapacity"}, outcomes.NO_CAPACITY),
        (AT_FAULT | THROTTLED, outcomes.BUSY),
        (TOKEN_SPENT, outcomes.TOKEN_SPENT),
        (RESERVATION_CLOSED, outcomes.RESERVATION_CLOSED),
        ({"InsufficientFreeAddressesInSubnet", "InsufficientCidrBlocks"}, outcomes.SUBNET_FULL),
        ({"InvalidKeyPair.NotFound", "InvalidPlacementGroup.Unknown"}, outcomes.REFUSED),
    ],
    ids=["capacity", "busy", "token", "reservation", "subnet", "other"],
)
def test_code(codes: set[str], rule: Rule) -> None:
    """The code tells the kind of a refusal; a quota does not rise by a retry, and a mistake stays."""
    for code in codes:
        found = outcome_of(refusal(code))
        assert found is not None
        assert (found.rule, found.said) == (rule, f"RunInstances failed with {code}: no (request id r)")
        assert found.error.message.startswith(found.said)
        is_final = code in QUOTA_REACHED or rule in {outcomes.REFUSED, outcomes.RESERVATION_CLOSED}
        assert found.error.ok_to_retry is not is_final
        if rule is not outcomes.REFUSED and rule is not outcomes.RESERVATION_CLOSED:
            assert type(found.error) is VMCreationFailed
        else:
            assert type(found.error) is CloudError


@pytest.mark.parametrize(
    ("error", "rule"),
    [
        (refusal("InvalidParameterValue", FREE), outcomes.SUBNET_FULL),
        (refusal("InsufficientInstanceCapacity", f"x {GROUP} x"), outcomes.GROUP_FULL),
        (refusal("InsufficientInstanceCapacity", status=500), outcomes.NO_CAPACITY),
        (refusal("InternalError", status=500), outcomes.UNANSWERED),
        (ReadTimeoutError(endpoint_url="u"), outcomes.UNANSWERED),
    ],
)
def test_further(error: Exception, rule: Rule) -> None:
    """A message may tell more than the code; without an answer, EC2 may have launched the VM."""
    found = outcome_of(error)
    assert found is not None
    assert found.rule is rule
    assert type(found.error) is VMCreationFailed
    assert found.error.ok_to_retry is True


def test_quota_after_a_lost_answer() -> None:
    """A quota may be reached by the VM itself, launched without an answer: a retry finds it."""
    for code in QUOTA_REACHED:
        found = outcome_of(knowing(refusal(code), Call("ec2:RunInstances", (), was_uncertain=True)))
        assert found is not None
        assert (found.rule, found.error.ok_to_retry) == (outcomes.UNANSWERED, True)


@pytest.mark.parametrize("error", [EndpointConnectionError(endpoint_url="u"), NoCredentialsError()])
def test_no_call(error: Exception) -> None:
    """Without a connection or keys nothing was launched, and no other launch option would be."""
    assert outcome_of(error) is None
