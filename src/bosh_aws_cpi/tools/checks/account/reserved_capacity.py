"""Capacity reservations and Dedicated Hosts: they exist, and take the VMs that name them. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from bosh_aws_cpi.aws.capacity import Host, Reservation
from bosh_aws_cpi.tools.checks.references import Launch, Named
from bosh_aws_cpi.tools.findings import Finding, Severity

_REMEDY: Final = "Use one in the VM's zone, for its instance type"


def reservations(found: Iterable[Named], there: Mapping[str, Reservation]) -> Iterator[Finding]:
    """Check capacity reservations.

    Args:
        found: The ids in the cloud config.
        there: The account's, by id.
    """
    for each in found:
        entry = there.get(each.node.value)
        if entry is None:
            yield _missing(each, "capacity reservation")
            continue
        if entry.state != "active":
            what = f"capacity reservation '{each.node.value}' is {entry.state}, not active"
            yield Finding(Severity.ERROR, what, "Use another one", each.node.place, "AWS")
            continue

        def unfit(launch: Launch, each: Named = each, entry: Reservation = entry) -> str:
            return _unfit(
                f"capacity reservation '{each.node.value}'", launch, entry.zone, entry.instance_type
            )

        yield from each.judged(unfit, _REMEDY)
        if not entry.free:
            what = f"capacity reservation '{each.node.value}' has no room left"
            remedy = "A VM that is recreated in it frees its own place; new ones can't be created"
            yield Finding(Severity.WARNING, what, remedy, each.node.place, "AWS")


def hosts(found: Iterable[Named], there: Mapping[str, Host]) -> Iterator[Finding]:
    """Check Dedicated Hosts.

    Args:
        found: The ids in the cloud config.
        there: The account's, by id.
    """
    for each in found:
        entry = there.get(each.node.value)
        if entry is None:
            yield _missing(each, "Dedicated Host")
            continue
        if entry.state != "available":
            what = f"Dedicated Host '{each.node.value}' is in state {entry.state}"
            yield Finding(Severity.ERROR, what, "Use another one", each.node.place, "AWS")
            continue

        def unfit(launch: Launch, each: Named = each, entry: Host = entry) -> str:
            return _unfit_host(f"Dedicated Host '{each.node.value}'", launch, entry)

        yield from each.judged(unfit, _REMEDY)


def _missing(each: Named, what: str) -> Finding:
    return Finding(Severity.ERROR, f"there is no {what} '{each.node.value}'", "", each.node.place, "AWS")


def _unfit(what: str, launch: Launch, zone: str, instance_type: str) -> str:
    """Why a VM can't use a reservation: its first type decides, because EC2 does not try the others then."""
    if launch.zone and zone and launch.zone != zone:
        return f"{what} is in zone {zone}, but the VM in {launch.zone}"
    types = [str(node.value) for node in launch.types[:1]]
    if types and instance_type and instance_type not in types:
        return f"{what} is for {instance_type}, but the VM's type is {types[0]}"
    return ""


def _unfit_host(what: str, launch: Launch, host: Host) -> str:
    if problem := _unfit(what, launch, host.zone, ""):
        return problem
    types = [str(node.value) for node in launch.types[:1]]
    if types and not host.runs(types[0]):
        return f"{what} runs {host.instance_type or host.family}, but the VM's type is {types[0]}"
    return ""
