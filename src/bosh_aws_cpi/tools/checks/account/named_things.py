"""Key pairs, instance profiles and placement groups: it is enough that they exist. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from bosh_aws_cpi.tools.checks.references import Launch, Named
from bosh_aws_cpi.tools.findings import Finding, Place, Severity


def absent(what: str, name: str, place: Place) -> Finding:
    """An error about something that does not exist.

    Args:
        what: What it is: "key pair".
        name: Its name or id.
        place: Where it is named.
    """
    return Finding(
        Severity.ERROR, f"there is no {what} '{name}'", "Create it, or correct its name", place, "AWS"
    )


def missing(found: Iterable[Named], what: str, there: Collection[str]) -> Iterator[Finding]:
    """An error for each value that does not exist.

    Args:
        found: The values.
        what: What they name: "key pair".
        there: Those that exist.
    """
    for each in found:
        if each.node.value not in there:
            yield absent(what, each.node.value, each.node.place)


def missing_default(
    path: str, name: str, what: str, there: Collection[str], users: Iterable[Launch]
) -> Iterator[Finding]:
    """A finding if a default of the configuration does not exist: an error if a VM would use it.

    Args:
        path: The default's path in the configuration.
        name: Its value.
        what: What it names.
        there: Those that exist.
        users: The combinations that have no value of their own.
    """
    if name not in there:
        severity = Severity.ERROR if any(users) else Severity.WARNING
        remedy = "VMs that name no other need it"
        yield Finding(severity, f"there is no {what} '{name}'", remedy, Place(path), "AWS")


def placement_groups(found: Iterable[Named], states: Mapping[str, str]) -> Iterator[Finding]:
    """Check placement groups.

    Args:
        found: The names.
        states: The states of those that exist, by name.
    """
    found = list(found)
    yield from missing(found, "placement group", states)
    for each in found:
        if (state := states.get(each.node.value, "available")) != "available":
            what = f"placement group '{each.node.value}' is {state}"
            yield Finding(Severity.ERROR, what, "Use another one", each.node.place, "AWS")
