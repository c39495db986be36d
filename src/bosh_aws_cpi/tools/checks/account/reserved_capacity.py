"""Capacity reservations and Dedicated Hosts: they exist, and take the VMs that name them. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar

from bosh_aws_cpi.aws.capacity import Host, Reservation
from bosh_aws_cpi.tools.checks.account.named_things import absent
from bosh_aws_cpi.tools.checks.naming import Launch
from bosh_aws_cpi.tools.checks.references import Named
from bosh_aws_cpi.tools.findings import Finding, Severity

Capacity = TypeVar("Capacity", Reservation, Host)
_ACTIVE: Final = "active"
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
    yield from _usable(found, there, "capacity reservation", _ACTIVE, _unfit_reservation)
    for each in found:
        entry = there.get(each.node.value)
        if entry is None:
            continue
        remedy = f"Set market: {entry.market}" if entry.market else "Remove market"
        yield from each.findings_if_wrong(partial(_wrong_market, each.node.value, entry.market), remedy)
        if entry.state == _ACTIVE and not entry.free:
            what = f"capacity reservation '{each.node.value}' has no room left"
            remedy = f"{_GROWTH[entry.market]}; a VM that is recreated frees its own place"
            yield Finding(Severity.WARNING, what, remedy, each.node.place, "AWS")


def hosts(found: Sequence[Named], there: Mapping[str, Host]) -> Iterator[Finding]:
    """Check Dedicated Hosts.

    Args:
        found: The ids in the cloud config.
        there: The account's, by id.
    """
    yield from _usable(found, there, "Dedicated Host", "available", _unfit_host)


def _usable(
    found: Iterable[Named],
    there: Mapping[str, Capacity],
    noun: str,
    state: str,
    unfit: Callable[[str, Capacity, Launch], str],
) -> Iterator[Finding]:
    """Each must exist, be in this state, and fit the VMs that name it."""
    for each in found:
        what, entry = f"{noun} '{each.node.value}'", there.get(each.node.value)
        if entry is None:
            yield absent(noun, each.node.value, each.node.place)
        elif entry.state != state:
            what = f"{what} is in state {entry.state}, not {state}"
            yield Finding(Severity.ERROR, what, "Use another one", each.node.place, "AWS")
        else:
            remedy = "Use one in the VM's zone, for its instance type"
            yield from each.findings_if_wrong(partial(unfit, what, entry), remedy)


def _unfit_reservation(what: str, entry: Reservation, launch: Launch) -> str:
    name = _first_type(launch)
    is_unfit = bool(name and entry.instance_type) and name != entry.instance_type
    problem = f"{what} is for {entry.instance_type}, but the VM's type is {name}" if is_unfit else ""
    return _elsewhere(what, entry.zone, launch) or problem


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
