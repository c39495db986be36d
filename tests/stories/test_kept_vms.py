"""Instances of create_vm that failed: with `aws.keep_failed_vms`, they are stopped and kept."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from testbed.executable import DIRECTOR_UUID
from testbed.killing import abandon_at, interrupt_at, kill_at
from tests.stories.operators import ANY_AGE, METADATA, Sweep

if TYPE_CHECKING:
    from collections.abc import Callable

    from testbed.cloud import FakeAws
    from testbed.executable import Answer, Cpi, Process
    from testbed.traffic import Traffic
    from testbed.world import World
    from tests.protocols import (
        CpiWith,
        CreateVm,
        ListResources,
        ReadCalls,
        ReadWarnings,
        Refuse,
        VmArguments,
        WriteError,
        WriteNetwork,
    )

FAILING = {"source_dest_check": False}
"""What takes a call after the launch, which a test can have refused."""
LAST = "ModifyInstanceAttribute"
KEPT = "UnauthorizedOperation"
NAMED = (
    ". Instance '{0}' is stopped and kept, because of aws.keep_failed_vms: examine it, then delete it: "
    f"bin/cpi sweep --director {DIRECTOR_UUID} --delete --instance {{0}}"
)
TIME = r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"


@dataclass
class Keeper:
    """An executable that keeps instances, and what it leaves."""

    cpi: Cpi
    world: World
    network: WriteNetwork
    arguments: VmArguments

    def create(
        self, properties: dict[str, Any] | None = None, networks: dict[str, Any] | None = None
    ) -> Answer:
        """Ask for a VM with one dynamic network, if nothing else is said."""
        wanted = networks or {"any": self.network()}
        return self.cpi.call(
            "create_vm", *self.arguments({**FAILING, **(properties or {})}, wanted), stemcell=2
        )

    def start(self) -> Process:
        """Ask for the same VM without waiting for it."""
        return self.cpi.start("create_vm", *self.arguments(FAILING, {"any": self.network()}), stemcell=2)

    def instances(self) -> dict[str, str]:
        """List the states of all instances that are not terminated, by id."""
        return {each: self.world.instance(each)["State"]["Name"] for each in self.world.state()["instances"]}

    def told(self, vm_cid: str) -> str:
        """Return what an instance's tag says of its failure."""
        tags = {each["Key"]: each["Value"] for each in self.world.instance(vm_cid)["Tags"]}
        return str(tags["bosh_kept"])


@pytest.fixture
def keeper(cpi_with: CpiWith, world: World, network: WriteNetwork, vm_arguments: VmArguments) -> Keeper:
    """Return an executable that keeps instances."""
    return Keeper(cpi_with(keep_failed_vms=True), world, network, vm_arguments)


def test_kept(
    keeper: Keeper,
    traffic: Traffic,
    sweep: Sweep,
    deny: Refuse,
    failure: WriteError,
    fake_aws: FakeAws,
) -> None:
    """It is stopped and tagged, gets no traffic, and is no VM; the error names it, the sweep deletes it."""
    before = traffic.state()
    action = "RegisterInstancesWithLoadBalancer"
    message = deny(action)
    properties = {"lb_target_groups": [traffic.target_group], "elbs": [traffic.load_balancer]}
    answer = keeper.create(properties)
    ((vm_cid, state),) = keeper.instances().items()
    assert state == "stopped"
    said = str(answer.error["message"])
    assert answer.error == failure("CloudError", said)
    assert message.partition(" (")[0] in said
    assert said.endswith(NAMED.format(vm_cid))
    assert "Perhaps left behind" not in answer.stderr
    assert traffic.state() == before
    told = keeper.told(vm_cid)
    assert re.fullmatch(rf"{TIME} {KEPT} {vm_cid}", told)
    changing = [action for action in fake_aws.actions() if not action.startswith("Describe")]
    assert changing[-3:] == ["DeregisterTargets", "CreateTags", "StopInstances"]
    fake_aws.clear_rules()
    assert keeper.cpi.call("has_vm", vm_cid).ok() is False
    since = told.partition(" ")[0]
    said = keeper.cpi.run("diagnose", vm_cid).stdout.decode()
    assert said.startswith(
        f"error: create_vm failed with {KEPT} and kept it since {since}: the Director does not know it. "
        f"Examine it, then delete it: bin/cpi sweep --director UUID --delete --instance {vm_cid}\n"
    )
    (stray,) = sweep("--json").document["strays"]
    assert stray["why"] == f"kept since {since}: create_vm failed with {KEPT}"
    assert stray["outcome"] == "left to you: name it with --instance"
    assert sweep.outcomes("--delete", "--instance", vm_cid, status=0) == {vm_cid: "removed"}
    assert keeper.instances() == {}


def test_not_kept_by_default(
    create_vm: CreateVm, network: WriteNetwork, deny: Refuse, failure: WriteError, left: ListResources
) -> None:
    """Without the key it is terminated."""
    message = deny(LAST)
    assert create_vm(FAILING, {"any": network()}).error == failure("CloudError", message)
    assert left() == {}


@pytest.mark.parametrize(
    ("case", "why"),
    [
        ("static", "the next attempt needs its static address"),
        ("several", "the next attempt needs its network interfaces"),
        ("vip", "the next attempt needs its elastic IP"),
        ("spot", "EC2 stops no one-time spot instance"),
        ("tags", "with tags of these names it counts as a VM of the Director; use others: id, job"),
    ],
)
def test_not_kept(
    keeper: Keeper,
    traffic: Traffic,
    deny: Refuse,
    warnings: ReadWarnings,
    fake_aws: FakeAws,
    case: str,
    why: str,
) -> None:
    """What a retry needs, or EC2 does not stop, is terminated as without the key; the log says why."""
    networks: dict[str, Any] = {"any": keeper.network()}
    if case == "static":
        networks = {"one": keeper.network("10.0.1.10")}
    elif case == "several":
        networks["two"] = keeper.network(subnet=1)
    elif case == "vip":
        networks["public"] = {"type": "vip", "ip": traffic.public_ip}
    action = "ModifyNetworkInterfaceAttribute" if case == "several" else LAST
    message = deny(action)
    own: dict[str, dict[str, Any]] = {
        "spot": {"spot_bid_price": 0.05},
        "tags": {"tags": {"job": "x", "id": "y", "team": "z"}},
    }
    answer = keeper.create(own.get(case), networks)
    assert answer.error["message"] == message
    (said,) = [each for each in warnings(answer) if "keep_failed_vms" in each]
    assert re.fullmatch(rf"aws.keep_failed_vms: instance 'i-[0-9a-f]+' is not kept: {why}", said)
    assert "StopInstances" not in fake_aws.actions()
    assert keeper.instances() == {}


@pytest.mark.parametrize("action", ["CreateTags", "StopInstances"])
def test_refused(
    keeper: Keeper,
    deny: Refuse,
    failure: WriteError,
    warnings: ReadWarnings,
    left: ListResources,
    action: str,
) -> None:
    """If EC2 refuses to tag or to stop it, it is terminated; the first error is the call's."""
    deny(action)
    message = deny(LAST)
    answer = keeper.create()
    assert answer.error == failure("CloudError", message)
    (said,) = [
        each for each in warnings(answer) if f" is not kept: {action} failed with Unauthorized" in each
    ]
    assert f"Allow ec2:{action}" in said
    assert left() == {}


def test_not_running(keeper: Keeper, fake_aws: FakeAws, left: ListResources) -> None:
    """An instance that EC2 has ended before it ran is not to be kept, and nothing is left."""
    fake_aws.rule(action="RunInstances", times=None, ends="Client.VolumeLimitExceeded: Volume limit exceeded")
    answer = keeper.create()
    assert "Volume limit exceeded" in answer.error["message"]
    assert "stopped and kept" not in answer.error["message"]
    assert "is not kept" not in answer.stderr
    assert "StopInstances" not in fake_aws.actions()
    assert left() == {}


def test_relaunched(
    keeper: Keeper, deny: Refuse, fake_aws: FakeAws, warnings: ReadWarnings, sent: ReadCalls
) -> None:
    """After an instance that EC2 has ended, only the one that ran is kept."""
    fake_aws.rule(action="RunInstances", times=1, ends="Server.InternalError: Internal error on launch")
    deny(LAST)
    answer = keeper.create()
    ((vm_cid, state),) = keeper.instances().items()
    assert (state, len(sent("RunInstances"))) == ("stopped", 2)
    assert [each["InstanceId.1"] for each in sent("StopInstances")] == [vm_cid]
    assert not [each for each in warnings(answer) if "is not kept" in each]


def test_signal(keeper: Keeper, fake_aws: FakeAws, left: ListResources, sent: ReadCalls) -> None:
    """A call that is cancelled has not failed: its instance is terminated."""
    answer = interrupt_at(fake_aws, keeper.start, action=LAST)
    assert "interrupted by SIGTERM" in answer.error["message"]
    assert sent("StopInstances") == []
    assert left() == {}


def test_abandoned(keeper: Keeper, fake_aws: FakeAws, left: ListResources, sent: ReadCalls) -> None:
    """Nor has one whose caller is gone."""
    assert abandon_at(fake_aws, keeper.start, action=LAST).returncode == 1
    assert sent("StopInstances") == []
    assert left() == {}


@pytest.mark.parametrize("fallbacks", [[], ["m5.large"]], ids=["one-type", "two-types"])
def test_retry(
    keeper: Keeper,
    deny: Refuse,
    fake_aws: FakeAws,
    fallbacks: list[str],
) -> None:
    """A retry launches another instance; one that fails, too, keeps its own and leaves the first alone."""
    properties = {"instance_type_fallbacks": fallbacks} if fallbacks else {}
    deny(LAST)
    for count in (1, 2):
        assert "stopped and kept" in keeper.create(properties).error["message"]
        assert list(keeper.instances().values()) == ["stopped"] * count
    told = {vm_cid: keeper.told(vm_cid) for vm_cid in keeper.instances()}
    fake_aws.clear_rules()
    vm_cid = keeper.create(properties).ok()[0]
    assert keeper.instances() == {**dict.fromkeys(told, "stopped"), vm_cid: "running"}
    assert {each: keeper.told(each) for each in told} == told


LONG_AGO = [r"<launchTime>\d{4}", "<launchTime>2020"]


@pytest.mark.faults
@pytest.mark.parametrize("nth", [1, 3])
def test_unknown_whether_kept(keeper: Keeper, deny: Refuse, fake_aws: FakeAws, nth: int) -> None:
    """An earlier call's instance is terminated if EC2 does not say whether that call kept it."""
    kill_at(fake_aws, keeper.start, when="before", action=LAST)
    assert list(keeper.instances().values()) == ["running"]
    fake_aws.clear_rules()
    fake_aws.forget_calls()
    fake_aws.rule(action="RunInstances", nth=1, replace=[LONG_AGO])
    deny(LAST)
    deny("DescribeInstances", nth)
    refused = "DescribeInstances" if nth == 1 else LAST
    assert str(keeper.create().error["message"]).startswith(f"{refused} failed with UnauthorizedOperation")
    assert "TerminateInstances" in fake_aws.actions()
    fake_aws.clear_rules()
    assert keeper.instances() == {}


@pytest.mark.parametrize("is_shown", [True, False])
def test_known_as_kept(
    keeper: Keeper,
    deny: Refuse,
    fake_aws: FakeAws,
    *,
    is_shown: bool,
) -> None:
    """One that was seen as kept, by the launch's answer or a look, is left alone without another look."""
    deny(LAST)
    keeper.create()
    (kept,) = keeper.instances()
    fake_aws.clear_rules()
    fake_aws.forget_calls()
    fake_aws.rule(
        action="RunInstances",
        nth=1,
        replace=[LONG_AGO, *([] if is_shown else [["bosh_kept", "other"]])],
    )
    deny("DescribeInstances", 1 if is_shown else 2)
    assert "DescribeInstances failed" in keeper.create().error["message"]
    fake_aws.clear_rules()
    assert keeper.instances() == {kept: "stopped"}


def test_answer_of_the_launch(
    keeper: Keeper,
    deny: Refuse,
    fake_aws: FakeAws,
) -> None:
    """If EC2 answers a retry as it answered the launch, the CPI looks the instance up."""
    deny(LAST)
    keeper.create()
    (kept,) = keeper.instances()
    fake_aws.clear_rules()
    launch = [
        ["<instanceState><code>80</code><name>stopped", "<instanceState><code>0</code><name>pending"],
        ["bosh_kept", "other"],
        LONG_AGO,
    ]
    fake_aws.rule(action="RunInstances", nth=1, replace=launch)
    vm_cid = keeper.create().ok()[0]
    assert keeper.instances() == {kept: "stopped", vm_cid: "running"}


@pytest.mark.faults
@pytest.mark.parametrize(
    ("action", "when", "is_kept"),
    [
        ("CreateTags", "before", False),
        ("CreateTags", "after", False),
        ("StopInstances", "before", False),
        ("StopInstances", "after", True),
    ],
)
def test_killed(
    keeper: Keeper,
    deny: Refuse,
    fake_aws: FakeAws,
    action: str,
    when: Any,
    is_kept: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """After SIGKILL, a retry completes an instance that still runs; otherwise it launches another one."""
    deny(LAST)
    kill_at(fake_aws, keeper.start, when=when, action=action)
    (first,) = keeper.instances()
    fake_aws.clear_rules()
    vm_cid = keeper.create().ok()[0]
    assert keeper.instances() == ({first: "stopped", vm_cid: "running"} if is_kept else {vm_cid: "running"})
    assert (vm_cid != first) is is_kept


@pytest.mark.parametrize(
    ("told", "metadata", "is_stopped"),
    [
        ("2026-05-01T00:00:00Z CloudError {0}", {}, False),
        ("2026-05-01T00:00:00Z CloudError {0}", METADATA, True),
        ("2026-05-01T00:00:00Z CloudError i-0123456789abcdef0", {}, True),
        ("", {}, True),
    ],
    ids=["running", "known", "another", "empty"],
)
def test_forged(
    keeper: Keeper,
    vm: Callable[[], str],
    sweep: Sweep,
    world: World,
    told: str,
    metadata: dict[str, str],
    is_stopped: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """The tag counts only with the instance's id, while EC2 shows it stopped, and without metadata."""
    vm_cid = vm()
    tags = {"bosh_kept": told.format(vm_cid), "bosh_agent_id": "a", **metadata}
    world.ec2.create_tags(
        Resources=[vm_cid], Tags=[{"Key": key, "Value": value} for key, value in tags.items()]
    )
    if is_stopped:
        world.ec2.stop_instances(InstanceIds=[vm_cid])
    assert keeper.cpi.call("has_vm", vm_cid).ok() is True
    assert "kept since" not in sweep(*ANY_AGE).stdout.decode()
    assert "kept it since" not in keeper.cpi.run("diagnose", vm_cid).stdout.decode()


def test_error_of_the_cpi(keeper: Keeper, traffic: Traffic) -> None:
    """An error that is not AWS's names the instance, too."""
    traffic.add_group("v6", TargetType="ip", IpAddressType="ipv6")
    said = str(keeper.create({"lb_target_groups": ["v6"]}).error["message"])
    ((vm_cid, state),) = keeper.instances().items()
    assert state == "stopped"
    assert said.startswith("Target group ")
    assert said.endswith(NAMED.format(vm_cid))


def test_shown_late(keeper: Keeper, deny: Refuse, fake_aws: FakeAws, sent: ReadCalls) -> None:
    """The call ends when EC2 shows that the instance stops: a retry would take a running one for the VM."""
    deny(LAST)
    running = ["<code>80</code><name>stopped", "<code>16</code><name>running"]
    fake_aws.rule(action="DescribeInstances", nth=2, times=2, replace=[running])
    assert "stopped and kept" in keeper.create().error["message"]
    assert len(sent("DescribeInstances")) == 4
