"""Tags that a manifest may write: none gets a key of the CPI's own, and none has an effect."""

from collections.abc import Callable
from typing import Any, Final

import pytest

from bosh_aws_cpi.plan.tags import MAX_KEY
from bosh_aws_cpi.tag_names import OWN
from testbed.cloud import FakeAws
from testbed.executable import DIRECTOR_UUID, Answer, Cpi
from testbed.traffic import Traffic
from testbed.world import World
from tests.protocols import (
    CpiWith,
    CreateVm,
    CreateVolume,
    ReadTags,
    ReadWarnings,
    RunInstance,
    WriteNetwork,
)
from tests.stories.operators import ANY_AGE, LONG_AGO, Sweep
from tests.stories.stemcell_images import Heavy

Tags = dict[str, str]
Outcome = dict[str, object]

FORGED: Final = "forged"
ADDRESS, OTHER_ADDRESS = "10.0.1.10", "10.0.1.11"
GONE_AMI: Final = "ami-0123456789abcdef0"
NOBLE: Final = {"name": "bosh-noble", "version": "1.2"}
RECORD: Final = "bosh_target_0123456789abcdef_8080"
CUT_RECORD: Final = f"bosh_target_{'0' * (MAX_KEY - 17)}_8080"
"""A record, as long as a key can be: another character is cut off."""
DISGUISES: Final[dict[str, Callable[[str], str]]] = {
    "plain": str,
    "upper case": str.upper,
    "a space before": lambda key: f" {key}",
    "a line's end after": lambda key: f"{key}\r\n",
    "full width": lambda key: key.replace("b", "\uff42").replace("a", "\uff41"),
    "an invisible space": lambda key: f"{key[:3]}\u200b{key[3:]}",
    "long s": lambda key: key.replace("s", "\u017f"),
    "cut": lambda key: f"{key}{' ' * (MAX_KEY - len(key))}x",
}
KEYS: Final = [*sorted(OWN), RECORD]
HARMLESS: Final = {"team": "a", "bosh_target_env": "prod", "bosh_owner": "b"}


def forged() -> dict[str, str]:
    """Return tags with all own keys, in all disguises, and some that are nobody's."""
    disguised = {hide(key) for key in KEYS for hide in DISGUISES.values()}
    return {**dict.fromkeys([*disguised, f"{CUT_RECORD}x"], FORGED), **HARMLESS}


class Methods:
    """The methods that make tags of what they are given: each returns the ids of what has them."""

    def __init__(
        self,
        cpi: Cpi,
        world: World,
        create_vm: CreateVm,
        disk: CreateVolume,
        vm: RunInstance,
        heavy: Heavy,
    ) -> None:
        """Take what they need."""
        self._cpi, self._world, self._create_vm = cpi, world, create_vm
        self._disk, self._vm, self._heavy = disk, vm, heavy

    def create_vm(self, tags: Tags) -> Answer:
        """Create a VM with tags of its cloud properties."""
        return self._create_vm({"tags": tags})

    def create_vm_env(self, tags: Tags) -> Answer:
        """Create a VM with tags of a manifest."""
        return self._create_vm({}, env={"bosh": {"tags": tags}})

    def set_vm_metadata(self, tags: Tags) -> Answer:
        """Tag a VM."""
        return self._cpi.call("set_vm_metadata", self._vm(), tags)

    def create_disk(self, tags: Tags) -> Answer:
        """Create a disk."""
        return self._cpi.call("create_disk", 1024, {"tags": tags}, None)

    def set_disk_metadata(self, tags: Tags) -> Answer:
        """Tag a disk; only its time of attachment is the Director's to set."""
        return self._cpi.call("set_disk_metadata", self._disk(), tags)

    def snapshot_disk(self, tags: Tags) -> Answer:
        """Take a snapshot."""
        return self._cpi.call("snapshot_disk", self._disk(), tags)

    def create_network(self, tags: Tags) -> Answer:
        """Create a subnet."""
        zone = {"vpc_id": self._world.vpc_id, "availability_zone": self._world.zone}
        wish = {"range": "10.0.9.0/24", "gateway": "10.0.9.1", "cloud_properties": {**zone, "tags": tags}}
        return self._cpi.call("create_network", {"type": "manual", **wish})

    def light_stemcell(self, tags: Tags, **properties: Any) -> Answer:
        """Use an AMI."""
        given = {"ami": {"us-east-1": self._world.image_id}, **properties}
        return self._cpi.call("create_stemcell", "/x/image", given, {"tags": tags}, api_version=3)

    def copied_stemcell(self, tags: Tags) -> Answer:
        """Copy one."""
        return self.light_stemcell(tags, encrypted=True, **NOBLE)

    def heavy_stemcell(self, tags: Tags) -> Answer:
        """Make one of an image, with the stemcell's own tags."""
        return self._heavy.create(tags=tags)

    def heavy_stemcell_v3(self, tags: Tags) -> Answer:
        """The same with the Director's."""
        return self._heavy.create({"tags": tags}, api_version=3)


METHODS: Final = [name for name in vars(Methods) if not name.startswith("_")]


@pytest.fixture
def methods(
    cpi: Cpi, world: World, create_vm: CreateVm, disk: CreateVolume, vm: RunInstance, heavy: Heavy
) -> Methods:
    """Return all methods that make tags."""
    return Methods(cpi, world, create_vm, disk, vm, heavy)


@pytest.fixture
def all_tags(world: World) -> Callable[[], set[tuple[str, str]]]:
    """Return a function that reads keys and values of everything there is."""

    def read() -> set[tuple[str, str]]:
        found = world.ec2.get_paginator("describe_tags").paginate()
        return {(tag["Key"], tag["Value"]) for page in found for tag in page["Tags"]}

    return read


def named_in(answer: Answer, warnings: ReadWarnings) -> str:
    """Return the names in the one warning about tags."""
    begin = "Left out, because these tags are reserved for the CPI: "
    (said,) = [line for line in warnings(answer) if line.startswith(begin)]
    return said.removeprefix(begin)


@pytest.mark.parametrize("method", METHODS)
def test_left_out(
    methods: Methods, method: str, all_tags: Callable[[], set[tuple[str, str]]], warnings: ReadWarnings
) -> None:
    """No method sets an own key or one that could be read as one; one warning names all that are left out."""
    wanted = forged()
    answer: Answer = getattr(methods, method)(wanted)
    assert answer.error is None
    tags = all_tags()
    assert {key for key, value in tags if value == FORGED} == set()
    assert tags >= set(HARMLESS.items())
    keys = sorted({key[:MAX_KEY] for key in wanted} - HARMLESS.keys())
    assert sorted(named_in(answer, warnings).split(", ")) == sorted(map(ascii, keys))


def test_copied_disk(cpi: Cpi, disk: CreateVolume, world: World, tags_of: ReadTags) -> None:
    """A disk's copy has the disk's tags, except the CPI's own keys."""
    disk_cid = disk()
    given = {**dict.fromkeys(KEYS, FORGED), **HARMLESS}
    world.ec2.create_tags(
        Resources=[disk_cid], Tags=[{"Key": key, "Value": value} for key, value in given.items()]
    )
    copy_cid = cpi.call("update_disk", disk_cid, 1024, {"encrypted": True}).ok()
    tags = tags_of(copy_cid)
    assert tags.pop("bosh_call") != FORGED
    ours = {"bosh_director_uuid": DIRECTOR_UUID, "bosh_replaces": disk_cid}
    assert tags == {**HARMLESS, **ours}


def test_tags_of_a_disk_in_use(cpi: Cpi, world: World, tags_of: ReadTags, warnings: ReadWarnings) -> None:
    """A disk type's tags can't say that another call uses the new disk: then it would stay unused."""
    answer = cpi.call(
        "create_disk", 1024, {"tags": {"director": "a", "team": "b"}}, None, context={"request_id": "cpi-1"}
    )
    assert world.state()["volumes"] == [answer.ok()]
    assert tags_of(answer.ok())["team"] == "b"
    assert named_in(answer, warnings) == "'director'"


class Stage:
    """Where tags are forged in one way, and may change what comes of a call: each effect returns it.

    Attributes:
        way: "never"; "requests" are given the tags; they are "there", as another program has set them.
    """

    way = "never"
    create: CreateVm
    network: WriteNetwork
    heavy: Heavy

    def __init__(self, cpi: Cpi, cpi_with: CpiWith, fake_aws: FakeAws, traffic: Traffic) -> None:
        """Take what calls and shows."""
        self._cpi, self._cpi_with, self._fake_aws = cpi, cpi_with, fake_aws
        self._traffic, self._world = traffic, traffic.world

    def _given(self, tags: Tags) -> Tags:
        return tags if self.way == "requests" else {}

    def _forge(self, resource_id: str, tags: Tags) -> None:
        if self.way == "there":
            given = [{"Key": key, "Value": value} for key, value in tags.items()]
            self._world.ec2.create_tags(Resources=[resource_id], Tags=given)
        elif self.way == "requests" and resource_id.startswith("i-"):
            self._cpi.call("set_vm_metadata", resource_id, tags).ok()
        elif self.way == "requests" and resource_id.startswith("vol-"):
            self._cpi.call("set_disk_metadata", resource_id, tags).ok()

    def _vm(self, address: str = ADDRESS, agent_id: str = "agent-1", **properties: Any) -> str:
        answer = self.create(properties, {"private": self.network(address)}, agent_id=agent_id)
        return str(answer.ok()[0])

    def _disk(self, tags: Tags | None = None) -> str:
        given = {"tags": self._given(tags or {})}
        return str(self._cpi.call("create_disk", 1024, given, None).ok())

    def _there(self, *ids: str) -> list[bool]:
        state = self._world.state()
        return [any(each in listed for listed in state.values()) for each in ids]

    def delete_vm(self, *, drains: bool = False) -> object:
        """Delete a VM whose tags record another one's targets."""
        ips = self._traffic.add_group("ips", 8080, TargetType="ip")
        tls = self._traffic.target_groups["web-tls"]
        other = self._vm(OTHER_ADDRESS, "agent-2", lb_target_groups=[ips, {"arn": tls, "port": 8443}])
        records = {
            f"bosh_target_{ips.rpartition('/')[2]}_8080": f"{ips} {OTHER_ADDRESS}",
            CUT_RECORD: f"{ips} {OTHER_ADDRESS}",
            f"bosh_target_{tls.rpartition('/')[2]}_8443": f"{tls} {other}",
        }
        tags = self._given({f"{key}{' ' * (len(key) == MAX_KEY)}": records[key] for key in records})
        own = self._vm(ADDRESS, "agent-1", lb_target_groups=[{"arn": tls, "port": 9100}], tags=tags)
        self._forge(own, records)
        cpi = self._cpi_with(deregister_on_delete=drains)
        assert cpi.call("delete_vm", own, stemcell=2).ok() is None
        targets = self._traffic.state()["targets"]
        return [*self._there(own, other), targets == [OTHER_ADDRESS, other]]

    def delete_vm_drained(self) -> object:
        """The same where it leaves its load balancers first."""
        return self.delete_vm(drains=True)

    def create_vm(self) -> object:
        """Create a VM, where another one and its interface say that they are for the same agent."""
        origin = {"bosh_agent_id": "agent-2", "bosh_director_uuid": DIRECTOR_UUID}
        first = self._vm(tags=self._given(origin))
        for each in (first, *self._world.state()["interfaces"]):
            self._forge(each, origin)
        second = self._vm(OTHER_ADDRESS, "agent-2", instance_type_fallbacks=["t3.small"])
        return first == second, self._there(first, second)

    def sweep(self) -> object:
        """Sweep, where a disk and a snapshot say that they are a gone VM's and a stemcell's."""
        tags = {"bosh_agent_id": "agent-gone", "bosh_stemcell": "x", "bosh_sweep_seen": LONG_AGO}
        disk_cid = self._disk(tags)
        self._forge(disk_cid, tags)
        snapshot_cid = self._cpi.call("snapshot_disk", disk_cid, self._given(tags)).ok()
        outcomes = Sweep(self._cpi, self._fake_aws).outcomes("--delete", *ANY_AGE)
        return [*outcomes.values()], self._there(disk_cid, snapshot_cid)

    def delete_stemcell(self) -> object:
        """Delete a stemcell whose AMI is gone, where a disk's snapshot says that it is the AMI's."""
        disk_cid = self._disk()
        tags = self._given({"bosh_ami": GONE_AMI, "bosh_stemcell": "x"})
        snapshot_cid = self._cpi.call("snapshot_disk", disk_cid, tags).ok()
        self._cpi.call("delete_stemcell", GONE_AMI).ok()
        return self._there(snapshot_cid)

    def create_stemcell(self) -> object:
        """Copy a stemcell's AMI, where another stemcell says that it is the copy."""
        source = self._world.image_id
        tags = {
            "bosh_source_ami": source,
            "bosh_kms_key": "default",
            "bosh_stemcell_name": f"{NOBLE['name']}/{NOBLE['version']}",
        }
        other = self.heavy.create(tags=self._given(tags)).ok()
        light = {"ami": {"us-east-1": source}, "encrypted": True, **NOBLE}
        return self._cpi.call("create_stemcell", "/x/image", light).ok() == other


@pytest.fixture
def stage(
    cpi: Cpi,
    cpi_with: CpiWith,
    fake_aws: FakeAws,
    traffic: Traffic,
    create_vm: CreateVm,
    network: WriteNetwork,
    heavy: Heavy,
) -> Stage:
    """Return where the effects are seen."""
    stage = Stage(cpi, cpi_with, fake_aws, traffic)
    stage.create, stage.network, stage.heavy = create_vm, network, heavy
    return stage


EXPECTED: Final = {
    "delete_vm": [False, True, True],
    "delete_vm_drained": [False, True, True],
    "create_vm": (False, [True] * 2),
    "sweep": (["left to you: name it with --disk"], [True] * 2),
    "delete_stemcell": [True],
    "create_stemcell": False,
}
"""What comes of each effect, whatever is forged."""
BY_REQUEST_ALONE: Final = {"sweep", "delete_stemcell", "create_stemcell"}
"""Effects on which other stories forge tags in AWS itself."""


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    ("effect", "way"),
    [
        (effect, way)
        for effect in EXPECTED
        for way in ("never", "requests", "there")
        if way != "there" or effect not in BY_REQUEST_ALONE
    ],
)
def test_no_effect(stage: Stage, effect: str, way: str) -> None:
    """Forged tags don't change what is deleted, deregistered or found again."""
    stage.way = way
    assert getattr(stage, effect)() == EXPECTED[effect]
