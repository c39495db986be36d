"""Where the account can launch instance types: zones, capacity reservations, Dedicated Hosts, quotas."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from bosh_aws_cpi.aws.instance_types import read
from bosh_aws_cpi.aws.listings import entries, listed
from bosh_aws_cpi.model import InstanceTypeFacts
from bosh_aws_cpi.records import Record

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_service_quotas import ServiceQuotasClient

_PAGE_OF_TYPES: Final = 100
_PAGE_OF_HOSTS: Final = 500
_PAGE_OF_QUOTAS: Final = 100
"""AWS's maximum page sizes, where they are smaller than EC2's usual one."""
_ACCOUNT: Final = 4
"""The part of an ARN that is the account's id."""
ACTIVE: Final = "active"
"""The state of a reservation that takes launches."""


class TypeDetails(Record):
    """An instance type: the facts that create_vm needs, and its number of vCPUs."""

    facts: InstanceTypeFacts
    vcpus: int


class Reservation(Record):
    """A capacity reservation."""

    state: str
    zone: str
    instance_type: str
    tenancy: str
    """Either "default" or "dedicated"."""
    total: int
    """How many instances it holds capacity for."""
    free: int
    """How many more instances it takes."""
    market: str
    """EC2's market type for launches in it, "capacity-block" or "interruptible-capacity-reservation"; empty
    for an ordinary one."""
    owner: str
    """The id of the account that has created it, and perhaps shares it with others."""
    is_open: bool
    """Whether launches that match it use it without naming it."""


class Quotas(Record):
    """The account's quotas of EC2."""

    values: Mapping[str, float]
    """By their names; those of instances are in vCPUs."""
    account: str
    """The account's id; empty if AWS did not say it."""

    def shared(self, reservations: Mapping[str, Reservation]) -> dict[str, Reservation]:
        """The active reservations of other accounts; they count against their owner's quotas.

        EC2 user guide, "Shared Capacity Reservations", instance limits.
        """
        return {
            name: each
            for name, each in reservations.items()
            if each.state == ACTIVE and self.account and each.owner not in {"", self.account}
        }


class Host(Record):
    """A Dedicated Host."""

    state: str
    zone: str
    instance_type: str
    """The only type that it runs; empty if it runs several of a family."""
    family: str
    """The family of the types that it runs: "m5"."""

    def runs(self, name: str) -> bool:
        """Whether it can run a type; True when EC2 did not say."""
        if self.instance_type:
            return name == self.instance_type
        return not self.family or name.partition(".")[0] == self.family


def zones(client: "EC2Client") -> set[str]:
    """DescribeAvailabilityZones: the region's zones that the account can use, also with restrictions."""
    zones = client.describe_availability_zones()["AvailabilityZones"]
    return {each["ZoneName"] for each in zones if each["State"] != "unavailable"}


def offers(client: "EC2Client", names: Collection[str]) -> set[tuple[str, str]]:
    """DescribeInstanceTypeOfferings: which zones of the region offer these types, as (type, zone)."""
    found = listed(
        client,
        "describe_instance_type_offerings",
        "InstanceTypeOfferings",
        "instance-type",
        names,
        LocationType="availability-zone",
    )
    return {(each["InstanceType"], each["Location"]) for each in found}


def types(client: "EC2Client", names: Collection[str]) -> dict[str, TypeDetails]:
    """DescribeInstanceTypes, by name."""
    found = listed(
        client, "describe_instance_types", "InstanceTypes", "instance-type", names, page=_PAGE_OF_TYPES
    )
    return {
        each["InstanceType"]: TypeDetails(read(each), each.get("VCpuInfo", {}).get("DefaultVCpus", 0))
        for each in found
    }


def reservations(client: "EC2Client") -> dict[str, Reservation]:
    """DescribeCapacityReservations: the account's own and those that other accounts share with it, by id.

    EC2 has no filter for ids.
    """
    return {
        each["CapacityReservationId"]: Reservation(
            each.get("State", ""),
            each.get("AvailabilityZone", ""),
            each.get("InstanceType", ""),
            each.get("Tenancy", "default"),
            each.get("TotalInstanceCount", 0),
            each.get("AvailableInstanceCount", 0),
            _market(each),
            each.get("OwnerId", ""),
            each.get("InstanceMatchCriteria") == "open",
        )
        for each in entries(client, "describe_capacity_reservations", "CapacityReservations")
    }


def _market(entry: Any) -> str:  # noqa: ANN401 - one of the SDK's typed dicts
    if entry.get("ReservationType") == "capacity-block":
        return "capacity-block"
    return "interruptible-capacity-reservation" if entry.get("Interruptible") else ""


def hosts(client: "EC2Client") -> dict[str, Host]:
    """DescribeHosts: all of the account's, by id; EC2 has no filter for ids."""
    return {
        each["HostId"]: Host(
            each.get("State", ""),
            each.get("AvailabilityZone", ""),
            each.get("HostProperties", {}).get("InstanceType", ""),
            each.get("HostProperties", {}).get("InstanceFamily", ""),
        )
        for each in entries(client, "describe_hosts", "Hosts", page=_PAGE_OF_HOSTS)
    }


def quotas(client: "ServiceQuotasClient") -> Quotas:
    """ListServiceQuotas of EC2; a quota without an applied value is not among them."""
    listed_ones = entries(client, "list_service_quotas", "Quotas", page=_PAGE_OF_QUOTAS, ServiceCode="ec2")
    found = [each for each in listed_ones if "Value" in each]
    arns = (each.get("QuotaArn", "").split(":") for each in found)
    account = next((parts[_ACCOUNT] for parts in arns if len(parts) > _ACCOUNT), "")
    return Quotas({each["QuotaName"]: each["Value"] for each in found}, account)
