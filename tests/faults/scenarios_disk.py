"""What is asked for disks and their snapshots."""

import json
from typing import Any

from tests.faults.scenario import Change, Scenario
from tests.faults.stage import Stage

GP3 = "gp3, iops 3000, throughput 125"
FREE = f"volume disk: 1 GiB {GP3}, available"
HELD = f"volume disk: 1 GiB {GP3}, in-use, attached to vm as /dev/sdf"
VM_WITHOUT, VM_WITH = (
    f"instance vm: t3.micro of image, running, {devices} [bosh_agent_id=agent-0]"
    for devices in ("/dev/xvda", "/dev/sdf /dev/xvda")
)
PATH = "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_"
TOLD, NOT_TOLD = (f"registry of vm: {json.dumps(disks)}" for disks in ({"disk": f"{PATH}disk"}, {}))
METADATA = {"director_name": "bosh", "deployment": "cf", "job": "db", "index": "0", "instance_id": "one"}
LOOK = "DescribeVolumesModifications"
CHANGING = ("DescribeVolumes", LOOK, "ModifyVolume", LOOK, LOOK)
CHANGED = {"ModifyVolume": ["modifying", "optimizing"]}
ATTACHED = Change(loses=(VM_WITHOUT, FREE), gains=(VM_WITH, HELD))
DETACHED = Change(loses=(VM_WITH, HELD), gains=(VM_WITHOUT, FREE))
UPDATE = ("DescribeVolumes", "CopyVolumes", "DescribeVolumes", "CreateTags", "DescribeVolumes")
OF_DIRECTOR = "bosh_director_uuid=director"
ENCRYPTED = GP3.replace("gp3", "gp3, encrypted True")
NEW = f"volume made: 2 GiB {ENCRYPTED}, available [bosh_call=…, {OF_DIRECTOR}, bosh_replaces=disk]"


def old(copy: str) -> str:
    """Write the line of a disk that was replaced by a copy."""
    return f"{FREE} [{OF_DIRECTOR}, bosh_replaced_by={copy}]"


def told(stage: Stage, *, is_attached: bool) -> list[Any]:
    """Have a VM, a disk, and the VM's settings in the registry."""
    vm_cid, disk_cid = stage.vm_with_disk() if is_attached else [stage.vm(), stage.disk()]
    disks = {disk_cid: PATH + disk_cid.replace("-", "")} if is_attached else {}
    stage.registry.documents[vm_cid] = json.dumps({"disks": {"persistent": disks}})
    return [vm_cid, disk_cid]


def and_registry(change: Change, loses: str, gains: str) -> Change:
    """Have a change told to the registry."""
    return Change((*change.loses, loses), (*change.gains, gains))


DISKS = (
    Scenario(
        name="has_disk",
        calls=("DescribeVolumes",),
        lay=lambda stage: [stage.disk()],
        result="true",
    ),
    Scenario(
        name="set_disk_metadata",
        calls=("CreateTags",),
        lay=lambda stage: [stage.disk(), {"deployment": "cf"}],
        success=Change([FREE], [f"{FREE} [deployment=cf]"]),
        is_in_place=True,
    ),
    Scenario(
        name="create_disk",
        calls=("DescribeInstances", "DescribeSnapshots", "CreateVolume", "DescribeVolumes"),
        lay=lambda stage: [2048, {"snapshot_id": stage.snapshot(), "tags": {"a": "b"}}, stage.vm()],
        result='"made"',
        success=Change(
            gains=[f"volume made: 2 GiB {GP3}, available [a=b, bosh_call=…, bosh_director_uuid=director]"]
        ),
    ),
    Scenario(
        name="attach_disk",
        calls=("DescribeInstances", "AttachVolume", "DescribeVolumes"),
        lay=lambda stage: [stage.vm(), stage.disk()],
        result=f'"{PATH}disk"',
        success=ATTACHED,
        is_in_place=True,
    ),
    Scenario(
        name="attach_disk of an old stemcell",
        calls=("DescribeInstances", "AttachVolume", "DescribeVolumes"),
        lay=lambda stage: told(stage, is_attached=False),
        success=and_registry(ATTACHED, NOT_TOLD, TOLD),
        is_in_place=True,
        version=1,
    ),
    Scenario(
        name="detach_disk",
        calls=("DetachVolume", "DescribeVolumes"),
        lay=lambda stage: stage.vm_with_disk(),
        success=DETACHED,
        is_in_place=True,
    ),
    Scenario(
        name="detach_disk of an old stemcell",
        calls=("DetachVolume", "DescribeVolumes"),
        lay=lambda stage: told(stage, is_attached=True),
        success=and_registry(DETACHED, TOLD, NOT_TOLD),
        is_in_place=True,
        version=1,
    ),
    Scenario(
        name="delete_disk",
        calls=("DeleteVolume", "DescribeVolumes"),
        lay=lambda stage: [stage.disk()],
        success=Change([FREE]),
        is_in_place=True,
    ),
    Scenario(
        name="resize_disk",
        calls=CHANGING,
        states=CHANGED,
        lay=lambda stage: [stage.disk(), 2048],
        success=Change([FREE], [f"volume disk: 2 GiB {GP3}, available"]),
        is_in_place=True,
    ),
    Scenario(
        name="update_disk",
        calls=CHANGING,
        states=CHANGED,
        lay=lambda stage: [stage.disk(), 4096, {"type": "io2", "iops": 500}],
        success=Change([FREE], ["volume disk: 4 GiB io2, iops 500, available"]),
        is_in_place=True,
    ),
    Scenario(
        name="update_disk by a copy",
        calls=UPDATE,
        lay=lambda stage: [stage.disk(), 2048, {"encrypted": True}],
        result='"made"',
        success=Change([FREE], [old("made"), NEW]),
    ),
    Scenario(
        name="snapshot_disk",
        calls=("DescribeVolumes", "DescribeSnapshots", "CreateSnapshot", *("DescribeSnapshots",) * 2),
        states={"CreateSnapshot": ["pending", "completed"]},
        lay=lambda stage: [stage.disk(), METADATA],
        result='"made"',
        success=Change(
            gains=[
                (
                    "snapshot made: 1 GiB, completed, 'cf/db/0' [Name=cf/db/0, bosh_call=…, "
                    "bosh_director_uuid=director, deployment=cf, director=bosh, instance_id=one, "
                    "instance_index=0, instance_name=db/one]"
                )
            ]
        ),
    ),
    Scenario(
        name="delete_snapshot",
        calls=("DeleteSnapshot",),
        lay=lambda stage: [stage.snapshot()],
        success=Change(["snapshot snapshot: 1 GiB, completed, ''"]),
        is_in_place=True,
    ),
)
