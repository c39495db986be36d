"""create-env when AWS refuses something midway: what the operator reads, what is left, and the way on."""

import pytest

from testbed.cloud import FakeAws
from testbed.environment import Environment
from testbed.hypervisor import Hypervisor
from testbed.world import World

pytestmark = pytest.mark.timeout(3600)


def refuse(fake_aws: FakeAws, action: str, code: str, message: str) -> None:
    """Have AWS refuse an action until the rules are cleared."""
    fake_aws.refuse(action, code, message)


def test_disk_that_cannot_be_attached(
    environment: Environment, hypervisor: Hypervisor, world: World, fake_aws: FakeAws
) -> None:
    """The operator reads AWS's reason; the next run finishes with one VM, one disk and nothing over."""
    refuse(fake_aws, "AttachVolume", "UnauthorizedOperation", "You are not allowed to attach volumes.")
    failed = environment.create()
    output = failed.failed()
    assert "UnauthorizedOperation" in output
    assert "You are not allowed to attach volumes." in output
    assert "Traceback" not in output
    fake_aws.clear_rules()

    environment.create().ok()
    (machine,) = hypervisor.settle()
    (disk,) = environment.state["disks"]
    state = world.state()
    assert state["instances"] == [machine.instance_id]
    assert disk["cid"] in state["volumes"]
    assert len(state["volumes"]) == 3
    assert machine.mounts == {"/var/vcap/store": disk["cid"]}

    environment.delete().ok()
    assert world.state() == world.empty
    assert hypervisor.settle() == []


def test_vm_that_cannot_be_launched(
    environment: Environment, hypervisor: Hypervisor, world: World, fake_aws: FakeAws
) -> None:
    """A VM that AWS has no room for leaves nothing behind; delete-env then succeeds, with no registry."""
    refuse(fake_aws, "RunInstances", "InsufficientInstanceCapacity", "There is no room.")
    output = environment.create().failed()
    assert "InsufficientInstanceCapacity" in output
    assert "There is no room." in output
    assert world.state() == world.empty
    assert hypervisor.settle() == []

    run = environment.delete()
    run.ok()
    assert run.methods == ["delete_stemcell"]
    assert world.state() == world.empty
