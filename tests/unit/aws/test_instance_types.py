"""What EC2 says of instance types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import instance_types
from bosh_aws_cpi.model import InstanceTypeFacts

if TYPE_CHECKING:
    from tests.unit.conftest import Clock, Ec2, ProgramLog

NAME = "m5.large"
NAMES = [NAME, "i3.large", "t3.micro"]
UNKNOWN = ["InvalidInstanceType", "InvalidParameterValue"]
PLAIN_PROCESSOR = frozenset({"cpu_options.nested_virtualization", "cpu_options.amd_sev_snp"})
KNOWN = InstanceTypeFacts(NAME, ebs_needs_nvme_path=False)


def entry(name: str = NAME, **more: Any) -> dict[str, Any]:
    """Describe a type."""
    return {"InstanceType": name, **more}


def lay(ec2: Ec2, names: list[str], *found: dict[str, Any]) -> None:
    """Lay out a question for these types, and what EC2 knows of them."""
    ec2.answers("describe_instance_types", {"InstanceTypes": list(found)}, InstanceTypes=names)


def lay_unknown(ec2: Ec2, names: list[str], code: str = UNKNOWN[0]) -> None:
    """Lay out a question that EC2 refuses since it does not know one of the types."""
    ec2.refuses("describe_instance_types", code, InstanceTypes=names)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, {}),
        ({"EbsInfo": {"NvmeSupport": "required"}}, {"ebs_needs_nvme_path": True}),
        ({"EbsInfo": {"NvmeSupport": "supported"}}, {}),
        ({"EbsInfo": {"NvmeSupport": "unsupported"}}, {}),
        ({"EbsInfo": {"EbsOptimizedSupport": "unsupported"}}, {"ebs_optimized": "unsupported"}),
        (
            {"ProcessorInfo": {"SupportedArchitectures": ["i386", "x86_64"]}},
            {"architectures": frozenset({"i386", "x86_64"}), "lacks": PLAIN_PROCESSOR},
        ),
        ({"BurstablePerformanceSupported": True}, {"is_burstable": True}),
        ({"MemoryInfo": {"SizeInMiB": 8192}}, {"memory_mib": 8192}),
        ({"NitroEnclavesSupport": "unsupported"}, {"lacks": frozenset({"enclave"})}),
        ({"NitroEnclavesSupport": "supported"}, {}),
        ({"HibernationSupported": False}, {"lacks": frozenset({"hibernation"})}),
        ({"HibernationSupported": True}, {}),
        ({"Hypervisor": "xen"}, {"lacks": frozenset({"connection_tracking"})}),
        ({"Hypervisor": "nitro"}, {}),
        (
            {"PlacementGroupInfo": {"SupportedStrategies": ["cluster", "spread"]}},
            {"lacks": frozenset({"placement_partition"})},
        ),
        (
            {"PlacementGroupInfo": {"SupportedStrategies": ["partition"]}},
            {"lacks": frozenset({"spread"})},
        ),
        ({"PlacementGroupInfo": {"SupportedStrategies": ["partition", "spread"]}}, {}),
        (
            {"NetworkInfo": {"Ipv6Supported": False}},
            {"lacks": frozenset({"primary_ipv6", "bandwidth_weighting"})},
        ),
        ({"NetworkInfo": {"Ipv6Supported": True, "BandwidthWeightings": ["default", "vpc-1"]}}, {}),
        (
            {
                "NetworkInfo": {
                    "BandwidthWeightings": ["default"],
                    "MaximumNetworkCards": 2,
                    "EfaSupported": True,
                    "EnaSrdSupported": True,
                }
            },
            {"network_cards": 2},
        ),
        (
            {
                "NetworkInfo": {
                    "BandwidthWeightings": ["default"],
                    "EfaSupported": False,
                    "EnaSrdSupported": False,
                }
            },
            {"lacks": frozenset({"interface_type", "ena_express"})},
        ),
        (
            {"ProcessorInfo": {"Manufacturer": "AMD", "SupportedFeatures": ["amd-sev-snp"]}},
            {"lacks": frozenset({"cpu_options.nested_virtualization"})},
        ),
        (
            {"ProcessorInfo": {"SupportedFeatures": ["nested-virtualization"]}},
            {"lacks": frozenset({"cpu_options.amd_sev_snp"})},
        ),
        ({"EbsInfo": {"MaximumEbsAttachments": 27}}, {"max_ebs_attachments": 27}),
        ({"InstanceStorageInfo": {"NvmeSupport": "unsupported"}}, {}),
        (
            {
                "InstanceStorageInfo": {
                    "Disks": [{"Count": 3, "SizeInGB": 2048}],
                    "NvmeSupport": "unsupported",
                }
            },
            {"store_disks": 3, "store_gib": 2048},
        ),
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
def test_facts(ec2: Ec2, said: dict[str, Any], expected: dict[str, Any]) -> None:
    """Each fact is read where EC2 says it; what it does not say is as on the plainest type."""
    lay(ec2, [NAME], entry(**said))
    facts = InstanceTypeFacts(**{"name": NAME, "ebs_needs_nvme_path": False, **expected})
    assert instance_types.facts(ec2.client, [NAME]) == {NAME: facts}


def test_several(ec2: Ec2) -> None:
    """Several types are asked for in one question, each once."""
    lay(ec2, NAMES, *(entry(name) for name in reversed(NAMES)))
    found = instance_types.facts(ec2.client, [*NAMES, NAME])
    assert found == {name: InstanceTypeFacts(name, ebs_needs_nvme_path=False) for name in NAMES}


@pytest.mark.parametrize("code", [None, *UNKNOWN])
def test_unknown_type(ec2: Ec2, program_log: ProgramLog, code: str | None) -> None:
    """A type that EC2 does not know is warned about and taken as one without NVMe."""
    if code is None:
        lay(ec2, [NAME])
    else:
        lay_unknown(ec2, [NAME], code)
    assert instance_types.facts(ec2.client, [NAME]) == {NAME: KNOWN}
    assert [(record.level, record.text) for record in program_log.records] == [
        (
            "WARNING",
            f"EC2 does not know instance type '{NAME}': assuming that it has no NVMe instance storage",
        )
    ]


@pytest.mark.parametrize("code", UNKNOWN)
def test_unknown_among_several(ec2: Ec2, program_log: ProgramLog, code: str) -> None:
    """One unknown type fails the whole question: then each is asked by itself, and only it is missed."""
    burstable = {"BurstablePerformanceSupported": True}
    lay_unknown(ec2, NAMES, code)
    lay(ec2, NAMES[:1], entry(NAMES[0], **burstable))
    lay_unknown(ec2, NAMES[1:2], code)
    lay(ec2, NAMES[2:], entry(NAMES[2], **burstable))
    found = instance_types.facts(ec2.client, NAMES)
    assert found is not None
    assert {name: facts.is_burstable for name, facts in found.items()} == {
        NAMES[0]: True,
        NAMES[1]: False,
        NAMES[2]: True,
    }
    assert [record.text for record in program_log.records] == [
        f"EC2 does not know instance type '{NAMES[1]}': assuming that it has no NVMe instance storage"
    ]


def test_unauthorised(ec2: Ec2, program_log: ProgramLog) -> None:
    """An account that may not ask is told so, without a word in the log: the caller has one."""
    ec2.refuses("describe_instance_types", "UnauthorizedOperation", InstanceTypes=[NAME])
    assert instance_types.facts(ec2.client, [NAME]) is None
    assert program_log.records == []


def test_other_refusals(ec2: Ec2) -> None:
    """Any other refusal is raised unchanged."""
    ec2.refuses("describe_instance_types", "AuthFailure", InstanceTypes=[NAME])
    with pytest.raises(ClientError, match="AuthFailure"):
        instance_types.facts(ec2.client, [NAME])


def test_kept(ec2: Ec2) -> None:
    """Facts are kept for a day; only types without kept facts are asked for."""
    lay(ec2, [NAME], entry(EbsInfo={"NvmeSupport": "required"}))
    first = instance_types.facts(ec2.client, [NAME])
    assert instance_types.facts(ec2.client, [NAME]) == first
    lay(ec2, NAMES[1:], *(entry(name) for name in NAMES[1:]))
    found = instance_types.facts(ec2.client, NAMES)
    assert found is not None
    assert set(found) == set(NAMES)
    assert found[NAME].ebs_needs_nvme_path is True


def test_unknown_is_not_kept(ec2: Ec2) -> None:
    """A type that EC2 does not know may be there tomorrow: it is asked for each time."""
    for _ in range(2):
        lay_unknown(ec2, [NAME])
        instance_types.facts(ec2.client, [NAME])
    lay(ec2, [NAME], entry(BurstablePerformanceSupported=True))
    found = instance_types.facts(ec2.client, [NAME])
    assert found is not None
    assert found[NAME].is_burstable is True


def test_throttled(ec2: Ec2, clock: Clock) -> None:
    """Throttling is raised unchanged: the SDK has waited already."""
    ec2.refuses("describe_instance_types", "RequestLimitExceeded", InstanceTypes=[NAME])
    with pytest.raises(ClientError, match="RequestLimitExceeded"):
        instance_types.facts(ec2.client, [NAME])
    assert clock.pauses == []
