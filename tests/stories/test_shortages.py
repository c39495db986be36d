"""aws.remember_shortages: what EC2 had no capacity for is tried last for three minutes, by all calls."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from testbed.executable import DIRECTOR_UUID
from testbed.killing import kill_at

pytestmark = pytest.mark.faults

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from testbed.cloud import FakeAws
    from testbed.executable import Answer, Cpi
    from testbed.world import World
    from tests.protocols import CpiWith, CreateVm, ReadCalls, RefuseLaunch, VmArguments

FIRST, SECOND = "t3.micro", "m5.large"
TYPES = {"instance_type": FIRST, "instance_type_fallbacks": [SECOND]}
OF_FIRST = {"InstanceType": FIRST}
SHORT = "InsufficientInstanceCapacity"
ANYWHERE = {"type": "dynamic"}
PREFER = {**TYPES, "spread": "prefer"}
ENV = {"bosh": {"group": "bosh-1-db-etcd"}}


@pytest.fixture
def remembering(cpi_with: CpiWith) -> Cpi:
    """Return an executable that remembers shortages, in a cache of its own."""
    return cpi_with(remember_shortages=True)


@pytest.fixture
def dynamic(world: World) -> dict[str, Any]:
    """Return a dynamic network: each VM gets some address of the subnet."""
    return {"any": {**ANYWHERE, "cloud_properties": {"subnet": world.subnet_id}}}


@pytest.fixture
def tried(
    create_vm: CreateVm, remembering: Cpi, dynamic: dict[str, Any], sent: ReadCalls, fake_aws: FakeAws
) -> Callable[..., list[str]]:
    """Return a function that creates a VM, and returns the types that were tried for it, in their order."""

    def create(agent_id: str, properties: dict[str, Any] = TYPES, **more: Any) -> list[str]:
        fake_aws.forget_calls()
        more = {"executable": remembering, "networks": dynamic, **more}
        create_vm(properties, agent_id=agent_id, **more).ok()
        return [call["InstanceType"] for call in sent("RunInstances")]

    return create


@pytest.fixture
def kept(remembering: Cpi) -> Callable[[], dict[str, Path]]:
    """Return a function that reads which shortages are remembered: the file of each, by its words."""

    def read() -> dict[str, Path]:
        files = (remembering.folder / ".cache/bosh-aws-cpi").glob("capacity-*.json")
        keys = {" ".join(json.loads(file.read_text())[1]["key"]): file for file in files}
        return {key: file for key, file in keys.items() if "agent" not in key}

    return read


def test_tried_last(
    create_vm: CreateVm,
    remembering: Cpi,
    tried: Callable[..., list[str]],
    kept: Callable[[], dict[str, Path]],
    short: RefuseLaunch,
    dynamic: dict[str, Any],
    world: World,
) -> None:
    """The next call tries the type last, says so, and gets its VM with one launch less."""
    short(SHORT, OF_FIRST, 500)
    assert tried("agent-1") == [FIRST, SECOND]
    (file,) = kept().values()
    assert list(kept()) == [f"{FIRST} {world.zone} on-demand"]
    assert file.stat().st_mode & 0o777 == 0o600
    answer = create_vm(TYPES, agent_id="agent-2", executable=remembering, networks=dynamic)
    assert world.instance(answer.ok()[0])["InstanceType"] == SECOND
    said = f"EC2 had no capacity for {FIRST} (on demand) a moment ago: trying it last"
    assert said in answer.stderr
    assert f"can't launch {FIRST}" not in answer.stderr


def test_never_refused(
    tried: Callable[..., list[str]], short: RefuseLaunch, fake_aws: FakeAws, world: World
) -> None:
    """The only type is launched although EC2 lacked it, and so is the last one when the others are short."""
    short(SHORT, OF_FIRST)
    assert tried("agent-1") == [FIRST, SECOND]
    fake_aws.clear_rules()
    assert tried("agent-2", {"instance_type": FIRST}) == [FIRST]
    short(SHORT, {"InstanceType": SECOND})
    assert tried("agent-3") == [SECOND, FIRST]
    assert len(world.state()["instances"]) == 3


def test_off(
    tried: Callable[..., list[str]],
    kept: Callable[[], dict[str, Path]],
    short: RefuseLaunch,
    cpi: Cpi,
) -> None:
    """Without the key nothing is remembered, and nothing that is remembered has an effect."""
    short(SHORT, OF_FIRST)
    for agent_id in ("agent-1", "agent-2"):
        assert tried(agent_id, executable=cpi) == [FIRST, SECOND]
    assert list(cpi.folder.glob(".cache/bosh-aws-cpi/capacity-*")) == []
    assert kept() == {}


def test_at_once(
    remembering: Cpi,
    vm_arguments: VmArguments,
    dynamic: dict[str, Any],
    short: RefuseLaunch,
    sent: ReadCalls,
    world: World,
) -> None:
    """Of 20 calls, four at a time, at most the first four launch the type that is sold out."""
    short(SHORT, OF_FIRST)

    def create(number: int) -> Answer:
        arguments = vm_arguments(TYPES, dynamic, agent_id=f"agent-{number}")
        return remembering.call("create_vm", *arguments, stemcell=2)

    with ThreadPoolExecutor(4) as workers:
        made = {answer.ok()[0] for answer in workers.map(create, range(20))}
    assert set(world.state()["instances"]) == made
    assert len(made) == 20
    launched = [call["InstanceType"] for call in sent("RunInstances")]
    assert 1 <= launched.count(FIRST) <= 4


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(lambda kept: [kept[0] - 181, kept[1]], id="three minutes later"),
        pytest.param(lambda kept: [kept[0] + 600, kept[1]], id="of tomorrow"),
        pytest.param(
            lambda kept: [kept[0], {**kept[1], "key": ["t3.large", *kept[1]["key"][1:]]}],
            id="of another type",
        ),
        pytest.param(lambda kept: [kept[0], {**kept[1], "order": "x"}], id="damaged"),
        pytest.param(lambda _: [], id="no hash"),
        pytest.param(lambda _: {}, id="empty"),
    ],
)
def test_not_believed(
    tried: Callable[..., list[str]],
    kept: Callable[[], dict[str, Path]],
    short: RefuseLaunch,
    content: Callable[[dict[str, Any]], object],
) -> None:
    """A file that is too old, or that this program did not write, has no effect."""
    short(SHORT, OF_FIRST)
    tried("agent-1")
    (file,) = kept().values()
    file.write_text(json.dumps(content(json.loads(file.read_text()))))
    assert tried("agent-2") == [FIRST, SECOND]


def test_cut_file(
    tried: Callable[..., list[str]], kept: Callable[[], dict[str, Path]], short: RefuseLaunch
) -> None:
    """A file that is no JSON has no effect, and the next shortage replaces it."""
    short(SHORT, OF_FIRST)
    tried("agent-1")
    (file,) = kept().values()
    file.write_bytes(file.read_bytes()[:20])
    assert tried("agent-2") == [FIRST, SECOND]
    assert tried("agent-3") == [SECOND]


def test_other_zone(tried: Callable[..., list[str]], short: RefuseLaunch, world: World) -> None:
    """A shortage in one zone says nothing of another one."""
    short(SHORT, OF_FIRST)
    tried("agent-1")
    elsewhere = {**TYPES, "availability_zone": world.other_zone}
    other = world.ec2.create_subnet(
        VpcId=world.vpc_id, CidrBlock="10.0.9.0/24", AvailabilityZone=world.other_zone
    )
    networks = {"any": {**ANYWHERE, "cloud_properties": {"subnet": other["Subnet"]["SubnetId"]}}}
    assert tried("agent-2", elsewhere, networks=networks) == [FIRST, SECOND]


def test_other_market(
    tried: Callable[..., list[str]], short: RefuseLaunch, kept: Callable[[], dict[str, Path]], world: World
) -> None:
    """A type that is sold out on spot is launched on demand first, and on spot last."""
    spot = {"instance_type": FIRST, "spot_bid_price": 0.05, "spot_ondemand_fallback": True}
    short(SHORT, {"InstanceMarketOptions.MarketType": "spot"})
    assert tried("agent-1", spot) == [FIRST, FIRST]
    assert list(kept()) == [f"{FIRST} {world.zone} spot"]
    assert tried("agent-2", spot) == [FIRST]
    assert tried("agent-3") == [FIRST]


@pytest.mark.parametrize(
    ("code", "is_kept"),
    [
        (SHORT, True),
        ("VcpuLimitExceeded", True),
        ("MaxSpotInstanceCountExceeded", True),
        ("UnfulfillableCapacity", True),
        ("Unsupported", False),
        ("InsufficientHostCapacity", False),
    ],
)
def test_codes(
    tried: Callable[..., list[str]],
    short: RefuseLaunch,
    kept: Callable[[], dict[str, Path]],
    code: str,
    *,
    is_kept: bool,
) -> None:
    """Only a code that says the same of other VMs of the type is remembered."""
    short(code, OF_FIRST)
    assert tried("agent-1") == [FIRST, SECOND]
    assert len(kept()) == is_kept


def test_capacity_apart(
    create_vm: CreateVm,
    remembering: Cpi,
    tried: Callable[..., list[str]],
    short: RefuseLaunch,
    kept: Callable[[], dict[str, Path]],
    world: World,
) -> None:
    """The shortage of a placement group is that of no other VM, and a VM in one tries all types in turn."""
    world.ec2.create_placement_group(GroupName="near", Strategy="cluster")
    grouped = {**TYPES, "placement_group": "near"}
    short(SHORT, {**OF_FIRST, "Placement.GroupName": "near"})
    create_vm(grouped, agent_id="agent-1", executable=remembering).ok()
    assert kept() == {}
    assert tried("agent-2") == [FIRST]
    short(SHORT, OF_FIRST)
    tried("agent-3")
    assert len(kept()) == 1
    assert tried("agent-4", grouped) == [FIRST, SECOND]


def test_spread(
    tried: Callable[..., list[str]],
    short: RefuseLaunch,
    kept: Callable[[], dict[str, Path]],
    fake_aws: FakeAws,
    world: World,
) -> None:
    """A refusal in a spread placement group is not remembered; what is remembered is tried last there."""
    short(SHORT, {**OF_FIRST, "Placement.GroupName": f"bosh-{DIRECTOR_UUID}-bosh-1-db-etcd"})
    assert tried("agent-1", PREFER, env=ENV) == [FIRST, FIRST]
    assert kept() == {}
    fake_aws.clear_rules()
    short(SHORT, OF_FIRST)
    assert tried("agent-2", PREFER, env=ENV) == [FIRST, FIRST, SECOND]
    assert list(kept()) == [f"{FIRST} {world.zone} on-demand"]
    for spread in ("prefer", True):
        assert tried(f"agent-{spread}", {**TYPES, "spread": spread}, env=ENV) == [SECOND]


def test_ended(
    tried: Callable[..., list[str]],
    kept: Callable[[], dict[str, Path]],
    fake_aws: FakeAws,
    world: World,
) -> None:
    """An instance that EC2 ends for lack of capacity counts as a shortage."""
    fake_aws.rule(action="RunInstances", where=OF_FIRST, ends="Server.InsufficientInstanceCapacity: None")
    assert tried("agent-1") == [FIRST, SECOND]
    assert list(kept()) == [f"{FIRST} {world.zone} on-demand"]


def test_killed(
    remembering: Cpi,
    vm_arguments: VmArguments,
    tried: Callable[..., list[str]],
    short: RefuseLaunch,
    dynamic: dict[str, Any],
    fake_aws: FakeAws,
    world: World,
) -> None:
    """A call that was killed gets its VM, though its type is sold out by now and EC2 does not show it yet.

    The VM prefers a spread placement group, for which the order of the first call holds, too.
    """
    arguments = vm_arguments(PREFER, dynamic, agent_id="agent-1", env=ENV)
    kill_at(
        fake_aws,
        lambda: remembering.start("create_vm", *arguments, stemcell=2),
        when="after",
        action="RunInstances",
    )
    (vm_cid,) = world.state()["instances"]
    short(SHORT, OF_FIRST)
    assert tried("agent-2") == [FIRST, SECOND]
    fake_aws.clear_rules()
    unseen = ["<reservationSet>.*</reservationSet>", "<reservationSet/>"]
    fake_aws.rule(action="DescribeInstances", nth=1, replace=[unseen])
    assert remembering.call("create_vm", *arguments, stemcell=2).ok()[0] == vm_cid
    assert len(world.state()["instances"]) == 2
