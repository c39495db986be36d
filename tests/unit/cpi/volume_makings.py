"""EBS as create_disk meets it: client tokens, and what became of the volumes behind them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ReadTimeoutError

from bosh_aws_cpi.plan.tags import CALL_TAG
from tests.unit.aws.timing_script import ago, refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

LOST = ReadTimeoutError(endpoint_url="http://h/")
GONE = refusal("InvalidVolume.NotFound")
ATTACHED = {
    "State": "in-use",
    "Attachments": [{"InstanceId": "i-1", "State": "attached", "Device": "/dev/sdf"}],
}
TAGGED = {"Tags": [{"Key": "attached_at", "Value": "x"}]}
ZONES = [f"us-east-1{letter}" for letter in "abcdef"]


class Ebs:
    """EBS that answers a client token which it knows with the volume that it stands for.

    Attributes:
        made: The arguments of each call that made a volume, in their order.
        age: Of the volume that is answered, when it was made by an earlier call.
        became: What became of some of the volumes: how they differ from new ones, or an error.
        deleted: The volumes that were deleted.
        lost: Which makings are not answered, from 1 on.
    """

    def __init__(self) -> None:
        """Hold nothing."""
        self.made: list[dict[str, Any]] = []
        self.age = timedelta(minutes=5)
        self.became: dict[str, dict[str, Any] | Exception] = {}
        self.deleted: list[str] = []
        self.lost: set[int] = set()

    def create_volume(self, **arguments: Any) -> dict[str, Any]:
        """Make a volume, unless the token is known."""
        tokens = [each["ClientToken"] for each in self.made]
        if arguments["ClientToken"] in tokens:
            number = tokens.index(arguments["ClientToken"])
            if self.made[number] != arguments:
                raise refusal("IdempotentParameterMismatch")
            made = {"CreateTime": ago(self.age)}
            self.became.setdefault(f"vol-{number}", made)
            return {"VolumeId": f"vol-{number}", **made}
        self.made.append(arguments)
        if len(self.made) in self.lost:
            raise LOST
        return {"VolumeId": f"vol-{len(self.made) - 1}", "CreateTime": ago(timedelta(0))}

    def describe_volumes(
        self,
        VolumeIds: Sequence[str] = (),  # noqa: N803 - EC2's name
        Filters: Sequence[dict[str, Any]] = (),  # noqa: N803
    ) -> dict[str, Any]:
        """Show volumes: those of these ids, or those that carry a mark."""
        marks = [value for each in Filters for value in each["Values"]]
        marked = [f"vol-{number}" for number in range(len(self.made)) if self.mark(number) in marks]
        return {"Volumes": [self._shown(disk_cid) for disk_cid in VolumeIds or marked]}

    def _shown(self, disk_cid: str) -> dict[str, Any]:
        became = GONE if disk_cid in self.deleted else self.became.get(disk_cid, {})
        if isinstance(became, Exception):
            raise became
        kind = {"Size": 1, "VolumeType": "gp3", "Encrypted": False, "AvailabilityZone": "z"}
        (specification,) = self.made[int(disk_cid.removeprefix("vol-"))]["TagSpecifications"]
        entry = {"VolumeId": disk_cid, "State": "available", "Tags": specification["Tags"], **kind}
        return {**entry, **became}

    def delete_volume(self, VolumeId: str) -> None:  # noqa: N803 - EC2's name
        """Delete a volume, unless it is gone."""
        if self.became.get(VolumeId) is GONE:
            raise GONE
        self.deleted.append(VolumeId)

    def describe_availability_zones(self, **_: Any) -> dict[str, Any]:
        """Show all zones."""
        return {"AvailabilityZones": [{"ZoneName": zone} for zone in ZONES]}

    def mark(self, number: int) -> str:
        """Return the id of the call that made a volume, as its tag says."""
        (specification,) = self.made[number]["TagSpecifications"]
        return next(str(tag["Value"]) for tag in specification["Tags"] if tag["Key"] == CALL_TAG)
