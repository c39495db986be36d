"""EC2's facts about instance types, and the zones that offer them."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from bosh_aws_cpi.aws.listings import list_by_values
from bosh_aws_cpi.aws.sdk.errors import TYPE_UNKNOWN, ask_or_warn
from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import InstanceTypeFacts
from bosh_aws_cpi.records import Record

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client


_TYPES_PER_PAGE: Final = 100
"""The maximum page size of DescribeInstanceTypes, which is smaller than EC2's usual maximum."""


def facts(client: "EC2Client", names: Sequence[str]) -> dict[str, InstanceTypeFacts]:
    """DescribeInstanceTypes: the facts about these types, by name.

    Returns:
        The facts; for a type that EC2 does not know, they assume that it has no NVMe.
    """
    known = _describe(client, list(dict.fromkeys(names)))
    for name in names:
        if name not in known:
            logger.warning(
                "EC2 does not know instance type '%s': assuming that it has no NVMe instance storage", name
            )
            known[name] = InstanceTypeFacts(name, ebs_needs_nvme_path=False)
    return known


def _describe(client: "EC2Client", names: Sequence[str]) -> dict[str, InstanceTypeFacts]:
    """The types that EC2 knows. An unknown type fails the whole call; then each type is looked up alone."""
    try:
        entries = client.describe_instance_types(InstanceTypes=list(names))["InstanceTypes"]  # type: ignore[arg-type]
    except client.exceptions.ClientError as error:
        if not TYPE_UNKNOWN(error):
            raise
        if len(names) == 1:
            return {}
        return {name: facts for single in names for name, facts in _describe(client, [single]).items()}
    return {str(entry["InstanceType"]): read(entry) for entry in entries}


def read(entry: Any) -> InstanceTypeFacts:  # noqa: ANN401 - the SDK's typed dict, of which much may be missing
    """Read the facts from DescribeInstanceTypes' entry for a type."""
    ebs = entry.get("EbsInfo", {})
    store = entry.get("InstanceStorageInfo", {})
    disks = store.get("Disks", [])
    network = entry.get("NetworkInfo", {})
    cards = {str(each["NetworkCardIndex"]): each for each in network.get("NetworkCards", [])}
    return InstanceTypeFacts(
        name=entry["InstanceType"],
        ebs_needs_nvme_path=ebs.get("NvmeSupport") == "required",
        architectures=frozenset(entry.get("ProcessorInfo", {}).get("SupportedArchitectures", [])),
        ebs_optimized=ebs.get("EbsOptimizedSupport", "default"),
        is_burstable=entry.get("BurstablePerformanceSupported", False),
        max_ebs_attachments=ebs.get("MaximumEbsAttachments", 0),
        ebs_cards=ebs.get("MaximumEbsCards", 1),
        store_disks=sum(disk["Count"] for disk in disks),
        store_gib=disks[0]["SizeInGB"] if disks else 0,
        store_is_nvme=store.get("NvmeSupport") == "required",
        memory_mib=entry.get("MemoryInfo", {}).get("SizeInMiB", 0),
        boot_modes=frozenset(entry.get("SupportedBootModes", [])),
        lacks_tpm=entry.get("NitroTpmSupport") == "unsupported",
        network_cards=network.get("MaximumNetworkCards", 0),
        single_cards=frozenset(
            index for index, card in cards.items() if card.get("MaximumNetworkInterfaces") == 1
        ),
        card_interfaces=frozenset(
            f"{index} {kind}" for index, card in cards.items() for kind in card.get("InterfaceTypes", [])
        ),
        lacks=frozenset(_unsupported_options(entry)),
    )


def _unsupported_options(entry: Any) -> Iterator[str]:  # noqa: ANN401 - the SDK's typed dict
    """The properties that a type does not support, according to EC2.

    EC2 lists processor features and bandwidth weightings only where they are supported, so they count as
    unsupported if EC2 describes the processor or the network without them (API reference, ProcessorInfo
    and NetworkInfo). Any other option that EC2 does not mention counts as supported.
    """
    processor, network = entry.get("ProcessorInfo"), entry.get("NetworkInfo")
    features = (processor or {}).get("SupportedFeatures", [])
    strategies = entry.get("PlacementGroupInfo", {}).get("SupportedStrategies", ["partition", "spread"])
    lacking: dict[str, object] = {
        "cpu_options.nested_virtualization": processor and "nested-virtualization" not in features,
        "cpu_options.amd_sev_snp": processor and "amd-sev-snp" not in features,
        "bandwidth_weighting": network and not network.get("BandwidthWeightings"),
        "primary_ipv6": network and network.get("Ipv6Supported") is False,
        "interface_type": network and network.get("EfaSupported") is False,
        "ena_express": network and network.get("EnaSrdSupported") is False,
        "connection_tracking": entry.get("Hypervisor") == "xen",
        "placement_partition": "partition" not in strategies,
        "spread": "spread" not in strategies,
        "enclave": entry.get("NitroEnclavesSupport") == "unsupported",
        "hibernation": entry.get("HibernationSupported") is False,
    }
    return (name for name, is_lacking in lacking.items() if is_lacking)


def offered_names(
    aws: AwsConfig, ec2: "Callable[[], EC2Client]", names: Collection[str]
) -> frozenset[str] | None:
    """DescribeInstanceTypeOfferings: the types, of these, that a zone of the region offers.

    Args:
        aws: The configuration, for the region.
        ec2: Creates the client; both this and the call may fail.
        names: The types.

    Returns:
        The offered types; None if EC2 does not answer.
    """
    what = f"the instance types that {aws.region} offers"
    offered = ask_or_warn(what, lambda: offers(ec2(), names, "region"))
    return None if offered is None else frozenset(name for name, _ in offered)


class TypeDetails(Record):
    """An instance type: the facts that create_vm needs, and its number of vCPUs."""

    facts: InstanceTypeFacts
    vcpus: int


def offers(
    client: "EC2Client", names: Collection[str], places: str = "availability-zone"
) -> set[tuple[str, str]]:
    """DescribeInstanceTypeOfferings: the zones or regions that offer these types, as (type, place)."""
    operation, key = "describe_instance_type_offerings", "InstanceTypeOfferings"
    offerings = list_by_values(client, operation, key, "instance-type", names, LocationType=places)
    return {(each["InstanceType"], each["Location"]) for each in offerings}


def types(client: "EC2Client", names: Collection[str]) -> dict[str, TypeDetails]:
    """DescribeInstanceTypes, by name."""
    entries = list_by_values(
        client, "describe_instance_types", "InstanceTypes", "instance-type", names, page=_TYPES_PER_PAGE
    )
    return {
        each["InstanceType"]: TypeDetails(read(each), each.get("VCpuInfo", {}).get("DefaultVCpus", 0))
        for each in entries
    }
