"""The rules of `cpi check` that need no AWS: warnings, and what is no mistake."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from bosh_aws_cpi.config import cpi_config
from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.tools.checks.offline import Files
from bosh_aws_cpi.tools.checks.quotas import Demand
from tests.stories.checked_config import GONE, Route, changed
from tests.stories.right_configs import (
    CF_DEPLOYMENT,
    CREATE_ENV,
    IPV6,
    OWN,
    PREFIXES,
    SPECIAL_NETWORKS,
    with_networks,
)

Found = list[tuple[str, str, str]]
OF_VM: Route = ("vm_types", 0, "cloud_properties")
SUBNET: Route = ("networks", 0, "subnets", 0)
AT_SUBNET = "networks/default/subnets/0"
OF_DISK: Route = ("disk_types", 0, "cloud_properties")
IN_VM, IN_DISK = "vm_types/default/cloud_properties", "disk_types/default/cloud_properties"


def resources(**sizes: int) -> dict[str, Any]:
    """Return what compiles in VMs of these sizes."""
    whole = {"cpu": 0, "ram": 0, "ephemeral_disk_size": 1024, **sizes}
    return {"workers": 1, "network": "default", "az": "z1", "vm_resources": whole}


@pytest.mark.parametrize(
    ("severity", "route", "value", "path"),
    [
        # what BOSH or the CPI ignores, or reads differently
        ("warning", ("azs", 0, "cpis"), "x", "azs/z1/cpis"),
        ("warning", ("compilation", "worker"), 5, "compilation/worker"),
        ("warning", (*OF_VM, "5"), "x", f"{IN_VM}/5"),
        ("warning", (*OF_VM, "ephemeral_disk", "encripted"), True, f"{IN_VM}/ephemeral_disk/encripted"),
        ("warning", (*OF_VM, "source_dest_check"), "false", f"{IN_VM}/source_dest_check"),
        # words, wherever they are merged into a VM's properties
        *(
            ("warning", (*route, "cloud_properties", "root_disk"), {"type": "GP3"}, f"{path}/root_disk/type")
            for route, path in (
                (("azs", 0), "azs/z1/cloud_properties"),
                (("compilation",), "compilation/cloud_properties"),
            )
        ),
        # sizes that were perhaps meant in GiB
        ("warning", ("disk_types", 0, "disk_size"), 10, "disk_types/default/disk_size"),
        ("warning", (*OF_VM, "ephemeral_disk", "size"), 50, f"{IN_VM}/ephemeral_disk/size"),
        ("warning", (*OF_VM, "root_disk"), {"size": 20}, f"{IN_VM}/root_disk/size"),
        # no string but prefer counts as true, as in create_vm
        ("error", (*OF_VM, "spread"), "true", f"{IN_VM}/spread"),
        # tags that EC2 would refuse, with those that the CPI adds
        ("error", (*OF_DISK, "tags"), {"aws:a": "b"}, f"{IN_DISK}/tags"),
        ("error", (*OF_DISK, "tags"), {f"tag{number}": "x" for number in range(49)}, f"{IN_DISK}/tags"),
        # sizes for which no VM can be created
        ("error", ("compilation",), resources(cpu=999), "compilation/vm_resources"),
        (
            "error",
            ("compilation",),
            resources(ephemeral_disk_size=0),
            "compilation/vm_resources/ephemeral_disk_size",
        ),
    ],
)
def test_rule(check: Callable[..., Found], severity: str, route: Route, value: Any, path: str) -> None:
    """What breaks a rule has one finding, at its place."""
    assert [each[:2] for each in check(changed(yaml.safe_load(OWN), route, value))] == [(severity, path)]


@pytest.mark.parametrize(
    ("networks", "route", "value", "severity", "path"),
    [
        (IPV6, (*SUBNET[:1], 1, "subnets", 0, "reserved"), GONE, "error", "networks/ipv6/subnets/0/range"),
        (SPECIAL_NETWORKS, (*SUBNET, "reserved"), ["10.0.1.2"], "error", f"{AT_SUBNET}/range"),
        (SPECIAL_NETWORKS, (*SUBNET, "reserved"), [], "error", f"{AT_SUBNET}/range"),
        (SPECIAL_NETWORKS, (*SUBNET, "static"), ["10.0.1.2-10.0.1.3"], "warning", f"{AT_SUBNET}/static/0"),
    ],
)
def test_addresses_of_aws(
    check: Callable[..., Found], networks: str, route: Route, value: Any, severity: str, path: str
) -> None:
    """An address that AWS keeps, and that BOSH may give to a VM, is an error; a static one is a warning."""
    config = changed(yaml.safe_load(with_networks(networks)), route, value)
    config = changed(config, (*SUBNET, "reserved"), []) if severity == "warning" else config
    assert [each[:2] for each in check(config)] == [(severity, path)]


def test_no_address_of_aws(check: Callable[..., Found]) -> None:
    """A VM with a delegated prefix never gets such an address, and a part of a subnet may not have them."""
    assert check(yaml.safe_load(with_networks(PREFIXES))) == []
    part = changed(yaml.safe_load(OWN), (*SUBNET, "gateway"), "10.0.0.254")
    found = check(changed(part, (*SUBNET, "reserved"), []))
    assert {severity for severity, _, _ in found} == {"warning"}


def test_extension(check: Callable[..., Found]) -> None:
    """What an extension contradicts in itself is an error; that it may not fit a VM type is none."""
    own = changed(yaml.safe_load(OWN), ("vm_extensions", 1), {"name": "more", "cloud_properties": {}})
    config = changed(own, ("vm_extensions", 1, "cloud_properties", "ephemeral_disk"), {"type": "io1"})
    assert [each[:2] for each in check(config)] == [
        ("error", "vm_extensions/more/cloud_properties/ephemeral_disk")
    ]
    for needs_more in ({"use_instance_storage": True}, {"iops": 9000}):
        fit = changed(own, ("vm_extensions", 1, "cloud_properties", "ephemeral_disk"), needs_more)
        assert check(fit) == []
    assert check(changed(own, ("vm_extensions", 1, "cloud_properties"), {"placement_partition": 1})) == []


def test_all_contradictions(check: Callable[..., Found]) -> None:
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
        "tags",
        "raw_instance_storage",
    )
    assert {each[:2] for each in check(config)} == {("error", f"{IN_VM}/{path}") for path in blamed}


@pytest.mark.parametrize(
    ("default", "own"),
    [({"type": "st1"}, {"size": 10240}), ({"type": "io1", "iops": 100}, {"size": 1024, "encrypted": True})],
)
def test_default_that_does_not_fit(
    check: Callable[..., Found], default: dict[str, Any], own: dict[str, Any]
) -> None:
    """What contradicts a default is at the VM's own property, whatever the message names first."""
    config = changed(yaml.safe_load(OWN), (*OF_VM, "root_disk"), own)
    found = [place for severity, place, _ in check(config, default_root_disk=default) if severity == "error"]
    assert f"{IN_VM}/root_disk/size" in found


def test_extension_with_a_type(check: Callable[..., Found]) -> None:
    """An extension that sets the type must fit that type, whatever else a VM has."""
    stored = {"name": "stored", "cloud_properties": {"raw_instance_storage": True}}
    config = {**yaml.safe_load(OWN), "vm_extensions": [stored]}
    config["compilation"].pop("vm_extensions", None)
    assert check(config) == []
    route = ("vm_extensions", 0, "cloud_properties", "instance_type")
    assert [each[:2] for each in check(changed(config, route, "m5.large"))] == [
        ("error", "vm_extensions/stored/cloud_properties/raw_instance_storage")
    ]


def test_instance_type_of_an_extension(check: Callable[..., Found]) -> None:
    """A VM type needs no instance_type if an extension has one."""
    config = changed(yaml.safe_load(OWN), ("vm_types", 1, "cloud_properties", "instance_type"), GONE)
    assert check(changed(config, ("vm_extensions", 0, "cloud_properties", "instance_type"), "m5.large")) == []


MANIFEST: Any = {
    "instance_groups": [
        {
            "name": "web",
            "instances": 1,
            "vm_type": "default",
            "azs": ["z1"],
            "networks": [{"name": "default"}],
            "persistent_disk_type": "default",
        }
    ]
}


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("vm_types", {"ephemeral_disk": {"size": 1024, "iops": 90_000}}),
        ("vm_types", {"instance_type": GONE}),
        ("disk_types", {"type": 5}),
    ],
)
def test_unused(check: Callable[..., Found], kind: str, wrong: dict[str, Any]) -> None:
    """What concerns only entries that the manifest does not use is a warning."""
    own = yaml.safe_load(OWN)
    for index, severity in enumerate(("error", "warning")):
        config = own
        for key, value in wrong.items():
            config = changed(config, (kind, index, "cloud_properties", key), value)
        found = check(config, MANIFEST)
        assert {each[0] for each in found} == {severity}, found
        assert {each[0] for each in check(config)} == {"error"}


OTHER: Any = {"name": "z9", "cpi": "vsphere", "cloud_properties": {"datacenters": [{"name": "dc"}]}}
OTHER_SUBNET: Any = {
    "range": "10.9.0.0/24",
    "gateway": "10.9.0.1",
    "reserved": ["10.9.0.2-10.9.0.9"],
    "azs": ["z9"],
    "cloud_properties": {"name": "VM Network"},
}
SEVERAL: Any = changed(changed(yaml.safe_load(OWN), ("azs", 3), OTHER), (*SUBNET[:3], 1), OTHER_SUBNET)


def test_other_cpi(check: Callable[..., Found]) -> None:
    """The azs of another CPI, and the subnets only in them, are left out, and named."""
    found = check(SEVERAL)
    assert [each[:2] for each in found] == [("not checked", "azs/z9/cpi")]
    assert "another CPI has the azs 'z9'" in found[0][2]
    group = {**MANIFEST["instance_groups"][0], "azs": ["z9"]}
    assert check(SEVERAL, {"instance_groups": [group]}) == found
    static = changed(SEVERAL, (*SUBNET[:3], 1, "static"), ["10.9.0.2"])  # AWS would keep it
    assert check(changed(static, ("compilation", "az"), "z9")) == found
    zone = ("azs", 0, "cloud_properties", "availability_zone")
    assert ("error", "azs/z1/cloud_properties/availability_zone") in [
        each[:2] for each in check(changed(SEVERAL, zone, "us-east-1"))
    ]


@pytest.mark.parametrize(
    ("azs", "cpi", "severity"),
    [
        (["aws", "aws"], "awss", "error"),
        (["aws", "vsphere"], "lab", "error"),
        ([None, None], "aws", "error"),
        (["aws", "vsphere"], "vsphere", "note"),
        (["aws", "vsphere"], "", "not checked"),
    ],
)
def test_azs_of_others(
    tmp_path: Path, aws: AwsConfig, azs: list[str | None], cpi: str, severity: str
) -> None:
    """That no az has the CPI is an error: nothing would be checked."""
    file = tmp_path / "config.yml"
    entries = [{"name": str(index), **({"cpi": name} if name else {})} for index, name in enumerate(azs)]
    file.write_text(yaml.safe_dump({**yaml.safe_load(OWN), "azs": entries}))
    found = [
        each for each in Files.read([str(file)], None, aws, cpi).findings() if "another CPI" in each.what
    ]
    assert [each.severity.value for each in found] == [severity]


def test_types_of_other_cpi(check: Callable[..., Found]) -> None:
    """With several CPIs a VM type or disk type may be another one's: what is wrong in it is a warning."""
    of_other = [{"name": "other", "cloud_properties": {"cpu": 2, "ephemeral_disk": 5}}]
    disk = [{"name": "other", "disk_size": 1024, "cloud_properties": {"type": "thin", "iops": 5}}]
    whole = {**SEVERAL, "vm_types": [*SEVERAL["vm_types"], *of_other]}
    found = check({**whole, "disk_types": [*SEVERAL["disk_types"], *disk]})
    assert {each[0] for each in found} == {"warning", "not checked"}
    assert {each[1].split("/")[1] for each in found} == {"other", "z9"}


GIVEN_ROLE, OWN_ROLE = (f"arn:aws:iam::123456789012:role/{name}" for name in ("given", "own"))


@pytest.mark.parametrize(
    ("own", "user", "role"),
    [
        ({"access_key_id": "AKIAOWN", "secret_access_key": "own"}, "AKIAOWN", None),
        ({"access_key_id": "AKIAOWN", "secret_access_key": "((key))"}, "AKIAGIVEN", GIVEN_ROLE),
        ({"access_key_id": "AKIAOWN", "secret_access_key": "own", "role_arn": OWN_ROLE}, "AKIAOWN", OWN_ROLE),
        ({"credentials_source": "env_or_profile"}, None, None),
        ({"credentials_source": "((source))", "role_arn": OWN_ROLE}, "AKIAGIVEN", GIVEN_ROLE),
        ({}, "AKIAGIVEN", GIVEN_ROLE),
    ],
)
def test_credentials_of_create_env(
    tmp_path: Path, own: dict[str, Any], user: str | None, role: str | None
) -> None:
    """Credentials are all those of the manifest, or all those of cpi.json."""
    given: dict[str, Any] = {
        "access_key_id": "AKIAGIVEN",
        "secret_access_key": "given",
        "role_arn": GIVEN_ROLE,
    }
    given |= {"region": "eu-west-1", "max_retries": 1, "ec2_endpoint": "ec2.example", "kms_key_arn": "given"}
    manifest = yaml.safe_load(CREATE_ENV)
    least = {"region": "us-east-1", "default_security_groups": ["a"], "elb_endpoint": "elb.example"}
    manifest["cloud_provider"]["properties"]["aws"] = {**least, **own}
    path = tmp_path / "bosh.yml"
    path.write_text(yaml.safe_dump(manifest))
    parsed = cpi_config.parse({"cloud": {"properties": {"aws": given}}}, {}, {}).aws
    aws = Files.read([str(path)], None, parsed, given=given).aws
    assert (aws.access_key_id, aws.role_arn) == (user, role)
    assert (aws.region, aws.default_security_groups, aws.max_retries) == ("us-east-1", ["a"], 8)
    assert aws.encryption.kms_key_arn is None
    assert (aws.endpoints["ec2"], aws.endpoints["elb"]) == ("https://ec2.example", "https://elb.example")


def test_named_cpi(tmp_path: Path, aws: AwsConfig) -> None:
    """The azs of the CPI that is named are checked, and no others; a single CPI needs no name."""
    path = tmp_path / "config.yml"
    path.write_text(yaml.safe_dump(SEVERAL))

    def own(cpi: str) -> list[Any]:
        return [each.value["name"] for each in Files.read([str(path)], None, aws, cpi).config.own_azs]

    assert own("") == ["z1", "z2", "z3"]
    assert own("vsphere") == ["z9"]
    path.write_text(yaml.safe_dump({**SEVERAL, "azs": [OTHER]}))
    assert own("") == ["z9"]
    assert own("aws") == []


def test_once(check: Callable[..., Found]) -> None:
    """A mistake in a zone is found once, not for each VM type."""
    config = changed(yaml.safe_load(CF_DEPLOYMENT), ("azs", 0, "cloud_properties", "tags"), ["a"])
    assert [each[:2] for each in check(config)] == [("error", "azs/z1/cloud_properties/tags")]
    config = changed(config, ("azs", 0, "cloud_properties", "tags"), GONE)
    wrong = changed(config, ("azs", 0, "cloud_properties", "root_disk"), 5)
    assert [each[:2] for each in check(wrong)] == [("error", "azs/z1/cloud_properties/root_disk")]


def test_security_groups(check: Callable[..., Found]) -> None:
    """Without default security groups, each VM type or its network needs some; so does the compilation."""
    whole = yaml.safe_load(OWN)
    missing = [("error", f"vm_types/{name}/cloud_properties") for name in ("default", "large")]
    expected = [("error", "compilation/network"), *missing]
    assert [each[:2] for each in check(whole, default_security_groups=[])] == expected
    with_some = changed(whole, (*SUBNET, "cloud_properties", "security_groups"), ["web"])
    assert check(with_some, default_security_groups=[]) == []
    manifest = changed(MANIFEST, ("instance_groups", 0, "persistent_disk_type"), GONE)
    found = check(whole, manifest, default_security_groups=[])
    assert ("error", "instance_groups/web/networks") in [each[:2] for each in found]
    assert check(with_some, manifest, default_security_groups=[]) == []


@pytest.mark.parametrize("key", ["x-disk", "_disk", ".disk", "anchors"])
def test_anchors_key(check: Callable[..., Found], key: str) -> None:
    """Keys that people use for YAML anchors are no mistake."""
    assert check({**yaml.safe_load(OWN), key: {"a": 1}}) == []


@pytest.mark.parametrize("route", [(*SUBNET,), (*OF_VM,)])
def test_variable_key(check: Callable[..., Found], route: Route) -> None:
    """A hash with a variable as a key may have any key: nothing is missing."""
    found = check(changed(yaml.safe_load(OWN), route, {"((key))": "x"}))
    assert [each[0] for each in found] == ["not checked"]


def test_default_disks(check: Callable[..., Found]) -> None:
    """A default of cpi.json can contradict what a VM says: the error names the default."""
    whole = yaml.safe_load(OWN)
    whole["vm_types"][0]["cloud_properties"]["ephemeral_disk"] = {"size": 10240}
    found = check(whole, default_ephemeral_disk={"size": 102400, "iops": 16000})
    place = f"{IN_VM}/ephemeral_disk"
    (contradiction,) = [what for severity, path, what in found if (severity, path) == ("error", place)]
    assert "aws.default_ephemeral_disk.iops" in contradiction


@pytest.mark.parametrize(
    ("default", "own", "expected"),
    [
        ({"iops": 0}, {}, ["error"]),
        ({"type": "gp9"}, {}, ["warning aws.default_persistent_disk.type"]),
        ({"type": "io1"}, {}, ["error"]),
        ({"type": "io2", "iops_per_gib": 100}, {}, []),
        ({"iops": 16_000}, {}, [f"error {IN_DISK}"]),
        ({"iops": 16_000}, {"iops_per_gib": 10}, []),
        ({"iops_per_gib": 400, "throughput": 1000}, {}, []),
        ({"iops_per_gib": 399, "throughput": 1000}, {}, [f"error {IN_DISK}"]),
        ({"kms_key_arn": "key", "encrypted": True}, {}, []),
    ],
)
def test_default_persistent_disk(
    check: Callable[..., Found], default: dict[str, Any], own: dict[str, Any], expected: list[str]
) -> None:
    """Wrong defaults for persistent disks are errors; right ones can contradict a disk type."""
    whole = yaml.safe_load(OWN)
    whole["disk_types"] = [{"name": "default", "disk_size": 10_240, "cloud_properties": own}]
    found = check(whole, default_persistent_disk=default)
    assert [f"{severity} {path}".rstrip() for severity, path, _ in found] == expected


@pytest.mark.parametrize("name", ["default_root_disk", "default_ephemeral_disk"])
@pytest.mark.parametrize(
    ("disk", "key"),
    [
        ({"type": "gp9"}, "type"),
        ({"size": 99_999_999_999}, "size"),
        ({"type": "gp2", "size": 16_384 * 1024 + 1}, "size"),
        ({"type": "gp2", "size": 16_384 * 1024}, None),
        ({"size": 50}, "size"),
        ({"size": 512}, None),
    ],
)
def test_words_of_default_disks(
    check: Callable[..., Found], name: str, disk: dict[str, Any], key: str | None
) -> None:
    """A type that EBS does not have, and a size over its limit, are warnings for a default, too."""
    found = [each[:2] for each in check(yaml.safe_load(OWN), **{name: disk})]
    assert found == ([("warning", f"aws.{name}.{key}")] if key else [])


def test_default_iops_of_a_variable(check: Callable[..., Found]) -> None:
    """Default iops without a size are no mistake of a VM whose type, and so its default size, is unknown."""
    whole = yaml.safe_load(OWN)
    properties = whole["vm_types"][0]["cloud_properties"]
    properties["instance_type"] = "((type))"
    properties.pop("ephemeral_disk", None)
    found = check(whole, default_ephemeral_disk={"iops": 16000})
    assert not [each for each in found if each[1].startswith("vm_types/default") and each[0] == "error"]


def test_tags_of_the_configuration(check: Callable[..., Found]) -> None:
    """The tags of aws.tags count towards EC2's limit, unless the cloud config has the same keys."""
    whole = yaml.safe_load(OWN)
    for kind in ("vm_types", "disk_types"):
        whole[kind][0].setdefault("cloud_properties", {})["tags"] = {f"tag-{n}": "a" for n in range(40)}
    assert check(whole, tags={f"tag-{n}": "a" for n in range(30)}) == []
    found = check(whole, tags={f"common-{n}": "a" for n in range(30)})
    assert [each[:2] for each in found] == [
        ("error", "vm_types/default/cloud_properties/tags"),
        ("error", "disk_types/default/cloud_properties/tags"),
    ]
    assert all("72" in what for _, _, what in found)


def test_families(check: Callable[..., Found]) -> None:
    """Families that can't be used are one error; sizes beyond them are an error where they stand."""
    whole = yaml.safe_load(OWN)
    assert [each[0] for each in check(whole, vm_resources_families=["t2"])] == []
    whole["compilation"] = resources(cpu=16, ram=4096)
    for wrong, named in ((["m7i", "nosuch"], "'nosuch'"), (["m4"], "'m4'"), (["m7g", "m7i"], "arm64")):
        ((severity, _, what),) = check(whole, vm_resources_families=wrong)
        assert (severity, named in what) == ("error", True)
    ((severity, path, what),) = check(whole, vm_resources_families=["t2"])
    assert (severity, path) == ("error", "compilation/vm_resources")
    assert "'t2.2xlarge'" in what
    assert check(whole, vm_resources_families=["c7i"]) == check(whole) == []


MANAGED: Route = ("networks", 0, "subnets", 0)


@pytest.mark.parametrize(
    ("key", "value", "path"),
    [
        ("range", "10.0.0.0/29", f"{AT_SUBNET}/range"),
        ("gateway", "10.0.0.5", f"{AT_SUBNET}/gateway"),
        ("netmask_bits", 8, f"{AT_SUBNET}/netmask_bits"),
        ("cloud_properties", {"vpc_id": 5}, f"{AT_SUBNET}/cloud_properties/vpc_id"),
        ("cloud_properties", {}, f"{AT_SUBNET}/cloud_properties"),
        ("cloud_properties", {"vpc_id": "vpc-1", "tags": ["a"]}, f"{AT_SUBNET}/cloud_properties/tags"),
    ],
)
def test_managed_network(check: Callable[..., Found], key: str, value: Any, path: str) -> None:
    """What create_network refuses of a managed network is an error."""
    subnet = {"name": "0", "azs": ["z1", "z2", "z3"], "cloud_properties": {"vpc_id": "vpc-1"}}
    config = changed(yaml.safe_load(OWN), ("networks", 0, "managed"), value=True)
    config = changed(config, ("networks", 0, "subnets"), [subnet])
    assert check(config) == []
    assert [each[:2] for each in check(changed(config, (*MANAGED, key), value))] == [("error", path)]


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
    assert Files.read([str(config_path)], str(manifest_path), aws).demand() == Demand(
        {
            ("m5.large", "demand"): 3,
            (large, "demand"): 2,
            ("t2.micro", "demand"): 4,
            (large, "spot"): 14,
        },
        {("m5.large", "demand"): 5},
    )
    assert Files.read([str(config_path)], None, aws).demand() == Demand()


@pytest.mark.parametrize(
    ("route", "number"),
    [
        (("disk_types", 0, "disk_size"), 1),
        ((*OF_VM, "ephemeral_disk", "size"), 1),
        ((*SUBNET, "prefix"), 0),
    ],
)
def test_thousands_of_digits(check: Callable[..., Found], route: Route, number: int) -> None:
    """A text of more digits than Python reads is judged as any other text."""
    found = check(changed(yaml.safe_load(CF_DEPLOYMENT), route, "9" * 5000))
    assert len([what for _, _, what in found if "got String" in what]) == number
