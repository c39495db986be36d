"""What the stories share: things that are there, faults, and short ways to read what came of a call."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import DIRECTOR_UUID, Answer, Cpi, config
from testbed.imds import Imds
from testbed.rules import REQUEST_ID
from testbed.world import World
from tests.protocols import (
    CheckRefused,
    CpiWith,
    CreateVolume,
    ListResources,
    ReadCalls,
    ReadTags,
    ReadWarnings,
    Refuse,
    RunInstance,
    WriteError,
)
from tests.stories.aws_message import AwsMessage
from tests.stories.disk_copies import Copied
from tests.stories.launches import (
    create_vm,
    devices,
    exposed,
    inline,
    ipv6,
    network,
    refuse_launch,
    settings,
    start_vm,
    traffic,
    vm_arguments,
)
from tests.stories.operators import Sweep, TaggedResources
from tests.stories.own_vm import OwnVm, works_apart
from tests.stories.stemcell_images import Heavy
from tests.stories.vm_and_director import pair
from tests.stories.volumes import Volumes

__all__ = [
    "create_vm",
    "devices",
    "exposed",
    "inline",
    "ipv6",
    "network",
    "pair",
    "refuse_launch",
    "settings",
    "start_vm",
    "traffic",
    "vm_arguments",
]


@pytest.fixture(autouse=True)
def forked(warm: None) -> None:
    """Spare all stories the executable's start: they are about what it does at AWS."""
    del warm


@pytest.fixture
def cpi_with(fake_aws: FakeAws) -> CpiWith:
    """Return a function that makes an executable with other configuration."""

    def make(**aws: Any) -> Cpi:
        return Cpi(config(fake_aws.endpoint, **aws))

    return make


@pytest.fixture
def deny(fake_aws: FakeAws) -> Refuse:
    """Return a function that has AWS refuse an action for good from its nth call on, in these words."""

    def refuse(action: str, nth: int = 1) -> str:
        code, message = "UnauthorizedOperation", "You are not authorized to do this."
        error = {"code": code, "message": message, "status": 403}
        fake_aws.rule(action=action, nth=nth, times=None, error=error)
        return AwsMessage(f"{action} failed with {code}: {message} (request id {REQUEST_ID})")

    return refuse


@pytest.fixture
def leftovers(fake_aws: FakeAws, world: World) -> ListResources:
    """Return a function that drops all rules and lists what is there beyond what was laid, by kind."""

    def read() -> dict[str, list[str]]:
        fake_aws.clear_rules()
        return {kind: ids for kind, ids in world.state().items() if ids}

    return read


@pytest.fixture
def sent(fake_aws: FakeAws) -> ReadCalls:
    """Return a function that lists the parameters of all calls of one action."""

    def parameters(action: str) -> list[dict[str, str]]:
        return [call["parameters"] for call in fake_aws.calls() if call["action"] == action]

    return parameters


@pytest.fixture
def warnings() -> ReadWarnings:
    """Return a function that reads the warnings of a call, without the time."""

    def read(answer: Answer) -> list[str]:
        return [
            line.partition(" WARNING: ")[2] for line in answer.stderr.splitlines() if " WARNING: " in line
        ]

    return read


@pytest.fixture
def failure() -> WriteError:
    """Return a function that writes an error as it goes over the wire."""

    def write(kind: str, message: str, *, ok_to_retry: bool = False) -> dict[str, Any]:
        return {"type": f"Bosh::Clouds::{kind}", "message": AwsMessage(message), "ok_to_retry": ok_to_retry}

    return write


@pytest.fixture
def refused(fake_aws: FakeAws, world: World, failure: WriteError) -> CheckRefused:
    """Return a function that checks for a CloudError with these words, and that nothing was made or tried.

    It returns the actions, which only read.
    """

    def check(answer: Answer, *words: str) -> list[str]:
        assert answer.error == {**failure("CloudError", ""), "message": answer.error["message"]}
        assert [each for each in words if each not in answer.error["message"]] == []
        asked = fake_aws.actions()
        assert [action for action in asked if not action.startswith(("Describe", "Get"))] == []
        assert world.state() == world.empty
        return asked

    return check


@pytest.fixture
def origin() -> dict[str, str]:
    """Return the tags that tell who asked for a VM, as all of it carries them."""
    return {"bosh_director_uuid": DIRECTOR_UUID, "bosh_agent_id": "agent-1"}


@pytest.fixture
def tags_of(world: World) -> ReadTags:
    """Return a function that reads the tags of anything."""

    def read(resource_id: str) -> dict[str, str]:
        filters = [{"Name": "resource-id", "Values": [resource_id]}]
        found = world.ec2.describe_tags(Filters=filters)["Tags"]
        return {tag["Key"]: tag["Value"] for tag in found}

    return read


@pytest.fixture
def vm(world: World, fake_aws: FakeAws) -> RunInstance:
    """Return a function that has an instance run without the executable, with the tag that each VM has."""
    tags = [{"Key": "bosh_agent_id", "Value": "agent-0"}]

    def run(instance_type: str = "t3.micro", **parameters: Any) -> str:
        parameters.setdefault("SubnetId", world.subnet_id)
        parameters.setdefault("TagSpecifications", [{"ResourceType": "instance", "Tags": tags}])
        answer = world.ec2.run_instances(
            ImageId=world.image_id, InstanceType=instance_type, MinCount=1, MaxCount=1, **parameters
        )
        fake_aws.forget_calls()
        return str(answer["Instances"][0]["InstanceId"])

    return run


@pytest.fixture
def disk(world: World, fake_aws: FakeAws) -> CreateVolume:
    """Return a function that has a volume there without the executable."""

    def make(zone: str = world.zone, size: int = 1) -> str:
        answer = world.ec2.create_volume(AvailabilityZone=zone, Size=size, VolumeType="gp3")
        fake_aws.forget_calls()
        return str(answer["VolumeId"])

    return make


@pytest.fixture
def volumes(fake_aws: FakeAws, world: World) -> Volumes:
    """Return the volumes of this story."""
    return Volumes(fake_aws, world)


@pytest.fixture
def copied(cpi: Cpi, fake_aws: FakeAws, world: World, vm: RunInstance) -> Copied:
    """Have a disk with data, which is to be encrypted."""
    return Copied(cpi, fake_aws, world, vm())


@pytest.fixture
def heavy(cpi: Cpi, world: World, fake_aws: FakeAws, tmp_path: Path) -> Heavy:
    """Return the executable with a heavy stemcell of a small image."""
    del world
    return Heavy(cpi, fake_aws.endpoint, tmp_path)


@pytest.fixture
def own_vm(vm: RunInstance, heavy: Heavy, tmp_path: Path) -> Iterator[OwnVm]:
    """Return a VM on which the executable runs to make that stemcell."""
    if not works_apart():
        pytest.skip("no block device, or no namespace with a /dev of its own for one")
    vm_cid = vm()
    with Imds(vm_cid) as imds:
        yield OwnVm(vm_cid, heavy, imds, tmp_path)


@pytest.fixture
def made(world: World, own_vm: OwnVm, fake_aws: FakeAws) -> ListResources:
    """Return a function that lists what there is beyond what was laid, that VM and what is its own."""
    before = world.state()
    assert before["instances"] == [own_vm.vm_cid]
    fake_aws.forget_calls()

    def read() -> dict[str, list[str]]:
        now = {kind: sorted(set(ids) - set(before[kind])) for kind, ids in world.state().items()}
        return {kind: ids for kind, ids in now.items() if ids}

    return read


@pytest.fixture
def tagged(fake_aws: FakeAws, world: World) -> TaggedResources:
    """Return what makes things that are left behind."""
    return TaggedResources(fake_aws, world)


@pytest.fixture
def sweep(cpi: Cpi, fake_aws: FakeAws) -> Sweep:
    """Return the command."""
    return Sweep(cpi, fake_aws)
