"""Answers of AWS that lack a member which the program needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from testbed.cloud import FakeAws
    from testbed.executable import Cpi
    from testbed.world import World
    from tests.protocols import CreateVm, CreateVolume, RunInstance

pytestmark = pytest.mark.usefixtures("hasty")


@pytest.mark.parametrize(
    ("pattern", "lacking"),
    [
        (r"<instanceState>.*?</instanceState>", "'State'"),
        (r"<instanceId>.*?</instanceId>", "'InstanceId'"),
        (r"<instancesSet>.*</instancesSet>", "'Instances'"),
    ],
)
def test_vm(cpi: Cpi, vm: RunInstance, fake_aws: FakeAws, pattern: str, lacking: str) -> None:
    """The error names the call and the member, is no bug of the program, and may be gone at a retry."""
    vm_cid = vm()
    fake_aws.rule(action="DescribeInstances", replace=[[pattern, ""]])
    error = cpi.call("has_vm", vm_cid).error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", True)
    assert error["message"] == (
        f"AWS could not be called: its answer lacks {lacking}. Is there a proxy in between? "
        f"(ec2:DescribeInstances for {vm_cid}). "
        "Check env.https_proxy and aws.ec2_endpoint, or create a VPC endpoint for it"
    )


def test_volume_without_id(cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """A volume that was created, but whose id is not in the answer, is found and returned."""
    fake_aws.rule(action="CreateVolume", replace=[[r"<volumeId>.*?</volumeId>", ""]])
    disk_cid = cpi.call("create_disk", 1024, {}).ok()
    assert world.state()["volumes"] == [disk_cid]


def test_snapshot_without_id(cpi: Cpi, world: World, disk: CreateVolume, fake_aws: FakeAws) -> None:
    """So is a snapshot, whose creation takes no client token."""
    disk_cid = disk()
    fake_aws.rule(action="CreateSnapshot", replace=[[r"<snapshotId>.*?</snapshotId>", ""]])
    snapshot_id = cpi.call("snapshot_disk", disk_cid, {}).ok()
    assert world.state()["snapshots"] == [snapshot_id]


@pytest.mark.parametrize(
    "replaced",
    [
        [r"<instancesSet>.*</instancesSet>", ""],
        [r"<instancesSet>.*</instancesSet>", "<instancesSet/>"],
        [r"<instanceState>.*?</instanceState>", ""],
    ],
)
def test_instance_without_id(
    create_vm: CreateVm, world: World, fake_aws: FakeAws, replaced: list[str]
) -> None:
    """So is an instance."""
    fake_aws.rule(action="RunInstances", replace=[replaced])
    assert create_vm().ok()[0] in world.state()["instances"]
    assert len(world.state()["instances"]) == 1


@pytest.mark.parametrize("garbled", ["10.0.0.0/99", "nonsense"])
def test_range_of_vpc(cpi: Cpi, world: World, fake_aws: FakeAws, garbled: str) -> None:
    """A range that can't be read is an error of the answer, too, and not of the program."""
    block = f"<cidrBlock>{garbled}</cidrBlock>"
    fake_aws.rule(action="DescribeVpcs", replace=[[r"<cidrBlock>.*?</cidrBlock>", block]])
    network = {"type": "manual", "netmask_bits": 24, "cloud_properties": {"vpc_id": world.vpc_id}}
    error = cpi.call("create_network", network).error
    assert error == {
        "type": "Bosh::Clouds::CloudError",
        "message": "AWS could not be called: its answer has an address or range that is not valid. "
        "Is there a proxy in between? Check env.https_proxy and the endpoints in aws",
        "ok_to_retry": True,
    }
    assert "CreateSubnet" not in fake_aws.actions()
