"""Where an account's VMs may run: capacity reservations, Dedicated Hosts, quotas of vCPUs."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from bosh_aws_cpi.aws.listings import entries
from bosh_aws_cpi.properties.vm import VmProperties
from bosh_aws_cpi.records import Record

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_service_quotas import ServiceQuotasClient

_PAGE_OF_HOSTS: Final = 500
_PAGE_OF_QUOTAS: Final = 100
"""AWS's maximum page sizes, where they are smaller than EC2's usual one."""
_ACTIVE: Final = "active"
"""The state of a reservation that takes launches."""
_TO_COME: Final = frozenset({"assessing", "delayed", "payment-pending", "pending", "scheduled"})
"""States of a reservation that may become active (EC2's API model, CapacityReservation, State)."""
_QUOTA: Final = re.compile(
    r"Running On-Demand (?P<demand>.+) instances|All (?P<spot>.+) Spot Instance Requests"
)
"""The names of quotas for a class of families (EC2 user guide, "On-Demand Instance quotas" and "Spot Instance
quotas"): "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", "All P4, P3 and P2 Spot …"."""
_FAMILY: Final = re.compile(r"[a-z]+\d*")
_LETTERS: Final = {"gr": "g", "im": "i", "is": "i", "u": "high"}
"""The class of families whose letters are not the name of a class: gr6, im4gn, is4gen, u7i (High Memory)."""
_NO_FAMILIES: Final = frozenset({"standard", "and"})


class Reservation(Record):
    """A capacity reservation."""

    state: str
    zone: str
    instance_type: str
    tenancy: str
    """Either "default" or "dedicated"."""
    market: str
    """EC2's market type for launches in it, "capacity-block" or "interruptible-capacity-reservation"; empty
    for an ordinary one."""

    def misfit(self, vm: VmProperties) -> str:
        """Why it never takes a VM; empty if it does. Only the VM's first type is launched in it."""
        market = (vm.capacity_reservation and vm.capacity_reservation.market) or ""
        if self.state not in {_ACTIVE, *_TO_COME}:
            return f"is in state {self.state}, not {_ACTIVE}"
        if self.instance_type not in {vm.instance_type, ""}:
            return f"is for {self.instance_type}, but the VM's type is {vm.instance_type}"
        if vm.tenancy == "dedicated" != self.tenancy:
            return f"is for VMs with tenancy {self.tenancy}, but the VM's is dedicated"
        if market != self.market:
            kind = f"the market type {self.market}" if self.market else "no market type"
            return f"has {kind}, but capacity_reservation.market is {market or 'not set'}"
        return _elsewhere(self.zone, vm)


class Host(Record):
    """A Dedicated Host."""

    state: str
    zone: str
    instance_type: str
    """The only type that it runs; empty if it runs several of a family."""
    family: str
    """The family of the types that it runs: "m5"."""

    def misfit(self, vm: VmProperties) -> str:
        """Why it runs no such VM; empty if it does, or if EC2 did not say."""
        name, runs = str(vm.instance_type), self.instance_type or self.family
        if self.state != "available":
            return f"is in state {self.state}, not available"
        if runs and runs not in {name, name.partition(".")[0]}:
            return f"runs {runs}, but the VM's type is {name}"
        return _elsewhere(self.zone, vm)


def _elsewhere(zone: str, vm: VmProperties) -> str:
    is_elsewhere = zone and vm.availability_zone != zone
    return f"is in zone {zone}, but the VM in {vm.availability_zone}" if is_elsewhere else ""


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
            _market(each),
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


def quotas(client: "ServiceQuotasClient") -> dict[str, float]:
    """ListServiceQuotas of EC2, by name; a quota without an applied value is not among them.

    Those of instances are in vCPUs.
    """
    listing = entries(client, "list_service_quotas", "Quotas", page=_PAGE_OF_QUOTAS, ServiceCode="ec2")
    return {each["QuotaName"]: each["Value"] for each in listing if "Value" in each}


def quota_of(name: str, market: str, quotas: Mapping[str, float]) -> str | None:
    """The name of the quota that a type counts against; None if it is not among them.

    Args:
        name: The type: "p5en.48xlarge".
        market: "demand" or "spot".
        quotas: The account's quotas, by their names.
    """
    family = re.match(r"([a-z]+)(\d*)", name)
    if family is None:
        return None
    letters, generation = family.groups()
    classes = {
        each: quota
        for quota in quotas
        if (match := _QUOTA.fullmatch(quota)) and match[market]
        for each in {*_FAMILY.findall(match[market].lower())} - _NO_FAMILIES
    }
    wanted = (f"{letters}{generation}", _LETTERS.get(letters, letters))
    return next((classes[each] for each in wanted if each in classes), None)
