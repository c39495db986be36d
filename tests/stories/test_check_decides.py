"""What `cpi check` decides: certain, possible, unknown, in all azs or some, with which networks and CPIs."""

from collections.abc import Mapping
from typing import Any

import pytest

from testbed.executable import Cpi
from testbed.world import World
from tests.stories.checked_config import DYNAMIC, GONE, SUBNET, Z1, Route, changed, right, subnet
from tests.stories.checking import checked, checked_with
from tests.stories.story import Story

Changes = Mapping[Route, Any]
SMALL: Route = ("vm_types", 0, "cloud_properties")
LARGE: Route = ("vm_types", 1, "cloud_properties")
PUBLIC: Route = ("vm_extensions", 0, "cloud_properties")
OF_Z1, OF_Z2 = (*Z1, "cloud_properties"), ("azs", 1, "cloud_properties")
AT_SMALL, AT_LARGE, AT_PUBLIC = (
    f"{each}/cloud_properties" for each in ("vm_types/small", "vm_types/large", "vm_extensions/public")
)
ONE_ZONE = "g7e.2xlarge"
"""A type that only the world's first zone offers."""
NO_IOPS = {"type": "io1"}
"""A disk that EBS would refuse."""
HOST = "tenancy"
FALLBACK = "spot_ondemand_fallback"
FAST = {"name": "fast", "cloud_properties": {"instance_type": "c5n.18xlarge"}}
OTHER_AZ = {"name": "z9", "cpi": "vsphere"}
AZ_OF_CPI = {("azs", 2): OTHER_AZ, ("azs", 0, "cpi"): "aws", ("azs", 1, "cpi"): "aws"}


def group(vm_type: str = "small", *networks: Any, azs: tuple[str, ...] = ("z1", "z2"), **keys: Any) -> Any:
    """Write an instance group; each network is a name, or a name with its nic_group."""
    named = [
        {"name": each} if isinstance(each, str) else {"name": each[0], "nic_group": each[1]}
        for each in networks or ("default",)
    ]
    return {
        "name": "web",
        "instances": 1,
        "vm_type": vm_type,
        "azs": [*azs],
        "persistent_disk_type": "default",
        "networks": named,
        **keys,
    }


def network(name: str, family: int, *subnets: tuple[str, str]) -> dict[str, Any]:
    """Write a manual network of subnets, each with its az."""
    places = [{**subnet("10.0.1", az, subnet_id), "static": []} for az, subnet_id in subnets]
    of_ipv6 = {"range": f"{IPV6}/64", "gateway": f"{IPV6}1", "reserved": [f"{IPV6}2-{IPV6}9"], "dns": []}
    given = of_ipv6 if family == 6 else {}
    return {"name": name, "type": "manual", "subnets": [{**each, **given} for each in places]}


IPV6 = "2600:1f18:1:2::"
FIRST, SECOND = ("networks", 3), ("networks", 4)
ONE_NIC = (("first", 1), ("second", 1))
"""Two networks of one interface, which must have one subnet."""
S1, S2, S3 = (f"subnet-0123456789abcdef{number}" for number in range(1, 4))
NIC_GROUP = "nic_group '1' have different subnet ids"
IO1 = "io1"
WEB = "instance_groups/web"
NO_SMAL = "cloud-config.yml (did you mean small?): BOSH refuses the deployment"
NOTHING: list[tuple[str, str, str]] = []

Row = tuple[Changes, list[Any] | None, list[tuple[str, str, str]]]
OFFLINE: dict[str, Row] = {
    # a VM type that certainly, perhaps, or not is used
    "certain": ({(*LARGE, "root_disk"): NO_IOPS}, None, [("error", f"{AT_LARGE}/root_disk", IO1)]),
    "possible": ({(*SMALL, "root_disk"): NO_IOPS}, None, [("error", f"{AT_SMALL}/root_disk", IO1)]),
    "possible, of an extension": (
        {(*PUBLIC, "root_disk"): NO_IOPS},
        None,
        [("error", f"{AT_PUBLIC}/root_disk", IO1)],
    ),
    "certain by the manifest": (
        {(*SMALL, "root_disk"): NO_IOPS},
        [group()],
        [("error", f"{AT_SMALL}/root_disk", IO1)],
    ),
    "unused": (
        {(*SMALL, "root_disk"): NO_IOPS},
        [group("large")],
        [("warning", f"{AT_SMALL}/root_disk", IO1)],
    ),
    "possible, without what it needs": (
        {(*SMALL, FALLBACK): True},
        None,
        [("error", f"{AT_SMALL}/{FALLBACK}", FALLBACK)],
    ),
    "unknown beside an extension": ({(*SMALL, FALLBACK): True, (*PUBLIC, "spot"): True}, None, NOTHING),
    "certain without the extension": (
        {(*SMALL, FALLBACK): True, (*PUBLIC, "spot"): True},
        [group()],
        [("error", f"{AT_SMALL}/{FALLBACK}", FALLBACK)],
    ),
    "certain with the extension": (
        {(*SMALL, FALLBACK): True, (*PUBLIC, "spot"): True},
        [group(vm_extensions=["public"])],
        NOTHING,
    ),
    "unknown as a variable": (
        {(*SMALL, "root_disk"): {"type": "io1", "iops": "((iops))"}},
        None,
        [("not checked", f"{AT_SMALL}/root_disk/iops", "((iops))")],
    ),
    # azs
    "an az's own": (
        {(*OF_Z2, "root_disk"): NO_IOPS},
        None,
        [("error", "azs/z2/cloud_properties/root_disk", IO1)],
    ),
    "an az's own, without a subnet of its own": (
        {(*SUBNET, "azs"): ["z1", "z2"], (*SUBNET[:3], 1): GONE, (*OF_Z2, "root_disk"): NO_IOPS},
        None,
        [("error", "azs/z2/cloud_properties/root_disk", IO1)],
    ),
    "an az's own, that a manifest does not use": (
        {(*OF_Z2, "root_disk"): NO_IOPS},
        [group(azs=("z1",))],
        [("warning", "azs/z2/cloud_properties/root_disk", IO1)],
    ),
    "in some azs": (
        {(*SMALL, "spread"): True, (*OF_Z2, "tenancy"): "dedicated"},
        None,
        [("warning", f"{AT_SMALL}/spread", HOST)],
    ),
    "in all azs": (
        {(*SMALL, "spread"): True, (*OF_Z1, "tenancy"): "dedicated", (*OF_Z2, "tenancy"): "dedicated"},
        None,
        [("error", f"{AT_SMALL}/spread", HOST)],
    ),
    "in some azs, certainly": (
        {(*SMALL, "spread"): True, (*OF_Z2, "tenancy"): "dedicated"},
        [group()],
        [("error", f"{AT_SMALL}/spread", HOST)],
    ),
    "only in an az that the manifest does not use": (
        {(*SMALL, "spread"): True, (*OF_Z2, "tenancy"): "dedicated"},
        [group(azs=("z1",))],
        NOTHING,
    ),
    # networks
    "one nic_group in two azs": (
        {
            FIRST: network("first", 4, ("z1", S1), ("z2", S2)),
            SECOND: network("second", 6, ("z1", S1), ("z2", S2)),
        },
        [group("small", *ONE_NIC)],
        NOTHING,
    ),
    "one nic_group, wrong in the second az": (
        {
            FIRST: network("first", 4, ("z1", S1), ("z2", S2)),
            SECOND: network("second", 6, ("z1", S1), ("z2", S3)),
        },
        [group("small", *ONE_NIC)],
        [("error", "instance_groups/web/networks", NIC_GROUP)],
    ),
    "one nic_group, wrong in the second subnet of one network": (
        {FIRST: network("first", 4, ("z1", S1)), SECOND: network("second", 6, ("z1", S1), ("z1", S2))},
        [group("small", *ONE_NIC, azs=("z1",))],
        [("error", "instance_groups/web/networks", NIC_GROUP)],
    ),
    "a network that is a variable": (
        {(*SMALL, "root_disk"): NO_IOPS},
        [group("small", "((network))")],
        [
            ("error", f"{AT_SMALL}/root_disk", IO1),
            ("not checked", "instance_groups/web/networks/((network))/name", ""),
        ],
    ),
    # names that nothing has
    "an unknown VM type": (
        {(*PUBLIC, "root_disk"): NO_IOPS},
        [group("smal", vm_extensions=["public"])],
        [("not checked", f"{WEB}/vm_type", NO_SMAL), ("error", f"{AT_PUBLIC}/root_disk", IO1)],
    ),
    "an unknown VM type, beside networks that don't fit": (
        {FIRST: network("first", 4, ("z1", S1)), SECOND: network("second", 6, ("z1", S2))},
        [group("smal", *ONE_NIC, azs=("z1",))],
        [("not checked", f"{WEB}/vm_type", NO_SMAL), ("error", f"{WEB}/networks", NIC_GROUP)],
    ),
    "an unknown VM type, which may give what an extension needs": (
        {(*PUBLIC, FALLBACK): True},
        [group("smal", vm_extensions=["public"])],
        [("not checked", f"{WEB}/vm_type", NO_SMAL)],
    ),
    "a VM type that is a variable, beside networks that don't fit": (
        {FIRST: network("first", 4, ("z1", S1)), SECOND: network("second", 6, ("z1", S2))},
        [group("((type))", *ONE_NIC, azs=("z1",))],
        [("not checked", f"{WEB}/vm_type", "((type))"), ("error", f"{WEB}/networks", NIC_GROUP)],
    ),
    "an unknown network": (
        {(*SMALL, "root_disk"): NO_IOPS},
        [group("small", "defualt", "other")],
        [
            ("not checked", f"{WEB}/networks/defualt/name", "no network 'defualt' in "),
            ("not checked", f"{WEB}/networks/other/name", "no network 'other' in "),
            ("error", f"{AT_SMALL}/root_disk", IO1),
        ],
    ),
    "an unknown az of two": (
        {(*SMALL, "spread"): True, (*OF_Z1, HOST): "dedicated"},
        [group(azs=("z1", "z8"))],
        [("not checked", f"{WEB}/azs/1", "no az 'z8' in "), ("error", f"{AT_SMALL}/spread", HOST)],
    ),
    "no known az": (
        {(*SMALL, "spread"): True, (*OF_Z1, HOST): "dedicated", (*PUBLIC, "root_disk"): NO_IOPS},
        [group(azs=("z8",), vm_extensions=["public"])],
        [
            ("not checked", f"{WEB}/azs/0", "no az 'z8' in "),
            ("warning", f"{AT_SMALL}/spread", HOST),
            ("error", f"{AT_PUBLIC}/root_disk", IO1),
        ],
    ),
    "an unknown extension, which may give what the VM type needs": (
        {(*SMALL, FALLBACK): True, (*PUBLIC, "spot"): True, (*SMALL, "root_disk"): NO_IOPS},
        [group(vm_extensions=["pubic"])],
        [
            ("not checked", f"{WEB}/vm_extensions/0", "no vm_extension 'pubic' in "),
            ("error", f"{AT_SMALL}/root_disk", IO1),
        ],
    ),
    "an unknown disk type and stemcell": (
        {},
        [group(persistent_disk_type="big", stemcell="defualt")],
        [
            ("not checked", f"{WEB}/persistent_disk_type", "no disk_type 'big' in "),
            ("not checked", f"{WEB}/stemcell", "manifest.yml (did you mean default?)"),
        ],
    ),
    "an unknown type of one of several disks": (
        {},
        [group(persistent_disks=[{"name": "big", "type": "default"}, {"name": "default", "type": "big"}])],
        [("not checked", f"{WEB}/persistent_disks/default/type", "no disk_type 'big' in ")],
    ),
    "an unknown az, beside one that is a variable": (
        {("azs", 2): "((more))"},
        [group(azs=("z1", "z8"))],
        [("not checked", "azs/2", "((more))")],
    ),
    "unknown names of the compilation": (
        {("compilation",): {"workers": 1, "network": "a", "az": "b", "vm_type": "c", "vm_extensions": ["d"]}},
        None,
        [
            ("not checked", f"compilation/{key}", "BOSH refuses the deployment")
            for key in ("network", "az", "vm_type", "vm_extensions/0")
        ],
    ),
    "an unknown az of a subnet": (
        {(*SUBNET, "azs"): ["z1", "z8"]},
        None,
        [("not checked", "networks/default/subnets/0/azs/1", "no az 'z8' in ")],
    ),
    "a network without a subnet in one az of two": (
        {FIRST: network("first", 4, ("z2", S2)), (*OF_Z2, HOST): "dedicated", (*SMALL, "spread"): True},
        [group("small", "first")],
        [
            ("not checked", f"{WEB}/networks/first", "'first' has no subnet in az 'z1': BOSH refuses"),
            ("error", f"{AT_SMALL}/spread", HOST),
        ],
    ),
    "a network whose subnets are not all known": (
        {FIRST: network("first", 4, ("z2", S2)), (*FIRST, "subnets", 1): "((more))"},
        [group("small", "first")],
        [("not checked", "networks/first/subnets/1", "((more))")],
    ),
    # CPIs
    "a group in azs of two CPIs": (
        {**AZ_OF_CPI, (*SMALL, "root_disk"): NO_IOPS},
        [group(azs=("z1", "z9"))],
        [("error", f"{AT_SMALL}/root_disk", IO1)],
    ),
    "a group in azs of another CPI": (
        {**AZ_OF_CPI, (*SMALL, "root_disk"): NO_IOPS},
        [group(azs=("z9",))],
        [("warning", f"{AT_SMALL}/root_disk", IO1)],
    ),
    "a VM type that may be for another CPI": (
        {**AZ_OF_CPI, (*SMALL, "root_disk"): NO_IOPS},
        None,
        [("warning", f"{AT_SMALL}/root_disk", IO1)],
    ),
    # zones that are variables
    "a zone that is a variable": (
        {(*OF_Z2, "availability_zone"): "((zone))"},
        None,
        [("not checked", "azs/z2/cloud_properties/availability_zone", "((zone))")],
    ),
    "a contradiction in an az whose zone is a variable": (
        {(*OF_Z2, "availability_zone"): "((zone))", (*OF_Z2, "root_disk"): NO_IOPS},
        None,
        [
            ("error", "azs/z2/cloud_properties/root_disk", IO1),
            ("not checked", "azs/z2/cloud_properties/availability_zone", "((zone))"),
        ],
    ),
    "an az without a zone": (
        {(*OF_Z2, "availability_zone"): GONE},
        None,
        [("error", "azs/z2/cloud_properties", "availability_zone")],
    ),
}


IN_Z1, IN_Z2 = object(), object()
"""Stand for subnets in these azs; the first alone for one that no other entry names, in a list for z1's."""
OF_SUBNET, OF_SECOND = (*SUBNET, "cloud_properties"), (*SUBNET[:3], 1)
OF_DYNAMIC = (*DYNAMIC, "subnets", 0, "cloud_properties")
ZONE, AT_ZONE, IN_FIRST = (
    "availability_zone",
    "azs/z1/cloud_properties/availability_zone",
    "networks/default/subnets/0/cloud_properties",
)
ARN = "arn:aws:ec2:us-east-1:123456789012:security-group/sg-0123456789abcdef0"
RESOURCES = "arn:aws:resource-groups:us-east-1:123456789012:group/hosts"
FALLBACKS, BURSTABLE = "instance_type_fallbacks", ["t3.small", "t3.medium"]
MANAGED = {"name": "managed", "type": "manual", "managed": True}
FALLS_BACK: Changes = {(*LARGE, "zone_fallback"): True, ("compilation", "vm_type"): "small"}
AT_FIRST, AT_SECOND = (f"networks/default/subnets/{index}/cloud_properties/subnet" for index in (0, 1))
ELSEWHERE = {(*SMALL, "instance_type"): ONE_ZONE}
AT_TYPE = f"{AT_SMALL}/instance_type"
MOVED = {
    (*OF_SECOND, "range"): "10.0.2.0/24",
    (*OF_SECOND, "gateway"): "10.0.2.1",
    (*OF_SECOND, "reserved"): ["10.0.2.2-10.0.2.9"],
    (*OF_SECOND, "static"): [],
    (*OF_SECOND, "cloud_properties", "subnet"): IN_Z1,
}
EFA = {("vm_types", 2): FAST, (*OF_SUBNET, "interface_type"): "efa"}
TWO_ZONES = {(*SUBNET, "azs"): ["z1", "z2"]}
ONLINE: dict[str, Row] = {
    "a type in some azs": (ELSEWHERE, None, [("warning", AT_TYPE, ONE_ZONE)]),
    "a type in some azs, certainly": (ELSEWHERE, [group(instances=0)], [("error", AT_TYPE, ONE_ZONE)]),
    "a type in the az that is used": (ELSEWHERE, [group(azs=("z1",), instances=0)], NOTHING),
    "a group that no VPC has": (
        {(*SMALL, "security_groups"): ["nobody"]},
        None,
        [("error", f"{AT_SMALL}/security_groups/0", "nobody")],
    ),
    "a subnet that the VM type can't use, beside one that it can": (
        {**EFA, ("compilation", "network"): "dynamic"},
        None,
        NOTHING,
    ),
    "an az's only subnet, that a VM type can't use": (
        {(*OF_SECOND, "cloud_properties", "interface_type"): "efa"},
        None,
        NOTHING,
    ),
    "a subnet that the compilation can't use": (EFA, None, [("error", f"{AT_LARGE}/instance_type", "efa")]),
    "a subnet of another zone": (MOVED, None, [("error", AT_SECOND, "us-east-1a")]),
    "a subnet in azs of two zones": (TWO_ZONES, None, [("warning", AT_FIRST, "us-east-1a")]),
    "a subnet in azs of two zones, certainly": (
        TWO_ZONES,
        [group()],
        [("error", AT_FIRST, "us-east-1a")],
    ),
    "a subnet of another zone, in an az whose zone is a variable": (
        {**MOVED, (*OF_Z2, "availability_zone"): "((zone))"},
        None,
        [("not checked", "azs/z2/cloud_properties/availability_zone", "((zone))")],
    ),
    # one finding for one mistake
    "fallbacks of a manual network": (
        {(*OF_SUBNET, "subnet_fallbacks"): [S1]},
        None,
        [("error", f"{IN_FIRST}/subnet_fallbacks", "dynamic networks only")],
    ),
    "an az without a zone": (
        {(*OF_Z1, "availability_zone"): GONE},
        None,
        [("error", "azs/z1/cloud_properties", "availability_zone")],
    ),
    "a zone's id": ({(*OF_Z1, ZONE): "use1-az1"}, None, [("error", AT_ZONE, "does not exist")]),
    "a zone of another region": ({(*OF_Z1, ZONE): "eu-west-1a"}, None, [("error", AT_ZONE, "us-east-1")]),
    "an ARN as a group's name": (
        {(*SMALL, "security_groups"): [ARN]},
        [group(instances=0)],
        [("error", f"{AT_SMALL}/security_groups/0", "is an ARN")],
    ),
    "an unknown tenancy": (
        {(*SMALL, HOST): "weird", (*SMALL, FALLBACKS): ["t3.small"]},
        None,
        [("error", f"{AT_SMALL}/{HOST}", "weird")],
    ),
    "an option that no fallback type has": (
        {(*LARGE, "enclave"): True, (*LARGE, "instance_type"): "m5.xlarge", (*LARGE, FALLBACKS): BURSTABLE},
        None,
        [("error", f"{AT_LARGE}/enclave", "'t3.small' (and 't3.medium') that does not support it")],
    ),
    "two options that a type lacks": (
        {(*SMALL, "enclave"): True, (*SMALL, "bandwidth_weighting"): "vpc-1"},
        None,
        [("error", f"{AT_SMALL}/{key}", "'t3.micro'") for key in ("enclave", "bandwidth_weighting")],
    ),
    "two mistakes of a hash": (
        {(*SMALL, "dedicated_host"): {"id": "h-0123456789abcdef0", "resource_group_arn": RESOURCES}},
        None,
        [
            ("error", f"{AT_SMALL}/dedicated_host", "exactly one of"),
            ("error", f"{AT_SMALL}/dedicated_host/id", "there is no Dedicated Host"),
        ],
    ),
    # what an az gives
    "zones in the VM types, and azs that say nothing": (
        {OF_Z1: {}, OF_Z2: {}, (*SMALL, ZONE): "us-east-1b", (*LARGE, ZONE): "us-east-1a"},
        None,
        NOTHING,
    ),
    "a zone in a VM type that no az has a subnet for": (
        {OF_Z1: {}, OF_Z2: {}, (*SMALL, ZONE): "us-east-1c", (*LARGE, ZONE): "us-east-1a"},
        None,
        [("error", f"{AT_SMALL}/{ZONE}", "VM in us-east-1c")],
    ),
    "zones in the VM types, and an az with another one": (
        {(*SMALL, ZONE): "us-east-1b", (*LARGE, ZONE): "us-east-1a"},
        None,
        [
            ("warning", f"{AT_SMALL}/{ZONE}", "for az 'z1': can't use"),
            ("warning", f"{AT_LARGE}/{ZONE}", "for az 'z2': can't use"),
        ],
    ),
    "an extension that fails in one az": (
        {(*PUBLIC, "spread"): True, (*OF_Z2, HOST): "dedicated"},
        None,
        [("warning", f"{AT_PUBLIC}/spread", "for az 'z2': spread and tenancy")],
    ),
    "an extension that fails in all azs": (
        {(*PUBLIC, "spread"): True, (*OF_Z1, HOST): "dedicated", (*OF_Z2, HOST): "dedicated"},
        None,
        [("error", f"{AT_PUBLIC}/spread", "spread and tenancy")],
    ),
    "an unused managed network without a range": (
        {("networks", 3): {**MANAGED, "subnets": [{"name": "a", "azs": ["z1"]}]}},
        [group(instances=0)],
        [
            ("warning", "networks/managed/subnets/a", "neither range nor prefix"),
            ("warning", "networks/managed/subnets/a", "vpc_id"),
        ],
    ),
    # zone_fallback
    "fallbacks in the VM's own zone alone": (
        {**FALLS_BACK, (*OF_DYNAMIC, "subnet_fallbacks"): [IN_Z1]},
        [group("large", "dynamic", azs=("z1",), instances=0)],
        [("error", f"{AT_LARGE}/zone_fallback", "all in us-east-1a")],
    ),
    "a fallback in another zone": (
        {**FALLS_BACK, (*OF_DYNAMIC, "subnet_fallbacks"): [IN_Z1, IN_Z2]},
        [group("large", "dynamic", azs=("z1",), instances=0)],
        NOTHING,
    ),
    "fallbacks of which one is a variable": (
        {**FALLS_BACK, (*OF_DYNAMIC, "subnet_fallbacks"): [IN_Z1, "((subnet))"]},
        [group("large", "dynamic", azs=("z1",), instances=0)],
        [("not checked", "networks/dynamic/subnets/0/cloud_properties/subnet_fallbacks/1", "((subnet))")],
    ),
    "a fallback in another zone, of a network that is judged alone": (
        {(*OF_DYNAMIC, "subnet_fallbacks"): [IN_Z2]},
        None,
        [("error", "networks/dynamic/subnets/0/cloud_properties/subnet_fallbacks/0", "set zone_fallback")],
    ),
    "a fallback in another zone, in a file without VM types, which may have zone_fallback": (
        {(*OF_DYNAMIC, "subnet_fallbacks"): [IN_Z2], ("vm_types",): GONE, ("compilation",): GONE},
        None,
        NOTHING,
    ),
    "the second subnet of an az": (
        {(*SUBNET[:3], 2): subnet("10.0.7", "z1", S1)},
        None,
        [("error", "networks/default/subnets/2/cloud_properties/subnet", S1)],
    ),
}


def decided(cpi: Cpi, world: World, row: Row, *arguments: str) -> None:
    """Check a cloud config with a row's changes; it has these findings, in any order."""
    (changes, groups, expected), whole = row, right(world)
    subnets = {id(IN_Z1): world.subnet_ids[0], id(IN_Z2): world.subnet_ids[2]}
    for route, value in changes.items():
        given = [subnets.get(id(each), each) for each in value] if isinstance(value, list) else value
        whole = changed(whole, route, world.subnet_ids[1] if value is IN_Z1 else given)
    if ("azs", 2) in changes:
        arguments = (*arguments, "--cpi", "aws")
    found = (
        checked(cpi, whole, *arguments) if groups is None else checked_with(cpi, whole, groups, *arguments)
    )
    found = [{**each, "path": each["path"] or ""} for each in found if each["severity"] != "note"]
    assert sorted((each["severity"], each["path"]) for each in found) == sorted(
        (severity, path) for severity, path, _ in expected
    ), found
    for severity, path, words in expected:
        at_place = [each["what"] for each in found if (each["severity"], each["path"]) == (severity, path)]
        assert words in " ".join(at_place)


@pytest.mark.parametrize("row", OFFLINE)
def test_offline(cpi: Cpi, world: World, row: str) -> None:
    """Without AWS, each row's mistake has the severity that its use gives it."""
    decided(cpi, world, OFFLINE[row], "--offline")


@pytest.mark.parametrize("row", ONLINE)
def test_online(cpi: Cpi, world: World, row: str) -> None:
    """With AWS, each row's mistake has the severity that its use gives it."""
    decided(cpi, world, ONLINE[row])


def test_error_of_the_configuration(story: Story, world: World) -> None:
    """Of two subnets, a VM type is tried in the one where only the configuration is wrong."""
    whole = changed(right(world), (*SMALL, ZONE), world.other_zone)
    whole = changed(whole, (*OF_SUBNET, "security_groups"), ["bosh"])  # where the zone is wrong
    whole = changed(whole, (*OF_DYNAMIC, "subnet"), world.subnet_ids[2])
    found = checked(story.cpi_with(default_security_groups=["nobody"]), whole)
    assert {(each["severity"], each["path"]) for each in found} == {("error", "aws.default_security_groups")}
