"""Block devices on the disks that are part of the host: the instance store."""

from functools import partial
from typing import Any

import pytest

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import Encryption, Image, InstanceTypeFacts
from bosh_aws_cpi.plan.block_devices import BlockDevices, plan_devices
from bosh_aws_cpi.plan.disk_defaults import DiskDefaults
from bosh_aws_cpi.properties.types import Review, refuse
from bosh_aws_cpi.properties.vm import VmProperties

PLAIN = Encryption()
xen = partial(InstanceTypeFacts, ebs_needs_nvme_path=False)
NVME = xen("i3.2xlarge", store_disks=2, store_gib=1900, store_is_nvme=True)
XEN = xen("d2.xlarge", store_disks=3, store_gib=2048)


def plan(
    facts: InstanceTypeFacts, default: Encryption = PLAIN, kind: str = "hvm", **given: Any
) -> BlockDevices:
    """Plan the devices of a VM of this type, with these properties."""
    image = Image("ami-1", "", kind, "x86_64", [], ["snap-1"])
    properties = VmProperties.model_validate({"instance_type": "t3.nano", "availability_zone": "z", **given})
    devices = plan_devices(properties, image, facts, DiskDefaults(default), review := Review())
    refuse(review.problems)
    return devices


def ephemeral(size: int = 10) -> dict[str, Any]:
    """Describe an ephemeral disk of EBS."""
    ebs = {"VolumeSize": size, "VolumeType": "gp3", "DeleteOnTermination": True}
    return {"DeviceName": "/dev/sdb", "Ebs": ebs}


def test_many_raw_disks() -> None:
    """24 disks, the most there are, get 24 names under either kind of AMI."""
    facts = xen("hs1.8xlarge", store_disks=24, store_gib=2000)
    for kind, last in (("hvm", "/dev/xvdbx"), ("paravirtual", "/dev/sdz")):
        names = plan(facts, kind=kind, raw_instance_storage=True).raw_ephemeral
        assert (len(set(names)), names[-1]) == (24, last)


def test_raw_with_an_unknown_kind_of_image() -> None:
    """For an unknown virtualization type the names of the disks are unknown."""
    with pytest.raises(CloudError, match="unknown virtualization type not-made-yet"):
        plan(XEN, kind="not-made-yet", raw_instance_storage=True)
    assert len(plan(NVME, kind="not-made-yet", raw_instance_storage=True).raw_ephemeral) == 2


@pytest.mark.parametrize(("disk", "size"), [({"size": 2048}, 2), ({"type": "gp3", "size": None}, 10)])
def test_ephemeral_disk_beside_a_raw_store(disk: dict[str, Any], size: int) -> None:
    """The ephemeral disk does not stand in for an instance store that the agent uses itself."""
    known = xen("i3.large", store_disks=1, store_gib=475, store_is_nvme=True)
    assert plan(known, raw_instance_storage=True, ephemeral_disk=disk).mappings[0] == ephemeral(size)
    assert plan(known).mappings[0] == ephemeral(475)
