"""create_vm with `spread`: the VMs of an instance group share a spread placement group of their own."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import DIRECTOR_UUID, Answer
from testbed.killing import act_at, kill_at
from testbed.world import World
from tests.gathering import GATHERED
from tests.stories.operators import OTHER_DIRECTOR
from tests.stories.story import Story

SpreadVm = Callable[..., Answer]
HaveGroup = Callable[..., None]
Launches = Callable[[], list[tuple[str, bool, bool]]]
Groups = Callable[[], list[dict[str, Any]]]

GROUP = "bosh-1-db-etcd"
NAME = f"bosh-{DIRECTOR_UUID}-{GROUP}"
ENV = {"bosh": {"group": GROUP, "groups": ["bosh-1", "db", "etcd", GROUP]}}
OWN = {"bosh_director_uuid": DIRECTOR_UUID, "bosh_spread_group": GROUP}
SPREAD = {"spread": True}
PREFER = {"spread": "prefer"}
EVERYTHING = {"spot_bid_price": 1, "spot_ondemand_fallback": True, "instance_type_fallbacks": ["t3.small"]}
"""A VM that may be launched in several ways."""
LIMIT = (
    "You've reached the limit of instances in this spread placement group. A spread placement group can have "
    "up to seven instances per Availability Zone."
)
SHORT = {"code": "InsufficientInstanceCapacity", "message": "no", "status": 400}
FREE = "10.0.1.50"
"""An address that no member of the group has."""
ALONE = "Ignored: spread, because the request names no instance group (env.bosh.group)"
COMPILATION = "bosh-1-db-compilation-6321488c-5d2e-4cb7-a50d-d9701a5dc122"
FOREIGN = (
    f"spread: placement group '{NAME}' exists, but {{}}: the CPI did not create it. Delete it, or use "
    "placement_group instead of spread"
)
LACKS_TAGS = "lacks the tags bosh_director_uuid and bosh_spread_group of this instance group"
UNKNOWN = {"code": "InvalidPlacementGroup.Unknown", "message": f"The Placement Group '{NAME}' is unknown."}
BARE = ["<placementGroup>.*</placementGroup>", "<return>true</return>"]
NO_TAGS = ["<tagSet>.*?</tagSet>", "<tagSet/>"]


@pytest.fixture
def spread_vm(story: Story) -> SpreadVm:
    """Return a function that asks for a VM of the instance group."""

    def create(properties: dict[str, Any] | None = None, env: Any = ENV, **more: Any) -> Answer:
        return story.create_vm({**SPREAD, **(properties or {})}, env=env, **more)

    return create


@pytest.fixture
def have_group(world: World, fake_aws: FakeAws) -> HaveGroup:
    """Return a function that has the instance group's placement group there."""

    def create(strategy: str = "spread", **tags: str) -> None:
        listed = [{"Key": key, "Value": value} for key, value in (tags or OWN).items()]
        specification = {"ResourceType": "placement-group", "Tags": listed}
        world.ec2.create_placement_group(GroupName=NAME, Strategy=strategy, TagSpecifications=[specification])
        fake_aws.forget_calls()

    return create


@pytest.fixture
def full_group(story: Story, have_group: HaveGroup, world: World) -> list[str]:
    """Have a placement group with as many instances as EC2 allows, whose sorted ids are returned."""
    have_group()
    return sorted(
        story.lay_vm(Placement={"AvailabilityZone": world.zone, "GroupName": NAME}) for _ in range(7)
    )


@pytest.fixture
def launched(story: Story) -> Launches:
    """Return a function that lists the launches: type, and whether on spot and in the placement group."""

    def tried() -> list[tuple[str, bool, bool]]:
        return [
            (
                each["InstanceType"],
                "InstanceMarketOptions.MarketType" in each,
                each.get("Placement.GroupName") == NAME,
            )
            for each in story.parameters_of("RunInstances")
        ]

    return tried


@pytest.fixture
def groups(world: World) -> Groups:
    """Return a function that lists all placement groups."""
    return lambda: list(world.ec2.describe_placement_groups()["PlacementGroups"])


def test_two_vms(story: Story, spread_vm: SpreadVm, groups: Groups, world: World, fake_aws: FakeAws) -> None:
    """The first VM creates the placement group, with all its tags; the next one uses it, for one call."""
    executable = story.cpi_with(tags={"team": "a"})
    vm_cid = spread_vm(executable=executable).ok()[0]
    (group,) = groups()
    assert (group["GroupName"], group["Strategy"]) == (NAME, "spread")
    assert story.tags_of(group["GroupId"]) == {**OWN, "team": "a"}
    assert world.instance(vm_cid)["Placement"]["GroupName"] == NAME
    assert "CreateTags" not in fake_aws.actions()
    fake_aws.forget_calls()
    more: dict[str, Any] = {"networks": {"a": story.network(FREE)}, "agent_id": "agent-2"}
    other = spread_vm(executable=executable, **more).ok()[0]
    expected = {*GATHERED, "RunInstances", "DescribeInstances", "DescribePlacementGroups"}
    assert set(fake_aws.actions()) == expected
    assert fake_aws.actions().count("DescribePlacementGroups") == 1
    assert world.instance(other)["Placement"]["GroupName"] == NAME


@pytest.mark.usefixtures("fast_clock")
@pytest.mark.parametrize(
    ("strategy", "tags", "problem"),
    [
        ("cluster", OWN, "has the strategy 'cluster'"),
        ("spread", {**OWN, "bosh_director_uuid": OTHER_DIRECTOR}, LACKS_TAGS),
        ("spread", {**OWN, "bosh_spread_group": "another"}, LACKS_TAGS),
        ("spread", {"team": "a"}, LACKS_TAGS),
    ],
)
def test_foreign_group(
    story: Story,
    spread_vm: SpreadVm,
    have_group: HaveGroup,
    fake_aws: FakeAws,
    strategy: str,
    tags: dict[str, str],
    problem: str,
) -> None:
    """A placement group of that name with another strategy or other tags is refused before any change."""
    have_group(strategy, **tags)
    answer = spread_vm()
    assert answer.error == story.failure("CloudError", FOREIGN.format(problem))
    assert {"DeletePlacementGroup", "CreateTags", "RunInstances"}.isdisjoint(fake_aws.actions())


def test_foreign_group_meanwhile(
    story: Story, have_group: HaveGroup, fake_aws: FakeAws, world: World
) -> None:
    """A foreign group that is created at that moment is refused at once, and no VM is launched."""
    wish = partial(story.start_vm, SPREAD, env=ENV)
    answer = act_at(fake_aws, wish, lambda: have_group("cluster"), action="CreatePlacementGroup")
    assert answer.error == story.failure("CloudError", FOREIGN.format("has the strategy 'cluster'"))
    assert fake_aws.actions().count("DescribePlacementGroups") == 1
    assert "RunInstances" not in fake_aws.actions()
    assert world.state()["instances"] == []


@pytest.mark.usefixtures("fast_clock")
def test_tags_shown_late(spread_vm: SpreadVm, have_group: HaveGroup, fake_aws: FakeAws, world: World) -> None:
    """A placement group whose tags EC2 does not show yet is waited for, and used."""
    have_group()
    fake_aws.rule(action="DescribePlacementGroups", times=3, replace=[NO_TAGS])
    vm_cid = spread_vm().ok()[0]
    assert world.instance(vm_cid)["Placement"]["GroupName"] == NAME
    assert fake_aws.actions().count("DescribePlacementGroups") == 4


def test_bare_answer(spread_vm: SpreadVm, fake_aws: FakeAws, world: World) -> None:
    """CreatePlacementGroup may answer without the group, as in the API reference's sample."""
    fake_aws.rule(action="CreatePlacementGroup", replace=[BARE])
    vm_cid = spread_vm().ok()[0]
    assert world.instance(vm_cid)["Placement"]["GroupName"] == NAME
    assert fake_aws.actions().count("CreatePlacementGroup") == 1
    assert fake_aws.actions().count("DescribePlacementGroups") == 1


@pytest.mark.usefixtures("fast_clock")
def test_deleting(spread_vm: SpreadVm, have_group: HaveGroup, fake_aws: FakeAws) -> None:
    """A placement group that EC2 is deleting is not used; while its name is taken, the CPI waits."""
    have_group()
    deleting = [["<state>available<", "<state>deleting<"]]
    fake_aws.rule(action="DescribePlacementGroups", times=3, replace=deleting)
    spread_vm().ok()
    assert fake_aws.actions().count("CreatePlacementGroup") == 3


def test_deleted_before_the_launch(
    story: Story, have_group: HaveGroup, groups: Groups, world: World, fake_aws: FakeAws
) -> None:
    """A placement group that a sweep deletes before the launch is created again, with its tags."""
    have_group()
    wish, sweep = partial(story.start_vm, SPREAD, env=ENV), world.ec2.delete_placement_group
    answer = act_at(fake_aws, wish, lambda: sweep(GroupName=NAME), action="RunInstances")
    vm_cid = answer.ok()[0]
    assert world.instance(vm_cid)["Placement"]["GroupName"] == NAME
    (group,) = groups()
    assert {tag["Key"]: tag["Value"] for tag in group["Tags"]} == OWN


@pytest.mark.usefixtures("fast_clock")
def test_never_known(spread_vm: SpreadVm, world: World, fake_aws: FakeAws) -> None:
    """If EC2 never accepts the group, the error says so, and may be retried; the tagged group stays."""
    fake_aws.rule(action="RunInstances", times=None, error={**UNKNOWN, "status": 400})
    error = spread_vm().error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::VMCreationFailed", True)
    told = (NAME, "EC2 does not know it", "Retry the deployment")
    assert [each for each in told if each not in error["message"]] == []
    assert world.state() == {**world.empty, "placement groups": [NAME]}


def test_full(spread_vm: SpreadVm, full_group: list[str], world: World, fake_aws: FakeAws) -> None:
    """An eighth VM in a zone fails at once, whatever types and markets it may have; retriable."""
    error = spread_vm(EVERYTHING).error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::VMCreationFailed", True)
    assert error["message"].startswith(f"RunInstances failed with InsufficientInstanceCapacity: {LIMIT} (")
    assert error["message"].endswith(
        ". If some of them are being terminated, retry. Otherwise give the instance group more azs, divide "
        "it into several, use spread: prefer, or remove spread or placement_group"
    )
    assert fake_aws.actions().count("RunInstances") == 1
    assert world.state()["instances"] == full_group


@pytest.mark.parametrize(("env", "said"), [(None, [ALONE]), ({"bosh": {"group": COMPILATION}}, [])])
def test_no_instance_group(
    story: Story, spread_vm: SpreadVm, fake_aws: FakeAws, world: World, env: Any, said: list[str]
) -> None:
    """A VM of no instance group has no placement group, and the log says so; nor has one that compiles."""
    answer = spread_vm(env=env)
    answer.ok()
    assert story.warnings(answer) == said
    assert "DescribePlacementGroups" not in fake_aws.actions()
    assert world.state()["placement groups"] == []


def test_type_without_it(story: Story, spread_vm: SpreadVm, fake_aws: FakeAws) -> None:
    """A type that EC2 launches into no spread placement group is refused; who prefers it runs outside."""
    fake_aws.rule(action="DescribeInstanceTypes", replace=[["<item>spread</item>", ""]])
    message = (
        "spread requested for instance type 't3.micro' that does not support it: use other types (including "
        "fallbacks), or remove the property"
    )
    story.check_refusal(spread_vm(), message)
    fake_aws.forget_calls()
    spread_vm(PREFER).ok()
    assert "Placement.GroupName" not in story.parameters_of("RunInstances")[0]
    assert "DescribePlacementGroups" not in fake_aws.actions()


def test_one_type_without_it(spread_vm: SpreadVm, launched: Launches, fake_aws: FakeAws) -> None:
    """Of a VM that prefers the group, a type that EC2 launches into none runs outside, and others inside."""
    of_micro = ["(<item>(?:(?!<instanceType>).)*<instanceType>t3.micro<.*?)<item>spread</item>", r"\1"]
    fake_aws.rule(action="DescribeInstanceTypes", replace=[of_micro])
    fake_aws.rule(action="RunInstances", nth=1, error=SHORT)
    spread_vm({**PREFER, "instance_type_fallbacks": ["t3.small"]}).ok()
    assert launched() == [("t3.micro", False, False), ("t3.small", False, True)]


@pytest.mark.usefixtures("full_group")
def test_full_in_one_zone(spread_vm: SpreadVm, world: World) -> None:
    """A group that is full in the zone of a VM with zone_fallback has room in another one."""
    properties = {"subnet": world.subnet_ids[0], "subnet_fallbacks": [world.subnet_ids[2]]}
    networks = {"any": {"type": "dynamic", "cloud_properties": properties}}
    vm_cid = spread_vm({"zone_fallback": True}, networks=networks).ok()[0]
    placement = world.instance(vm_cid)["Placement"]
    assert (placement["AvailabilityZone"], placement["GroupName"]) == (world.other_zone, NAME)


@pytest.mark.usefixtures("full_group")
def test_eighth_preferred(story: Story, spread_vm: SpreadVm, launched: Launches) -> None:
    """An eighth VM that only prefers the group runs outside of it, on the same market; the log says so."""
    properties = {**EVERYTHING, "spread": None}
    answer = spread_vm(
        properties, networks={"a": story.network(FREE)}, executable=story.cpi_with(spread="prefer")
    )
    answer.ok()
    assert launched() == [("t3.micro", True, True), ("t3.micro", True, False)]
    refused, outside = story.warnings(answer)
    assert refused.startswith("EC2 can't launch t3.micro (spot): RunInstances failed with Insufficient")
    assert LIMIT in refused
    assert outside == "Launching t3.micro (spot, not spread)"


def test_preferred_without_room(spread_vm: SpreadVm, launched: Launches, fake_aws: FakeAws) -> None:
    """If EC2 lacks capacity, a VM gives up its place in the group before its instance type."""
    fake_aws.rule(action="RunInstances", nth=1, error=SHORT)
    spread_vm({**PREFER, "instance_type_fallbacks": ["t3.small"]}).ok()
    assert launched() == [("t3.micro", False, True), ("t3.micro", False, False)]


def test_without_room(story: Story, spread_vm: SpreadVm, fake_aws: FakeAws, world: World) -> None:
    """If EC2 lacks capacity for a VM that must be in the group, the error says what keeps it from other."""
    fake_aws.rule(action="RunInstances", error=SHORT)
    message = spread_vm(disks=[story.lay_disk()]).error["message"]
    disks = f". The VM's persistent disks keep it in {world.zone}"
    assert f"{disks}. With spread: prefer, it could be launched outside of its placement group" in message
    fake_aws.clear_rules()
    fake_aws.rule(action="RunInstances", error={**SHORT, "code": "InstanceLimitExceeded"})
    assert "spread: prefer" not in spread_vm().error["message"]


@pytest.mark.usefixtures("fast_clock")
@pytest.mark.parametrize(
    ("nth", "said"), [(99, "EC2 to accept placement group"), (2, "Allow ec2:CreatePlacementGroup in the")]
)
def test_preferred_group_never_known(
    story: Story, spread_vm: SpreadVm, world: World, fake_aws: FakeAws, nth: int, said: str
) -> None:
    """If EC2 never accepts the group, or can't create it again, a VM that only prefers it runs outside."""
    fake_aws.refuse("CreatePlacementGroup", "UnauthorizedOperation", status=403, nth=nth, times=None)
    fake_aws.rule(
        action="RunInstances",
        where={"Placement.GroupName": NAME},
        times=None,
        error={**UNKNOWN, "status": 400},
    )
    answer = spread_vm(PREFER)
    assert world.instance(answer.ok()[0])["Placement"]["GroupName"] == ""
    assert [each for each in story.warnings(answer) if said in each]


@pytest.mark.usefixtures("fast_clock")
def test_preferred_group_after_a_lost_answer(
    spread_vm: SpreadVm, launched: Launches, fake_aws: FakeAws
) -> None:
    """A VM that EC2 may have launched into the group is not launched outside, too."""
    fake_aws.rule(action="RunInstances", nth=1, drop="before")
    fake_aws.rule(action="RunInstances", times=None, error={**UNKNOWN, "status": 400})
    assert NAME in spread_vm(PREFER).error["message"]
    assert set(launched()) == {("t3.micro", False, True)}


SHOW, CREATE = "DescribePlacementGroups", "CreatePlacementGroup"
DENIED = {"error": {"code": "UnauthorizedOperation", "message": "No.", "status": 403}}
BROKEN = {"error": {"code": "InternalError", "message": "No.", "status": 500}}
QUOTA = {"error": {"code": "PlacementGroupLimitExceeded", "message": "No.", "status": 400}}
UNREADABLE = {"replace": [["(?s).*", "<html/>"]]}


@pytest.mark.usefixtures("fast_clock")
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"action": CREATE, **QUOTA}, "Run bin/cpi sweep --director UUID --delete"),
        ({"action": CREATE, **DENIED}, f"Allow ec2:{CREATE} in the policy"),
        ({"action": CREATE, **BROKEN}, f"{CREATE} failed with InternalError"),
        ({"action": SHOW, **DENIED}, f"Allow ec2:{SHOW} in the policy"),
        ({"action": SHOW, **BROKEN}, f"{SHOW} failed with InternalError"),
        ({"action": SHOW, **UNREADABLE}, "its answer can't be read"),
    ],
)
def test_preferred_without_the_group(
    story: Story, spread_vm: SpreadVm, fake_aws: FakeAws, fault: dict[str, Any], said: str
) -> None:
    """If EC2 does not show or create the group, a VM fails only if it must be spread."""
    cpi = story.cpi_with(max_retries=0)
    fake_aws.rule(times=None, **fault)
    assert fault["action"] in spread_vm(executable=cpi).error["message"]
    assert "RunInstances" not in fake_aws.actions()
    answer = spread_vm(PREFER, executable=cpi)
    answer.ok()
    *_, why, outside = story.warnings(answer)
    assert why.startswith("Not spread: ")
    assert said in why
    assert outside == "Launching t3.micro (on demand, not spread)"
    assert story.leftovers().get("placement groups", []) == []


@pytest.mark.parametrize(
    ("properties", "env"),
    [
        ({"spread": False}, ENV),
        ({"spread": None, "placement_group": "near"}, ENV),
        ({"spread": None}, None),
    ],
)
def test_default_has_no_effect(
    story: Story, spread_vm: SpreadVm, fake_aws: FakeAws, world: World, properties: dict[str, Any], env: Any
) -> None:
    """`aws.spread` concerns no VM that is exempt, can't be spread, or is alone in its group, and is quiet."""
    world.ec2.create_placement_group(GroupName="near", Strategy="cluster")
    fake_aws.forget_calls()
    answer = spread_vm(properties, env=env, executable=story.cpi_with(spread="prefer"))
    answer.ok()
    assert "DescribePlacementGroups" not in fake_aws.actions()
    assert story.warnings(answer) == []


def test_killed_outside(
    story: Story, spread_vm: SpreadVm, full_group: list[str], world: World, fake_aws: FakeAws
) -> None:
    """A retry finds the VM that a killed call launched outside of the group, though it has room by now."""
    wish: dict[str, Any] = {"env": ENV, "networks": {"a": story.network(FREE)}}
    kill_at(fake_aws, lambda: story.start_vm(PREFER, **wish), 2, action="RunInstances", when="after")
    (left,) = set(world.state()["instances"]) - set(full_group)
    world.ec2.terminate_instances(InstanceIds=full_group[:1])
    assert spread_vm(PREFER, **wish).ok()[0] == left
    assert world.state()["instances"] == sorted([*full_group[1:], left])
