"""Capacity reservations and Dedicated Hosts: they exist, and take the VMs that name them. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from bosh_aws_cpi.aws.instance_types import ACTIVE, Host, Reservation
from bosh_aws_cpi.tools.checks.account.named_things import absent
from bosh_aws_cpi.tools.checks.naming import Launch
from bosh_aws_cpi.tools.checks.references import Named
from bosh_aws_cpi.tools.findings import Finding, Severity, as_warning

_PENDING: Final = "pending"
_TO_COME: Final = frozenset({"assessing", "delayed", "payment-pending", _PENDING, "scheduled"})
"""States of a reservation that may become active (EC2's API model, CapacityReservation, State)."""
_OTHER: Final = "Use another one"
_FIT: Final = "Use one in the VM's zone, for its instance type"
_KEY: Final = "capacity_reservation"
_GROWTH: Final = {
    "": "Raise its instance count for new VMs, or add fallback types",
    "capacity-block": "Use another block for new VMs, or fallback types: a block does not grow",
    "interruptible-capacity-reservation": "Let its owner allocate more instances to it for new VMs",
}
"""What to do about a full reservation, by its market type."""


def reservations(found: Sequence[Named], there: Mapping[str, Reservation]) -> Iterator[Finding]:
    """Check capacity reservations.

    Args:
        found: The ids in the cloud config.
        there: The account's, by id.
    """
    for each in found:
        what, entry = f"capacity reservation '{each.node.value}'", there.get(each.node.value)
        if entry is None:
            yield absent("capacity reservation", each.node.value, each.node.place)
            continue
        yield from _of_state(each, what, entry)
        if entry.state in {ACTIVE, *_TO_COME}:
            yield from each.findings_if_wrong(partial(_unfit_reservation, what, entry), f"{_FIT} and tenancy")
            not_dedicated = each.findings_if_wrong(
                partial(_not_dedicated, what, entry), "Set tenancy: dedicated"
            )
            yield from map(as_warning, not_dedicated)
        remedy = f"Set market: {entry.market}" if entry.market else "Remove market"
        yield from each.findings_if_wrong(partial(_wrong_market, each.node.value, entry.market), remedy)
        if entry.state == ACTIVE and not entry.free:
            what = f"{what} has no room left"
            remedy = f"{_GROWTH[entry.market]}; a VM that is recreated frees its own place"
            yield Finding(Severity.WARNING, what, remedy, each.node.place, "AWS")


def hosts(found: Sequence[Named], there: Mapping[str, Host]) -> Iterator[Finding]:
    """Check Dedicated Hosts.

    Args:
        found: The ids in the cloud config.
        there: The account's, by id.
    """
    for each in found:
        what, entry = f"Dedicated Host '{each.node.value}'", there.get(each.node.value)
        if entry is None:
            yield absent("Dedicated Host", each.node.value, each.node.place)
        elif entry.state != "available":
            what = f"{what} is in state {entry.state}, not available"
            yield Finding(Severity.ERROR, what, _OTHER, each.node.place, "AWS")
        else:
            yield from each.findings_if_wrong(partial(_unfit_host, what, entry), _FIT)


def _of_state(found: Named, what: str, entry: Reservation) -> Iterator[Finding]:
    """A reservation that is not active takes no launch; create_vm may go on to the fallback types.

    A new one may take launches while it still shows pending, for up to five minutes (EC2 user guide, "View
    the state of a Capacity Reservation").
    """
    if entry.state == ACTIVE:
        return
    said = f"{what} is in state {entry.state}, not {ACTIVE}"
    if entry.state not in _TO_COME:
        yield Finding(Severity.ERROR, said, _OTHER, found.node.place, "AWS")
        return

    if entry.state == _PENDING:
        what = f"{said}: EC2 may refuse the VM until it is active"
        yield Finding(Severity.WARNING, what, "A new one is active within minutes", found.node.place, "AWS")
        return

    def refused(launch: Launch) -> str:
        return "" if _goes_on(launch) else f"{said}: EC2 refuses the VM until it is active"

    if stuck := list(found.findings_if_wrong(refused, "Wait until it is active, or use another one")):
        yield from stuck
    else:
        what = f"{said}: until it is active, create_vm can launch only the fallback types"
        yield Finding(Severity.WARNING, what, "", found.node.place, "AWS")


def _goes_on(launch: Launch) -> bool:
    """Whether create_vm goes on to a fallback type while the reservation takes no VMs: only from a market."""
    market, fallbacks = launch.get(_KEY, "market"), launch.get("instance_type_fallbacks")
    return market is not None and fallbacks is not None and bool(fallbacks.value)


def _unfit_reservation(what: str, entry: Reservation, launch: Launch) -> str:
    name, tenancy = _first_type(launch), launch.get("tenancy")
    problem = ""
    if name and entry.instance_type and name != entry.instance_type:
        problem = f"{what} is for {entry.instance_type}, but the VM's type is {name}"
    elif tenancy is not None and tenancy.value == "dedicated" != entry.tenancy:
        problem = f"{what} is for VMs with tenancy {entry.tenancy}, but the VM's is dedicated"
    return _elsewhere(what, entry.zone, launch) or problem


def _not_dedicated(what: str, entry: Reservation, launch: Launch) -> str:
    """A VM may be dedicated by its VPC (EC2 user guide, "Dedicated Instances"), which is not looked up."""
    tenancy = launch.get("tenancy")
    is_shared = tenancy is None or not (tenancy.is_unknown or tenancy.value == "dedicated")
    is_unfit = is_shared and entry.tenancy == "dedicated"
    return f"{what} is for dedicated VMs, but the VM's tenancy is not dedicated" if is_unfit else ""


def _wrong_market(name: str, market: str, launch: Launch) -> str:
    """What is wrong with ``capacity_reservation.market``; a variable may be right."""
    node = launch.get(_KEY, "market")
    given = node.value if node is not None else ""
    if given == market or (node is not None and node.is_unknown):
        return ""
    kind = f"has the market type {market}" if market else "is an ordinary one, without a market type"
    said = f"{_KEY}.market is {given}" if given else f"{_KEY}.market is not set"
    return f"capacity reservation '{name}' {kind}, but {said}"


def _unfit_host(what: str, entry: Host, launch: Launch) -> str:
    name = _first_type(launch)
    is_unfit = bool(name) and not entry.runs(name)
    runs = entry.instance_type or entry.family
    problem = f"{what} runs {runs}, but the VM's type is {name}" if is_unfit else ""
    return _elsewhere(what, entry.zone, launch) or problem


def _elsewhere(what: str, zone: str, launch: Launch) -> str:
    if launch.zone and zone and launch.zone != zone:
        return f"{what} is in zone {zone}, but the VM in {launch.zone}"
    return ""


def _first_type(launch: Launch) -> str:
    """``instance_type``, which must fit; only it is launched in a reservation. Empty if it is not known."""
    return next((str(node.value) for node in launch.types), "")
