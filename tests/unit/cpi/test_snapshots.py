"""The wait for a snapshot that an earlier attempt at the request took."""

from datetime import timedelta

from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.identity import call_id
from bosh_aws_cpi.cpi.snapshots import snapshot_disk
from bosh_aws_cpi.plan.tag_plan import CALL_TAG
from tests.unit.aws.looks import DISK, tagged, volume
from tests.unit.aws.timing_script import ago
from tests.unit.conftest import Clock, Stub


def test_completed(cloud: Cloud, ec2: Stub, clock: Clock) -> None:
    """The snapshot may be completed, so the call looks at once."""
    cloud.config = cloud.config.replace(request_id="cpi-1")
    mark = {CALL_TAG: call_id(cloud, "snapshot_disk", DISK, {})}
    shown = {"SnapshotId": "snap-1", "VolumeId": DISK, "State": "completed", "Tags": tagged(**mark)}
    ec2.keeps("describe_volumes", {"Volumes": [volume()]})
    ec2.keeps("describe_snapshots", {"Snapshots": [{**shown, "StartTime": ago(timedelta(minutes=1))}]})
    assert snapshot_disk(cloud, DISK, {}) == "snap-1"
    assert clock.pauses == []
