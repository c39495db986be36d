"""What is asked for VMs."""

from typing import Any

from tests.faults.scenario import Change, Scenario
from tests.faults.scenarios_disk import FREE, HELD, VM_WITH
from tests.faults.scenarios_disk import VM_WITHOUT as VM
from tests.faults.stage import Stage
from tests.gathering import FIRST, GATHERED

ROOT = "volume new: 5 GiB gp2, iops 100, in-use, attached to vm as /dev/xvda, goes with it"
ENI = "eni 10.0.1.4: in subnet 1, default, in-use, on vm as 0, goes with it"
TAGS = "[deployment=cf]"
ORIGIN = "[bosh_agent_id=agent-1, bosh_director_uuid=director]"
VOLUMES = tuple(
    f"volume new: {size} GiB gp3, iops 3000, throughput 125, in-use, attached to made as {device}, "
    f"goes with it {ORIGIN}"
    for size, device in ((5, "/dev/xvda"), (10, "/dev/sdb"))
)
MADE = (f"instance made: t3.micro of image, running, /dev/sdb /dev/xvda {ORIGIN}", *VOLUMES)
OF_TEMPLATE = f"[aws:ec2launchtemplate:id=template, aws:ec2launchtemplate:version=1, {ORIGIN[1:]}"
SPREAD_GROUP = (
    "placement group bosh-director-bosh-1-db-etcd: spread, available "
    "[bosh_director_uuid=director, bosh_spread_group=bosh-1-db-etcd]"
)
INTERFACE = ("CreateNetworkInterface", "DescribeNetworkInterfaces")
RECORD = "bosh_target_ips_8080=ARN of ips"
VM_IN_GROUP = f"{VM[:-1]}, {RECORD} 10.0.1.4]"
TARGET = "targets: 10.0.1.4"
CHECKED_TARGET = ("DescribeTargetGroups", "DescribeSubnets", *("DescribeNetworkInterfaces",) * 2)
BALANCERS = ("registered: vm", "targets: vm", "targets: vm")


def new_vm(address: str, subnet: int = 1, *more: str) -> Change:
    """A new VM with one interface at this address."""
    eni = f"eni {address}: in subnet {subnet}, bosh, in-use, on made as 0, goes with it {ORIGIN}"
    return Change(gains=[*MADE, eni, *more])


def network(stage: Stage, ip: str, subnet: int = 0, **keys: Any) -> dict[str, Any]:
    """Write a manual network."""
    return {
        "type": "manual",
        "ip": ip,
        "cloud_properties": {"subnet": stage.world.subnet_ids[subnet]},
        **keys,
    }


def arguments(stage: Stage, networks: dict[str, Any], disks: list[str], **properties: Any) -> list[Any]:
    """Write create_vm's arguments."""
    ordinary = {"instance_type": "t3.micro", "availability_zone": stage.world.zone}
    stemcell_cid = f"{stage.world.image_id} light"
    return ["agent-1", stemcell_cid, {**ordinary, **properties}, networks, disks, None]


def plain(stage: Stage) -> list[Any]:
    """Ask for a VM with one network, and a disk to be attached later."""
    return arguments(stage, {"private": network(stage, "10.0.1.10")}, [stage.disk()])


def beside_a_full_zone(stage: Stage) -> list[Any]:
    """Ask for a VM in a full subnet, with one of another zone for that case."""
    properties = {"subnet": stage.full_subnet(), "subnet_fallbacks": [stage.world.subnet_ids[2]]}
    networks = {"any": {"type": "dynamic", "cloud_properties": properties}}
    return arguments(stage, networks, [], zone_fallback=True)


def spread(stage: Stage, wish: object) -> list[Any]:
    """Ask for the first VM of an instance group whose VMs are spread."""
    whole = arguments(stage, {"private": network(stage, "10.0.1.30")}, [], spread=wish)
    return [*whole[:-1], {"bosh": {"group": "bosh-1-db-etcd"}}]


def beside_a_full_group(stage: Stage) -> list[Any]:
    """Ask for the eighth VM of an instance group whose VMs prefer to be spread."""
    stage.full_placement_group("bosh-1-db-etcd")
    return spread(stage, "prefer")


def everything(stage: Stage) -> list[Any]:
    """Ask for a VM with all that can be made for one.

    It comes from the latest version of a launch template. One of its two interfaces has a delegated prefix
    and all that leads to the VM; of its two routes one is new, and one leads elsewhere so far.
    """
    traffic = stage.route_traffic()
    data = {"Monitoring": {"Enabled": True}}
    made = stage.ec2.create_launch_template(LaunchTemplateName="bosh", LaunchTemplateData=data)
    stage.painter.name(made["LaunchTemplate"]["LaunchTemplateId"], "template")
    networks = {
        "first": network(stage, "10.0.1.10", nic_group="front"),
        "containers": network(stage, "10.0.1.32", nic_group="front", prefix="28"),
        "second": network(stage, "10.0.2.10", 1),
        "public": {"type": "vip", "ip": traffic.public_ip, "nic_group": "front"},
    }
    routes = [
        {"table_id": traffic.route_table_id, "destination": destination}
        for destination in ("10.9.0.0/16", "0.0.0.0/0")
    ]
    return arguments(
        stage,
        networks,
        [],
        launch_template={"name": "bosh", "version": "$Latest"},
        source_dest_check=False,
        auto_assign_public_ip=True,
        lb_target_groups=[traffic.target_group],
        elbs=[traffic.load_balancer],
        advertised_routes=routes,
    )


def balanced(stage: Stage) -> list[Any]:
    """Have a VM registered with a classic load balancer and two target groups."""
    traffic, vm_cid = stage.route_traffic(), stage.vm()
    for arn in traffic.target_groups.values():
        traffic.elbv2.register_targets(TargetGroupArn=arn, Targets=[{"Id": vm_cid}])
    traffic.elb.register_instances_with_load_balancer(
        LoadBalancerName=traffic.load_balancer, Instances=[{"InstanceId": vm_cid}]
    )
    return [vm_cid]


SIZED = "calculate_vm_cloud_properties by region"
VMS = (
    Scenario(
        name=SIZED,
        calls=("DescribeInstanceTypeOfferings",),
        lay=lambda _: [{"cpu": 1, "ram": 512, "ephemeral_disk_size": 1024}],
        result='{"instance_type": "t2.nano", "ephemeral_disk": {"size": 1024}}',
        aws={"vm_resources_by_region": True},
    ),
    Scenario(
        name="has_vm",
        calls=("DescribeInstances",),
        lay=lambda stage: [stage.vm()],
        result="true",
    ),
    Scenario(
        name="get_disks",
        calls=("DescribeInstances",),
        lay=lambda stage: stage.vm_with_disk()[:1],
        result='["new", "disk"]',
    ),
    Scenario(
        name="reboot_vm",
        calls=("DescribeInstances", "RebootInstances"),
        lay=lambda stage: [stage.vm()],
    ),
    Scenario(
        name="set_vm_metadata",
        calls=("DescribeInstances", "CreateTags"),
        lay=lambda stage: [stage.vm(), {"deployment": "cf"}],
        success=Change([VM, ROOT], [f"{VM[:-1]}, {TAGS[1:]}", f"{ROOT} {TAGS}"]),
        is_in_place=True,
    ),
    Scenario(
        name="create_vm",
        calls=(*FIRST, "DescribeVolumes", "DescribeSecurityGroups", "RunInstances", "DescribeInstances"),
        lay=plain,
        result='"made"',
        success=new_vm("10.0.1.10"),
    ),
    Scenario(
        name="create_vm with everything",
        calls=(
            *FIRST,
            "DescribeLaunchTemplateVersions",
            "DescribeSecurityGroups",
            "DescribeTargetGroups",
            "DescribeLoadBalancers",
            "DescribeRouteTables",
            "DescribeAddresses",
            *INTERFACE,
            "AssignPrivateIpAddresses",
            "ModifyNetworkInterfaceAttribute",
            *INTERFACE,
            "RunInstances",
            "DescribeInstances",
            *("ModifyNetworkInterfaceAttribute",) * 4,
            "CreateRoute",
            "ReplaceRoute",
            "RegisterTargets",
            "RegisterInstancesWithLoadBalancer",
            "AssociateAddress",
        ),
        lay=everything,
        result='"made"',
        success=Change(
            loses=["route: 0.0.0.0/0 to gateway"],
            gains=[
                f"instance made: t3.micro of image, running, /dev/sdb /dev/xvda {OF_TEMPLATE}",
                *VOLUMES,
                (
                    "eni 10.0.1.10, 10.0.1.32/28: in subnet 1, bosh, in-use, on made as 0, goes with it, "
                    f"passes foreign traffic {ORIGIN}"
                ),
                (
                    "eni 10.0.2.10: in subnet 2, bosh, in-use, on made as 1, goes with it, "
                    f"passes foreign traffic {ORIGIN}"
                ),
                "associations: eni 10.0.1.10",
                "registered: made",
                "targets: made",
                "route: 0.0.0.0/0 to eni 10.0.1.10",
                "route: 10.9.0.0/16 to eni 10.0.1.10",
            ],
        ),
    ),
    Scenario(
        name="create_vm in a group of addresses",
        calls=(
            *GATHERED,
            "DescribeTargetGroups",
            "RunInstances",
            "DescribeInstances",
            "CreateTags",
            "RegisterTargets",
        ),
        lay=lambda stage: arguments(
            stage,
            {"private": network(stage, "10.0.1.10")},
            [],
            lb_target_groups=[{"arn": stage.group_of_addresses()}],
        ),
        result='"made"',
        success=Change(
            gains=[
                f"{MADE[0][:-1]}, {RECORD} 10.0.1.10]",
                *VOLUMES,
                f"eni 10.0.1.10: in subnet 1, bosh, in-use, on made as 0, goes with it {ORIGIN}",
                "targets: 10.0.1.10",
            ]
        ),
    ),
    Scenario(
        name="create_vm in another zone",
        calls=(*GATHERED, "DescribeInstances", *("RunInstances",) * 2, "DescribeInstances"),
        lay=beside_a_full_zone,
        refused=frozenset({"RunInstances"}),
        result='"made"',
        success=new_vm("10.0.3.4", 3),
    ),
    Scenario(
        name="create_vm on spot at too low a price",
        calls=(
            *GATHERED,
            "DescribeInstances",
            "RunInstances",
            "DescribeSpotInstanceRequests",
            "CancelSpotInstanceRequests",
            "RunInstances",
            "DescribeInstances",
        ),
        lay=lambda stage: arguments(
            stage,
            {"private": network(stage, "10.0.1.10")},
            [],
            spot_bid_price=0.002,
            spot_ondemand_fallback=True,
        ),
        refused=frozenset({"RunInstances"}),
        result='"made"',
        success=new_vm("10.0.1.10"),
    ),
    Scenario(
        name="create_vm in a spread placement group",
        calls=(
            *FIRST,
            "DescribePlacementGroups",
            "DescribeSecurityGroups",
            "CreatePlacementGroup",
            "RunInstances",
            "DescribeInstances",
        ),
        lay=lambda stage: spread(stage, wish=True),
        result='"made"',
        success=new_vm("10.0.1.30", 1, SPREAD_GROUP),
    ),
    Scenario(
        name="create_vm outside of a full placement group",
        calls=(
            *FIRST,
            "DescribePlacementGroups",
            "DescribeSecurityGroups",
            "DescribeInstances",
            *("RunInstances",) * 2,
            "DescribeInstances",
        ),
        lay=beside_a_full_group,
        refused=frozenset({"RunInstances"}),
        result='"made"',
        success=new_vm("10.0.1.30"),
    ),
    Scenario(
        name="delete_vm",
        calls=("TerminateInstances", "DescribeInstances"),
        lay=lambda stage: stage.vm_with_disk()[:1],
        success=Change([VM_WITH, HELD, ROOT, ENI], [FREE, "ended instance vm"]),
        is_in_place=True,
    ),
    Scenario(
        name="delete_vm of an address in a group",
        calls=("TerminateInstances", "DescribeInstances", *CHECKED_TARGET, "DeregisterTargets"),
        lay=lambda stage: [stage.vm_in_group()],
        success=Change([VM_IN_GROUP, ROOT, ENI, TARGET], ["ended instance vm"]),
        is_in_place=True,
    ),
    Scenario(
        name="delete_vm of an address in a group, on the fast path",
        calls=(
            *("DescribeInstances", "TerminateInstances"),
            *("DescribeTargetGroups", "DeregisterTargets", "CreateTags"),
        ),
        lay=lambda stage: [stage.vm_in_group()],
        success=Change([VM_IN_GROUP, ROOT, ENI, TARGET], ["ended instance vm"]),
        is_in_place=True,
        aws={"fast_path_delete": True, "skip_os_shutdown": False},
    ),
    Scenario(
        name="delete_vm that leaves its load balancers",
        calls=(
            "DescribeInstances",
            "DescribeLoadBalancers",
            "DeregisterInstancesFromLoadBalancer",
            "DescribeTargetGroups",
            *("DescribeTargetHealth",) * 2,
            *("DeregisterTargets",) * 2,
            *("DescribeTargetGroupAttributes",) * 2,
            *("DescribeTargetHealth",) * 2,
            "TerminateInstances",
            "DescribeInstances",
        ),
        lay=balanced,
        success=Change([VM, ROOT, ENI, *BALANCERS], ["ended instance vm"]),
        is_in_place=True,
        aws={"deregister_on_delete": True},
    ),
)
