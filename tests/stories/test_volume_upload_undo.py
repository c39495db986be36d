"""Heavy stemcells by way of a volume, when something fails: the volume is detached and deleted."""

from collections.abc import Callable

import pytest

from testbed.cloud import FakeAws
from testbed.world import World
from tests.protocols import WriteError
from tests.stories.own_vm import OwnVm

pytestmark = pytest.mark.usefixtures("hasty")


Made = Callable[[], dict[str, list[str]]]

INVALID = {"code": "InvalidRequest", "message": "No.", "status": 400}
NO_COPY = "Unable to copy stemcell root image: "


@pytest.fixture(autouse=True)
def attached_disk(own_vm: OwnVm) -> None:
    """Let the kernel show the disk."""
    own_vm.shows_disk_as("xvdf")


def test_volume_that_stays(own_vm: OwnVm, fake_aws: FakeAws, made: Made) -> None:
    """A volume that can't be deleted is logged, and the stemcell is created all the same."""
    fake_aws.rule(action="DeleteVolume", error=INVALID)
    answer = own_vm.create()
    assert answer.ok() in made()["images"]
    (volume_id,) = made()["volumes"]
    (line,) = [line for line in answer.stderr.splitlines() if "Perhaps left behind" in line]
    assert volume_id in line


def test_no_program(own_vm: OwnVm, fake_aws: FakeAws, failure: WriteError, made: Made) -> None:
    """Without the release's program nothing is created, and the error has the alternatives."""
    own_vm.has_no_program()
    message = (
        "The program stemcell-copy, which is part of the release, is not installed here: use "
        "the EBS direct APIs (aws.stemcell_upload: ebs_direct), or the light stemcell of the same version"
    )
    assert own_vm.create().error == failure("CloudError", message)
    assert fake_aws.actions() == []
    assert made() == {}


def test_program_that_can_not_be_started(own_vm: OwnVm, made: Made) -> None:
    """The error for a program that can't be started has the system's words."""
    own_vm.is_written_for("/no/such/shell")
    error = own_vm.create().error
    assert error["type"] == "Bosh::Clouds::CloudError"
    assert error["message"].startswith(NO_COPY)
    assert error["message"].endswith(": No such file or directory")
    assert made() == {}


def test_interrupted_while_writing(own_vm: OwnVm, made: Made) -> None:
    """A signal while the program runs ends the program, too."""
    own_vm.writes_by("kill -TERM $PPID; exec cat > /dev/null")
    assert own_vm.create().error["message"].startswith("The call was interrupted by SIGTERM")
    assert own_vm.called_with == [own_vm.disk]
    assert made() == {}


def test_gone_vm(own_vm: OwnVm, world: World, made: Made, failure: WriteError) -> None:
    """If EC2 does not know the instance of the metadata, the error is VMNotFound."""
    world.ec2.terminate_instances(InstanceIds=[own_vm.vm_cid])
    expected = failure("VMNotFound", f"VM `{own_vm.vm_cid}' not found")
    assert own_vm.create().error == expected
    assert made() == {}
