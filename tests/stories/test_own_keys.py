"""Tags that a manifest may write: none gets a key of the CPI's own, and none has an effect."""

from collections.abc import Callable
from typing import Any, Final

import pytest

from bosh_aws_cpi.tag_names import MAX_KEY, OWN_KEYS
from testbed.executable import DIRECTOR_UUID, Answer, Cpi
from testbed.traffic import Traffic
from testbed.world import World
from tests.stories.stemcell_images import Heavy
from tests.stories.story import Story

Tags = dict[str, str]

FORGED: Final = "forged"
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
KEYS: Final = [*sorted(OWN_KEYS), RECORD]
HARMLESS: Final = {"team": "a", "bosh_target_env": "prod", "bosh_owner": "b"}


def forged() -> dict[str, str]:
    """Return tags with all own keys, in all disguises, and some that are nobody's."""
    disguised = {hide(key) for key in KEYS for hide in DISGUISES.values()}
    return {**dict.fromkeys([*disguised, f"{CUT_RECORD}x"], FORGED), **HARMLESS}


METHODS: Final = (
    *("create_vm", "create_vm's env", "set_vm_metadata", "create_disk", "set_disk_metadata"),
    *("snapshot_disk", "create_network", "light stemcell", "copied stemcell", "heavy stemcell"),
    "heavy stemcell, V3",
)


@pytest.fixture
def methods(story: Story, cpi: Cpi, world: World, heavy: Heavy) -> dict[str, Callable[[Tags], Answer]]:
    """Return all methods that make tags of what they are given."""
    place = {"vpc_id": world.vpc_id, "availability_zone": world.zone}
    subnet = {"type": "manual", "range": "10.0.9.0/24", "gateway": "10.0.9.1"}
    light = {"ami": {"us-east-1": world.image_id}}
    copied = {**light, "encrypted": True, "name": "bosh-noble", "version": "1.2"}

    def of_light(properties: dict[str, Any]) -> Callable[[Tags], Answer]:
        return lambda tags: cpi.call("create_stemcell", "/x/image", properties, {"tags": tags}, api_version=3)

    calls: tuple[Callable[[Tags], Answer], ...] = (
        lambda tags: story.create_vm({"tags": tags}),
        lambda tags: story.create_vm(env={"bosh": {"tags": tags}}),
        lambda tags: cpi.call("set_vm_metadata", story.lay_vm(), tags),
        lambda tags: cpi.call("create_disk", 1024, {"tags": tags}, None),
        lambda tags: cpi.call("set_disk_metadata", story.lay_disk(), tags),
        lambda tags: cpi.call("snapshot_disk", story.lay_disk(), tags),
        lambda tags: cpi.call("create_network", {**subnet, "cloud_properties": {**place, "tags": tags}}),
        of_light(light),
        of_light(copied),
        lambda tags: heavy.create(tags=tags),
        lambda tags: heavy.create({"tags": tags}, api_version=3),
    )
    return dict(zip(METHODS, calls, strict=True))


@pytest.fixture
def all_tags(world: World) -> Callable[[], set[tuple[str, str]]]:
    """Return a function that reads keys and values of everything there is."""

    def read() -> set[tuple[str, str]]:
        found = world.ec2.get_paginator("describe_tags").paginate()
        return {(tag["Key"], tag["Value"]) for page in found for tag in page["Tags"]}

    return read


def named_in(answer: Answer, story: Story) -> str:
    """Return the names in the one warning about tags."""
    begin = "Left out, because these tags are reserved for the CPI: "
    (said,) = [line for line in story.warnings(answer) if line.startswith(begin)]
    return said.removeprefix(begin)


@pytest.mark.parametrize("method", METHODS)
def test_left_out(
    story: Story,
    methods: dict[str, Callable[[Tags], Answer]],
    method: str,
    all_tags: Callable[[], set[tuple[str, str]]],
) -> None:
    """No method sets an own key or one that could be read as one; one warning names all that are left out."""
    wanted = forged()
    answer = methods[method](wanted)
    assert answer.error is None
    tags = all_tags()
    assert {key for key, value in tags if value == FORGED} == set()
    assert tags >= set(HARMLESS.items())
    keys = sorted({key[:MAX_KEY] for key in wanted} - HARMLESS.keys())
    assert sorted(named_in(answer, story).split(", ")) == sorted(map(ascii, keys))


def test_copied_disk(story: Story, cpi: Cpi, world: World) -> None:
    """A disk's copy has the disk's tags, except the CPI's own keys."""
    disk_cid = story.lay_disk()
    given = {**dict.fromkeys(KEYS, FORGED), **HARMLESS}
    world.ec2.create_tags(
        Resources=[disk_cid], Tags=[{"Key": key, "Value": value} for key, value in given.items()]
    )
    copy_cid = cpi.call("update_disk", disk_cid, 1024, {"encrypted": True}).ok()
    tags = story.tags_of(copy_cid)
    assert tags.pop("bosh_call") != FORGED
    ours = {"bosh_director_uuid": DIRECTOR_UUID, "bosh_replaces": disk_cid}
    assert tags == {**HARMLESS, **ours}


def test_tags_of_a_disk_in_use(story: Story, cpi: Cpi, world: World) -> None:
    """A disk type's tags can't say that another call uses the new disk: then it would stay unused."""
    answer = cpi.call(
        "create_disk", 1024, {"tags": {"director": "a", "team": "b"}}, None, context={"request_id": "cpi-1"}
    )
    assert world.state()["volumes"] == [answer.ok()]
    assert story.tags_of(answer.ok())["team"] == "b"
    assert named_in(answer, story) == "'director'"


@pytest.fixture
def forge(world: World) -> Callable[[str, Tags], None]:
    """Return a function that writes tags as another program may."""

    def write(resource_id: str, tags: Tags) -> None:
        given = [{"Key": key, "Value": value} for key, value in tags.items()]
        world.ec2.create_tags(Resources=[resource_id], Tags=given)

    return write


@pytest.mark.parametrize("drains", [False, True])
def test_targets_of_another_vm(
    story: Story, traffic: Traffic, world: World, forge: Callable[[str, Tags], None], *, drains: bool
) -> None:
    """delete_vm deregisters no target of another VM, whatever the VM's tags record."""
    ips = traffic.add_group("ips", 8080, TargetType="ip")
    tls = traffic.target_groups["web-tls"]
    properties = {"lb_target_groups": [ips, {"arn": tls, "port": 8443}]}
    other = story.create_vm(properties, {"a": story.network("10.0.1.11")}, agent_id="agent-2").ok()[0]
    own = story.create_vm({"lb_target_groups": [{"arn": tls, "port": 9100}]}).ok()[0]
    records = {
        f"bosh_target_{ips.rpartition('/')[2]}_8080": f"{ips} 10.0.1.11",
        CUT_RECORD: f"{ips} 10.0.1.11",
        f"bosh_target_{tls.rpartition('/')[2]}_8443": f"{tls} {other}",
    }
    forge(own, records)
    assert story.cpi_with(deregister_on_delete=drains).call("delete_vm", own, stemcell=2).ok() is None
    assert world.state()["instances"] == [other]
    assert traffic.state()["targets"] == ["10.0.1.11", other]


def test_vm_of_another_agent(story: Story, world: World, forge: Callable[[str, Tags], None]) -> None:
    """create_vm answers no VM that only its tags, and its interface's, say to be for the agent."""
    first = story.create_vm().ok()[0]
    for each in (first, *world.state()["interfaces"]):
        forge(each, {"bosh_agent_id": "agent-2"})
    properties = {"instance_type_fallbacks": ["t3.small"]}
    second = story.create_vm(properties, {"a": story.network("10.0.1.11")}, agent_id="agent-2").ok()[0]
    assert world.state()["instances"] == sorted([first, second])
    assert first != second
