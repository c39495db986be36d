"""BATS, raw_ephemeral_disk_spec.rb: the disks of the instance store."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.e2e.bats.director import Director, Instance


def test_should_attach_all_available_instance_disks(director: Director, batlight: Instance) -> None:
    """The agent is told of each disk of the instance store; labelling them needs real devices."""
    batlight.properties = {"instance_type": "m5d.4xlarge", "raw_instance_storage": True}
    director.deploy(batlight, size=0)
    told = director.machine(batlight).settings["disks"]["raw_ephemeral"]
    assert [disk["Path"] for disk in told] == ["/dev/nvme0n1", "/dev/nvme1n1"]
