"""What EC2 says of instance types."""

from typing import Any

import pytest

from bosh_aws_cpi.aws import instance_types
from bosh_aws_cpi.model import InstanceTypeFacts

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
    assert instance_types.read({"InstanceType": NAME, **said}) == PLAIN.replace(**expected)
