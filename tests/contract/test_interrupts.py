"""SIGTERM, SIGINT and SIGHUP: nothing is left behind, and the caller still gets its one response.

A call to AWS whose answer is held back is where the signal comes; EC2 has done its part by then.
"""

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

import bosh_release
from testbed.cloud import FakeAws
from testbed.executable import EXECUTABLE, Cpi, Process, config, finish
from testbed.world import World
from tests.protocols import Checked

pytestmark = pytest.mark.usefixtures("warm")

CLOUD_ERROR = "Bosh::Clouds::CloudError"
HALF = b" " * 400_000
"""More than a pipe holds: once it is written, somebody is reading."""

SIGNAL_AT_EXIT = """
import os, signal, sys
from bosh_aws_cpi.process import main
from bosh_aws_cpi import interrupts
interrupts.install()
def profile(frame, event, argument):
    if event == "call" and frame.f_code is interrupts.close.__code__:
        sys.setprofile(None)
        os.kill(os.getpid(), signal.SIGTERM)
sys.setprofile(profile)
sys.exit(main())
"""
"""The executable, with a signal in the moment in which it begins to conclude what it made."""

SIGNAL_AT_START = """
import os, signal, sys
from bosh_aws_cpi import __main__
loaded = sys.argv.pop(1)
class Finder:
    def find_spec(name, *_):
        if name == loaded:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder)
__main__.run()
"""
"""The executable, with a signal before it loads a module."""

START = Path(bosh_release.__path__[0], "start.py")
SIGNAL_AT_REGEXES = """
import os, signal
def use(_):
    os.kill(os.getpid(), signal.SIGTERM)
"""
"""The release's module of that name, with a signal in place of what it does."""


def create_vm(cpi: Cpi, world: World, count: int = 1) -> Process:
    """Start a create_vm with one or two networks, each of which makes an interface."""
    names = ("first", "second")[:count]
    networks = {
        name: {"type": "manual", "ip": f"10.0.{number}.10", "cloud_properties": {"subnet": subnet}}
        for number, (name, subnet) in enumerate(zip(names, world.subnet_ids, strict=False), 1)
    }
    properties = {"instance_type": "m5.large", "availability_zone": world.zone}
    stemcell = f"{world.image_id} light"
    return cpi.start("create_vm", "agent-1", stemcell, properties, networks, [], {}, stemcell=2)


def wait_for(fake_aws: FakeAws, action: str) -> None:
    """Wait until the answer of this action is held, whatever has just been let go of."""
    while action not in fake_aws.wait_until_held():
        continue


def ended_by(problem: tuple[str, str]) -> str:
    """Check that an error is about a signal, and return which one."""
    kind, message = problem
    assert kind == CLOUD_ERROR
    head = "The call was interrupted by "
    assert message.startswith(head)
    return message.removeprefix(head).split()[0]


def test_run_instances(fake_aws: FakeAws, world: World, cpi: Cpi, early: Checked) -> None:
    """An instance that EC2 makes while the signal comes is terminated, and its volumes go with it."""
    fake_aws.rule(action="RunInstances", hold=True)
    process = create_vm(cpi, world)
    wait_for(fake_aws, "RunInstances")
    assert len(world.state()["instances"]) == 1
    process.send_signal(signal.SIGHUP)
    fake_aws.release()
    assert ended_by(early(finish(process))) == "SIGHUP"
    assert world.state() == world.empty
    assert fake_aws.actions().count("TerminateInstances") == 1


def test_refused(fake_aws: FakeAws, world: World, cpi: Cpi, late: Checked) -> None:
    """When EC2 refuses the step during which the signal comes, that is answered: it says more."""
    fake_aws.refuse("CreateVolume", "UnauthorizedOperation", "no", 403, hold=True)
    process = cpi.start("create_disk", 1024, {})
    wait_for(fake_aws, "CreateVolume")
    process.terminate()
    fake_aws.release()
    kind, message = late(finish(process))
    assert kind == CLOUD_ERROR
    assert "UnauthorizedOperation" in message
    assert world.state() == world.empty


def test_two_signals(fake_aws: FakeAws, world: World, cpi: Cpi, early: Checked) -> None:
    """A second signal does not end the removal that the first one started."""
    fake_aws.rule(action="RunInstances", hold=True)
    fake_aws.rule(action="TerminateInstances", hold=True)
    process = create_vm(cpi, world)
    wait_for(fake_aws, "RunInstances")
    process.terminate()
    process.terminate()
    fake_aws.release()
    wait_for(fake_aws, "TerminateInstances")
    process.send_signal(signal.SIGINT)
    process.terminate()
    fake_aws.release()
    assert ended_by(early(finish(process))) == "SIGTERM"
    assert world.state() == world.empty


def test_while_undoing(fake_aws: FakeAws, world: World, cpi: Cpi, late: Checked) -> None:
    """A signal does not end the removal that an error started, and the error stays the answer."""
    fake_aws.refuse("CreateNetworkInterface", "InvalidSubnetID.NotFound", "no such subnet", nth=2)
    fake_aws.rule(action="DeleteNetworkInterface", hold=True)
    process = create_vm(cpi, world, count=2)
    wait_for(fake_aws, "DeleteNetworkInterface")
    process.terminate()
    fake_aws.release()
    kind, message = late(finish(process))
    assert kind == CLOUD_ERROR
    assert message.startswith("Failed to create network interface for nic_group 'second': ")
    assert "no such subnet" in message
    assert world.state() == world.empty


def test_has_vm(fake_aws: FakeAws, world: World, cpi: Cpi, early: Checked) -> None:
    """A call that only asks ends at once, without AWS's answer."""
    fake_aws.rule(action="DescribeInstances", hold=True)
    process = cpi.start("has_vm", "i-0123456789abcdef0")
    wait_for(fake_aws, "DescribeInstances")
    process.terminate()
    answer = finish(process)  # while the answer is still held
    fake_aws.release()
    assert ended_by(early(answer)) == "SIGTERM"
    assert world.state() == world.empty


@pytest.mark.parametrize("is_refused", [False, True], ids=["done", "refused"])
def test_last_moment(fake_aws: FakeAws, world: World, is_refused: bool) -> None:  # noqa: FBT001 - a parameter
    """A signal between the last step and its conclusion leaves nothing that the caller does not know."""
    if is_refused:
        fake_aws.refuse("DescribeVolumes", "UnauthorizedOperation", "no", 403, times=1)
    cpi = Cpi(config(fake_aws.endpoint), command=[sys.executable, "-c", SIGNAL_AT_EXIT])
    answer = cpi.call("create_disk", 1024, {})
    known = [] if answer.error else [answer.result]
    assert world.state() == {**world.empty, "volumes": known}
    assert bool(answer.error) or not is_refused


@pytest.mark.parametrize("module", ["bosh_aws_cpi.interrupts", "bosh_aws_cpi.process"])
def test_start(early: Checked, module: str) -> None:
    """A call that has loaded nothing yet is answered, too."""
    command = [sys.executable, "-c", SIGNAL_AT_START, module]
    assert ended_by(early(Cpi(config("http://127.0.0.1:1"), command=command).call("info"))) == "SIGINT"


def test_start_of_the_release(early: Checked, tmp_path: Path) -> None:
    """A call of the release is answered even before it has its regular expressions."""
    shutil.copy(START, tmp_path / "__main__.py")
    (tmp_path / "stored_regexes.py").write_text(SIGNAL_AT_REGEXES)
    command = [sys.executable, str(tmp_path)]
    assert ended_by(early(Cpi(config("http://127.0.0.1:1"), command=command).call("info"))) == "SIGTERM"


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name
)
def test_waiting_for_request(early: Checked, tmp_path: Path, number: signal.Signals) -> None:
    """A call whose request has not come yet is answered, too."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    line = f'exec "$0" "$1" <{fifo}'
    cpi = Cpi(config("http://127.0.0.1:1"), command=["/bin/sh", "-c", line, EXECUTABLE])
    process = cpi.start("ping")
    with fifo.open("wb") as request:
        request.write(HALF)
        request.flush()
        process.send_signal(number)
        answer = finish(process)
    assert ended_by(early(answer)) == number.name


def test_ignored_hangup(result: Checked, tmp_path: Path) -> None:
    """A SIGHUP that the parent ignores, as nohup does, stays ignored: the call goes on to its end."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    line = f'trap "" HUP; exec "$0" "$1" <{fifo}'
    cpi = Cpi(config("http://127.0.0.1:1"), command=["/bin/sh", "-c", line, EXECUTABLE])
    process = cpi.start("ping")
    with fifo.open("wb") as request:
        request.write(HALF)
        request.flush()
        process.send_signal(signal.SIGHUP)
        request.write(b'{"method": "ping", "arguments": [], "context": {"director_uuid": "u"}}')
    assert result(finish(process)) == "pong"
