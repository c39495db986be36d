"""Making EBS volumes: by a client token and a mark there is one of them."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from botocore.stub import ANY

from bosh_aws_cpi.aws import volumes
from bosh_aws_cpi.aws.once import RECENT
from tests.unit.aws.volume_looks import DISK, OTHER

if TYPE_CHECKING:
    from tests.unit.conftest import Clock, Ec2

MARK = ("bosh_call", "call-1")
SEARCH: dict[str, Any] = {"Filters": [{"Name": "tag:bosh_call", "Values": ["call-1"]}]}
ARGUMENTS = {"AvailabilityZone": "z", "Size": 1, "ClientToken": "call-1"}
NOW = datetime.now(UTC)
NEW, OLD = NOW - timedelta(minutes=5), NOW - RECENT - timedelta(minutes=5)


def create(ec2: Ec2) -> str:
    """Make a volume."""
    return volumes.create(ec2.client, ARGUMENTS, MARK)


def made(disk_cid: str, when: datetime | None) -> dict[str, Any]:
    """Describe a volume that was made at a time, if EC2 says so."""
    return {"VolumeId": disk_cid, **({"CreateTime": when} if when else {})}


def lay_search(ec2: Ec2, *entries: dict[str, Any]) -> None:
    """Lay out the question for the volumes of this call."""
    ec2.answers("describe_volumes", {"Volumes": list(entries)}, **SEARCH)


@pytest.mark.parametrize("when", [NEW, NOW, None], ids=["before", "now", "without a time"])
def test_create(ec2: Ec2, when: datetime | None) -> None:
    """A volume is made with what is given; by its token EC2 answers with what the same call made before."""
    ec2.answers("create_volume", made(DISK, when), **ARGUMENTS)
    assert create(ec2) == DISK


def test_create_under_a_used_token(ec2: Ec2, program_log: pytest.LogCaptureFixture) -> None:
    """One that another request made long ago is not taken: a disk of its own is made, and that is logged."""
    ec2.answers("create_volume", made(OTHER, OLD), **ARGUMENTS)
    ec2.answers("create_volume", made(DISK, NOW), **{**ARGUMENTS, "ClientToken": ANY})
    assert create(ec2) == DISK
    said = [record.getMessage() for record in program_log.records if record.levelname == "WARNING"]
    assert said == [f"Volume '{OTHER}' was made by another request of this id"]


def test_token_of_its_own(ec2: Ec2, monkeypatch: pytest.MonkeyPatch) -> None:
    """That one's client token is new."""
    tokens = []

    def answer(**arguments: Any) -> dict[str, Any]:
        tokens.append(arguments["ClientToken"])
        return made(DISK, NOW) if len(tokens) > 1 else made(OTHER, OLD)

    monkeypatch.setattr(ec2.client, "create_volume", answer)
    assert create(ec2) == DISK
    assert tokens[0] == "call-1"
    assert str(uuid.UUID(tokens[1])) == tokens[1]


@pytest.mark.parametrize("unseen", [0, 2])
def test_create_without_an_answer(ec2: Ec2, clock: Clock, unseen: int) -> None:
    """After a lost answer the volume is looked for by its mark."""
    ec2.loses("create_volume", **ARGUMENTS)
    for _ in range(unseen):
        lay_search(ec2)
    lay_search(ec2, made(OTHER, OLD), made(DISK, NEW))
    assert create(ec2) == DISK
    assert len(clock.pauses) == unseen


def test_not_made(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is not to be seen was not made: the SDK has repeated the call with its token already."""
    monkeypatch.setattr(ec2.client, "describe_volumes", lambda **_: {"Volumes": []})
    ec2.loses("create_volume", **ARGUMENTS)
    with pytest.raises(ReadTimeoutError):
        create(ec2)
    assert 10 <= clock.now <= 13


def test_refused(ec2: Ec2) -> None:
    """A refusal goes on as it is."""
    ec2.refuses("create_volume", "VolumeLimitExceeded", **ARGUMENTS)
    with pytest.raises(ClientError, match="VolumeLimitExceeded"):
        create(ec2)


@pytest.mark.parametrize(
    ("entries", "found"),
    [
        ([], None),
        ([made(OTHER, OLD)], None),
        ([made(OTHER, OLD), made(DISK, NEW)], DISK),
        ([made(DISK, None)], DISK),
    ],
    ids=["none", "old", "both", "without a time"],
)
def test_find_marked(ec2: Ec2, entries: list[dict[str, Any]], found: str | None) -> None:
    """A volume is found by the tag that tells it from others, when it was made a while ago at most."""
    lay_search(ec2, *entries)
    assert volumes.find_marked(ec2.client, MARK) == found
