"""`cpi check` with a manifest, and of manifests for create-env: real combinations, and the configuration."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from bosh_aws_cpi.config import cpi_config
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.tools.check import read_files
from testbed.cloud import ROOT
from testbed.executable import ABSENT
from tests.stories.checked_config import GONE, Route, changed
from tests.stories.right_configs import CREATE_ENV, KINDS, OWN
from tests.unit.tools.checks.conftest import Check, Found

CONFIG: Any = yaml.safe_load(OWN)
CONFIG["vm_extensions"] += [
    {"name": "raw", "cloud_properties": {"raw_instance_storage": True}},
    {"name": "store", "cloud_properties": {"instance_type": "m5d.large"}},
]
MANIFEST: Any = yaml.safe_load("""
name: deployment
instance_groups:
- name: web
  instances: 2
  vm_type: default
  azs: [z1, z2]
  persistent_disk_type: default
  networks:
  - {name: default, static_ips: [10.0.0.10, 10.0.0.11], default: [dns, gateway]}
  - {name: vip, static_ips: [203.0.113.5-203.0.113.6]}
  properties: {password: ((password))}
- name: worker
  instances: 8
  vm_type: large
  vm_extensions: [store, raw]
  azs: [z1, z2]
  networks: [{name: default}]
- name: sized
  instances: 1
  vm_resources: {cpu: 1, ram: 1024, ephemeral_disk_size: 10_240}
  azs: [z2]
  networks: [{name: default}]
""")
PLAIN = {"name": "plain", "type": "dynamic", "cloud_properties": {"subnet": "subnet-1"}}
WORKER: Route = ("instance_groups", 1)
AT_WEB, AT_WORKER = "instance_groups/web", "instance_groups/worker"


def errors(found: list[Found]) -> list[Found]:
    """Return the errors among findings."""
    return [each for each in found if each.severity == "error"]


def test_right(check: Check) -> None:
    """A deployment whose cloud config has all that it needs has no findings."""
    assert check(CONFIG, MANIFEST) == check(CONFIG) == []
    group = {"name": "web", "instances": 1, "vm_type": "default", "azs": ["z1"]}
    networks = [{"name": "default"}, {"name": "vip", "static_ips": ["203.0.113.5"]}]
    assert check(KINDS, {"instance_groups": [{**group, "networks": networks}]}) == []


def test_real_combinations(check: Check) -> None:
    """An extension is checked with the VM types of the manifest alone, in the manifest's order."""
    (found,) = check(CONFIG, changed(MANIFEST, (*WORKER, "vm_extensions"), ["raw"]))
    assert found[:2] == ("error", "vm_extensions/raw/cloud_properties/raw_instance_storage")
    assert "for instance group 'worker' with vm_extensions 'raw'" in found.text


@pytest.mark.parametrize(
    ("zones", "instances", "words"),
    [
        (("us-east-1a", "us-east-1b"), 14, ""),
        (
            ("us-east-1a", "us-east-1b"),
            15,
            "has 15 instances, but EC2 runs at most 7 in each zone, 14 in all",
        ),
        (("us-east-1a", "us-east-1a"), 8, "has 8 instances, but EC2 runs at most 7 in each zone, 7 in all"),
        (("((a))", "((b))"), 14, ""),
        (("((a))", "((b))"), 15, "14 in all"),
    ],
)
def test_spread(check: Check, zones: tuple[str, str], instances: int, words: str) -> None:
    """A group with spread has at most the VMs that EC2 runs in its zones, of which several azs may be one.

    One that only prefers it may have any number. Zones that are variables may be different ones.
    """
    config = changed(CONFIG, ("vm_types", 1, "cloud_properties", "spread"), value=True)
    for number, zone in enumerate(zones):
        config = changed(config, ("azs", number, "cloud_properties", "availability_zone"), zone)
    manifest = changed(MANIFEST, (*WORKER, "instances"), instances)
    found = [each for each in check(config, manifest) if "spread: " in each.text]
    assert [each[:2] for each in found] == ([("error", f"{AT_WORKER}/instances")] if words else [])
    assert words in "".join(each.text for each in found)
    config = changed(config, ("vm_types", 1, "cloud_properties", "spread"), "prefer")
    assert not [each for each in check(config, manifest) if "spread: " in each.text]


def test_spread_elsewhere(check: Check) -> None:
    """A group that also has azs which are not known, or another CPI's, may have more VMs."""
    config = changed(CONFIG, ("vm_types", 1, "cloud_properties", "spread"), value=True)
    config = changed(config, ("azs", 3), {"name": "z9", "cpi": "vsphere"})
    for azs, count in ((["z1"], 1), (["z1", "z9"], 0), (["z1", "z8"], 0), (["z8", "((az))"], 0)):
        found = check(config, changed(MANIFEST, (*WORKER, "azs"), azs))
        assert len([each for each in found if "spread: " in each.text]) == count, azs


SWAP = {"vm_strategy": "create-swap-delete"}


@pytest.mark.parametrize(
    ("update", "own", "static", "instances", "is_found"),
    [
        (SWAP, {}, [], 8, True),
        (SWAP, {}, [], 7, False),
        ({}, SWAP, [], 8, True),
        (SWAP, {"vm_strategy": "delete-create"}, [], 8, False),
        (SWAP, {}, ["10.0.0.20-10.0.0.27"], 8, False),
    ],
)
def test_swapped(
    check: Check, update: Json, own: Json, static: list[str], instances: int, *, is_found: bool
) -> None:
    """With create-swap-delete, for which no VM may have a static address, old and new VMs need racks."""
    config = changed(CONFIG, ("vm_types", 1, "cloud_properties", "spread"), value=True)
    config = changed(config, ("azs", 1, "cloud_properties", "availability_zone"), "us-east-1b")
    group = {**MANIFEST["instance_groups"][1], "instances": instances, "update": own}
    group["networks"] = [{"name": "default", **({"static_ips": static} if static else {})}]
    found = check(config, {"update": update, "instance_groups": [group]})
    assert bool([each for each in found if "which create-swap-delete doubles" in each.text]) is is_found


@pytest.mark.parametrize(("value", "path"), [({"web": {}}, ""), (["web"], "/0")])
def test_no_list(check: Check, value: Any, path: str) -> None:
    """Instance groups that are no list are an error of the Director."""
    found = errors(check(CONFIG, {"name": "a", "instance_groups": value}))
    assert [(each.path, each.source) for each in found] == [(f"instance_groups{path}", "Director")]


def test_networks_of_a_vm(check: Check) -> None:
    """The networks of a VM are planned as create_vm does: those of one nic_group have one subnet."""
    config = copy.deepcopy(CONFIG)
    second = {**copy.deepcopy(config["networks"][0]), "name": "second"}
    second["subnets"][0]["cloud_properties"] = {"subnet": "subnet-1"}
    config["networks"].append(second)
    networks = [{"name": "default", "nic_group": 1, "default": ["dns", "gateway"]}]
    networks.append({"name": "second", "nic_group": 1})
    found = errors(check(config, changed(MANIFEST, (*WORKER, "networks"), networks)))
    assert {(each.path, each.source) for each in found} == {(f"{AT_WORKER}/networks", "CPI")}
    assert "nic_group '1' have different subnet ids" in found[0].text


@pytest.mark.parametrize(
    ("options", "path", "words"),
    [
        ({"interface_type": "efa"}, f"{AT_WORKER}/networks", "only one Elastic Fabric Adapter"),
        (
            {"network_card_index": 1},
            "networks/default/subnets/0/cloud_properties/network_card_index",
            "first interface must be on network card 0",
        ),
    ],
)
def test_interfaces_of_a_vm(check: Check, options: dict[str, Any], path: str, words: str) -> None:
    """Interfaces that no instance type can have together are errors, if a VM has them."""
    subnet = CONFIG["networks"][0]["subnets"][0]
    properties = {**subnet["cloud_properties"], **options}
    networks = [{**CONFIG["networks"][0], "subnets": [{**subnet, "cloud_properties": properties}]}]
    networks.append({"name": "second", "type": "dynamic", "cloud_properties": properties})
    config = {**CONFIG, "networks": [*networks, PLAIN]}
    config["compilation"] = {**config["compilation"], "network": "plain"}
    assert check(config) == []
    group = {**MANIFEST["instance_groups"][1], "networks": [{"name": "default"}, {"name": "second"}]}
    (found,) = check(config, {"instance_groups": [group]})
    assert (found.severity, found.path, words in found.text) == ("error", path, True)


def test_zone_fallback(check: Check) -> None:
    """VMs that may leave their zone need a network with subnets in others, also those that compile."""
    config = changed(CONFIG, ("vm_types", 0, "cloud_properties", "zone_fallback"), value=True)
    found = check(config, MANIFEST)
    assert {each[:2] for each in found} == {("error", "vm_types/default/cloud_properties/zone_fallback")}
    words = "zone_fallback needs subnet_fallbacks: network 'default' has none"
    assert all(words in each.text for each in found)
    properties = {"subnet": "subnet-1", "subnet_fallbacks": ["subnet-2"]}
    dynamic = {"name": "default", "type": "dynamic", "cloud_properties": properties}
    assert check({**config, "networks": [dynamic]}) == []


IPV6 = "vm_types/default/cloud_properties/primary_ipv6"


def test_primary_ipv6(check: Check) -> None:
    """A primary IPv6 address needs a network with IPv6 addresses."""
    route: Route = ("vm_types", 0, "cloud_properties", "primary_ipv6")
    found = {each.path: each.text for each in errors(check(changed(CONFIG, route, value=True), MANIFEST))}
    assert "primary_ipv6 needs a manual network with an IPv6 address" in found[IPV6]


CLI = "bosh create-env"
IN_POOL, NET, GROUP = ("resource_pools", 0), ("networks", 0), ("instance_groups", 0)
AT_POOL, AT_NET, AT_GROUP = "resource_pools/vms", "networks/private", "instance_groups/bosh"


@pytest.mark.parametrize(
    ("route", "value", "path", "source"),
    [
        ((*IN_POOL, "network"), GONE, AT_POOL, CLI),
        ((*IN_POOL, "cloud_properties", "instance_type"), GONE, f"{AT_POOL}/cloud_properties", "CPI"),
        (("disk_pools", 0, "disk_size"), "64 GB", "disk_pools/disks/disk_size", CLI),
        (("disk_pools", 0, "cloud_properties", "type"), 3, "disk_pools/disks/cloud_properties/type", "CPI"),
        ((*NET, "type"), GONE, AT_NET, CLI),
        ((*NET, "subnets", 0, "cloud_properties"), {}, f"{AT_NET}/subnets/0/cloud_properties", "CPI"),
        (
            (*GROUP, "networks", 0, "static_ips", 0),
            "10.0.0.2",
            f"{AT_GROUP}/networks/private/static_ips/0",
            "AWS",
        ),
        ((*NET, "subnets", 0, "gateway"), "10.0.1.1", f"{AT_NET}/subnets/0/gateway", CLI),
        ((*GROUP, "networks", 0, "static_ips"), GONE, f"{AT_GROUP}/networks/private", "CPI"),
        ((*GROUP, "networks", 1, "static_ips"), GONE, f"{AT_GROUP}/networks/public", "CPI"),
        ((*GROUP, "networks", 1, "static_ips"), ["ELASTIC-IP"], f"{AT_GROUP}/networks/public", "CPI"),
        ((*GROUP, "networks", 0, "static_ips"), ["10.0.0.6/32"], f"{AT_GROUP}/networks/private", "CPI"),
        (("tags",), {"aws:team": "a"}, "tags/aws:team", "CPI"),
        (("tags",), {f"team-{number}": "a" for number in range(40)}, "tags/team-39", "CPI"),
        (("tags",), {f"team-{number}": "a" for number in range(50)}, "tags", "CPI"),
        (
            (*NET, "subnets", 0, "cloud_properties", "network_card_index"),
            1,
            f"{AT_NET}/subnets/0/cloud_properties/network_card_index",
            "CPI",
        ),
    ],
)
def test_create_env(check: Check, route: Route, value: Any, path: str, source: str) -> None:
    """What bosh create-env, the CPI or AWS refuses of a manifest is an error at its place."""
    found = errors(check(changed(yaml.safe_load(CREATE_ENV), route, value)))
    assert [(each.path, each.source) for each in found] == [(path, source)]


def test_jobs_of_create_env(check: Check) -> None:
    """The instance group of create-env may be in jobs."""
    manifest = yaml.safe_load(CREATE_ENV)
    manifest["jobs"] = manifest.pop("instance_groups")
    assert check(manifest) == []
    found = check(changed(manifest, ("jobs", 0, "networks", 0, "static_ips"), ["10.0.0.2"]))
    assert "jobs/bosh/networks/private/static_ips/0" in {each.path for each in found}


def test_subnets_of_create_env(check: Check) -> None:
    """create-env reads the first subnet of a network alone."""
    second = {"range": "10.0.1.0/24", "gateway": "10.0.9.1", "cloud_properties": {}}
    manifest = changed(yaml.safe_load(CREATE_ENV), (*NET, "subnets", 1), second)
    assert check(manifest) == []


def test_addresses_of_another_network(check: Check) -> None:
    """AWS keeps addresses in the subnets of the network that has them."""
    manifest = changed(yaml.safe_load(CREATE_ENV), (*GROUP, "networks", 1, "static_ips"), ["10.0.0.2"])
    assert check(manifest) == []


MBUS: Route = ("cloud_provider", "mbus")
PROPERTIES: Route = ("cloud_provider", "properties")
AWS: Route = (*PROPERTIES, "aws")
AT_AWS = "cloud_provider/properties/aws"


@pytest.mark.parametrize(
    ("route", "value", "severity", "path"),
    [
        ((*AWS, "region"), GONE, "error", AT_AWS),
        ((*AWS, "regoin"), "eu-west-1", "warning", f"{AT_AWS}/regoin"),
        ((*PROPERTIES, "encrypted"), True, "error", "cloud_provider/properties/encrypted"),
        ((*PROPERTIES, "agent", "env"), {}, "warning", "cloud_provider/properties/agent/env"),
        ((*PROPERTIES, "agent", "mbus:hunter7"), None, "warning", "cloud_provider/properties/agent"),
        ((*AWS, "external_id:hunter7"), None, "warning", AT_AWS),
        (("cloud_provider", "certs"), "((mbus))", "warning", "cloud_provider/certs"),
        ((*PROPERTIES, "agent"), GONE, "error", "cloud_provider/properties"),
        ((*PROPERTIES, "agent", "mbus"), None, "error", "cloud_provider/properties/agent/mbus"),
        ((*PROPERTIES, "agent"), "((agent))", None, ""),
        ((*PROPERTIES, "agent"), {"nats": {"address": "10.0.0.6"}}, None, ""),
        (MBUS, GONE, "error", "cloud_provider"),
        (MBUS, "https://u:((a))@10.0.0.7:6868", "warning", "cloud_provider/mbus"),
        (MBUS, "https://u:((a))@0.0.0.0:6868", "warning", "cloud_provider/mbus"),
        (MBUS, "https://u:((a))@203.0.113.5:6868", None, ""),
        (MBUS, "https://u:((a))@((ip)):6868", None, ""),
        (MBUS, "https://u:((a))@bosh.example.com:6868", None, ""),
        ((*PROPERTIES, "agent", "mbus"), "https://u:((a))@0.0.0.0:6869", "warning", "cloud_provider/mbus"),
        ((*IN_POOL, "network"), "privte", "not checked", f"{AT_POOL}/network"),
        ((*AWS, "encrypted"), "false", "warning", f"{AT_AWS}/encrypted"),
        ((*AWS, "credentials_source"), "env_or_profile", "error", f"{AT_AWS}/access_key_id"),
        ((*AWS, "max_retries"), "8", "error", f"{AT_AWS}/max_retries"),
        ((*AWS, "credentials_source"), "profile", "error", f"{AT_AWS}/credentials_source"),
        ((*AWS, "default_root_disk"), {"type": "gp9"}, "error", f"{AT_AWS}/default_root_disk/type"),
        ((*AWS, "kms_key_arn"), "((key_arn))", "not checked", f"{AT_AWS}/kms_key_arn"),
        ((*AWS, "default_key_name"), "((pair))", None, ""),
        ((*AWS, "access_key_id"), GONE, None, ""),
        ((*AWS, "kms_key_arn"), None, None, ""),
        (AWS, "((aws))", "not checked", AT_AWS),
        (AWS, GONE, "error", "cloud_provider/properties"),
        (("cloud_provider",), GONE, "error", ""),
        (("instance_groups", 0, "persistent_disk"), 10, "warning", f"{AT_GROUP}/persistent_disk"),
        (("resource_pools", 0, "size"), 1, None, ""),
        ((*AWS, "default_key_name"), "bosh.pem", "warning", f"{AT_AWS}/default_key_name"),
        ((*AWS, "kms_key_arn"), "bosh", "error", f"{AT_AWS}/kms_key_arn"),
        ((*AWS, "log_level"), "debug", "warning", f"{AT_AWS}/log_level"),
        (("vm_types",), [], "warning", "vm_types"),
        ((*GROUP, "persistent_disk_type"), "disks", "warning", f"{AT_GROUP}/persistent_disk_type"),
        ((*GROUP, "azs"), ["z1"], "warning", f"{AT_GROUP}/azs"),
        ((*GROUP, "resource_pool"), "vm", "not checked", f"{AT_GROUP}/resource_pool"),
        ((*GROUP, "persistent_disk_pool"), "disk", "not checked", f"{AT_GROUP}/persistent_disk_pool"),
        ((*GROUP, "networks", 0, "name"), "privat", "not checked", f"{AT_GROUP}/networks/privat/name"),
        ((*GROUP, "env"), {}, "warning", f"{AT_GROUP}/env"),
        *(
            ((*GROUP, "networks", index, "static_ips"), "((a))", "not checked", f"{AT_GROUP}/networks/{name}")
            for index, name in enumerate(("private/static_ips", "public/static_ips"))
        ),
    ],
)
def test_configuration_of_create_env(
    check: Check, route: Route, value: Any, severity: str | None, path: str
) -> None:
    """The manifest's properties are the configuration of create-env; cpi.json stands for its variables."""
    found = check(changed(yaml.safe_load(CREATE_ENV), route, value))
    assert "hunter7" not in str(found)
    assert [each[:2] for each in found][:1] == ([(severity, path)] if severity else [])
    assert "Director" not in {each.source for each in found}
    follow = [each.text for each in found[1:]]
    known = ("ecurity groups", "security_groups", "Ignored: aws.kms_key_arn")
    assert all(any(words in each for words in known) for each in follow), follow


@pytest.mark.parametrize(
    ("route", "value"),
    [
        ((*GROUP, "networks", 1, "static_ips"), ["((ip))"]),
        ((*NET, "type"), "dynamic"),
        ((*GROUP, "networks", 1, "name"), "gone"),
    ],
)
def test_address_that_is_not_known(check: Check, route: Route, value: Any) -> None:
    """A VM of which an address is not known may have any, also that of the message bus."""
    manifest = changed(yaml.safe_load(CREATE_ENV), MBUS, "https://u:((a))@10.0.0.7:6868")
    assert "cloud_provider/mbus" in {each.path for each in check(manifest)}
    assert "cloud_provider/mbus" not in {each.path for each in check(changed(manifest, route, value))}


def test_properties_of_the_job(check: Check) -> None:
    """No property of the job is unknown."""
    manifest = yaml.safe_load(CREATE_ENV)
    for name in yaml.safe_load((ROOT / "jobs/aws_cpi/spec").read_text())["properties"]:
        node = manifest["cloud_provider"]["properties"]
        for key in name.split("."):
            node = node.setdefault(key, {})
    assert not [each.text for each in check(manifest) if "is unknown" in each.text]


def test_configuration_elsewhere(check: Check) -> None:
    """A configuration under another key is missing; the key is named."""
    manifest = yaml.safe_load(CREATE_ENV)
    manifest["cloud_provider"]["aws"] = manifest["cloud_provider"]["properties"].pop("aws")
    elsewhere, missing = sorted(check(manifest), key=lambda each: each.path)
    assert (missing.severity, missing.path) == ("error", "cloud_provider/properties")
    assert (elsewhere.path, "It belongs into properties" in elsewhere.text) == ("cloud_provider/aws", True)
    assert len(check(changed(manifest, AWS, "((aws))"))) == 2


def test_bus_of_the_environment(check: Check) -> None:
    """The agent prefers the message bus in env.bosh.mbus: agent.mbus may then be absent."""
    manifest = changed(yaml.safe_load(CREATE_ENV), (*PROPERTIES, "agent"), GONE)
    assert errors(check(manifest))
    urls: Route = (*IN_POOL, "env", "bosh", "mbus", "urls")
    assert check(changed(manifest, urls, ["https://u:((a))@0.0.0.0:6868"])) == []


def test_other_jobs_beside_the_cpi(check: Check) -> None:
    """Properties beside those of the CPI may be another job's, if cloud_provider has several jobs."""
    jobs = [{"name": name, "release": "a"} for name in ("aws_cpi", "other")]
    whole = changed(yaml.safe_load(CREATE_ENV), ("cloud_provider", "certs"), {})
    for route in ((*PROPERTIES, "other"), (*AWS, "others")):
        whole = changed(whole, route, {})
    for templates, of_job in ((jobs, ["others"]), (jobs[:1], ["other", "others"])):
        found = check(changed(whole, ("cloud_provider", "templates"), templates))
        expected = {("certs", CLI), *((key, "CPI") for key in of_job)}
        assert {(each.path.rpartition("/")[2], each.source) for each in found} == expected


def test_least_configuration_for_create_env(check: Check) -> None:
    """A right manifest needs no default of cpi.json; what the manifest lacks, cpi.json does not give."""
    manifest = yaml.safe_load(CREATE_ENV)
    assert check(manifest, default_security_groups=ABSENT, default_key_name=ABSENT) == []
    full = {"default_root_disk": {"size": 50}, "kms_key_arn": "none"}
    assert check(manifest, **full) == []
    assert errors(check(changed(manifest, (*AWS, "default_security_groups"), []), **full))


@pytest.mark.parametrize(
    ("route", "value", "severity"),
    [
        ((*AWS, "default_security_groups"), "((groups))", "not checked"),
        (AWS, "((aws))", "not checked"),
        ((*AWS, "connection_options"), {"ssl_verify_peer": False}, "error"),
    ],
)
def test_groups_that_are_not_known(check: Check, route: Route, value: Any, severity: str) -> None:
    """Default security groups that can't be read are not said to be missing."""
    manifest = changed(yaml.safe_load(CREATE_ENV), route, value)
    (found,) = check(manifest, default_security_groups=ABSENT)
    assert (found.severity, found.path.startswith(AT_AWS)) == (severity, True)


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
    aws = read_files([str(path)], None, "", parsed, given)[0].aws
    assert (aws.access_key_id, aws.role_arn) == (user, role)
    assert (aws.region, aws.default_security_groups, aws.max_retries) == ("us-east-1", ["a"], 8)
    assert aws.encryption.kms_key_arn is None
    assert (aws.endpoints["ec2"], aws.endpoints["elb"]) == ("https://ec2.example", "https://elb.example")
