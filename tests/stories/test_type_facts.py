"""What is known of instance types: asked from EC2 once a day, and looked up where it may not be asked."""

from collections.abc import Callable

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi, finish
from testbed.world import World
from tests.protocols import (
    CpiWith,
    CreateVm,
    CreateVolume,
    ReadSettings,
    ReadWarnings,
    RunInstance,
    StartVm,
    WriteNetwork,
)

ASKING = "DescribeInstanceTypes"
DENIED = {"code": "UnauthorizedOperation", "message": "You are not authorized.", "status": 403}
ODD = {"code": "InvalidInstanceType", "message": "The following supplied instance types do not exist: [x]"}
NVME = "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_"
RAW = {"instance_type": "m5d.4xlarge", "raw_instance_storage": True}
"""What can't be launched without the type's facts."""


def test_kept_between_processes(
    create_vm: CreateVm,
    vm: RunInstance,
    disk: CreateVolume,
    network: WriteNetwork,
    cpi: Cpi,
    fake_aws: FakeAws,
    world: World,
) -> None:
    """A type is asked for once, and not to attach a disk; what was kept is private, and may be damaged."""
    create_vm(RAW).ok()
    vm_cid, disk_cid = vm("m5d.4xlarge"), disk()
    path = cpi.call("attach_disk", vm_cid, disk_cid, stemcell=2).ok()
    assert path == NVME + disk_cid.replace("-", "")
    assert ASKING not in fake_aws.actions()
    create_vm(RAW, {"a": network()}, agent_id="agent-3").ok()
    assert fake_aws.actions().count(ASKING) == 0

    folder = cpi.folder / ".cache" / "bosh-aws-cpi"
    assert folder.stat().st_mode & 0o777 == 0o700
    (kept,) = folder.iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.write_text('{"name": "m5d.4xlarge", "asked_at": 1')
    world.ec2.terminate_instances(InstanceIds=world.state()["instances"])
    create_vm(RAW, agent_id="agent-2").ok()
    assert fake_aws.actions().count(ASKING) == 1


def test_kept_by_processes_at_once(
    start_vm: StartVm,
    network: WriteNetwork,
    cpi: Cpi,
    fake_aws: FakeAws,
) -> None:
    """Processes that run at once all get their answer, and leave one that is whole."""
    fake_aws.rule(action=ASKING, nth=1, hold=True)
    first = start_vm(RAW, {"a": network()}, agent_id="agent-1")
    assert fake_aws.wait_until_held() == [ASKING]
    second = start_vm(RAW, {"a": network()}, agent_id="agent-2")
    assert finish(second).ok()
    fake_aws.release()
    assert finish(first).ok()
    assert len(list((cpi.folder / ".cache" / "bosh-aws-cpi").iterdir())) == 1
    third = start_vm(RAW, {"a": network()}, agent_id="agent-3")
    assert finish(third).ok()
    assert fake_aws.actions().count(ASKING) == 2


@pytest.mark.parametrize("is_asked", [True, False], ids=["denied", "switched-off"])
def test_built_in_table(
    create_vm: CreateVm,
    cpi_with: CpiWith,
    settings: ReadSettings,
    warnings: ReadWarnings,
    fake_aws: FakeAws,
    *,
    is_asked: bool,
) -> None:
    """Where EC2 may not be asked a table answers: with one warning, unless the question is switched off."""
    fake_aws.rule(action=ASKING, error=DENIED)
    cpi = cpi_with(enable_describe_instance_types=is_asked)
    answer = create_vm({**RAW, "instance_type_fallbacks": ["i4i.large"]}, executable=cpi)
    vm_cid = answer.ok()[0]
    raw = [entry["path"] for entry in settings(vm_cid)["disks"]["raw_ephemeral"]]
    assert raw == ["/dev/nvme0n1", "/dev/nvme1n1"]
    assert fake_aws.actions().count(ASKING) == int(is_asked)
    told = warnings(answer)
    assert len(told) == int(is_asked)
    assert all("ec2:DescribeInstanceTypes" in line and "enable_describe" in line for line in told)


def test_unknown_type(
    create_vm: CreateVm,
    devices: Callable[[], dict[str, dict[str, str]]],
    warnings: ReadWarnings,
    fake_aws: FakeAws,
) -> None:
    """A type that EC2 does not know is warned about; the others of its list are asked for by themselves."""
    known = {"instance_type": "m5.large", "instance_type_fallbacks": ["t9.odd"]}
    fake_aws.rule(action=ASKING, where={"InstanceType.1": "t9.odd"}, error=ODD)
    fake_aws.rule(action=ASKING, where={"InstanceType.2": "t9.odd"}, error=ODD)
    answer = create_vm(known)
    assert answer.ok()
    assert devices()["/dev/sdb"]["VolumeSize"] == "10"
    assert warnings(answer) == [
        "EC2 does not know instance type 't9.odd': assuming that it has no NVMe instance storage"
    ]
    assert fake_aws.actions().count(ASKING) == 3


def test_failing_question(create_vm: CreateVm, fake_aws: FakeAws, world: World) -> None:
    """Another refusal of the question ends the call before anything is made."""
    fake_aws.rule(action=ASKING, error={"code": "AuthFailure", "message": "Wrong key.", "status": 401})
    error = create_vm().error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
    assert f"{ASKING} failed with AuthFailure: Wrong key." in error["message"]
    assert world.state() == world.empty
