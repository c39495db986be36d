"""VMs in target groups by address and by port: create_vm registers them, delete_vm deregisters addresses."""

from collections.abc import Callable
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi
from testbed.traffic import Traffic
from testbed.world import World
from tests.stories.operators import Sweep
from tests.stories.story import Story

Targets = Callable[[], set[tuple[str, str, int]]]

REGISTER, DEREGISTER, HEALTH = "RegisterTargets", "DeregisterTargets", "DescribeTargetHealth"
END, LOOK, TAG = "TerminateInstances", "DescribeInstances", "CreateTags"
GROUP = "DescribeTargetGroups"
CHECK = [GROUP, "DescribeSubnets", "DescribeNetworkInterfaces"]
"""What shows that the address of a VM that is gone is nobody's now."""
ADDRESS = "10.0.1.10"
SHUTTING_DOWN = [
    r"<instanceState>\s*<code>\d+</code>\s*<name>\S+</name>\s*</instanceState>",
    "<instanceState><code>32</code><name>shutting-down</name></instanceState>",
]
NO_TAGS = ["<tagSet>.*?</tagSet>", ""]
"""EC2 may not show the tags of an instance that it has terminated."""
FAST = {"fast_path_delete": True, "deregister_on_delete": True}
SETTINGS = [{}, FAST]
FOREIGN = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/far/0123456789abcdef"


@pytest.fixture
def group(traffic: Traffic, fake_aws: FakeAws) -> str:
    """Return the ARN of the target group `ips`, which takes addresses, at port 8080."""
    arn = traffic.add_group("ips", 8080, TargetType="ip")
    fake_aws.forget_calls()
    return arn


@pytest.fixture
def vm_cid(story: Story, group: str, fake_aws: FakeAws) -> str:
    """Return a VM whose address is in the target group."""
    created: str = story.create_vm({"lb_target_groups": [group]}).ok()[0]
    fake_aws.forget_calls()
    return created


@pytest.fixture
def targets(traffic: Traffic) -> Targets:
    """Return a function that reads the targets of all groups: group, id and port."""

    def read() -> set[tuple[str, str, int]]:
        return {
            (name, each["Target"]["Id"], each["Target"]["Port"])
            for name, arn in traffic.target_groups.items()
            for each in traffic.elbv2.describe_target_health(TargetGroupArn=arn)["TargetHealthDescriptions"]
        }

    return read


def record(arn: str, port: int) -> str:
    """Return the key of the tag that records a target."""
    return f"bosh_target_{arn.rpartition('/')[2]}_{port}"


def nic(address: str, place: str = "") -> str:
    """Describe an interface of an instance."""
    return (
        "<item><networkInterfaceId>eni-0123456789abcdef0</networkInterfaceId>"
        f"<attachment>{place}</attachment><privateIpAddress>{address}</privateIpAddress></item>"
    )


def test_registered(
    story: Story, traffic: Traffic, group: str, targets: Targets, origin: dict[str, str], fake_aws: FakeAws
) -> None:
    """A group by name, ARN or hash gets the VM's id or address; its tags record what ELB would not find."""
    wanted = [
        *("web-tcp", traffic.target_groups["web-tcp"], {"name": "web-tcp", "port": 80}),
        *({"name": "web-tls", "port": 8443}, {"arn": group}, {"name": "ips", "port": 8080}),
        {"name": "ips", "port": 9100},
    ]
    vm_cid = story.create_vm({"lb_target_groups": wanted}).ok()[0]
    assert fake_aws.actions()[-5:] == [TAG, *[REGISTER] * 4]
    assert targets() == {
        *(("web-tcp", vm_cid, 80), ("web-tls", vm_cid, 8443)),
        *(("ips", ADDRESS, 8080), ("ips", ADDRESS, 9100)),
    }
    tls = traffic.target_groups["web-tls"]
    assert story.tags_of(vm_cid) == {
        **origin,
        record(tls, 8443): f"{tls} {vm_cid}",
        record(group, 8080): f"{group} {ADDRESS}",
        record(group, 9100): f"{group} {ADDRESS}",
    }


def test_primary_address(story: Story, group: str, targets: Targets, world: World) -> None:
    """The target is the first interface's primary address, also one that AWS chose."""
    assert group
    networks = {"dynamic": story.network(), "second": story.network("10.0.2.10", 1)}
    vm_cid = story.create_vm({"lb_target_groups": ["ips"]}, networks).ok()[0]
    (nic,) = (
        nic for nic in world.instance(vm_cid)["NetworkInterfaces"] if nic["Attachment"]["DeviceIndex"] == 0
    )
    assert targets() == {("ips", nic["PrivateIpAddress"], 8080)}


def test_ipv6(story: Story, traffic: Traffic, targets: Targets, fake_aws: FakeAws, world: World) -> None:
    """A group of IPv6 addresses gets the VM's IPv6 address; a VM without one is not launched."""
    arn = traffic.add_group("v6", TargetType="ip", IpAddressType="ipv6")
    networks = {
        "v4": story.network(ADDRESS, nic_group="front"),
        "v6": story.network("2001:db8:1::10", nic_group="front"),
    }
    story.create_vm({"lb_target_groups": ["v6"]}, networks).ok()
    assert targets() == {("v6", "2001:db8:1::10", 80)}
    traffic.add_group("ips", TargetType="ip")
    lacking = (
        "Target group '{}' has IP address type {}, but the VM's first interface has no such address: give it "
        "one, or use a target group of the other type"
    )
    instances = traffic.add_group("v6-instances", TargetType="instance", IpAddressType="ipv6")
    primary = (
        f"Target group '{instances}' has target type instance and IP address type ipv6, so it needs the VM's "
        "primary IPv6 address: set primary_ipv6, or use a target group of type ip"
    )
    six, v4 = {"v6": story.network("2001:db8:1::11")}, {"v4": story.network("10.0.1.11")}
    native = ["<ipv6Native>false", "<ipv6Native>true"]
    refused: list[tuple[str, dict[str, Any], list[list[str]], str]] = [
        ("v6", v4, [], lacking.format(arn, "ipv6")),
        ("v6-instances", v4, [], lacking.format(instances, "ipv6")),
        ("v6-instances", six, [], primary),
        ("ips", six, [native], lacking.format(traffic.target_groups["ips"], "ipv4")),
        (traffic.target_group, six, [native], lacking.format(traffic.target_group_arn, "ipv4")),
    ]
    fake_aws.forget_calls()
    for name, networks, replace, message in refused:
        fake_aws.rule(action="DescribeSubnets", times=1, replace=replace)
        answer = story.create_vm({"lb_target_groups": [name]}, networks, agent_id="agent-2")
        assert answer.error == story.failure("CloudError", message)
    assert "RunInstances" not in fake_aws.actions()
    world.ec2.modify_subnet_attribute(SubnetId=world.subnet_id, AssignIpv6AddressOnCreation={"Value": True})
    story.create_vm(
        {"lb_target_groups": ["v6-instances"], "primary_ipv6": True}, six, agent_id="agent-3"
    ).ok()


@pytest.mark.usefixtures("group")
@pytest.mark.parametrize("action", [TAG, "AssociateAddress"])
def test_undone(story: Story, exposed: dict[str, Any], traffic: Traffic, action: str) -> None:
    """If a later step fails, or a target can't be recorded, the address is no target, and nothing is left."""
    exposed["properties"]["lb_target_groups"] = ["ips"]
    message = story.deny(action)
    assert story.create_vm(**exposed).error == story.failure("CloudError", message)
    assert story.leftovers() == {}
    assert traffic.state() == traffic.empty


@pytest.mark.usefixtures("group")
def test_registered_without_an_answer(
    story: Story, exposed: dict[str, Any], traffic: Traffic, fake_aws: FakeAws
) -> None:
    """An address whose registration was not answered may be a target: it is taken back."""
    fake_aws.rule(action="RegisterTargets", nth=1, drop="after")
    exposed["properties"]["lb_target_groups"] = ["ips"]
    answer = story.create_vm(**exposed, executable=story.cpi_with(max_retries=0))
    assert "RegisterTargets" in answer.error["message"]
    assert traffic.state() == traffic.empty


def test_deregistered(cpi: Cpi, vm_cid: str, traffic: Traffic, fake_aws: FakeAws) -> None:
    """delete_vm deregisters the address once, as soon as it sees the VM, unless another VM has it."""
    fake_aws.rule(action=LOOK, nth=1, replace=[SHUTTING_DOWN])
    assert cpi.call("delete_vm", vm_cid, stemcell=2).ok() is None
    called = fake_aws.actions()
    assert (called[0], called.count(DEREGISTER)) == (END, 1)
    assert set(CHECK) <= set(called[: called.index(DEREGISTER)])
    assert traffic.state() == traffic.empty


def test_deregistered_on_the_fast_path(
    story: Story, vm_cid: str, traffic: Traffic, fake_aws: FakeAws
) -> None:
    """The fast path does not wait; if it looks at the VM, it deregisters the address."""
    settings = {"fast_path_delete": True, "skip_os_shutdown": False}
    assert story.cpi_with(**settings).call("delete_vm", vm_cid, stemcell=2).ok() is None
    assert [action for action in fake_aws.actions() if action != LOOK] == [END, GROUP, DEREGISTER, TAG]
    assert traffic.state() == traffic.empty


def test_fast_path_that_does_not_look(story: Story, group: str) -> None:
    """If delete_vm would not look at the VM, create_vm refuses groups of addresses, but not of instances."""
    cpi = story.cpi_with(fast_path_delete=True)
    why = (
        f"Target group '{group}' has target type ip: with aws.fast_path_delete, set "
        "aws.deregister_on_delete too, so that delete_vm deregisters the VM's address"
    )
    story.check_refusal(story.create_vm({"lb_target_groups": ["ips"]}, executable=cpi), why)
    story.create_vm({"lb_target_groups": ["web-tcp"]}, executable=cpi).ok()


@pytest.mark.parametrize("is_fast", [False, True])
def test_drained(story: Story, group: str, traffic: Traffic, fake_aws: FakeAws, *, is_fast: bool) -> None:
    """With deregister_on_delete, addresses and ports leave before the VM is terminated, once."""
    wanted = [{"arn": group}, {"name": "web-tls", "port": 8443}]
    vm_cid = story.create_vm({"lb_target_groups": wanted}).ok()[0]
    fake_aws.forget_calls()
    cpi = story.cpi_with(deregister_on_delete=True, fast_path_delete=is_fast)
    assert cpi.call("delete_vm", vm_cid, stemcell=2).ok() is None
    left = {
        (each["Targets.member.1.Id"], each["Targets.member.1.Port"])
        for each in story.parameters_of(DEREGISTER)
    }
    assert left == {(ADDRESS, "8080"), (vm_cid, "8443")}
    called = fake_aws.actions()
    assert called.count(DEREGISTER) == 2
    assert DEREGISTER not in called[called.index(END) :]
    assert called.count(HEALTH) == (2 if is_fast else 4)
    assert traffic.state() == traffic.empty


@pytest.mark.parametrize("settings", SETTINGS)
def test_not_certain(
    story: Story, vm_cid: str, traffic: Traffic, fake_aws: FakeAws, group: str, settings: dict[str, bool]
) -> None:
    """An address that can't be deregistered is an error; the same call again finishes the deletion."""
    message = story.deny(DEREGISTER)
    cpi = story.cpi_with(**settings)
    error = cpi.call("delete_vm", vm_cid, stemcell=2).error
    command = f"aws elbv2 deregister-targets --target-group-arn {group} --targets Id={ADDRESS},Port=8080"
    why = (
        f"VM '{vm_cid}' is terminated or shutting down, but its address '{ADDRESS}:8080' is still in target "
        f"group '{group}': {message[:-1]}, for {group}). "
    )
    assert error["message"].startswith(why)
    assert error["message"].endswith(f". Repeat the deletion within an hour, or run: {command}")
    assert traffic.world.state()["instances"] == []
    assert traffic.state()["targets"] == [ADDRESS]
    fake_aws.clear_rules()
    assert cpi.call("delete_vm", vm_cid, stemcell=2).ok() is None
    assert traffic.state() == traffic.empty


def test_no_answer(
    cpi: Cpi, vm_cid: str, group: str, traffic: Traffic, world: World, fake_aws: FakeAws
) -> None:
    """If ELB does not answer, the VM's end is awaited all the same, and the error names the address."""
    fake_aws.rule(action=LOOK, nth=1, replace=[SHUTTING_DOWN])
    fake_aws.rule(action=DEREGISTER, drop="before", times=None)
    error = cpi.call("delete_vm", vm_cid, stemcell=2).error
    why = f"VM '{vm_cid}' is terminated or shutting down, but its address '{ADDRESS}:8080' is still in target"
    assert error["message"].startswith(f"{why} group '{group}': ConnectionClosedError: ")
    assert f" (elasticloadbalancing:{DEREGISTER} for " in error["message"]
    assert fake_aws.actions()[-1] == LOOK
    assert world.state()["instances"] == []
    assert traffic.state()["targets"] == [ADDRESS]


def test_seen_late(cpi: Cpi, vm_cid: str, traffic: Traffic, fake_aws: FakeAws) -> None:
    """If EC2 does not know the VM at once after its termination, delete_vm looks again."""
    fake_aws.refuse(LOOK, "InvalidInstanceID.NotFound", "No such instance", nth=1)
    assert cpi.call("delete_vm", vm_cid, stemcell=2).ok() is None
    assert traffic.state() == traffic.empty


@pytest.mark.usefixtures("fast_clock")
def test_never_seen(story: Story, cpi: Cpi, vm_cid: str, fake_aws: FakeAws) -> None:
    """If EC2 never shows the VM, it counts as deleted, and the log says that its groups are not known."""
    fake_aws.refuse(LOOK, "InvalidInstanceID.NotFound", "No such instance", times=None)
    answer = cpi.call("delete_vm", vm_cid, stemcell=2)
    assert answer.ok() is None
    said = f"EC2 does not show VM '{vm_cid}' any more: its target groups are not known"
    assert said in story.warnings(answer)


@pytest.mark.parametrize("settings", SETTINGS)
def test_repeated(
    story: Story, vm_cid: str, traffic: Traffic, world: World, settings: dict[str, bool]
) -> None:
    """The address of a VM that is already terminated leaves the group as well."""
    world.ec2.terminate_instances(InstanceIds=[vm_cid])
    assert traffic.state()["targets"] == [ADDRESS]
    assert story.cpi_with(**settings).call("delete_vm", vm_cid, stemcell=2).ok() is None
    assert traffic.state() == traffic.empty


@pytest.mark.usefixtures("fast_clock")
@pytest.mark.parametrize("is_shown_later", [True, False])
@pytest.mark.parametrize("settings", SETTINGS)
def test_tags_that_are_not_shown(
    story: Story,
    vm_cid: str,
    group: str,
    traffic: Traffic,
    fake_aws: FakeAws,
    settings: dict[str, bool],
    *,
    is_shown_later: bool,
) -> None:
    """If EC2 does not show the VM's tags, it is asked again; then the VM's own address is looked for.

    That is the address of its first interface: those of the second, or of one on another card, stay.
    """
    places = {
        "10.0.1.11": "<deviceIndex>1</deviceIndex>",
        "10.0.1.12": "<networkCardIndex>1</networkCardIndex>",
    }
    others = [{"Id": address, "Port": 8080} for address in places]
    traffic.elbv2.register_targets(TargetGroupArn=group, Targets=others)
    fake_aws.forget_calls()
    vpc = f"<vpcId>{traffic.world.vpc_id}</vpcId>"
    nics = nic(ADDRESS) + "".join(map(nic, places, places.values()))
    still = ["<networkInterfaceSet */>", f"{vpc}<networkInterfaceSet>{nics}</networkInterfaceSet>"]
    fake_aws.rule(action=LOOK, nth=1, replace=[NO_TAGS, SHUTTING_DOWN, still])
    if not is_shown_later:
        fake_aws.rule(action=LOOK, nth=2, times=None, replace=[NO_TAGS])
    assert story.cpi_with(**settings).call("delete_vm", vm_cid, stemcell=2).ok() is None
    asked = [call["parameters"] for call in fake_aws.calls() if call["action"] == HEALTH]
    assert traffic.state()["targets"] == [*places]
    assert any("Targets.member.1.Id" not in each for each in asked) == (not is_shown_later)


@pytest.mark.usefixtures("fast_clock")
@pytest.mark.parametrize("is_gone", [True, False])
def test_neither_tags_nor_address(
    story: Story, vm_cid: str, world: World, fake_aws: FakeAws, *, is_gone: bool
) -> None:
    """If nothing shows the VM's targets, a warning says what may be left; the VM is deleted all the same."""
    if is_gone:
        world.ec2.terminate_instances(InstanceIds=[vm_cid])
    story.deny(GROUP)
    fake_aws.rule(action=LOOK, times=None, replace=[NO_TAGS])
    answer = story.cpi_with(skip_os_shutdown=False).call("delete_vm", vm_cid, stemcell=2)
    assert answer.ok() is None
    what = "its addresses" if is_gone else ADDRESS
    assert story.warnings(answer)[-1] == (
        f"EC2 does not show the tags of VM '{vm_cid}', which record its targets. If it had lb_target_groups "
        f"of type ip, look for {what} in them: aws elbv2 describe-target-health --target-group-arn ARN"
    )
    assert (GROUP in fake_aws.actions()) == (not is_gone)


@pytest.mark.parametrize("is_own", [True, False])
def test_unattached_interface_with_the_address(
    story: Story, cpi: Cpi, vm_cid: str, traffic: Traffic, world: World, *, is_own: bool
) -> None:
    """An interface that holds a terminated VM's address keeps the target, unless it was made for the VM."""
    tags = story.tags_of(vm_cid)
    world.ec2.terminate_instances(InstanceIds=[vm_cid])
    own = f"BOSH agent {tags['bosh_agent_id']} of director {tags['bosh_director_uuid']}"
    interface = {"SubnetId": world.subnet_id, "PrivateIpAddress": ADDRESS}
    world.ec2.create_network_interface(**interface, Description=own if is_own else "somebody's")
    cpi.call("delete_vm", vm_cid, stemcell=2)
    assert traffic.state()["targets"] == ([] if is_own else [ADDRESS])


def test_vm_that_has_lost_its_interface(cpi: Cpi, vm_cid: str, traffic: Traffic, fake_aws: FakeAws) -> None:
    """The address also leaves if EC2 shows only another interface on the VM, which is shutting down."""
    other = [
        "<networkInterfaceSet */>|<networkInterfaceSet>.*?</networkInterfaceSet>",
        f"<networkInterfaceSet>{nic('10.0.1.77')}</networkInterfaceSet>",
    ]
    fake_aws.rule(action=LOOK, times=2, where={"InstanceId.1": vm_cid}, replace=[SHUTTING_DOWN, other])
    answer = cpi.call("delete_vm", vm_cid, stemcell=2)
    assert traffic.state()["targets"] == [], answer


def test_address_of_a_later_vm(story: Story, cpi: Cpi, vm_cid: str, traffic: Traffic, world: World) -> None:
    """If another VM has got the address and its place in the group, the target is that VM's and stays."""
    world.ec2.terminate_instances(InstanceIds=[vm_cid])
    networks = {"private": story.network("10.0.1.10", default=["dns", "gateway"]), "other": story.network()}
    later = story.create_vm({"lb_target_groups": ["ips"]}, networks).ok()[0]
    assert cpi.call("delete_vm", vm_cid, stemcell=2).ok() is None
    assert traffic.state()["targets"] == [ADDRESS]
    assert cpi.call("delete_vm", later, stemcell=2).ok() is None
    assert traffic.state() == traffic.empty


@pytest.mark.parametrize(
    ("where", "settings"),
    [
        ("outside", {}),
        ("subnet", {"skip_os_shutdown": False}),
        ("vpc", {"deregister_on_delete": True}),
    ],
)
def test_record_that_is_not_its_own(
    story: Story, traffic: Traffic, group: str, where: str, settings: dict[str, bool]
) -> None:
    """A record that EC2 does not confirm deregisters nothing; the log says how to do it."""
    ec2, address = traffic.world.ec2, "10.0.1.99" if where == "subnet" else ADDRESS
    if where == "outside":
        address = "172.16.0.9"
    if where == "vpc":
        other = ec2.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
        made = traffic.elbv2.create_target_group(
            Name="far", Protocol="TCP", Port=8080, VpcId=other, TargetType="ip"
        )
        group = traffic.target_groups["far"] = made["TargetGroups"][0]["TargetGroupArn"]
    if where == "subnet":
        ec2.create_network_interface(SubnetId=traffic.world.subnet_id, PrivateIpAddress=address)
    zone = {"AvailabilityZone": "all"} if where != "subnet" else {}
    traffic.elbv2.register_targets(TargetGroupArn=group, Targets=[{"Id": address, "Port": 8080, **zone}])
    vm_cid = story.create_vm().ok()[0]
    tags = [{"Key": record(group, 8080), "Value": f"{group} {address}"}]
    ec2.create_tags(Resources=[vm_cid], Tags=tags)
    answer = story.cpi_with(**settings).call("delete_vm", vm_cid, stemcell=2)
    assert answer.ok() is None
    assert traffic.state()["targets"] == [address]
    (said,) = story.warnings(answer)
    command = f"aws elbv2 deregister-targets --target-group-arn {group} --targets Id={address},Port=8080"
    assert said.startswith(f"Not deregistering '{address}:8080' from '{group}': ")
    assert said.endswith(f". If nobody needs this target, run: {command}")


@pytest.mark.parametrize("value", ["{} 10.0.1.9; true", "{} \u202e10.0.1.9"])
def test_record_of_nonsense(
    story: Story, cpi: Cpi, traffic: Traffic, group: str, fake_aws: FakeAws, value: str
) -> None:
    """What only looks like a record deregisters nothing, and is not printed as a command."""
    vm_cid = story.create_vm().ok()[0]
    tags = [
        {"Key": record(group, 8080), "Value": value.format(group)},
        {"Key": "bosh_target_x", "Value": f"{group} {ADDRESS}"},
    ]
    traffic.world.ec2.create_tags(Resources=[vm_cid], Tags=tags)
    answer = cpi.call("delete_vm", vm_cid, stemcell=2)
    assert answer.ok() is None
    assert DEREGISTER not in fake_aws.actions()
    assert not {"true", "\u202e"} & {*answer.stderr.split()}


def test_group_that_is_gone(cpi: Cpi, vm_cid: str, group: str, traffic: Traffic, world: World) -> None:
    """A deleted target group is no error."""
    traffic.elbv2.delete_target_group(TargetGroupArn=group)
    assert cpi.call("delete_vm", vm_cid, stemcell=2).ok() is None
    assert world.state()["instances"] == []


def test_swept(cpi: Cpi, vm_cid: str, traffic: Traffic, fake_aws: FakeAws) -> None:
    """A VM that `cpi sweep` deletes leaves its target groups, too."""
    outcomes = Sweep(cpi, fake_aws).outcomes("--delete", "--instance", vm_cid, status=0)
    assert outcomes == {vm_cid: "removed"}
    assert traffic.state() == traffic.empty


def test_group_of_another_region(story: Story) -> None:
    """A target group in another region is refused without asking for it."""
    message = f"Target group '{FOREIGN}' is in region 'eu-west-1', but the VM is in 'us-east-1'"
    assert "DescribeTargetGroups" not in story.check_refusal(
        story.create_vm({"lb_target_groups": [FOREIGN]}), message
    )


def test_too_many_tags(story: Story, group: str) -> None:
    """The tags that record targets count towards EC2's limit."""
    tags = {f"tag-{number}": "" for number in range(48)}
    message = "EC2 allows 50 tags, but there are 51, with those of aws.tags, env.bosh.tags and the CPI itself"
    story.check_refusal(story.create_vm({"lb_target_groups": [group], "tags": tags}), message)
