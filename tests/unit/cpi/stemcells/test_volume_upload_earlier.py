"""What an upload by way of a volume left when it was killed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws.sdk.idempotency import RECENT
from bosh_aws_cpi.cpi.stemcells.volume_upload import discard_earlier
from tests.unit.cpi.volume_uploads import DISK, PAIR, lay_deleted, lay_removed, lay_volume

if TYPE_CHECKING:
    from bosh_aws_cpi.cpi.cloud import Cloud
    from tests.unit.conftest import Ec2

MARK = ("bosh_stemcell", "call-1")
NOW = datetime.now(UTC)


def lay_search(ec2: Ec2, *made: datetime) -> None:
    """Lay out the question for the volume of this request."""
    found: dict[str, Any] = {"Volumes": [{"VolumeId": DISK, "CreateTime": when} for when in made]}
    ec2.answers("describe_volumes", found, Filters=[{"Name": "tag:bosh_stemcell", "Values": ["call-1"]}])


@pytest.mark.parametrize("made", [[], [NOW - 2 * RECENT]], ids=["none", "an old one"])
def test_nothing(cloud: Cloud, ec2: Ec2, made: list[datetime]) -> None:
    """Nothing is removed when there is none, or only another request's."""
    lay_search(ec2, *made)
    discard_earlier(cloud, MARK)


def test_attached(cloud: Cloud, ec2: Ec2) -> None:
    """A volume that is still attached comes off by force, and goes."""
    lay_search(ec2, NOW)
    lay_volume(ec2, "in-use", "attached")
    lay_removed(ec2)
    discard_earlier(cloud, MARK)


def test_unattached(cloud: Cloud, ec2: Ec2) -> None:
    """One that was not attached yet goes."""
    lay_search(ec2, NOW)
    lay_volume(ec2, "available")
    lay_deleted(ec2)
    discard_earlier(cloud, MARK)


def test_going(cloud: Cloud, ec2: Ec2) -> None:
    """One that is gone by the time that it is looked at was being removed when the call was killed."""
    lay_search(ec2, NOW)
    ec2.refuses("describe_volumes", "InvalidVolume.NotFound", VolumeIds=[DISK])
    discard_earlier(cloud, MARK)


def test_refused(cloud: Cloud, ec2: Ec2) -> None:
    """What can't be removed is told: nobody would look for it later."""
    lay_search(ec2, NOW)
    lay_volume(ec2, "in-use", "attached")
    ec2.refuses("detach_volume", "UnauthorizedOperation", **PAIR, Force=True)
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        discard_earlier(cloud, MARK)
