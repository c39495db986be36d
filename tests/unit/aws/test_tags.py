"""CreateTags, as EC2 takes and refuses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import tags

if TYPE_CHECKING:
    from tests.unit.conftest import Clock, Ec2

TAGS = {"a": "1", "b": ""}
LISTED = [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": ""}]
NOT_FOUND = "InvalidVolume.NotFound"


def call(*resources: str) -> dict[str, Any]:
    """Describe a call that tags these."""
    return {"Resources": list(resources), "Tags": LISTED}


def test_create(ec2: Ec2) -> None:
    """One call tags all resources."""
    ec2.answers("create_tags", **call("i-1", "vol-1"))
    tags.create(ec2.client, ["i-1", "vol-1"], TAGS)


@pytest.mark.parametrize(("resources", "given"), [(["i-1"], {}), ([], TAGS)])
def test_nothing_to_do(ec2: Ec2, clock: Clock, resources: list[str], given: dict[str, str]) -> None:
    """Without tags or resources there is no call."""
    tags.create(ec2.client, resources, given)
    assert clock.pauses == []


@pytest.mark.parametrize(
    "code",
    [
        *("InvalidInstanceID.NotFound", "InvalidVolume.NotFound", "InvalidAMIID.NotFound"),
        *("InvalidSnapshot.NotFound", "InvalidNetworkInterfaceID.NotFound"),
    ],
)
def test_not_found_yet(ec2: Ec2, clock: Clock, code: str) -> None:
    """A resource that was made a moment ago and is not known yet is tried again."""
    ec2.refuses("create_tags", code, **call("x-1"))
    ec2.refuses("create_tags", code, **call("x-1"))
    ec2.answers("create_tags", **call("x-1"))
    tags.create(ec2.client, ["x-1"], TAGS)
    assert len(clock.pauses) == 2


def test_never_found(ec2: Ec2, clock: Clock) -> None:
    """A single resource that stays unknown is an error after half a minute."""
    for _ in range(100):
        ec2.refuses("create_tags", NOT_FOUND, **call("vol-1"))
    with pytest.raises(ClientError, match=NOT_FOUND):
        tags.create(ec2.client, ["vol-1"], TAGS)
    assert 30 <= clock.now <= 36
    for _ in range(100 - len(clock.pauses) - 1):
        with pytest.raises(ClientError):
            ec2.client.create_tags(**call("vol-1"))


def test_no_id(ec2: Ec2, clock: Clock) -> None:
    """An id that EC2 calls none is raised at once: waiting would not make it one."""
    ec2.refuses("create_tags", "InvalidID", **call("x"))
    with pytest.raises(ClientError, match="InvalidID"):
        tags.create(ec2.client, ["x"], TAGS)
    assert clock.pauses == []


@pytest.mark.parametrize("code", [NOT_FOUND, "UnauthorizedOperation"])
def test_mark_deleted(ec2: Ec2, clock: Clock, program_log: pytest.LogCaptureFixture, code: str) -> None:
    """What is being deleted is named so, tried once; failing to is logged."""
    named = {"Resources": ["vol-1"], "Tags": [{"Key": "Name", "Value": "to be deleted"}]}
    ec2.answers("create_tags", **named)
    ec2.refuses("create_tags", code, **named)
    tags.mark_deleted(ec2.client, "vol-1")
    tags.mark_deleted(ec2.client, "vol-1")
    (record,) = program_log.records
    assert record.getMessage().startswith(f"Could not tag vol-1: CreateTags failed with {code}: ")
    assert clock.pauses == []


@pytest.mark.parametrize("code", ["TagLimitExceeded", "InvalidParameterValue"])
def test_refusal_of_one(ec2: Ec2, program_log: pytest.LogCaptureFixture, code: str) -> None:
    """A tag limit and an invalid value are logged, not raised: tags are no reason to fail."""
    ec2.refuses("create_tags", code, "too many", **call("vol-1"))
    tags.create(ec2.client, ["vol-1"], TAGS)
    (record,) = program_log.records
    assert record.levelname == "ERROR"
    assert record.getMessage().startswith(
        f"Could not tag vol-1: CreateTags failed with {code}: too many (request id "
    )


def test_malformed_id(ec2: Ec2) -> None:
    """An invalid value that is the id itself is raised: there is no such resource."""
    message = "Value (x) for parameter volume is invalid. Expected: 'vol-...'."
    ec2.refuses("create_tags", "InvalidParameterValue", message, **call("x"))
    with pytest.raises(ClientError, match="Expected: 'vol-"):
        tags.create(ec2.client, ["x"], TAGS)


@pytest.mark.parametrize("code", ["TagLimitExceeded", "InvalidParameterValue", "InvalidID"])
def test_refusal_of_one_among_several(ec2: Ec2, program_log: pytest.LogCaptureFixture, code: str) -> None:
    """When EC2 refuses them together each is tagged by itself, and only the failing one is logged."""
    ec2.refuses("create_tags", code, **call("i-1", "vol-1", "vol-2"))
    ec2.answers("create_tags", **call("i-1"))
    ec2.refuses("create_tags", code, **call("vol-1"))
    ec2.answers("create_tags", **call("vol-2"))
    tags.create(ec2.client, ["i-1", "vol-1", "vol-2"], TAGS)
    errors = [record.getMessage() for record in program_log.records if record.levelname == "ERROR"]
    assert len(errors) == 1
    assert errors[0].startswith(f"Could not tag vol-1: CreateTags failed with {code}: ")


@pytest.mark.parametrize("resources", [["i-1"], ["i-1", "vol-1"]])
def test_other_refusals(ec2: Ec2, resources: list[str]) -> None:
    """Any other refusal is raised at once."""
    ec2.refuses("create_tags", "UnauthorizedOperation", **call(*resources))
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        tags.create(ec2.client, resources, TAGS)


def test_other_refusal_of_one_among_several(ec2: Ec2) -> None:
    """So is one that comes while each is tagged by itself."""
    ec2.refuses("create_tags", "TagLimitExceeded", **call("i-1", "vol-1"))
    ec2.refuses("create_tags", "UnauthorizedOperation", **call("i-1"))
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        tags.create(ec2.client, ["i-1", "vol-1"], TAGS)
