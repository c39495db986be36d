"""An account's capacity for VMs: capacity reservations, Dedicated Hosts, vCPU quotas."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from bosh_aws_cpi.aws.listings import entries
from bosh_aws_cpi.properties.vm import VmProperties
from bosh_aws_cpi.records import Record

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_service_quotas import ServiceQuotasClient

_HOSTS_PER_PAGE: Final = 500
_QUOTAS_PER_PAGE: Final = 100
"""AWS's maximum page sizes, where they are smaller than EC2's usual maximum."""
_ACTIVE: Final = "active"
"""The state of a reservation that takes launches."""
_BEFORE_ACTIVE: Final = frozenset({"assessing", "delayed", "payment-pending", "pending", "scheduled"})
"""The states of a reservation that may become active (EC2's API model, CapacityReservation, State)."""
_QUOTA: Final = re.compile(
    r"Running On-Demand (?P<demand>.+) instances|All (?P<spot>.+) Spot Instance Requests"
)
"""The names of quotas for instance families (EC2 user guide, "On-Demand Instance quotas" and "Spot Instance
quotas"): "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", "All P4, P3 and P2 Spot …"."""
_FAMILY: Final = re.compile(r"[a-z]+\d*")
_QUOTA_LETTERS: Final = {"gr": "g", "im": "i", "is": "i", "u": "high"}
"""The quota's name for families whose letters differ from it: gr6, im4gn, is4gen, u7i (High Memory)."""
_NOT_FAMILIES: Final = frozenset({"standard", "and"})


class Reservation(Record):
    """A capacity reservation."""

    state: str
    zone: str
    instance_type: str
    tenancy: str
    """Either "default" or "dedicated"."""
    market: str
    """EC2's market type for launches in the reservation, "capacity-block" or
    "interruptible-capacity-reservation"; empty for an ordinary reservation."""

    def misfit(self, vm: VmProperties) -> str:
        """Why the VM can't run in the reservation; empty if it can. Only the VM's first type counts."""
        market = (vm.capacity_reservation and vm.capacity_reservation.market) or ""
        if self.state not in {_ACTIVE, *_BEFORE_ACTIVE}:
            return f"is in state {self.state}, not {_ACTIVE}"
        if self.instance_type not in {vm.instance_type, ""}:
            return f"is for {self.instance_type}, but the VM's type is {vm.instance_type}"
        if vm.tenancy == "dedicated" != self.tenancy:
            return f"is for VMs with tenancy {self.tenancy}, but the VM's is dedicated"
        if market != self.market:
            kind = f"the market type {self.market}" if self.market else "no market type"
            return f"has {kind}, but capacity_reservation.market is {market or 'not set'}"
        return _zone_misfit(self.zone, vm)


class Host(Record):
    """A Dedicated Host."""

    state: str
    zone: str
    instance_type: str
    """The only instance type that the host runs; empty if the host runs several types of a family."""
    family: str
    """The instance family of the types that the host runs: "m5"."""

    def misfit(self, vm: VmProperties) -> str:
        """Why the VM can't run on the host; empty if it can, or if EC2 does not report the host's type."""
        name, runs = str(vm.instance_type), self.instance_type or self.family
        if self.state != "available":
            return f"is in state {self.state}, not available"
        if runs and runs not in {name, name.partition(".")[0]}:
            return f"runs {runs}, but the VM's type is {name}"
        return _zone_misfit(self.zone, vm)


def _zone_misfit(zone: str, vm: VmProperties) -> str:
    is_elsewhere = zone and vm.availability_zone != zone
    return f"is in zone {zone}, but the VM in {vm.availability_zone}" if is_elsewhere else ""


def reservations(client: "EC2Client") -> dict[str, Reservation]:
    """DescribeCapacityReservations: by id, the account's reservations and those that are shared with it.

    EC2 has no filter for reservation ids.
    """
    return {
        each["CapacityReservationId"]: Reservation(
            each["State"],
            each.get("AvailabilityZone", ""),
            each.get("InstanceType", ""),
            each.get("Tenancy", "default"),
            _market(each),
        )
        for each in entries(client, "describe_capacity_reservations", "CapacityReservations")
    }


def _market(entry: Any) -> str:  # noqa: ANN401 - one of the SDK's typed dicts
    if entry.get("ReservationType") == "capacity-block":
        return "capacity-block"
    return "interruptible-capacity-reservation" if entry.get("Interruptible") else ""


def hosts(client: "EC2Client") -> dict[str, Host]:
    """DescribeHosts: all hosts of the account, by id; EC2 has no filter for host ids."""
    return {
        each["HostId"]: Host(
            each["State"],
            each.get("AvailabilityZone", ""),
            each.get("HostProperties", {}).get("InstanceType", ""),
            each.get("HostProperties", {}).get("InstanceFamily", ""),
        )
        for each in entries(client, "describe_hosts", "Hosts", page=_HOSTS_PER_PAGE)
    }


def quotas(client: "ServiceQuotasClient") -> dict[str, float]:
    """ListServiceQuotas: EC2's quotas by name, without those that have no applied value.

    Quotas for instances are in vCPUs.
    """
    listing = entries(client, "list_service_quotas", "Quotas", page=_QUOTAS_PER_PAGE, ServiceCode="ec2")
    return {each["QuotaName"]: each["Value"] for each in listing if "Value" in each}


def quota_of(name: str, market: str, quotas: Mapping[str, float]) -> str | None:
    """The name of the quota that an instance type counts against; None if ``quotas`` lacks it.

    Args:
        name: The instance type: "p5en.48xlarge".
        market: "demand" or "spot".
        quotas: The account's quotas by name.
    """
    family = re.match(r"([a-z]+)(\d*)", name)
    if family is None:
        return None
    letters, generation = family.groups()
    classes = {
        each: quota
        for quota in quotas
        if (match := _QUOTA.fullmatch(quota)) and match[market]
        for each in {*_FAMILY.findall(match[market].lower())} - _NOT_FAMILIES
    }
    wanted = (f"{letters}{generation}", _QUOTA_LETTERS.get(letters, letters))
    return next((classes[each] for each in wanted if each in classes), None)
