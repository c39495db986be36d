"""One environment through all that create-env can be asked for."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed.environment import Environment, register_image, write_stemcell
from testbed.hypervisor import Hypervisor
from testbed.world import World
from tests.e2e.life import FRESH, GONE, NEW_DISK, NEW_VM, Life

pytestmark = pytest.mark.timeout(3600)


def test_life(
    environment: Environment,
    hypervisor: Hypervisor,
    world: World,
    disk_of: Callable[[Environment], dict[str, Any]],
    tmp_path: Path,
) -> None:
    """Fresh, again, with a larger disk, another type, another stemcell, and gone: each as it should be."""
    other_image = register_image(world.ec2, "another-light-stemcell")
    life = Life(environment, hypervisor, world, disk_of)

    # Fresh.
    run, machine, disk = life.create(*FRESH)
    assert (disk["Size"], disk["VolumeType"]) == (20, "gp3")
    assert "registry" not in machine.settings

    # Again, with nothing changed: the CPI is not even started.
    run, unchanged, _ = life.create()
    assert "No deployment, stemcell or release changes" in run.output
    assert run.calls == []
    assert unchanged is machine

    # A larger disk: its content moves.
    environment.disk_size = 40_960
    run, grown, larger = life.create(*NEW_VM, *NEW_DISK)
    assert "Migrating disk content" in run.output
    assert grown.migrations == [(disk["VolumeId"], larger["VolumeId"])]
    assert larger["Size"] == 40
    assert grown.settings["agent_id"] != machine.settings["agent_id"]

    # Another type: another VM with the same disk.
    environment.instance_type = "m5.xlarge"
    run, recreated, disk = life.create(*NEW_VM)
    (create_vm,) = (call for call in run.calls if call.method == "create_vm")
    assert create_vm.request["arguments"][4] == [larger["VolumeId"]]
    assert recreated.instance_id != grown.instance_id
    assert world.instance(recreated.instance_id)["InstanceType"] == "m5.xlarge"
    assert disk["VolumeId"] == larger["VolumeId"]

    # Another stemcell: another VM of another image with the same disk.
    environment.stemcell = write_stemcell(tmp_path, other_image, "1.2", 3)
    run, restemmed, disk = life.create("create_stemcell", *NEW_VM, "delete_stemcell")
    assert world.instance(restemmed.instance_id)["ImageId"] == other_image
    assert disk["VolumeId"] == larger["VolumeId"]
    assert [each["version"] for each in environment.state["stemcells"]] == ["1.2"]

    # Gone.
    run = life.delete()
    assert run.methods == GONE
    assert environment.state == {}
