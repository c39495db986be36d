"""A cloud config without mistakes, and mistakes that can be made in it."""

import copy
import json
from dataclasses import dataclass
from typing import Any, cast

import yaml

from testbed.world import World
from tests.stories.right_configs import CREATE_ENV

GONE = object()
"""In place of a value: the key is deleted."""
Route = tuple[str | int, ...]
Z1, SMALL, LARGE, DISK = ("azs", 0), ("vm_types", 0), ("vm_types", 1), ("disk_types", 0)
NETWORK, DYNAMIC = ("networks", 0), ("networks", 1)
PROPERTIES = "vm_types/large/cloud_properties"
SUBNET, COMPILATION = (*NETWORK, "subnets", 0), ("compilation",)


def right(world: World) -> dict[str, Any]:
    """Write a cloud config for a laid world."""
    return {
        "azs": [
            {"name": "z1", "cloud_properties": {"availability_zone": world.zone}},
            {"name": "z2", "cloud_properties": {"availability_zone": world.other_zone}},
        ],
        "vm_types": [
            {
                "name": "small",
                "cloud_properties": {"instance_type": "t3.micro", "ephemeral_disk": {"size": 10_240}},
            },
            {"name": "large", "cloud_properties": {"instance_type": "m5.large"}},
        ],
        "vm_extensions": [{"name": "public", "cloud_properties": {"auto_assign_public_ip": True}}],
        "disk_types": [{"name": "default", "disk_size": 3000, "cloud_properties": {"type": "gp3"}}],
        "networks": [
            {
                "name": "default",
                "type": "manual",
                "subnets": [
                    subnet("10.0.1", "z1", world.subnet_ids[0]),
                    subnet("10.0.3", "z2", world.subnet_ids[2]),
                ],
            },
            {
                "name": "dynamic",
                "type": "dynamic",
                "subnets": [{"az": "z1", "cloud_properties": {"subnet": world.subnet_ids[1]}}],
            },
            {"name": "vip", "type": "vip"},
        ],
        "compilation": {"workers": 2, "network": "default", "az": "z1", "vm_type": "large"},
    }


def subnet(prefix: str, zone: str, subnet_id: str) -> dict[str, Any]:
    """Write a subnet of a manual network."""
    return {
        "range": f"{prefix}.0/24",
        "gateway": f"{prefix}.1",
        "azs": [zone],
        "reserved": [f"{prefix}.2-{prefix}.9"],
        "static": [f"{prefix}.100-{prefix}.120"],
        "dns": ["10.0.0.2"],
        "cloud_properties": {"subnet": subnet_id},
    }


def env(world: World, **aws: Any) -> dict[str, Any]:
    """A manifest for create-env that fits the world, with these properties of the CPI."""
    whole = yaml.safe_load(CREATE_ENV)
    whole["resource_pools"][0]["cloud_properties"]["availability_zone"] = world.zone
    network = whole["networks"][0]["subnets"][0]
    network |= {"range": "10.0.1.0/24", "gateway": "10.0.1.1", "static": ["10.0.1.6"]}
    network["cloud_properties"]["subnet"] = world.subnet_id
    whole["instance_groups"][0]["networks"][0]["static_ips"] = ["10.0.1.6"]
    whole["cloud_provider"]["properties"]["aws"] |= aws
    return cast("dict[str, Any]", whole)


def changed(config: dict[str, Any], route: Route, value: Any) -> dict[str, Any]:
    """Return a copy with another value; hashes on the way are made."""
    whole = copy.deepcopy(config)
    node: Any = whole
    for key in route[:-1]:
        node = node.setdefault(key, {}) if isinstance(node, dict) else node[key]
    if value is GONE:
        del node[route[-1]]
    elif isinstance(node, list) and route[-1] == len(node):
        node.append(value)
    else:
        node[route[-1]] = value
    return whole


@dataclass(frozen=True)
class Mistake:
    """One mistake.

    Attributes:
        route: Where the value is.
        value: The wrong value.
        path: What the finding names, if it is another place than the value's.
        source: Who refuses it.
        more: Other values that change with it.
        said: What the error of the call contains, if it is not the finding's text.
        also: The paths of other errors that follow from it.
    """

    route: Route
    value: Any
    path: str = ""
    source: str = "CPI"
    more: tuple[tuple[Route, Any], ...] = ()
    said: str = ""
    also: str = ""

    @property
    def shown(self) -> str:
        """The path that the finding names."""
        names = {"azs": ["z1", "z2"], "vm_types": ["small", "large"], "disk_types": ["default"]}
        names |= {"networks": ["default", "dynamic", "vip"], "vm_extensions": ["public"]}
        parts = [str(part) for part in self.route]
        if len(parts) > 1 and parts[0] in names and int(parts[1]) < len(names[parts[0]]):
            parts[1] = names[parts[0]][int(parts[1])]
        return self.path or "/".join(parts)

    @property
    def is_of_type(self) -> bool:
        """Whether it is in one VM type or disk type alone; what compiles packages then needs no change."""
        kind, *_ = self.route
        paths = f"{self.shown} {self.also}".split()
        return (
            kind in {"vm_types", "disk_types"}
            and len(self.route) > 3
            and all(route[0] in {kind, "compilation"} for route, _ in self.more)
            and all(path.startswith(f"{kind}/") for path in paths)
        )

    def made_in(self, config: dict[str, Any]) -> dict[str, Any]:
        """Return a copy of a config with the mistake."""
        for route, value in ((self.route, self.value), *self.more):
            config = changed(config, route, value)
        return config

    def __str__(self) -> str:
        return f"{self.shown}={'GONE' if self.value is GONE else self.value}".replace(" ", "_")[:60]


def together(config: dict[str, Any], mistakes: list[Mistake]) -> tuple[dict[str, Any], set[tuple[str, str]]]:
    """Return a copy with a type for each mistake in one, and the paths with who refuses them.

    Where an error only follows from a mistake, nobody is named.
    """
    whole = copy.deepcopy(config)
    expected = set()
    for number, mistake in enumerate(mistakes):
        kind, index = str(mistake.route[0]), mistake.route[1]
        entry = mistake.made_in(config)[kind][index]
        before, after = f"{kind}/{entry['name']}", f"{kind}/type-{number}"
        whole[kind].append({**entry, "name": f"type-{number}"})
        for paths, source in ((mistake.shown, mistake.source), (mistake.also, "")):
            expected |= {(path.replace(before, after, 1), source) for path in paths.split()}
    return whole, expected


def line_of(text: str, path: str) -> int:
    """The line of a value in a YAML file: that of its key, or of the list's entry."""
    node = yaml.compose(text)
    line = 1
    for part in path.split("/") if path else ():
        if isinstance(node, yaml.MappingNode):
            key, node = next((key, value) for key, value in node.value if key.value == part)
            line = key.start_mark.line + 1
        else:
            assert isinstance(node, yaml.SequenceNode)
            named = {entry_name(each) or str(index): each for index, each in enumerate(node.value)}
            node = named[part]
            line = node.start_mark.line + 1
    return line


def entry_name(node: yaml.Node) -> str:
    """The name of a list's entry; empty without one."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    names = [value for key, value in pairs if key.value == "name"]
    return names[0].value if names and names[0].tag.endswith(":str") else ""


def of(entry: Route, **properties: Any) -> list[Mistake]:
    """Mistakes in the cloud properties of an entry, one each."""
    return [
        Mistake((*entry, "cloud_properties", *key.split("__")), value) for key, value in properties.items()
    ]


def director(route: Route, value: Any, path: str = "", also: str = "") -> Mistake:
    """Return a mistake that the Director refuses."""
    return Mistake(route, value, path, "Director", also=also)


def with_real_things(world: World, config: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of a config in which the placeholders are ids of things that exist."""
    where = {"InstanceType": "m5.large", "AvailabilityZone": world.zone}
    text = json.dumps(config)
    if HOST in text:
        (host_id,) = world.ec2.allocate_hosts(**where, Quantity=1)["HostIds"]
        text = text.replace(HOST, host_id)
    if RESERVATION in text:
        answer = world.ec2.create_capacity_reservation(
            **where, InstancePlatform="Linux/UNIX", InstanceCount=1
        )
        text = text.replace(RESERVATION, answer["CapacityReservation"]["CapacityReservationId"])
    if GROUP in text:
        world.ec2.create_placement_group(GroupName=GROUP, Strategy="cluster")
        world.laid["placement groups"].append(GROUP)
    whole: dict[str, Any] = json.loads(text)
    return whole


TARGET_GROUP = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/none/0123456789abcdef"
UNKNOWN_SUBNET = "subnet-0123456789abcdef0"
HOST, RESERVATION, GROUP = "h-that-exists", "cr-that-exists", "group-that-exists"
IN_DISK = "vm_types/small/cloud_properties/ephemeral_disk"
WRONG_TYPES = [
    *of(LARGE, instance_type=5, instance_type_fallbacks="m5.xlarge", security_groups="bosh", key_name=[1]),
    *of(LARGE, elbs="web", lb_target_groups={"name": "web"}, placement_group=5, tenancy=["dedicated"]),
    *of(LARGE, spot_bid_price=0, iam_instance_profile={}, advertised_routes="all", metadata_options="v2"),
    *of(
        LARGE, ephemeral_disk=10, root_disk=[], cpu_options=2, capacity_reservation="cr-1", dedicated_host="h"
    ),
    *of(SMALL, ephemeral_disk__size="10 GB", ephemeral_disk__iops=-1, ephemeral_disk__type=3),
    *of(
        SMALL, root_disk__size=0, root_disk__iops="many", root_disk__throughput=1.5, root_disk__kms_key_arn=7
    ),
    *of(LARGE, cpu_options__nested_virtualization="yes", cpu_options__amd_sev_snp="on"),
    *of(SMALL, cpu_options__core_count=0, metadata_options__http_put_response_hop_limit="two"),
    *of(DISK, type=3, iops="fast", throughput=0, kms_key_arn=[], iops_per_gib=0, snapshot_id=5),
    Mistake((*Z1, "cloud_properties", "availability_zone"), 1),
    Mistake((*LARGE, "cloud_properties", "security_groups"), ["web", 5], f"{PROPERTIES}/security_groups/1"),
    Mistake(
        (*LARGE, "cloud_properties", "advertised_routes"),
        [{"table_id": "rtb-1", "destination": "everywhere"}],
        f"{PROPERTIES}/advertised_routes/0/destination",
        also=f"{PROPERTIES}/advertised_routes/0/table_id",
    ),
    Mistake(
        (*LARGE, "cloud_properties", "advertised_routes"),
        [{"destination": "10.9.0.0/16"}],
        f"{PROPERTIES}/advertised_routes/0",
        said="advertised_routes.0.table_id: is missing",
    ),
    *[
        Mistake(
            (*LARGE, "cloud_properties", "lb_target_groups"),
            [wrong],
            f"{PROPERTIES}/lb_target_groups/{path}",
        )
        for wrong, path in (
            ({"name": "web", "port": 70_000}, "web/port"),
            ({"name": "web", "port": "http"}, "web/port"),
            ({"arn": "arn:aws:elasticloadbalancing:us-east-1:1:targetgroup/web"}, "0/arn"),
            (80, "0"),
        )
    ],
]
CONTRADICTIONS = [
    *[
        Mistake(
            (*LARGE, "cloud_properties", "lb_target_groups"), [wrong], f"{PROPERTIES}/lb_target_groups/{path}"
        )
        for wrong, path in (({"name": "web", "arn": TARGET_GROUP}, "web"), ({"port": 80}, "0"))
    ],
    Mistake(
        (*SMALL, "cloud_properties", "instance_type"),
        GONE,
        "vm_types/small/cloud_properties",
        said="Missing properties: cloud_properties.instance_type",
    ),
    Mistake(
        (*Z1, "cloud_properties", "availability_zone"),
        GONE,
        "azs/z1/cloud_properties",
        said="Missing properties: cloud_properties.availability_zone",
    ),
    *of(LARGE, tags=["a"], raw_instance_storage=True, dedicated_host={}, cpu_options={"core_count": 1}),
    *of(LARGE, tags={"aws:a": "b"}, cpu_options={"threads_per_core": 1}),
    *of(LARGE, tags={f"tag{n}": "x" for n in range(51)}),
    *of(LARGE, dedicated_host={"id": "h-1", "resource_group_arn": "arn:aws:x"}),
    *of(LARGE, capacity_reservation={"id": "cr-1", "preference": "open"}),
    *of(SMALL, ephemeral_disk__iops=9_000, ephemeral_disk__throughput=1_000),
    *of(SMALL, ephemeral_disk__use_instance_storage=True),
    Mistake((*SMALL, "cloud_properties", "ephemeral_disk", "type"), "io1", IN_DISK),
    Mistake(
        (*SMALL, "cloud_properties", "root_disk"),
        {"size": 5_120, "type": "io1"},
        "vm_types/small/cloud_properties/root_disk",
    ),
    Mistake(
        (*LARGE, "cloud_properties", "ephemeral_disk"),
        {"use_instance_storage": True},
        f"{PROPERTIES}/ephemeral_disk/use_instance_storage",
        more=(((*LARGE, "cloud_properties", "instance_type"), "m5d.large"),),
    ),
    Mistake(
        (*LARGE, "cloud_properties", "ebs_optimized"),
        value=True,
        more=(((*LARGE, "cloud_properties", "instance_type"), "t2.micro"),),
    ),
    *[
        Mistake(
            (*LARGE, "cloud_properties", one), value, more=(((*LARGE, "cloud_properties", other), second),)
        )
        for one, value, other, second in (
            ("spot_bid_price", 0.1, "capacity_reservation", {"id": RESERVATION}),
            ("spot", True, "capacity_reservation", {"id": RESERVATION}),
            ("spot", True, "spot_bid_price", 0.1),
            ("spot", True, "dedicated_host", {"id": HOST}),
            ("capacity_reservation", {"id": RESERVATION}, "dedicated_host", {"id": HOST}),
            ("tenancy", "dedicated", "dedicated_host", {"id": HOST}),
            ("spot_bid_price", 0.1, "dedicated_host", {"id": HOST}),
            ("placement_group", GROUP, "dedicated_host", {"id": HOST}),
            ("spread", True, "placement_group", GROUP),
            ("spread", True, "tenancy", "dedicated"),
        )
    ],
    *[
        Mistake(
            (*LARGE, "cloud_properties", "zone_fallback"),
            value=True,
            more=(((*LARGE, "cloud_properties", other), second), ((*COMPILATION, "vm_type"), "small")),
            also=also,
        )
        for other, second, also in (
            ("placement_group", GROUP, ""),
            ("dedicated_host", {"id": HOST}, ""),
            ("capacity_reservation", {"id": RESERVATION}, ""),
            ("elbs", ["none"], f"{PROPERTIES}/elbs/0"),
            ("lb_target_groups", ["none"], f"{PROPERTIES}/lb_target_groups/0"),
        )
    ],
    *of(DISK, iops=3_000_000, throughput=100, iops_per_gib=501, tags=["a"]),
    Mistake(
        (*DISK, "cloud_properties"),
        {"iops": 3000, "iops_per_gib": 10},
        "disk_types/default/cloud_properties/iops_per_gib",
    ),
    Mistake((*DISK, "cloud_properties"), {"type": "st1"}, "disk_types/default/cloud_properties/type"),
    Mistake(
        (*SMALL, "cloud_properties", "ephemeral_disk"), {"size": 10_240, "type": "sc1"}, f"{IN_DISK}/type"
    ),
    Mistake((*DISK, "cloud_properties"), {"type": "io2"}, "disk_types/default/cloud_properties"),
    Mistake((*DISK, "disk_size"), 0, source="Director", said="disk size must be more than 0 MiB, got 0"),
    Mistake(
        (*DISK, "cloud_properties"),
        {"type": "gp2", "throughput": 125},
        "disk_types/default/cloud_properties/throughput",
    ),
    Mistake(
        (*SUBNET, "cloud_properties", "subnet"),
        GONE,
        "networks/default/subnets/0/cloud_properties",
        said="Networks in nic_group 'default' have different subnet ids",
    ),
    *of(SUBNET, subnet=5, security_groups="bosh", interface_type="efa-only", network_card_index=-1),
    *of(SUBNET, connection_tracking__udp_timeout=61, ena_express__udp=True),
    Mistake(
        (*SUBNET, "prefix"),
        27,
        more=(((*NETWORK, "subnets", 1, "prefix"), 27),),
        path="networks/default/subnets/0/prefix networks/default/subnets/1/prefix",
        said="EC2 delegates /28 of IPv4 and /80 of IPv6 addresses, not '10.0.1.64/27'",
    ),
]
IN_AWS = [
    *[
        Mistake((*LARGE, "cloud_properties", key), value, source="AWS", said=said)
        for key, value, said in (
            ("instance_type", "m5.giant", "Invalid value 'm5.giant' for InstanceType"),
            ("key_name", "nobody", "InvalidKeyPair.NotFound"),
            ("placement_group", "none", "InvalidPlacementGroup.Unknown: The Placement Group 'none'"),
        )
    ],
    *[
        Mistake((*LARGE, "cloud_properties", key), ["nobody"], f"{PROPERTIES}/{key}/0", "AWS", said=said)
        for key, said in (
            ("security_groups", "Security group not found with name 'nobody'"),
            ("elbs", "Could not find classic load balancer `nobody'"),
            ("lb_target_groups", "Could not find ALB target group `nobody'"),
        )
    ],
    Mistake(
        (*LARGE, "cloud_properties", "advertised_routes"),
        [{"table_id": "rtb-0123456789abcdef0", "destination": "10.9.0.0/16"}],
        f"{PROPERTIES}/advertised_routes/0/table_id",
        "AWS",
    ),
    *[
        Mistake(
            (*LARGE, "cloud_properties", "lb_target_groups"),
            [{key: value, "port": 80}],
            f"{PROPERTIES}/lb_target_groups/{entry}/{key}",
            "AWS",
            said=f"Could not find ALB target group `{value}'",
        )
        for key, value, entry in (("name", "nobody", "nobody"), ("arn", TARGET_GROUP, "0"))
    ],
    Mistake(
        (*SUBNET, "cloud_properties", "subnet"),
        UNKNOWN_SUBNET,
        source="AWS",
        said=f"Subnet not found: {UNKNOWN_SUBNET}",
    ),
    Mistake(
        (*SUBNET, "cloud_properties", "security_groups"),
        ["nobody"],
        "networks/default/subnets/0/cloud_properties/security_groups/0",
        "AWS",
        said="Security group not found with name 'nobody'",
    ),
    Mistake(
        (*SUBNET, "reserved"),
        ["10.0.1.4-10.0.1.9"],
        "networks/default/subnets/0/range",
        "AWS",
        said="Address 10.0.1.2 is in subnet's reserved address range",
    ),
]
OF_DIRECTOR = [
    director((*Z1, "name"), GONE, "azs/0"),
    director(("azs",), {"z1": {}}, also=f"vm_types/small/cloud_properties {PROPERTIES}"),
    director(("vm_types", 1, "name"), value=True, path="vm_types/1/name"),
    director(("vm_types", 1, "cloud_properties"), ["m5.large"]),
    director((*NETWORK, "subnets"), {"range": "10.0.1.0/24"}),
    director((*SUBNET, "gateway"), GONE, "networks/default/subnets/0"),
    director((*SUBNET, "dns"), "10.0.0.2"),
    director((*DYNAMIC, "subnets", 0, "prefix"), "28"),
    director(("networks", 2, "subnets"), [{"static": "203.0.113.5"}], "networks/vip/subnets/0/static"),
    director((*COMPILATION, "vm_resources"), {"cpu": 1, "ram": 1024}, "compilation/vm_resources"),
    director((*COMPILATION, "reuse_compilation_vms"), "yes please"),
]
