"""Creating EBS volumes: with a client token and a tag, only one is created."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from bosh_aws_cpi.aws import volumes
from bosh_aws_cpi.aws.sdk.error_codes import TOKEN_SPENT
from bosh_aws_cpi.aws.sdk.idempotency import RECENT
from bosh_aws_cpi.errors import CloudError, DiskNotFound
from tests.unit.aws.timing_script import ago
from tests.unit.aws.volume_looks import DISK, OTHER, attached, entry, lay

if TYPE_CHECKING:
    from tests.unit.conftest import Clock, Ec2

MARK = ("bosh_call", "call-1")
SEARCH: dict[str, Any] = {"Filters": [{"Name": "tag:bosh_call", "Values": ["call-1"]}]}
ARGUMENTS = {"AvailabilityZone": "z", "Size": 1, "ClientToken": "call-1"}
NOW, NEW, OLD = timedelta(0), timedelta(minutes=5), RECENT + timedelta(minutes=5)


def create(ec2: Ec2) -> str:
    """Create a volume."""
    return volumes.create(ec2.client, ARGUMENTS, MARK)


def made(disk_cid: str, age: timedelta | None) -> dict[str, Any]:
    """Describe a volume of this age; without an age EC2 shows no time."""
    tags = [{"Key": "bosh_call", "Value": "call-1"}]
    return {"VolumeId": disk_cid, "Tags": tags, **({} if age is None else {"CreateTime": ago(age)})}


def lay_search(ec2: Ec2, *entries: dict[str, Any]) -> None:
    """Lay out the search for the volumes of this call."""
    ec2.answers("describe_volumes", {"Volumes": list(entries)}, **SEARCH)


@pytest.mark.parametrize("age", [NEW, NOW, None], ids=["before", "now", "without a time"])
def test_create(ec2: Ec2, age: timedelta | None) -> None:
    """The answer of CreateVolume is the volume, even if an earlier call with the same token created it."""
    ec2.answers("create_volume", made(DISK, age), **ARGUMENTS)
    assert create(ec2) == DISK


@pytest.mark.parametrize("code", sorted(TOKEN_SPENT))
def test_create_under_a_spent_token(ec2: Ec2, clock: Clock, code: str) -> None:
    """A token that was used with other arguments is an error of its own type."""
    ec2.refuses("create_volume", code, **ARGUMENTS)
    with pytest.raises(volumes.NotCreated, match=f"CreateVolume failed with {code}"):
        create(ec2)
    assert clock.pauses == []


@pytest.mark.parametrize("unseen", [0, 2])
@pytest.mark.parametrize("then", [None, "RequestLimitExceeded", "InsufficientVolumeCapacity"])
def test_create_without_an_answer(ec2: Ec2, clock: Clock, unseen: int, then: str | None) -> None:
    """After a lost answer the volume is searched by its tag, whatever a repetition was answered."""
    if then:
        ec2.refuses_repetition("create_volume", then, **ARGUMENTS)
    else:
        ec2.loses("create_volume", **ARGUMENTS)
    for _ in range(unseen):
        lay_search(ec2)
    lay_search(ec2, made(OTHER, OLD), made(DISK, NEW))
    assert create(ec2) == DISK
    assert len(clock.pauses) == unseen


def test_not_made(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the volume is not found, the error is raised: the SDK has already repeated the call."""
    monkeypatch.setattr(ec2.client, "describe_volumes", lambda **_: {"Volumes": []})
    ec2.loses("create_volume", **ARGUMENTS)
    with pytest.raises(ReadTimeoutError):
        create(ec2)
    assert 60 <= clock.now <= 66


def test_refused(ec2: Ec2, clock: Clock) -> None:
    """A refusal is raised unchanged, also after throttling."""
    ec2.refuses("create_volume", "VolumeLimitExceeded", **ARGUMENTS)
    ec2.refuses_after_throttling("create_volume", "VolumeLimitExceeded", **ARGUMENTS)
    for _ in range(2):
        with pytest.raises(ClientError, match="VolumeLimitExceeded"):
            create(ec2)
    assert clock.pauses == []


@pytest.mark.parametrize(
    ("entries", "found"),
    [
        ([], None),
        ([(OTHER, OLD)], None),
        ([(OTHER, OLD), (DISK, NEW)], DISK),
        ([(DISK, None)], DISK),
    ],
    ids=["none", "old", "both", "without a time"],
)
def test_find_marked(ec2: Ec2, entries: list[tuple[str, timedelta | None]], found: str | None) -> None:
    """A recent volume is found by its tag."""
    lay_search(ec2, {"VolumeId": "vol-0"}, *(made(disk_cid, age) for disk_cid, age in entries))
    assert volumes.find_marked(ec2.client, MARK) == found


def tagged(*keys: str, state: str = "available") -> dict[str, Any]:
    """Describe a volume with tags of these keys."""
    return {**entry(state), "Tags": [{"Key": key, "Value": "x"} for key in keys]}


@pytest.mark.parametrize(
    ("look", "is_used"),
    [
        (entry(), False),
        (tagged("a", "bosh_call"), False),
        (tagged("Owner", "aws:cloudformation:stack-id"), False),
        (tagged("a", "bosh_call", "attached_at"), True),
        (tagged("director"), True),
        *((look, True) for look in attached("attaching", "attached", "busy", "detaching")),
        *((look, False) for look in attached("detached")),
    ],
    ids=[
        *("untagged", "marked", "tags-of-others", "attached-before", "metadata"),
        *("attaching", "attached", "busy", "detaching", "detached"),
    ],
)
def test_used(ec2: Ec2, look: dict[str, Any], *, is_used: bool) -> None:
    """A volume with an attachment or a disk's metadata counts as used; other tags don't matter."""
    lay(ec2, look)
    assert volumes.is_used(volumes.find(ec2.client, DISK)) is is_used


@pytest.mark.parametrize(
    ("look", "age"),
    [
        *((look, NEW) for look in attached("attached")),
        (tagged("a", "bosh_call", "instance_id"), NEW),
        (entry("creating"), OLD),
    ],
    ids=["attached", "tagged", "old"],
)
def test_wait_for_anothers(ec2: Ec2, clock: Clock, look: dict[str, Any], age: timedelta) -> None:
    """The wait for a volume that is used or old ends at once: it belongs to another call."""
    lay(ec2, {**look, "CreateTime": ago(age)})
    with pytest.raises(volumes.NotCreated) as caught:
        volumes.wait_until_available(ec2.client, DISK, is_shared=True)
    assert caught.value.message == f"Volume '{DISK}' belongs to another call with the same request id"
    assert clock.pauses == []


def test_wait_for_an_unused_one(ec2: Ec2, clock: Clock) -> None:
    """The wait for an unused volume goes on."""
    lay(ec2, None, tagged("a", "bosh_call", state="creating"), tagged("a", "bosh_call"))
    volumes.wait_until_available(ec2.client, DISK, is_shared=True)
    assert len(clock.pauses) == 2


def test_wait_without_a_request(ec2: Ec2) -> None:
    """Without a request id the token is this call's alone, and the use of the volume does not matter."""
    lay(ec2, tagged("attached_at"))
    volumes.wait_until_available(ec2.client, DISK)


@pytest.mark.parametrize("looks", [[entry("error")], [entry("creating"), None]], ids=["failed", "gone"])
def test_wait_in_vain(ec2: Ec2, looks: list[dict[str, Any] | None]) -> None:
    """A volume that failed or is gone is an error after which another token can be used."""
    lay(ec2, *looks)
    with pytest.raises(volumes.NotCreated):
        volumes.wait_until_available(ec2.client, DISK, is_shared=True)


def test_wait_that_times_out(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A timeout is another error: the volume may still be created."""
    monkeypatch.setattr(ec2.client, "describe_volumes", lambda **_: {"Volumes": [entry("creating")]})
    with pytest.raises(CloudError) as caught:
        volumes.wait_until_available(ec2.client, DISK, is_shared=True)
    assert not isinstance(caught.value, volumes.NotCreated)
    assert clock.now >= 600


def test_copy_of_an_unknown_volume(ec2: Ec2) -> None:
    """A volume that EC2 no longer knows when it is copied is DiskNotFound."""
    ec2.refuses("copy_volumes", "InvalidVolume.NotFound", SourceVolumeId=DISK, ClientToken="t")
    with pytest.raises(DiskNotFound):
        volumes.copy(ec2.client, DISK, {"ClientToken": "t"}, MARK)
