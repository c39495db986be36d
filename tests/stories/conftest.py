"""What the stories share: things that are there, faults, and short ways to read what came of a call."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.cloud import FakeAws
from testbed.executable import DIRECTOR_UUID, Cpi
from testbed.imds import Imds
from testbed.world import World
from tests.protocols import ListResources
from tests.stories.disk_copies import Copied
from tests.stories.launches import exposed, ipv6, traffic
from tests.stories.operators import Sweep, TaggedResources
from tests.stories.own_vm import OwnVm, works_apart
from tests.stories.stemcell_images import Heavy
from tests.stories.story import Story, story
from tests.stories.vm_and_director import pair
from tests.stories.volumes import Volumes

__all__ = ["exposed", "ipv6", "pair", "story", "traffic"]


@pytest.fixture(autouse=True)
def forked(warm: None) -> None:
    """Spare all stories the executable's start: they are about what it does at AWS."""
    del warm


@pytest.fixture
def origin() -> dict[str, str]:
    """Return the tags that tell who asked for a VM, as all of it carries them."""
    return {"bosh_director_uuid": DIRECTOR_UUID, "bosh_agent_id": "agent-1"}


@pytest.fixture
def volumes(fake_aws: FakeAws, world: World) -> Volumes:
    """Return the volumes of this story."""
    return Volumes(fake_aws, world)


@pytest.fixture
def copied(cpi: Cpi, fake_aws: FakeAws, world: World, story: Story) -> Copied:
    """Have a disk with data, which is to be encrypted."""
    return Copied(cpi, fake_aws, world, story.lay_vm())


@pytest.fixture
def heavy(cpi: Cpi, world: World, fake_aws: FakeAws, tmp_path: Path) -> Heavy:
    """Return the executable with a heavy stemcell of a small image."""
    del world
    return Heavy(cpi, fake_aws.endpoint, tmp_path)


@pytest.fixture
def own_vm(story: Story, heavy: Heavy, tmp_path: Path) -> Iterator[OwnVm]:
    """Return a VM on which the executable runs to make that stemcell."""
    if not works_apart():
        pytest.skip("no block device, or no namespace with a /dev of its own for one")
    vm_cid = story.lay_vm()
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
