"""The rules of `cpi check` that need no AWS: mistakes, warnings, and right values."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.plan.vm_sizes import VM_SIZES
from bosh_aws_cpi.tools.check import read_files
from bosh_aws_cpi.tools.checks import account_findings
from tests.stories.checked_config import GONE, Route, changed
from tests.stories.right_configs import KINDS, OWN
from tests.unit.tools.checks.conftest import Check

OF_VM: Route = ("vm_types", 0, "cloud_properties")
SUBNET: Route = ("networks", 0, "subnets", 0)
AT_SUBNET, AT_SECOND = "networks/default/subnets/0", "networks/default/subnets/1"
OF_DISK: Route = ("disk_types", 0, "cloud_properties")
OF_LARGE_DISK: Route = ("disk_types", 1, "cloud_properties")
OF_SUBNET: Route = (*SUBNET, "cloud_properties")
OTHER_ID = "subnet-0123456789abcdef1"
EXPRESS = {"enabled": "((express))", "udp": True}
IN_SUBNET = f"{AT_SUBNET}/cloud_properties"
IN_LARGE_DISK = "disk_types/large/cloud_properties"
FAST: dict[str, Any] = {"name": "large", "disk_size": 2_048_000}
IOPS = f"{IN_LARGE_DISK}/iops"
OF_VPC = {"name": "a", "az": "z1", "range": "10.0.9.0", "cloud_properties": {"vpc_id": "vpc-1"}}
NEW_SUBNET = {"name": "more", "managed": True, "subnets": [OF_VPC]}
WITHOUT_GATEWAY = {
    "range": "10.0.0.0/24",
    "azs": ["z1", "z2", "z3"],
    "reserved": ["10.0.0.2-10.0.0.3"],
    "cloud_properties": {"subnet": "subnet-0123456789abcdef0"},
}
LOAD_BALANCER = "arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer"
IN_VM, IN_DISK = "vm_types/default/cloud_properties", "disk_types/default/cloud_properties"


def resources(**sizes: int) -> dict[str, Any]:
    """Return a compilation section whose VMs have these sizes."""
    whole = {"cpu": 0, "ram": 0, "ephemeral_disk_size": 1024, **sizes}
    return {"workers": 1, "network": "default", "az": "z1", "vm_resources": whole}


@pytest.mark.parametrize(
    ("severity", "route", "value", "path"),
    [
        # what BOSH or the CPI ignores, or reads differently
        ("warning", ("compilation", "worker"), 5, "compilation/worker"),
        ("error", (*OF_DISK, "encript"), True, f"{IN_DISK}/encript"),
        ("warning", ("disk_types", 0, "encrypted"), True, "disk_types/default/encrypted"),
        ("warning", (*OF_VM, "source_dest_check"), "false", f"{IN_VM}/source_dest_check"),
        (
            "error",
            ("compilation", "cloud_properties", "root_disk"),
            {"type": "GP3"},
            "compilation/cloud_properties/root_disk/type",
        ),
        # sizes that were perhaps meant in GiB
        ("warning", ("disk_types", 0, "disk_size"), 10, "disk_types/default/disk_size"),
        ("warning", (*OF_VM, "root_disk"), {"size": 20}, f"{IN_VM}/root_disk/size"),
        # what contradicts itself, or EC2 would refuse
        ("error", (*OF_DISK, "tags"), {"aws:a": "b"}, f"{IN_DISK}/tags/aws:a"),
        ("error", OF_DISK, {"iops": 3000, "iops_per_gib": 10}, f"{IN_DISK}/iops_per_gib"),
        ("error", OF_LARGE_DISK, {"type": "io1", "iops_per_gib": 99}, f"{IN_LARGE_DISK}/iops_per_gib"),
        ("error", ("disk_types", 1), {**FAST, "cloud_properties": {"type": "gp3", "iops": 90_000}}, IOPS),
        ("error", ("disk_types", 1), {**FAST, "cloud_properties": {"iops": 300_000}}, IOPS),
        # one mistake is one finding
        ("error", ("azs",), {"z1": {"cloud_properties": {"availability_zone": "us-east-1a"}}}, "azs"),
        ("error", ("vm_extensions",), {"public": {"auto_assign_public_ip": True}}, "vm_extensions"),
        ("error", (*OF_VM, "lb_target_groups"), [f"{LOAD_BALANCER}/app/a/1"], f"{IN_VM}/lb_target_groups/0"),
        ("error", (*OF_VM, "key_name"), "~/.ssh/bosh.pem", f"{IN_VM}/key_name"),
        # what the Director refuses of addresses
        ("error", SUBNET, WITHOUT_GATEWAY, AT_SUBNET),
        ("error", (*SUBNET, "gateway"), "10.0.0.256", f"{AT_SUBNET}/gateway"),
        ("error", (*SUBNET, "range"), "10.0.0.0", f"{AT_SUBNET}/range"),
        ("error", (*SUBNET, "range"), "10.0.0.1/32", f"{AT_SUBNET}/range"),
        ("error", (*SUBNET, "range"), "10.0.0.0-10.0.0.255", f"{AT_SUBNET}/range"),
        ("error", (*SUBNET, "dns"), ["10.0.0.2, 8.8.8.8"], f"{AT_SUBNET}/dns/0"),
        ("error", (*SUBNET, "dns"), "10.0.0.2, 8.8.8.8", f"{AT_SUBNET}/dns"),
        ("error", (*SUBNET, "dns"), ["8.8.8.8", "10.0.0.0/24"], f"{AT_SUBNET}/dns/1"),
        ("error", (*SUBNET, "reserved"), ["10.0.0.0-10.0.0.9", "10.0.1.9"], f"{AT_SUBNET}/reserved/1"),
        ("error", (*SUBNET, "reserved"), ["10.0.0.0-10.0.0.9", "10.0.0.x"], f"{AT_SUBNET}/reserved/1"),
        ("error", ("networks", 2), NEW_SUBNET, "networks/more/subnets/a/range"),
        # compilation VMs without a type
        ("error", ("compilation", "vm_type"), GONE, "compilation"),
        ("error", (*OF_SUBNET, "security_groups"), {"a": 1}, f"{IN_SUBNET}/security_groups"),
        ("error", (*OF_SUBNET, "security_groups"), "sg-a", f"{IN_SUBNET}/security_groups"),
        ("error", (*OF_SUBNET, "security_groups"), [["a", "sg-a"]], f"{IN_SUBNET}/security_groups/0/1"),
        ("error", (*OF_SUBNET, "subnet_fallbacks"), [OTHER_ID], f"{IN_SUBNET}/subnet_fallbacks"),
        ("not checked", (*OF_SUBNET, "ena_express"), EXPRESS, f"{IN_SUBNET}/ena_express/enabled"),
        # sizes for which no VM can be created
        ("error", ("compilation",), resources(cpu=999), "compilation/vm_resources"),
    ],
)
def test_rule(check: Check, severity: str, route: Route, value: Any, path: str) -> None:
    """A broken rule is one finding, at its place."""
    assert [each[:2] for each in check(changed(yaml.safe_load(OWN), route, value))] == [(severity, path)]


@pytest.mark.parametrize(
    ("route", "value", "severity", "path"),
    [
        (("networks", 1, "subnets", 0, "reserved"), GONE, "error", "networks/ipv6/subnets/0/range"),
        (("networks", 0, "subnets", 1, "reserved"), [["10.0.1.2"]], "error", f"{AT_SECOND}/range"),
        (("networks", 0, "subnets", 1, "static"), ["10.0.1.2-10.0.1.3"], "warning", f"{AT_SECOND}/static/0"),
    ],
)
def test_addresses_of_aws(check: Check, route: Route, value: Any, severity: str, path: str) -> None:
    """An address that AWS keeps, and that BOSH may give to a VM, is an error; a static one is a warning."""
    config = changed(yaml.safe_load(KINDS), route, value)
    assert [each[:2] for each in check(config)] == [(severity, path)]
    if route[-1] == "static":  # which the Director gives to no VM that asks for none
        assert [each[0] for each in check(changed(config, (*route[:-1], "reserved"), []))] == ["warning"]


@pytest.mark.parametrize(
    ("network", "gateway", "why"),
    [
        (0, "10.1.0.1", "outside of the range"),
        (0, "10.0.16.0", "the range's first address"),
        (0, "10.0.31.255", "the range's last address"),
        (0, "169.254.0.1", "outside of the range"),
        (1, "fe80::1", "outside of the range"),
    ],
)
def test_gateway(check: Check, network: int, gateway: str, why: str) -> None:
    """A gateway that BOSH refuses is the one finding: what else may be reserved then is not known."""
    subnet: Route = ("networks", network, "subnets", 0)
    config = changed(yaml.safe_load(KINDS), (*subnet, "gateway"), gateway)
    (found,) = check(changed(config, (*subnet, "reserved"), []))
    assert (found.severity, found.path.rpartition("/")[2], found.source) == ("error", "gateway", "Director")
    assert f"the gateway {gateway} is {why}" in found.text
    assert found.text.endswith("Use 10.0.16.1" if network == 0 else "Use 2600:1f18:1:2::1")


@pytest.mark.parametrize(
    ("values", "remedy"),
    [
        ({"prefix": 27}, "/28 of IPv4, not /27. Use 28, or remove prefix"),
        ({"prefix": "80"}, "/28 of IPv4, not /80. Use 28, or remove prefix"),
        ({"prefix": "27", "range": "((range))"}, "/28 of IPv4 or /80 of IPv6, not /27. Use 28 or 80, or r"),
        ({"prefix": 80, "range": "((range))"}, ""),
        ({"prefix": 128, "range": "((range))"}, ""),
        ({"prefix": "32"}, ""),
    ],
)
def test_prefix(check: Check, values: dict[str, Any], remedy: str) -> None:
    """A prefix that EC2 does not delegate is one finding, with the file's own values."""
    config = yaml.safe_load(OWN)
    config["networks"][0]["subnets"][0] |= values
    found = [each for each in check(config) if each.severity == "error"]
    assert [each.path for each in found] == ([f"{AT_SUBNET}/prefix"] if remedy else [])
    assert remedy in "".join(each.text for each in found)


def test_value_in_a_message(check: Check) -> None:
    """The wrong value that a message quotes is not proposed."""
    config = changed(yaml.safe_load(OWN), ("vm_types", 1, "cloud_properties", "spot_bid_price"), "$0.5")
    (found,) = check(config)
    assert found.text.endswith("more than 0.001, got '$0.5'")


def test_gateway_of_ipv6(check: Check) -> None:
    """AWS's router has no address of its own in a range of IPv6: a gateway may be any."""
    gateway = {"gateway": "2600:1f18:1:2::5", "reserved": ["2600:1f18:1:2::1-2600:1f18:1:2::3"]}
    config = yaml.safe_load(KINDS)
    config["networks"][1]["subnets"][0] |= gateway
    assert check(config) == []


@pytest.mark.parametrize("subnet", [0, 1], ids=["IPv4", "IPv6"])
def test_prefix_alone(check: Check, subnet: int) -> None:
    """A VM can't have delegated prefixes alone."""
    config = yaml.safe_load(KINDS)
    (delegated,) = (each for each in config["networks"] if each["name"] == "delegated")
    delegated["subnets"] = [delegated["subnets"][subnet]]
    (found,) = check(changed(config, ("compilation", "network"), "delegated"))
    assert found[:2] == ("error", "compilation/network")
    assert "Could not find a single ip address" in found.text


def test_part_of_a_subnet(check: Check) -> None:
    """With another gateway, the range may be a part of a subnet, which may not have such addresses."""
    part = changed(yaml.safe_load(OWN), (*SUBNET, "gateway"), "10.0.0.254")
    found = check(changed(part, (*SUBNET, "reserved"), []))
    assert [each[:2] for each in found] == [("warning", f"{AT_SUBNET}/{key}") for key in ("gateway", "range")]


def test_extension(check: Check) -> None:
    """What an extension contradicts in itself is an error; what depends on its VM's type is not known."""
    own = changed(yaml.safe_load(OWN), ("vm_extensions", 1), {"name": "more", "cloud_properties": {}})
    for disk, key in (({"type": "io1"}, ""), ({"size": 10_240, "iops": 9000}, "/iops")):
        config = changed(own, ("vm_extensions", 1, "cloud_properties", "ephemeral_disk"), disk)
        place = f"vm_extensions/more/cloud_properties/ephemeral_disk{key}"
        assert [each[:2] for each in check(config)] == [("error", place)]
    store = ("vm_extensions", 1, "cloud_properties", "ephemeral_disk", "use_instance_storage")
    assert check(changed(own, store, 1)) == []
    assert check(changed(own, ("vm_extensions", 1, "cloud_properties"), {"placement_partition": 1})) == []


def test_all_contradictions(check: Check) -> None:
    """create_vm names the first contradiction; the check lists all, each at the property to blame."""
    properties = {
        "spread": True,
        "tenancy": "dedicated",
        "placement_partition": 1,
        "raw_instance_storage": True,
        "root_disk": {"type": "io1"},
        "ephemeral_disk": {"size": 10240, "iops": 9000},
        "tags": {"aws:a": "b"},
    }
    config = yaml.safe_load(OWN)
    config["vm_types"][0]["cloud_properties"] |= properties
    blamed = (
        "placement_partition",
        "spread",
        "root_disk",
        "ephemeral_disk/iops",
        "tags/aws:a",
        "raw_instance_storage",
    )
    assert {each[:2] for each in check(config)} == {("error", f"{IN_VM}/{path}") for path in blamed}


def test_all_problems_of_a_disk(check: Check) -> None:
    """Each property that EBS would refuse of a disk is an error, also beside another one."""
    config = changed(yaml.safe_load(OWN), OF_DISK, {"iops": 50, "throughput": 99})
    assert {each[:2] for each in check(config)} == {
        ("error", f"{IN_DISK}/{key}") for key in ("iops", "throughput")
    }


def test_slash(check: Check) -> None:
    """What is wrong with an entry whose name has a slash is an error like any other."""
    config = changed(yaml.safe_load(OWN), (*OF_VM, "root_disk"), {"type": "io1"})
    config = changed(config, ("vm_types", 0, "name"), "a/b")
    config = changed(config, ("compilation", "vm_type"), "a/b")
    assert [each[0] for each in check(config)] == ["error"]
    manifest = changed(MANIFEST, ("instance_groups", 0, "vm_type"), "a/b")
    assert [each[0] for each in check(config, manifest)] == ["error", "error"]  # the group, the compilation


def test_several_users(check: Check) -> None:
    """A mistake of several instance groups is a finding for each."""
    config = changed(yaml.safe_load(OWN), (*OF_VM, "root_disk"), {"type": "io1"})
    groups = [{**GROUP, "name": name} for name in ("web", "api", "db")]
    found = check(config, {"instance_groups": groups})
    users = [*(f"instance group '{name}'" for name in ("web", "api", "db")), "compilation"]
    assert [each.text.partition(": for ")[2].partition(": ")[0] for each in found] == users


def test_tags_of_the_manifest(check: Check) -> None:
    """What is wrong with the manifest's tags is one error, at the tag."""
    manifest = {**MANIFEST, "tags": {"a": "b", "bosh_agent_id": "x"}}
    found = check(yaml.safe_load(OWN), manifest)
    assert [each[:2] for each in found] == [("error", "tags/bosh_agent_id")]
    letters = changed(yaml.safe_load(OWN), (*OF_VM, "metadata_options", "instance_metadata_tags"), "enabled")
    assert check(letters, {**MANIFEST, "tags": {"a": "b", "((key))": "c"}}) == []
    assert check(letters, {**MANIFEST, "tags": {"a/b": "c"}})


def test_default_that_does_not_fit(check: Check) -> None:
    """A contradiction to a default of cpi.json is at the VM's own property; the message names the default."""
    config = changed(yaml.safe_load(OWN), (*OF_VM, "root_disk"), {"size": 2048})
    (found,) = check(config, default_root_disk={"type": "io1", "iops": 100})
    assert found[:2] == ("error", f"{IN_VM}/root_disk/size")
    assert "aws.default_root_disk.type" in found.text


def test_extension_with_a_type(check: Check) -> None:
    """An extension that sets the type must fit that type, whatever else a VM has."""
    stored = {"name": "stored", "cloud_properties": {"raw_instance_storage": True}}
    config = {**yaml.safe_load(OWN), "vm_extensions": [stored]}
    config = changed(config, (*OF_VM, "instance_type"), "m5d.large")
    assert check(config) == []
    route = ("vm_extensions", 0, "cloud_properties", "instance_type")
    assert [each[:2] for each in check(changed(config, route, "m5.large"))] == [
        ("error", "vm_extensions/stored/cloud_properties/raw_instance_storage")
    ]


def test_instance_type_of_an_extension(check: Check) -> None:
    """A VM type needs no instance_type if an extension has one."""
    config = changed(yaml.safe_load(OWN), ("vm_types", 1, "cloud_properties", "instance_type"), GONE)
    assert [each[:2] for each in check(config)] == [("error", "vm_types/large/cloud_properties")]
    assert check(changed(config, ("vm_extensions", 0, "cloud_properties", "instance_type"), "m5.large")) == []


GROUP: Any = {"name": "web", "instances": 1, "vm_type": "default", "azs": ["z1"]}
GROUP |= {"networks": [{"name": "default"}], "persistent_disk_type": "default"}
MANIFEST: Any = {"instance_groups": [GROUP]}


@pytest.mark.parametrize(
    ("kind", "user", "wrong"),
    [
        ("vm_types", "vm_type", {"ephemeral_disk": {"size": 1024, "iops": 9_000}}),
        ("disk_types", "persistent_disk_type", {"type": 5}),
    ],
)
def test_unused(check: Check, kind: str, user: str, wrong: dict[str, Any]) -> None:
    """What concerns only entries that the manifest does not use is a warning; a variable may use any."""
    own = yaml.safe_load(OWN)
    for index, severity in enumerate(("error", "warning")):
        config = own
        for key, value in wrong.items():
            config = changed(config, (kind, index, "cloud_properties", key), value)
        found = check(config, MANIFEST)
        assert {each[0] for each in found} == {severity}, found
        assert {each[0] for each in check(config)} == {"error"}
        any_entry = changed(MANIFEST, ("instance_groups", 0, user), "((any))")
        assert "error" in {each[0] for each in check(config, any_entry)}


def test_form_of_what_is_unused(check: Check) -> None:
    """What the Director does not read is an error, though the manifest does not use its entry."""
    found = check(changed(yaml.safe_load(OWN), ("disk_types", 1, "disk_size"), "x"), MANIFEST)
    assert [each[:2] for each in found] == [("error", "disk_types/large/disk_size")]


OTHER: Any = {"name": "z9", "cpi": "vsphere", "cloud_properties": {"datacenters": [{"name": "dc"}]}}
OTHER_SUBNET: Any = {
    "range": "10.9.0.0/24",
    "gateway": "10.9.0.1",
    "reserved": ["10.9.0.2-10.9.0.9"],
    "azs": ["z9"],
    "cloud_properties": {"name": "VM Network"},
}
SEVERAL: Any = changed(changed(yaml.safe_load(OWN), ("azs", 3), OTHER), (*SUBNET[:3], 1), OTHER_SUBNET)


def test_other_cpi(check: Check) -> None:
    """The azs of another CPI, and the subnets only in them, are left out, and named."""
    found = check(SEVERAL)
    assert [each[:2] for each in found] == [("not checked", "azs/z9/cpi")]
    assert "another CPI has the azs 'z9'" in found[0][2]
    assert check(SEVERAL, {"instance_groups": [{**GROUP, "azs": ["z9"]}]}) == found
    static = changed(SEVERAL, (*SUBNET[:3], 1, "static"), ["10.9.0.2"])  # AWS would keep it
    assert check(changed(static, ("compilation", "az"), "z9")) == found
    shared = changed(changed(SEVERAL, (*SUBNET, "azs"), ["z1", "z9"]), (*SUBNET, "gateway"), "10.0.0.0")
    assert ("error", f"{AT_SUBNET}/gateway") in [each[:2] for each in check(shared)]
    zone = ("azs", 0, "cloud_properties", "availability_zone")
    assert ("error", "azs/z1/cloud_properties/availability_zone") in [
        each[:2] for each in check(changed(SEVERAL, zone, "us-east-1"))
    ]


@pytest.mark.parametrize(
    ("azs", "cpi", "severity"),
    [
        (["aws", "vsphere"], "vsphere", "note"),
        (["aws", "vsphere"], "", "not checked"),
    ],
)
def test_azs_of_others(check: Check, azs: list[str | None], cpi: str, severity: str) -> None:
    """Azs of another CPI that is not asked for are a note, if one is, else not checked."""
    entries = [{"name": str(index), **({"cpi": name} if name else {})} for index, name in enumerate(azs)]
    found = check({**yaml.safe_load(OWN), "azs": entries}, cpi=cpi)
    assert [each.severity for each in found if "another CPI" in each.text] == [severity]


@pytest.mark.parametrize(("named", "words"), [(True, "their CPIs are vsphere"), (False, "leave --cpi out")])
def test_unknown_cpi(check: Check, *, named: bool, words: str) -> None:
    """A CPI that no az names is refused, with those that are named: nothing would be checked."""
    whole = yaml.safe_load(OWN)
    with pytest.raises(CloudError) as caught:
        check({**whole, "azs": [*whole["azs"], *([OTHER] if named else [])]}, cpi="vspere")
    assert words in caught.value.message


def test_types_of_other_cpi(check: Check) -> None:
    """With several CPIs a VM type or disk type may be another one's: what is wrong in it is a warning."""
    of_other = [{"name": "other", "cloud_properties": {"cpu": 2, "ephemeral_disk": 5}}]
    disk = [{"name": "other", "disk_size": 1024, "cloud_properties": {"type": "thin", "iops": 5}}]
    whole = {**SEVERAL, "vm_types": [*SEVERAL["vm_types"], *of_other]}
    found = check({**whole, "disk_types": [*SEVERAL["disk_types"], *disk]})
    compiled = {**whole["compilation"], "az": "z9", "vm_type": "other"}
    assert {each[0] for each in check({**whole, "compilation": compiled})} == {"warning", "not checked"}
    assert {each[0] for each in found} == {"warning", "not checked"}
    assert {each[1].split("/")[1] for each in found} == {"other", "z9"}


def test_named_cpi(tmp_path: Path, aws: AwsConfig) -> None:
    """The azs of the CPI that is named are checked, and no others; a single CPI needs no name."""
    path = tmp_path / "config.yml"
    path.write_text(yaml.safe_dump(SEVERAL))

    def own(cpi: str) -> list[Any]:
        files, _ = read_files([str(path)], None, cpi, aws, {})
        return [each.value["name"] for each in files.own_azs]

    assert own("") == ["z1", "z2", "z3"]
    assert own("vsphere") == ["z9"]
    path.write_text(yaml.safe_dump({**SEVERAL, "azs": [OTHER]}))
    assert own("") == ["z9"]


def test_once(check: Check) -> None:
    """A mistake in a zone is found once, not for each VM type."""
    for key, value in {"tags": ["a"], "root_disk": 5}.items():
        config = changed(yaml.safe_load(OWN), ("azs", 0, "cloud_properties", key), value)
        assert [each[:2] for each in check(config)] == [("error", f"azs/z1/cloud_properties/{key}")]


def test_security_groups(check: Check) -> None:
    """Without default security groups, each VM type or its network needs some; so does the compilation."""
    whole = yaml.safe_load(OWN)
    missing = {("error", f"vm_types/{name}/cloud_properties") for name in ("default", "large")}
    expected = {("error", "compilation/network"), *missing}
    assert {each[:2] for each in check(whole, default_security_groups=[])} == expected
    with_some = changed(whole, (*SUBNET, "cloud_properties", "security_groups"), ["web"])
    assert check(with_some, default_security_groups=[]) == []
    manifest = changed(MANIFEST, ("instance_groups", 0, "persistent_disk_type"), GONE)
    found = check(whole, manifest, default_security_groups=[])
    assert ("error", "instance_groups/web/networks") in [each[:2] for each in found]
    assert check(with_some, manifest, default_security_groups=[]) == []


def test_other_keys(check: Check) -> None:
    """Keys that people use for YAML anchors are no mistake."""
    keys = ("x-disk", "_disk", ".disk", "anchors")
    assert check({**yaml.safe_load(OWN), **{key: {"a": 1} for key in keys}}) == []


@pytest.mark.parametrize("route", [SUBNET, OF_VM, ("vm_types", 1)])
def test_variable_key(check: Check, route: Route) -> None:
    """A hash with a variable as a key may have any key: nothing is missing."""
    found = check(changed(yaml.safe_load(OWN), route, {"((key))": "x"}))
    assert [each[0] for each in found] == ["not checked"]


@pytest.mark.parametrize(
    ("default", "own", "expected"),
    [
        ({"iops": 0}, {}, ["error aws.default_persistent_disk.iops"]),
        ({"type": "gp9"}, {}, ["error aws.default_persistent_disk.type"]),
        ({"iops": 16_000}, {}, [f"error {IN_DISK}"]),
        ({"iops": 16_000}, {"iops_per_gib": 10}, []),
        ({"iops_per_gib": 400, "throughput": 1000}, {}, []),
        ({"iops_per_gib": 399, "throughput": 1000}, {}, [f"error {IN_DISK}"]),
    ],
)
def test_default_persistent_disk(
    check: Check, default: dict[str, Any], own: dict[str, Any], expected: list[str]
) -> None:
    """Wrong defaults for persistent disks are errors; right ones can contradict a disk type."""
    whole = yaml.safe_load(OWN)
    whole["disk_types"] = [{"name": "default", "disk_size": 10_240, "cloud_properties": own}]
    found = check(whole, default_persistent_disk=default)
    assert [f"{severity} {path}".rstrip() for severity, path, *_ in found] == expected


def test_default_iops_of_a_variable(check: Check) -> None:
    """Default iops without a size are no mistake of a VM whose type, and so its default size, is unknown."""
    whole = yaml.safe_load(OWN)
    properties = whole["vm_types"][0]["cloud_properties"]
    del properties["ephemeral_disk"]
    for kind, severities in (("m5.large", ["error"]), ("((type))", [])):
        properties["instance_type"] = kind
        found = [
            each
            for each in check(whole, default_ephemeral_disk={"iops": 16000})
            if each.path.startswith(IN_VM)
        ]
        assert [each.severity for each in found if each.severity == "error"] == severities


def test_tags_of_the_configuration(check: Check) -> None:
    """The tags of aws.tags count towards EC2's limit, unless the cloud config has the same keys."""
    whole = yaml.safe_load(OWN)
    for kind in ("vm_types", "disk_types"):
        whole[kind][0].setdefault("cloud_properties", {})["tags"] = {f"tag-{n}": "a" for n in range(39)}
    assert check(whole, tags={f"tag-{n}": "a" for n in range(30)}) == []
    found = check(whole, tags={f"common-{n}": "a" for n in range(30)})
    assert [each[:2] for each in found] == [
        ("error", "vm_types/default/cloud_properties/tags"),
        ("error", "disk_types/default/cloud_properties/tags"),
    ]
    assert all("71" in each.text for each in found)


def test_families(check: Check) -> None:
    """Families that can't be used are one error; sizes beyond them are an error where they stand."""
    whole = yaml.safe_load(OWN)
    assert [each[0] for each in check(whole, vm_resources_families=["t2"])] == []
    whole["compilation"] = resources(cpu=16, ram=4096)
    (found,) = check(whole, vm_resources_families=["m7i", "nosuch"])
    assert (found.severity, found.path, "'nosuch'" in found.text) == ("error", "", True)
    (found,) = check(whole, vm_resources_families=["t2"])
    assert found[:2] == ("error", "compilation/vm_resources")
    assert "'t2.2xlarge'" in found.text
    assert check(whole, vm_resources_families=["c7i"]) == check(whole) == []


def test_managed_without_meaning(check: Check) -> None:
    """Only a manual network is managed."""
    config = yaml.safe_load(KINDS)
    dynamic = next(index for index, each in enumerate(config["networks"]) if each.get("type") == "dynamic")
    assert check(changed(config, ("networks", dynamic, "managed"), value=True)) == []


MANAGED: Route = ("networks", 0, "subnets", 0)


@pytest.mark.parametrize(
    ("key", "value", "path"),
    [
        ("range", "10.0.0.0/29", f"{AT_SUBNET}/range"),
        ("range", "10.0.0.0/8", f"{AT_SUBNET}/range"),
        ("netmask_bits", 29, f"{AT_SUBNET}/netmask_bits"),
        ("prefix", GONE, AT_SUBNET),
        ("cloud_properties", {"vpc_id": "main"}, f"{AT_SUBNET}/cloud_properties/vpc_id"),
        ("cloud_properties", {}, f"{AT_SUBNET}/cloud_properties"),
        ("cloud_properties", {"vpc_id": "vpc-1", "tags": ["a"]}, f"{AT_SUBNET}/cloud_properties/tags"),
    ],
)
def test_managed_network(check: Check, key: str, value: Any, path: str) -> None:
    """What create_network or the Director refuses of a managed network is an error, if it is used."""
    subnet = {"name": "0", "azs": ["z1", "z2", "z3"], "prefix": 32, "cloud_properties": {"vpc_id": "vpc-1"}}
    config = changed(yaml.safe_load(OWN), ("networks", 0, "managed"), value=True)
    config = changed(config, ("networks", 0, "subnets"), [subnet])
    assert check(config) == []
    wrong = changed(config, (*MANAGED, key), value)
    assert [each[:2] for each in check(wrong)] == [("error", path)]
    wrong["networks"].append({**yaml.safe_load(OWN)["networks"][0], "name": "plain"})
    wrong["compilation"]["network"] = "plain"
    manifest = changed(MANIFEST, ("instance_groups", 0, "networks"), [{"name": "plain"}])
    assert [each[:2] for each in check(wrong, manifest)] == [("warning", path)]


def test_demand(tmp_path: Path, aws: AwsConfig) -> None:
    """The instances that a manifest needs are counted by type and market, those that compile apart.

    Those on Dedicated Hosts and of capacity reservations are not, nor are errands.
    """
    config_path, manifest_path = tmp_path / "config.yml", tmp_path / "manifest.yml"
    config = yaml.safe_load(OWN)
    extensions = {
        "cheap": {"spot": True},
        "priced": {"spot_bid_price": 1, "spot": False},
        "apart": {"dedicated_host": {"id": "h-1"}},
        "reserved": {"capacity_reservation": {"id": "cr-1"}},
        "unknown": {"capacity_reservation": "((reservation))"},
    }
    config["vm_extensions"] = [
        {"name": name, "cloud_properties": properties} for name, properties in extensions.items()
    ]
    config_path.write_text(yaml.safe_dump(config))
    sizes = {"cpu": 1, "ram": 1024, "ephemeral_disk_size": 10_240}
    groups = [
        {"name": "a", "instances": 3, "vm_type": "default", "azs": ["z1"]},
        {"name": "b", "instances": 2, "vm_type": "large", "azs": ["z1"]},
        {"name": "c", "instances": 4, "vm_resources": sizes, "azs": ["z1"]},
        {"name": "d", "instances": "((count))", "vm_type": "large", "azs": ["z1"]},
        {"name": "e", "instances": 9, "vm_type": "unknown", "azs": ["z1"]},
        {"name": "h", "instances": 8, "vm_type": "large", "lifecycle": "errand", "azs": ["z1"]},
    ]
    groups += [
        {"name": name, "instances": 7, "vm_type": "large", "vm_extensions": [name], "azs": ["z1"]}
        for name in extensions
    ]
    manifest_path.write_text(yaml.safe_dump({"instance_groups": groups}))
    large = "m5.xlarge"
    files, _ = read_files([str(config_path)], str(manifest_path), "", aws, {})
    assert [counted for _, counted in account_findings.demand(files.replace(sizes=VM_SIZES))] == [
        {("m5.large", "demand"): 3, (large, "demand"): 2, ("t2.micro", "demand"): 4, (large, "spot"): 14},
        {("m5.large", "demand"): 5},
    ]


def test_thousands_of_digits(check: Check) -> None:
    """A text of more digits than Python reads is judged as any other text."""
    for route, number in ((("disk_types", 0, "disk_size"), 1), ((*SUBNET, "prefix"), 0)):
        found = check(changed(yaml.safe_load(OWN), route, "9" * 5000))
        assert len([each for each in found if "got String" in each.text]) == number


FALLBACK: Any = {"name": "fallback", "cloud_properties": {"spot_ondemand_fallback": True}}


def test_extension_alone(check: Check) -> None:
    """An extension whose VM types stand in another cloud config may be right."""
    assert check({"vm_extensions": [FALLBACK]}) == []


def test_wrong_default(check: Check) -> None:
    """A default that no VM can have is one error, not one for each VM."""
    whole = {**yaml.safe_load(OWN), "vm_extensions": [FALLBACK]}
    types = [{"name": "spot", "cloud_properties": {"instance_type": "m5.large", "spot": True}}]
    found = check(
        {**whole, "vm_types": [*whole["vm_types"], *types]}, default_root_disk={"iops": 1, "type": "gp3"}
    )
    assert {each.path.partition(".")[0] for each in found if each.severity == "error"} == {"aws"}
