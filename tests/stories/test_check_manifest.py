"""`cpi check --manifest`, and manifests for create-env: names, real combinations, and addresses."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from testbed.executable import ABSENT, Answer, Cpi, config
from tests.stories import checking
from tests.stories.checked_config import GONE, changed, line_of
from tests.stories.checking import Findings
from tests.stories.right_configs import CREATE_ENV

Route = tuple[str | int, ...]
CONFIG: dict[str, Any] = {
    "azs": [
        {"name": "z1", "cloud_properties": {"availability_zone": "us-east-1a"}},
        {"name": "z2", "cloud_properties": {"availability_zone": "us-east-1b"}},
    ],
    "vm_types": [
        {"name": "small", "cloud_properties": {"instance_type": "t3.micro"}},
        {"name": "large", "cloud_properties": {"instance_type": "m5.large"}},
    ],
    "vm_extensions": [
        {"name": "raw", "cloud_properties": {"raw_instance_storage": True}},
        {"name": "store", "cloud_properties": {"instance_type": "m5d.large"}},
        {"name": "host", "cloud_properties": {"dedicated_host": {"id": "h-1"}}},
    ],
    "disk_types": [{"name": "default", "disk_size": 1024}],
    "networks": [
        {
            "name": "default",
            "subnets": [
                {
                    "range": f"10.0.{number}.0/28",
                    "gateway": f"10.0.{number}.1",
                    "azs": [f"z{number}"],
                    "reserved": [f"10.0.{number}.2-10.0.{number}.5"],
                    "static": [f"10.0.{number}.10-10.0.{number}.12"],
                    "cloud_properties": {"subnet": f"subnet-{number}"},
                }
                for number in (1, 2)
            ],
        },
        {"name": "other", "type": "dynamic", "cloud_properties": {"subnet": "subnet-9"}},
        {"name": "vip", "type": "vip"},
    ],
    "compilation": {"workers": 2, "network": "default", "az": "z1", "vm_type": "small"},
}
MANIFEST: dict[str, Any] = {
    "name": "deployment",
    "instance_groups": [
        {
            "name": "web",
            "instances": 2,
            "vm_type": "small",
            "azs": ["z1", "z2"],
            "persistent_disk_type": "default",
            "networks": [
                {"name": "default", "static_ips": ["10.0.1.10", "10.0.2.11"], "default": ["dns", "gateway"]},
                {"name": "vip", "static_ips": ["203.0.113.5-203.0.113.6"]},
            ],
            "properties": {"password": "((password))"},
        },
        {
            "name": "worker",
            "instances": 8,
            "vm_type": "large",
            "vm_extensions": ["store", "raw"],
            "azs": ["z1", "z2"],
            "networks": [{"name": "default"}],
        },
        {
            "name": "sized",
            "instances": 1,
            "vm_resources": {"cpu": 1, "ram": 1024, "ephemeral_disk_size": 10_240},
            "azs": ["z2"],
            "networks": [{"name": "default"}],
        },
    ],
}
WEB: Route = ("instance_groups", 0)
WORKER: Route = ("instance_groups", 1)
AT_WEB, AT_WORKER = "instance_groups/web", "instance_groups/worker"


@pytest.fixture
def check(cpi: Cpi, tmp_path: Path) -> Callable[..., Answer]:
    """Return a function that checks a cloud config together with a manifest."""

    def run(config: dict[str, Any], manifest: dict[str, Any] | None = None, *arguments: str) -> Answer:
        path, deployed = tmp_path / "file.yml", tmp_path / "manifest.yml"
        path.write_text(yaml.safe_dump(config, sort_keys=False))
        if manifest is not None:
            deployed.write_text(yaml.safe_dump(manifest, sort_keys=False))
            arguments = ("--manifest", str(deployed), *arguments)
        return cpi.run("check", str(path), "--offline", "--json", *arguments)

    return run


def errors_of(answer: Answer) -> Findings:
    """Return the errors that a check found."""
    assert answer.returncode in {0, 1}, answer
    return checking.errors(answer.document["findings"])


def test_right(check: Callable[..., Answer]) -> None:
    """A deployment whose cloud config has all that it needs has no findings."""
    answer = check(CONFIG, MANIFEST)
    assert answer.document["findings"] == []
    assert len(answer.document["files"]) == 2


def test_real_combinations(check: Callable[..., Answer]) -> None:
    """An extension is checked with the VM types of the manifest alone, in the manifest's order."""
    assert check(CONFIG).document["findings"] == []
    errors = errors_of(check(CONFIG, changed(MANIFEST, (*WORKER, "vm_extensions"), ["raw"])))
    assert [(each["path"], each["source"]) for each in errors] == [
        ("vm_extensions/raw/cloud_properties/raw_instance_storage", "CPI")
    ]
    assert "for instance group 'worker' with vm_extensions 'raw'" in errors[0]["what"]


LIMIT = "but EC2 runs at most 7 in each zone, {} in all"


@pytest.mark.parametrize(
    ("azs", "instances", "expected"),
    [
        (["z1", "z2"], 14, []),
        (["z1", "z2"], 15, [("error", f"has 15 instances, {LIMIT.format(14)}")]),
        (["z1"], 8, [("error", f"has 8 instances, {LIMIT.format(7)}")]),
        (["z1", "z3"], 8, [("error", f"has 8 instances, {LIMIT.format(7)}")]),
    ],
)
def test_spread(
    check: Callable[..., Answer], azs: list[str], instances: int, expected: list[tuple[str, str]]
) -> None:
    """A group with spread has at most the VMs that EC2 runs in its zones, of which several azs may be one.

    One that only prefers it may have any number.
    """
    config = changed(CONFIG, ("vm_extensions", 0, "cloud_properties"), {"spread": True})
    config["azs"].append({"name": "z3", "cloud_properties": {"availability_zone": "us-east-1a"}})
    group = {
        "name": "web",
        "instances": instances,
        "vm_type": "small",
        "vm_extensions": ["raw"],
        "azs": azs,
        "networks": [{"name": "other"}],
    }
    config["networks"][1]["subnets"] = [
        {"azs": ["z1", "z3"], "cloud_properties": {"subnet": "subnet-9"}},
        {"azs": ["z2"], "cloud_properties": {"subnet": "subnet-8"}},
    ]
    del config["networks"][1]["cloud_properties"]
    manifest = {"name": "deployment", "instance_groups": [group]}
    found = [each for each in check(config, manifest).document["findings"] if "spread: " in each["what"]]
    assert [(each["severity"], each["what"]) for each in found] == [
        (severity, f"spread: instance group 'web' {what}") for severity, what in expected
    ]
    assert [each["path"] for each in found] == [f"{AT_WEB}/instances"] * len(expected)
    config["vm_extensions"][0]["cloud_properties"] = {"spread": "prefer"}
    assert check(config, manifest).document["findings"] == []


@pytest.mark.parametrize(
    ("route", "value", "path"),
    [
        ((*WEB, "name"), GONE, "instance_groups/0"),
        ((*WEB, "instances"), GONE, AT_WEB),
        ((*WEB, "instances"), "two", f"{AT_WEB}/instances"),
        (("instance_groups", 2, "vm_resources", "ram"), GONE, "instance_groups/sized/vm_resources"),
        (("instance_groups",), {"web": {}}, "instance_groups"),
        (("instance_groups", 2), "web", "instance_groups/2"),
        ((*WORKER, "persistent_disks"), "data", f"{AT_WORKER}/persistent_disks"),
    ],
)
def test_mistake(check: Callable[..., Answer], route: Route, value: Any, path: str) -> None:
    """What the Director refuses in a manifest is an error at its place."""
    manifest = changed(MANIFEST, route, value)
    text = yaml.safe_dump(manifest, sort_keys=False)
    errors = [(each["path"], each["line"], each["source"]) for each in errors_of(check(CONFIG, manifest))]
    assert (path, line_of(text, path), "Director") in errors


def test_networks_of_a_vm(check: Callable[..., Answer]) -> None:
    """The networks of a VM are planned as create_vm does: those of one nic_group have one subnet."""
    config = copy.deepcopy(CONFIG)
    second = copy.deepcopy(config["networks"][0])
    second["name"] = "second"
    for number, subnet in enumerate(second["subnets"], 1):
        subnet["cloud_properties"] = {"subnet": f"subnet-1{number}"}
    config["networks"].append(second)
    networks = [
        {"name": "default", "nic_group": 1, "default": ["dns", "gateway"]},
        {"name": "second", "nic_group": 1},
    ]
    errors = errors_of(check(config, changed(MANIFEST, (*WORKER, "networks"), networks)))
    assert [(each["path"], each["source"]) for each in errors] == [(f"{AT_WORKER}/networks", "CPI")] * 2
    assert "nic_group '1' have different subnet ids" in errors[0]["what"]


CLI = "bosh create-env"
IN_POOL, NET, GROUP = ("resource_pools", 0), ("networks", 0), ("instance_groups", 0)
AT_POOL, AT_NET, AT_GROUP = "resource_pools/vms", "networks/private", "instance_groups/bosh"


@pytest.mark.parametrize(
    ("route", "value", "path", "source"),
    [
        ((*IN_POOL, "network"), GONE, AT_POOL, CLI),
        ((*IN_POOL, "cloud_properties"), [], f"{AT_POOL}/cloud_properties", CLI),
        ((*IN_POOL, "cloud_properties", "instance_type"), GONE, f"{AT_POOL}/cloud_properties", "CPI"),
        (("disk_pools", 0, "disk_size"), 0, "disk_pools/disks/disk_size", CLI),
        (("disk_pools", 0, "cloud_properties", "type"), 3, "disk_pools/disks/cloud_properties/type", "CPI"),
        ((*NET, "type"), GONE, AT_NET, CLI),
        ((*NET, "subnets", 0, "cloud_properties"), {}, f"{AT_NET}/subnets/0/cloud_properties", "CPI"),
        (
            (*GROUP, "networks", 0, "static_ips", 0),
            "10.0.0.2",
            f"{AT_GROUP}/networks/private/static_ips/0",
            "AWS",
        ),
        ((*GROUP, "networks", 0, "static_ips"), GONE, f"{AT_GROUP}/networks", "CPI"),
        (("instance_groups",), "x", "instance_groups", CLI),
        ((*GROUP, "name"), GONE, "instance_groups/0", CLI),
    ],
)
def test_create_env(check: Callable[..., Answer], route: Route, value: Any, path: str, source: str) -> None:
    """What bosh create-env, the CPI or AWS refuses of a manifest is an error at its place."""
    manifest = changed(yaml.safe_load(CREATE_ENV), route, value)
    text = yaml.safe_dump(manifest, sort_keys=False)
    errors = [(each["path"], each["line"], each["source"]) for each in errors_of(check(manifest))]
    assert errors == [(path, line_of(text, path), source)]


AWS: Route = ("cloud_provider", "properties", "aws")
AT_AWS = "cloud_provider/properties/aws"


@pytest.mark.parametrize(
    ("route", "value", "severity", "path"),
    [
        ((*AWS, "region"), GONE, "error", AT_AWS),
        ((*AWS, "default_security_groups"), GONE, "error", AT_AWS),
        ((*AWS, "regoin"), "eu-west-1", "warning", f"{AT_AWS}/regoin"),
        ((*AWS, "max_retries"), "8", "error", f"{AT_AWS}/max_retries"),
        ((*AWS, "default_security_groups"), "bosh", "error", f"{AT_AWS}/default_security_groups"),
        ((*AWS, "credentials_source"), "profile", "error", f"{AT_AWS}/credentials_source"),
        ((*AWS, "region"), "us-east-1\n", "error", f"{AT_AWS}/region"),
        ((*AWS, "default_root_disk"), {"type": "gp9"}, "warning", f"{AT_AWS}/default_root_disk/type"),
        ((*AWS, "metadata_options"), {"tokens": 1}, "warning", f"{AT_AWS}/metadata_options/tokens"),
        ((*AWS, "kms_key_arn"), "((key_arn))", "not checked", f"{AT_AWS}/kms_key_arn"),
        ((*AWS, "default_key_name"), "((pair))", None, ""),
        ((*AWS, "access_key_id"), GONE, None, ""),
        ((*AWS, "kms_key_arn"), None, None, ""),
        (AWS, "((aws))", "not checked", "cloud_provider/properties/aws"),
        (AWS, GONE, "error", "cloud_provider/properties"),
        (("cloud_provider",), GONE, "error", ""),
        (("instance_groups", 0, "persistent_disk"), 10, "warning", "instance_groups/bosh/persistent_disk"),
        (("disk_pools", 0, "disk_size"), 64, "warning", "disk_pools/disks/disk_size"),
    ],
)
def test_configuration_of_create_env(
    check: Callable[..., Answer], route: Route, value: Any, severity: str | None, path: str
) -> None:
    """The manifest's properties are the configuration of create-env; cpi.json stands for its variables."""
    manifest = changed(yaml.safe_load(CREATE_ENV), route, value)
    text = yaml.safe_dump(manifest, sort_keys=False)
    found = check(manifest).document["findings"]
    expected = [(severity, path, line_of(text, path))] if severity else []
    assert [(each["severity"], each["path"], each["line"]) for each in found][:1] == expected
    follow = [each["what"] for each in found[1:]]
    assert all("ecurity groups" in each or "security_groups" in each for each in follow), follow


def test_least_configuration_for_create_env(tmp_path: Path) -> None:
    """A right manifest needs no default of cpi.json; what the manifest lacks, cpi.json does not give."""
    least = Cpi(config("http://localhost", default_security_groups=ABSENT, default_key_name=ABSENT))
    full = Cpi(config("http://localhost", default_root_disk={"size": 50}, kms_key_arn="none"))
    manifest = yaml.safe_load(CREATE_ENV)
    path = tmp_path / "bosh.yml"
    path.write_text(yaml.safe_dump(manifest))
    for cpi in (least, full):
        assert cpi.run("check", str(path), "--offline", "--json").document["findings"] == []
    path.write_text(yaml.safe_dump(changed(manifest, (*AWS, "default_security_groups"), [])))
    assert errors_of(full.run("check", str(path), "--offline", "--json"))


@pytest.mark.parametrize(
    ("route", "value", "severity"),
    [
        ((*AWS, "default_security_groups"), "((groups))", "not checked"),
        (AWS, "((aws))", "not checked"),
        ((*AWS, "connection_options"), {"ssl_verify_peer": False}, "error"),
    ],
)
def test_groups_that_are_not_known(tmp_path: Path, route: Route, value: Any, severity: str) -> None:
    """Default security groups that can't be read are not said to be missing."""
    least = Cpi(config("http://localhost", default_security_groups=ABSENT))
    path = tmp_path / "bosh.yml"
    path.write_text(yaml.safe_dump(changed(yaml.safe_load(CREATE_ENV), route, value)))
    found = least.run("check", str(path), "--offline", "--json").document["findings"]
    assert [each["severity"] for each in found if each["path"].startswith("cloud_provider")] == [severity]
    assert [each["what"] for each in found if not each["path"].startswith("cloud_provider")] == []


def test_credentials_of_create_env(tmp_path: Path) -> None:
    """Credentials that the manifest has are complete, or all are variables; a secret in them is not shown."""
    manifest = changed(yaml.safe_load(CREATE_ENV), (*AWS, "secret_access_key"), "hunter7hunter7")
    manifest = changed(manifest, (*AWS, "access_key_id"), GONE)
    manifest = changed(manifest, (*AWS, "default_key_name"), "hunter7hunter7-pair")
    path = tmp_path / "bosh.yml"
    path.write_text(yaml.safe_dump(manifest))
    answer = Cpi(config("http://localhost")).run("check", str(path), "--offline")
    assert answer.returncode == 1
    said = answer.stdout.decode()
    assert "Must use access_key_id and secret_access_key with static credentials_source" in said
    assert "hunter7" not in said + answer.stderr


def test_primary_ipv6(check: Callable[..., Answer]) -> None:
    """A primary IPv6 address needs a network with IPv6 addresses."""
    route: Route = ("vm_types", 0, "cloud_properties", "primary_ipv6")
    config = changed(CONFIG, route, value=True)
    whats = {each["path"]: each["what"] for each in errors_of(check(config, MANIFEST))}
    assert f"{AT_WEB}/networks" in whats, whats
    assert "primary_ipv6 needs a manual network with an IPv6 address" in whats[f"{AT_WEB}/networks"]
