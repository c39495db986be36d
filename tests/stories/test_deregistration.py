"""delete_vm: a VM leaves its load balancers first, where the configuration says so."""

from functools import partial

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi
from testbed.killing import act_at
from testbed.traffic import Traffic
from testbed.world import World
from tests.stories.story import Story

CLASSIC, TARGETS = "DeregisterInstancesFromLoadBalancer", "DeregisterTargets"
HEALTH, DELAY = "DescribeTargetHealth", "DescribeTargetGroupAttributes"
GONE = "<State>unused</State><Reason>Target.NotRegistered</Reason>"
DRAINING = "<State>draining</State><Reason>Target.DeregistrationInProgress</Reason>"
DENIED = {"code": "AccessDenied", "message": "Not for you.", "status": 403}
LEAVING = ["DescribeInstances", "DescribeLoadBalancers", CLASSIC, "DescribeTargetGroups"]
LEAVING += [HEALTH, HEALTH, TARGETS, TARGETS]


@pytest.fixture
def balanced(story: Story, traffic: Traffic, fake_aws: FakeAws) -> tuple[str, str]:
    """Return two VMs that are registered with both target groups and the classic load balancer."""
    vm_cids = story.lay_vm(), story.lay_vm()
    for arn in traffic.target_groups.values():
        traffic.elbv2.register_targets(TargetGroupArn=arn, Targets=[{"Id": vm_cid} for vm_cid in vm_cids])
    traffic.elb.register_instances_with_load_balancer(
        LoadBalancerName=traffic.load_balancer, Instances=[{"InstanceId": vm_cid} for vm_cid in vm_cids]
    )
    fake_aws.forget_calls()
    return vm_cids


def test_drained(
    story: Story, balanced: tuple[str, str], traffic: Traffic, world: World, fake_aws: FakeAws
) -> None:
    """The VM is deregistered, and terminated once it is drained; other VMs stay."""
    vm_cid, other = balanced
    fake_aws.rule(action=HEALTH, nth=3, replace=[[GONE, DRAINING]])
    assert story.cpi_with(deregister_on_delete=True).call("delete_vm", vm_cid, stemcell=2).ok() is None
    assert fake_aws.actions() == [
        *LEAVING,
        *[DELAY] * 2,
        *[HEALTH] * 3,
        "TerminateInstances",
        "DescribeInstances",
    ]
    state = traffic.state()
    assert (set(state["targets"]), state["registered"]) == ({other}, [other])
    assert world.state()["instances"] == [other]


def test_not_in_use(story: Story, balanced: tuple[str, str], fake_aws: FakeAws) -> None:
    """A target that gets no traffic, for example of a group that no listener uses, has nothing to drain."""
    unused = "<State>unused</State><Reason>Target.NotInUse</Reason>"
    fake_aws.rule(action=HEALTH, nth=1, times=2, replace=[["<State>healthy</State>", unused]])
    assert story.cpi_with(deregister_on_delete=True).call("delete_vm", balanced[0], stemcell=2).ok() is None
    assert fake_aws.actions() == [*LEAVING, "TerminateInstances", "DescribeInstances"]


def test_disk_that_is_attached_meanwhile(
    story: Story, balanced: tuple[str, str], fake_aws: FakeAws, world: World
) -> None:
    """A disk that is attached while the VM is drained outlives it: its shutdown is not skipped."""
    vm_cid, disk_cid = balanced[0], story.lay_disk()
    cpi = story.cpi_with(deregister_on_delete=True, skip_os_shutdown=True)
    start = partial(cpi.start, "delete_vm", vm_cid, stemcell=2)
    attach = partial(world.ec2.attach_volume, InstanceId=vm_cid, VolumeId=disk_cid, Device="/dev/sdf")
    answer = act_at(fake_aws, start, attach, 3, action=HEALTH)
    assert answer.ok() is None
    assert f"The shutdown of '{vm_cid}' is not skipped, because disks outlive it: {disk_cid}" in answer.stderr


def test_not_asked_for(cpi: Cpi, balanced: tuple[str, str], fake_aws: FakeAws) -> None:
    """Without the option no load balancer is called."""
    assert cpi.call("delete_vm", balanced[0], stemcell=2).ok() is None
    assert {call["service"] for call in fake_aws.calls()} == {"ec2"}


@pytest.mark.parametrize(
    ("action", "what", "others"),
    [
        ("DescribeLoadBalancers", ["classic load balancers"], TARGETS),
        ("DescribeTargetGroups", ["target groups"], CLASSIC),
        (TARGETS, ["web-tcp", "web-tls"], CLASSIC),
    ],
)
def test_failure(
    story: Story,
    balanced: tuple[str, str],
    world: World,
    fake_aws: FakeAws,
    action: str,
    what: list[str],
    others: str,
) -> None:
    """A failure is logged; the VM is deregistered from the others and deleted all the same."""
    vm_cid, other = balanced
    fake_aws.rule(action=action, error=DENIED)
    answer = story.cpi_with(deregister_on_delete=True).call("delete_vm", vm_cid, stemcell=2)
    assert answer.ok() is None
    errors = [line for line in answer.stderr.splitlines() if " ERROR: " in line]
    begin = "Deregistration failed, the VM is terminated anyway: "
    said = f": {action} failed with AccessDenied: Not for you."
    assert [
        begin in error and name in error and said in error for name, error in zip(what, errors, strict=True)
    ] == [True] * len(what)
    assert 200 in [call["status"] for call in fake_aws.calls() if call["action"] == others]
    assert world.state()["instances"] == [other]


def test_vm_that_is_gone(story: Story, world: World, fake_aws: FakeAws) -> None:
    """A terminated VM needs no deregistration; an unknown one is VMNotFound."""
    vm_cid, unknown = story.lay_vm(), "i-0123456789abcdef0"
    world.ec2.terminate_instances(InstanceIds=[vm_cid])
    cpi = story.cpi_with(deregister_on_delete=True)
    fake_aws.forget_calls()
    assert cpi.call("delete_vm", vm_cid, stemcell=2).ok() is None
    answer = cpi.call("delete_vm", unknown, stemcell=2)
    assert answer.error == story.failure("VMNotFound", f"VM `{unknown}' not found")
    assert {call["service"] for call in fake_aws.calls()} == {"ec2"}
