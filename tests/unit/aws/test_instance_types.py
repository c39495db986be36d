"""What EC2 says of instance types, and the answers that are kept for later calls."""

import json
import time
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from bosh_aws_cpi.aws import instance_types
from bosh_aws_cpi.aws.instance_types import MAX_AGE, TypeCache
from bosh_aws_cpi.model import InstanceTypeFacts
from tests.unit.conftest import Stub

NAME = "m6id.large"
PLAIN = InstanceTypeFacts(NAME, ebs_needs_nvme_path=False)
BAD_NETWORK = {"EfaSupported": False, "EnaSrdSupported": False, "Ipv6Supported": False}
GOOD_NETWORK = {
    "EfaSupported": True,
    "EnaSrdSupported": True,
    "Ipv6Supported": True,
    "MaximumNetworkCards": 2,
    "NetworkCards": [
        {"NetworkCardIndex": 0, "MaximumNetworkInterfaces": 2, "InterfaceTypes": ["interface"]},
        {"NetworkCardIndex": 1, "MaximumNetworkInterfaces": 1, "InterfaceTypes": ["interface", "efa"]},
        {"NetworkCardIndex": 2},
    ],
}
CARDS = {
    "network_cards": 2,
    "single_cards": {"1"},
    "card_interfaces": {"0 interface", "1 interface", "1 efa"},
}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, {}),
        ({"EbsInfo": {"NvmeSupport": "required"}}, {"ebs_needs_nvme_path": True}),
        ({"EbsInfo": {"MaximumEbsCards": 2}}, {"ebs_cards": 2}),
        ({"EbsInfo": {"NvmeSupport": "supported", "MaximumEbsAttachments": 27}}, {"max_ebs_attachments": 27}),
        (
            {
                "EbsInfo": {"EbsOptimizedSupport": "unsupported"},
                "BurstablePerformanceSupported": True,
                "MemoryInfo": {"SizeInMiB": 8192},
            },
            {"ebs_optimized": "unsupported", "is_burstable": True, "memory_mib": 8192},
        ),
        (
            {"ProcessorInfo": {"SupportedArchitectures": ["i386", "x86_64"]}},
            {
                "architectures": {"i386", "x86_64"},
                "lacks": {"cpu_options.nested_virtualization", "cpu_options.amd_sev_snp"},
            },
        ),
        ({"ProcessorInfo": {"SupportedFeatures": ["amd-sev-snp", "nested-virtualization"]}}, {}),
        (
            {"NitroEnclavesSupport": "unsupported", "HibernationSupported": False, "Hypervisor": "xen"},
            {"lacks": {"enclave", "hibernation", "connection_tracking"}},
        ),
        ({"NitroEnclavesSupport": "supported", "HibernationSupported": True, "Hypervisor": "nitro"}, {}),
        ({"PlacementGroupInfo": {"SupportedStrategies": ["spread"]}}, {"lacks": {"placement_partition"}}),
        ({"PlacementGroupInfo": {"SupportedStrategies": ["partition"]}}, {"lacks": {"spread"}}),
        (
            {"NetworkInfo": BAD_NETWORK},
            {"lacks": {"primary_ipv6", "bandwidth_weighting", "interface_type", "ena_express"}},
        ),
        ({"NetworkInfo": {**GOOD_NETWORK, "BandwidthWeightings": ["default"]}}, CARDS),
        (
            {"InstanceStorageInfo": {"Disks": [{"Count": 2, "SizeInGB": 900}], "NvmeSupport": "required"}},
            {"store_disks": 2, "store_gib": 900, "store_is_nvme": True},
        ),
        (
            {"InstanceStorageInfo": {"Disks": [{"Count": 1, "SizeInGB": 75}, {"Count": 2, "SizeInGB": 9}]}},
            {"store_disks": 3, "store_gib": 75},
        ),
    ],
)
def test_read(said: dict[str, Any], expected: dict[str, Any]) -> None:
    """Each fact is read where EC2 says it; what it does not say is as on the plainest type."""
    assert instance_types.read({"InstanceType": NAME, **said}) == PLAIN.replaced(**expected)


ENDPOINT = "https://ec2.us-east-1.amazonaws.com us-east-1"
FACTS = InstanceTypeFacts(
    NAME,
    ebs_needs_nvme_path=True,
    architectures=frozenset({"x86_64", "i386"}),
    ebs_optimized="supported",
    is_burstable=True,
    store_disks=2,
    store_gib=118,
    store_is_nvme=True,
    max_ebs_attachments=27,
    memory_mib=8192,
    network_cards=2,
    boot_modes=frozenset({"uefi"}),
    lacks_tpm=True,
    single_cards=frozenset({"1"}),
    card_interfaces=frozenset({"1 efa"}),
    lacks=frozenset({"enclave", "hibernation"}),
)


def test_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Facts that one process keeps are found by the next one for a day, of the same type and endpoint."""
    TypeCache(ENDPOINT).put(PLAIN)
    TypeCache(ENDPOINT).put(FACTS)
    for endpoint in ("https://ec2.eu-west-1.amazonaws.com eu-west-1", "http://127.0.0.1:5000 us-east-1", ""):
        TypeCache(endpoint).put(FACTS.replaced(store_gib=1))
    assert TypeCache(ENDPOINT).get(NAME) == FACTS
    assert TypeCache(ENDPOINT).get("m6id.xlarge") is None
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + MAX_AGE)
    assert TypeCache(ENDPOINT).get(NAME) is None


@pytest.mark.parametrize(
    "changes",
    [
        *({"ebs_optimized": None}, {"store_gib": "1"}, {"store_disks": True}, {"lacks": "enclave"}),
        *({"unknown": 1}, {"name": "m6id.xlarge"}, {"-name": 1}),
    ],
    ids=str,
)
def test_wrong_values(own_cache: Path, changes: dict[str, Any]) -> None:
    """Facts with a wrong, unknown or missing value don't count: the file may be of any origin."""
    TypeCache(ENDPOINT).put(FACTS)
    (file,) = (own_cache / "bosh-aws-cpi").iterdir()
    at, facts = json.loads(file.read_text())
    changed = {**facts, **changes}
    if changed.pop("-name", None):
        del changed["name"]
    file.write_text(json.dumps([at, changed]))
    assert TypeCache(ENDPOINT).get(NAME) is None


@pytest.mark.parametrize("name", ["", "m5", "../m5.large", "m5.large\n"])
def test_names_that_are_none(own_cache: Path, name: str) -> None:
    """A text that can't be a type's name never becomes a file's name."""
    TypeCache(ENDPOINT).put(FACTS.replaced(name=name))
    assert TypeCache(ENDPOINT).get(name) is None
    assert list(own_cache.rglob("*")) == [own_cache / "bosh-aws-cpi"]


@pytest.mark.parametrize("content", ["{}", "[0, [[]]]", '[0, ["x.y"]]'])
def test_offered(ec2: Stub, own_cache: Path, content: str) -> None:
    """EC2 is asked once which types a region offers; a broken file counts as none, and is replaced."""
    aws: Any = Mock(region="us-east-1", endpoints={})
    for name in ("a.b", "c.d"):
        ec2.keeps("describe_instance_type_offerings", {"InstanceTypeOfferings": [{"InstanceType": name}]})
        assert instance_types.offered(aws, lambda: ec2.client, ["a.b", "c.d"]) == frozenset({name})
        assert instance_types.offered(aws, Mock, ["a.b", "c.d"]) == frozenset({name})
        (file,) = (own_cache / "bosh-aws-cpi").iterdir()
        file.write_text(content.replace("[0,", f"[{time.time()},"))
