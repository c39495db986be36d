"""EC2's facts about instance types, cached for a day across processes."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bosh_aws_cpi.aws.sdk.error_codes import UNAUTHORIZED
from bosh_aws_cpi.aws.sdk.errors import code_of, has_code
from bosh_aws_cpi.aws.type_cache import TypeCache
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import InstanceTypeFacts
from bosh_aws_cpi.type_option import TypeOption

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

_UNKNOWN_TYPE = frozenset({"InvalidInstanceType", "InvalidParameterValue"})


def facts(client: "EC2Client", names: Sequence[str]) -> dict[str, InstanceTypeFacts] | None:
    """DescribeInstanceTypes, for the types that are not in the cache.

    Args:
        client: The EC2 client.
        names: The types.

    Returns:
        The facts by name; a type that EC2 does not know is assumed to have no NVMe. None if the
        account lacks the permission.
    """
    cache = TypeCache(f"{client.meta.endpoint_url} {client.meta.region_name}")
    known = {name: kept for name in names if (kept := cache.get(name))}
    missing = [name for name in dict.fromkeys(names) if name not in known]
    try:
        asked = _ask(client, missing) if missing else {}
    except client.exceptions.ClientError as error:
        if has_code(error, UNAUTHORIZED):
            return None
        raise
    for answered in asked.values():
        cache.put(answered)
    known |= asked
    for name in names:
        if name not in known:
            logger.warning(
                "EC2 does not know instance type '%s': assuming that it has no NVMe instance storage", name
            )
            known[name] = InstanceTypeFacts(name, ebs_needs_nvme_path=False)
    return known


def _ask(client: "EC2Client", names: Sequence[str]) -> dict[str, InstanceTypeFacts]:
    """The types that EC2 knows. If one is unknown, the whole call fails, and each is looked up separately."""
    try:
        found = client.describe_instance_types(InstanceTypes=list(names))["InstanceTypes"]  # type: ignore[arg-type]
    except client.exceptions.ClientError as error:
        if code_of(error) not in _UNKNOWN_TYPE:
            raise
        if len(names) == 1:
            return {}
        return {name: facts for single in names for name, facts in _ask(client, [single]).items()}
    return {str(entry["InstanceType"]): read(entry) for entry in found}


def read(entry: Any) -> InstanceTypeFacts:  # noqa: ANN401 - the SDK's typed dict, of which much may be missing
    """Read the facts from DescribeInstanceTypes' entry for a type."""
    ebs = entry.get("EbsInfo", {})
    store = entry.get("InstanceStorageInfo", {})
    disks = store.get("Disks", [])
    return InstanceTypeFacts(
        name=entry["InstanceType"],
        ebs_needs_nvme_path=ebs.get("NvmeSupport") == "required",
        architectures=frozenset(entry.get("ProcessorInfo", {}).get("SupportedArchitectures", [])),
        ebs_optimized=ebs.get("EbsOptimizedSupport", "default"),
        is_burstable=entry.get("BurstablePerformanceSupported", False),
        max_ebs_attachments=ebs.get("MaximumEbsAttachments", 0),
        store_disks=sum(disk["Count"] for disk in disks),
        store_gib=disks[0]["SizeInGB"] if disks else 0,
        store_is_nvme=store.get("NvmeSupport") == "required",
        memory_mib=entry.get("MemoryInfo", {}).get("SizeInMiB", 0),
        lacks=frozenset(_lacking(entry)),
    )


def _lacking(entry: Any) -> Iterator[TypeOption]:  # noqa: ANN401 - the SDK's typed dict
    """The launch options that EC2 says a type does not support.

    A processor's features and the bandwidth weightings count as unsupported if EC2 describes the processor
    or the network without them, because it lists them only where they are supported (API reference,
    ProcessorInfo and NetworkInfo). Any other option that EC2 says nothing about does not count.
    """
    processor, network = entry.get("ProcessorInfo"), entry.get("NetworkInfo")
    features = (processor or {}).get("SupportedFeatures", [])
    strategies = entry.get("PlacementGroupInfo", {}).get("SupportedStrategies", ["partition", "spread"])
    lacking: dict[TypeOption, object] = {
        "cpu_options.nested_virtualization": processor and "nested-virtualization" not in features,
        "cpu_options.amd_sev_snp": processor and "amd-sev-snp" not in features,
        "bandwidth_weighting": network and not network.get("BandwidthWeightings"),
        "primary_ipv6": network and network.get("Ipv6Supported") is False,
        "placement_partition": "partition" not in strategies,
        "spread": "spread" not in strategies,
        "enclave": entry.get("NitroEnclavesSupport") == "unsupported",
        "hibernation": entry.get("HibernationSupported") is False,
    }
    return (name for name, is_lacking in lacking.items() if is_lacking)
