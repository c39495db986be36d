"""create_disk made twice: the same request finds the disk that the first one made, unless it is used."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from botocore.parsers import ResponseParserError

from bosh_aws_cpi.aws.sdk.idempotency import RECENT
from bosh_aws_cpi.aws.sdk.timing import LOST_SEEN
from bosh_aws_cpi.cpi.disks.create import create_disk
from bosh_aws_cpi.errors import CloudError
from tests.unit.aws.timing_script import refusal
from tests.unit.cpi.volume_makings import ATTACHED, GONE, LOST, TAGGED, ZONES, Ebs

if TYPE_CHECKING:
    from collections.abc import Callable

    from bosh_aws_cpi.cpi.cloud import Cloud
    from tests.unit.conftest import Clock

pytestmark = pytest.mark.usefixtures("undone")


@pytest.fixture
def ebs(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> Ebs:
    """Return EBS as the cloud has it."""
    fake = Ebs()
    for name in ("create_volume", "describe_volumes", "describe_availability_zones", "delete_volume"):
        monkeypatch.setattr(cloud.ec2, name, getattr(fake, name))
    return fake


@pytest.fixture
def ask(cloud: Cloud) -> Callable[..., str]:
    """Return a request to make a disk, which has a number or none."""

    def request(number: str | None = "cpi-1", size: int = 1024, **properties: Any) -> str:
        cloud.config = cloud.config.replaced(request_id=number)
        return create_disk(cloud, size, properties, None)

    return request


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("cpi-1",), ("cpi-2",)),
        (("cpi-1", 1024), ("cpi-1", 2048)),
        ((None,), (None,)),
    ],
    ids=["other number", "other size", "no number"],
)
def test_other_requests(
    ebs: Ebs, ask: Callable[..., str], one: tuple[Any, ...], other: tuple[Any, ...]
) -> None:
    """Another request, or one without a number, gets a disk of its own."""
    assert [ask(*one), ask(*other)] == ["vol-0", "vol-1"]
    assert ebs.mark(0) != ebs.mark(1)


def test_mark(ebs: Ebs, ask: Callable[..., str]) -> None:
    """The disk is tagged with what its client token is: after a lost answer it is found by that."""
    ask()
    assert ebs.mark(0) == ebs.made[0]["ClientToken"]


def test_same_number_by_chance(ebs: Ebs, ask: Callable[..., str]) -> None:
    """A request of the same number that wants the very same, much later, gets a disk of its own."""
    ask()
    ebs.age = RECENT + timedelta(minutes=5)
    assert ask() == "vol-1"
    assert_its_own(ebs)


def assert_its_own(ebs: Ebs) -> None:
    """Check that the second disk was made under a token of its own, and is found by that."""
    first, second = (each["ClientToken"] for each in ebs.made)
    assert (ebs.mark(0), ebs.mark(1)) == (first, second)
    assert str(uuid.UUID(second)) == second != first


@pytest.mark.parametrize("became", [ATTACHED, TAGGED, GONE], ids=["attached", "tagged", "gone"])
def test_used_disk(ebs: Ebs, ask: Callable[..., str], became: dict[str, Any] | Exception) -> None:
    """A disk that is used, or gone, is another request's of that number: this one gets its own."""
    ask()
    ebs.became["vol-0"] = became
    assert ask() == "vol-1"
    assert_its_own(ebs)
    assert set(ebs.deleted) <= ({"vol-0"} if became is GONE else set())


def test_other_arguments(ebs: Ebs, ask: Callable[..., str], cloud: Cloud) -> None:
    """So it is when EC2 knows the token with other arguments: the configuration was changed in between."""
    ask()
    aws = cloud.config.aws.replaced(encrypted=True)
    cloud.config = cloud.config.replaced(aws=aws)
    assert ask() == "vol-1"
    assert_its_own(ebs)


def test_failed_disk(ebs: Ebs, ask: Callable[..., str]) -> None:
    """A disk that EBS could not make is followed by another one, and does not stay."""
    ebs.became["vol-0"] = {"State": "error"}
    assert ask() == "vol-1"
    assert ebs.deleted == ["vol-0"]


def test_lost_answer(ebs: Ebs, ask: Callable[..., str], clock: Clock) -> None:
    """A disk of its own whose making was not answered is found, and not the used one."""
    ask()
    ebs.became["vol-0"] = ATTACHED
    ebs.lost = {2}
    assert ask() == "vol-1"
    assert_its_own(ebs)
    assert clock.now < LOST_SEEN.seconds


def test_once_more_only(ebs: Ebs, ask: Callable[..., str]) -> None:
    """Another token is tried once; then all that was made is removed."""
    ebs.became = {"vol-0": {"State": "error"}, "vol-1": {"State": "error"}}
    with pytest.raises(CloudError, match="EBS could not create volume 'vol-1'"):
        ask()
    assert sorted(ebs.deleted) == ["vol-0", "vol-1"]


@pytest.mark.parametrize(
    ("became", "stays"),
    [
        ({}, False),
        (ATTACHED, True),
        (TAGGED, True),
        (refusal("UnauthorizedOperation"), False),
        (LOST, False),
        (ResponseParserError("x"), False),
    ],
    ids=["untouched", "attached", "tagged", "look refused", "look lost", "look unreadable"],
)
def test_undo(
    ebs: Ebs,
    ask: Callable[..., str],
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    became: dict[str, Any] | Exception,
    *,
    stays: bool,
) -> None:
    """A call that fails removes its disk, unless that is seen to be used: then it is another request's."""

    def fail(*_: object, **__: object) -> None:
        ebs.became["vol-0"] = became
        raise CloudError("said")

    monkeypatch.setattr("bosh_aws_cpi.aws.volumes.wait_until_available", fail)
    with pytest.raises(CloudError, match="said"):
        ask()
    assert ebs.deleted == ([] if stays else ["vol-0"])
    assert clock.now == 0


def test_zones(ebs: Ebs, ask: Callable[..., str]) -> None:
    """Different requests spread over the zones."""
    for number in range(40):
        ask(f"cpi-{number}")
    zones = {each["AvailabilityZone"] for each in ebs.made}
    assert zones <= set(ZONES)
    assert len(zones) > 3
