"""create_disk made twice: the same request finds the disk that the first one made."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from bosh_aws_cpi.aws.once import RECENT
from bosh_aws_cpi.cpi.disk_creation import create_disk
from bosh_aws_cpi.plan.tags import CALL_TAG

if TYPE_CHECKING:
    from collections.abc import Callable

    from bosh_aws_cpi.cpi.cloud import Cloud

pytestmark = pytest.mark.usefixtures("undone")

NOW = datetime.now(UTC)
ZONES = [f"us-east-1{letter}" for letter in "abcdef"]


class Ebs:
    """EBS that answers a client token which it knows with the volume that it stands for.

    Attributes:
        made: The arguments of each call that made a volume, in their order.
        age: Of the volume that is answered, when it was made by an earlier call.
    """

    def __init__(self) -> None:
        """Hold nothing."""
        self.made: list[dict[str, Any]] = []
        self.age = timedelta(minutes=5)

    def create_volume(self, **arguments: Any) -> dict[str, Any]:
        """Make a volume, unless the token is known."""
        tokens = [each["ClientToken"] for each in self.made]
        if arguments["ClientToken"] in tokens:
            number = tokens.index(arguments["ClientToken"])
            assert self.made[number] == arguments
            return {"VolumeId": f"vol-{number}", "CreateTime": NOW - self.age}
        self.made.append(arguments)
        return {"VolumeId": f"vol-{len(self.made) - 1}", "CreateTime": NOW}

    def describe_volumes(self, VolumeIds: list[str]) -> dict[str, Any]:  # noqa: N803 - EC2's name
        """Show a volume."""
        kind = {"Size": 1, "VolumeType": "gp3", "Encrypted": False, "AvailabilityZone": "z"}
        return {"Volumes": [{"VolumeId": VolumeIds[0], "State": "available", **kind}]}

    def describe_availability_zones(self, **_: Any) -> dict[str, Any]:
        """Show all zones."""
        return {"AvailabilityZones": [{"ZoneName": zone} for zone in ZONES]}

    def mark(self, number: int) -> str:
        """Return the id of the call that made a volume, as its tag says."""
        (specification,) = self.made[number]["TagSpecifications"]
        return next(str(tag["Value"]) for tag in specification["Tags"] if tag["Key"] == CALL_TAG)


@pytest.fixture
def ebs(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> Ebs:
    """Return EBS as the cloud has it."""
    fake = Ebs()
    for name in ("create_volume", "describe_volumes", "describe_availability_zones"):
        monkeypatch.setattr(cloud.ec2, name, getattr(fake, name))
    return fake


@pytest.fixture
def ask(cloud: Cloud) -> Callable[..., str]:
    """Return a request to make a disk, which has a number or none."""

    def request(number: str | None = "cpi-1", size: int = 1024, **properties: Any) -> str:
        cloud.config = replace(cloud.config, request_id=number)
        return create_disk(cloud, size, properties, None)

    return request


def test_again(ebs: Ebs, ask: Callable[..., str]) -> None:
    """The same request is answered with the same disk: all that it asks EC2 for is equal, the zone too."""
    assert [ask(type="gp2"), ask(type="gp2")] == ["vol-0", "vol-0"]
    assert len(ebs.made) == 1


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


def test_zones(ebs: Ebs, ask: Callable[..., str]) -> None:
    """Different requests spread over the zones."""
    for number in range(40):
        ask(f"cpi-{number}")
    zones = {each["AvailabilityZone"] for each in ebs.made}
    assert zones <= set(ZONES)
    assert len(zones) > 3
