"""What `cpi check` and `cpi diagnose` report: findings, as text for a terminal or as JSON. Pure."""

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Final

from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import pluralize, redact
from bosh_aws_cpi.records import Record


class Severity(Enum):
    """How bad a finding is; the values appear in the report."""

    ERROR = "error"
    """The deployment fails, or the VM can't work."""
    WARNING = "warning"
    """It may do something else than the operator expects."""
    NOTE = "note"
    """It needs no action."""
    NOT_CHECKED = "not checked"
    """It could not be looked at; the remedy says how it can be."""


class Place(Record):
    """A place in a file.

    Attributes:
        path: The path of the value, for people: "vm_types/worker/cloud_properties/ephemeral_disk/iops".
        file: The file's name, as it was given.
        line: Its line, from 1; None when the value is absent.
        position: What tells values on one line apart. With YAML anchors a value has several paths, but one
            position.
        route: The keys and indexes that lead to the value. Unlike `path`, it is certain.
    """

    path: str
    file: str = ""
    line: int | None = None
    position: tuple[int | str, ...] = ()
    route: tuple[int | str, ...] = ()

    @property
    def identity(self) -> tuple[object, ...]:
        """Equal for all places of one value."""
        return (self.file, self.position or self.path)

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line is not None else self.file
        return f"{where} {self.path}".strip()


class Finding(Record):
    """One finding.

    Attributes:
        severity: How bad it is.
        what: What is wrong, in one sentence without a full stop.
        remedy: What to do about it; empty when that is obvious.
        place: Where in a file; None for findings about a resource.
        source: Who refuses it: "CPI", "AWS", "Director", "bosh create-env" or "bosh".
        user: Whose request has it, if its place does not say so.
    """

    severity: Severity
    what: str
    remedy: str = ""
    place: Place | None = None
    source: str = "CPI"
    user: str = ""

    @property
    def told(self) -> str:
        """What is wrong, and for whom."""
        return f"for {self.user}: {self.what}" if self.user else self.what

    def document(self) -> Json:
        """The finding for scripts; unknown values are null."""
        place = self.place
        return {
            "severity": self.severity.value,
            "what": self.told,
            "remedy": self.remedy or None,
            "path": place.path if place else None,
            "file": (place.file or None) if place else None,
            "line": place.line if place else None,
            "source": self.source,
        }

    @property
    def identity(self) -> tuple[object, ...]:
        """Equal for findings that differ only in their path, user and severity."""
        return (self.what, self.remedy, self.source, self.where)

    @property
    def where(self) -> tuple[object, ...]:
        """Equal for findings at one place."""
        return self.place.identity if self.place else ()

    @property
    def is_in_file(self) -> bool:
        """Whether it has a place in a file that is checked: not in the configuration."""
        return self.place is not None and bool(self.place.file)

    def __str__(self) -> str:
        """The finding without secrets.

        Each part is masked alone, because the end of a path and the text look like a key with its value.
        """
        place = f"{redact(str(self.place))}: " if self.place else ""
        what = self.told.removesuffix(".") if self.remedy else self.told
        remedy = f". {redact(self.remedy)}" if self.remedy else ""
        return f"{self.severity.value}: {place}{redact(what)}{remedy}"


def of_aws(severity: Severity, what: str, remedy: str = "") -> Finding:
    """A finding about what AWS shows, or refuses."""
    return Finding(severity, what, remedy, source="AWS")


def as_warning(finding: Finding) -> Finding:
    """The finding with a warning in place of an error, for something that may not be deployed."""
    return finding.replace(severity=Severity.WARNING) if finding.severity is Severity.ERROR else finding


def in_file(finding: Finding, name: str) -> Finding:
    """The finding with this file, if its place has none."""
    place = finding.place
    return finding if place is None or place.file else finding.replace(place=place.replace(file=name))


_ORDER: Final = list(Severity)


def sort_distinct(findings: Iterable[Finding]) -> list[Finding]:
    """Sort findings, the worst first, and drop duplicates; equally bad ones keep their order.

    What is wrong whoever asks for it is no finding for each user, too.
    """

    def order(finding: Finding) -> int:
        return _ORDER.index(finding.severity)

    by_user: dict[tuple[object, ...], dict[str, Finding]] = {}
    for each in sorted(findings, key=order):
        by_user.setdefault(each.identity, {}).setdefault(each.user, each)
    distinct: list[Finding] = []
    for found in by_user.values():
        worst, *_ = found.values()
        distinct += [worst.replace(user="")] if "" in found else found.values()
    return sorted(distinct, key=order)


def status(findings: Iterable[Finding], *, is_strict: bool = False) -> int:
    """The exit status: 1 if a finding is an error; if strict, also if one is more than a note."""
    failing = set(Severity) - {Severity.NOTE} if is_strict else {Severity.ERROR}
    return int(any(each.severity in failing for each in findings))


def lines(findings: Sequence[Finding], closing: str) -> list[str]:
    """The report for people: a line for each finding and its users, and a last line with their numbers."""
    users: dict[tuple[object, ...], list[Finding]] = {}
    for each in findings:
        users.setdefault(each.identity, []).append(each)
    shown = [
        found[0].replace(user=", ".join(filter(None, (each.user for each in found))))
        for found in users.values()
    ]
    counts = ", ".join(_count(severity, shown) for severity in Severity)
    return [*map(str, shown), redact(f"{counts}. {closing}")]


def document(findings: Iterable[Finding], more: Json) -> Json:
    """The report for scripts: ``findings``, and what else the command tells."""
    return {**more, "findings": [each.document() for each in findings]}


def _count(severity: Severity, findings: Sequence[Finding]) -> str:
    number = sum(each.severity is severity for each in findings)
    is_noun = severity is not Severity.NOT_CHECKED
    return pluralize(number, severity.value) if is_noun else f"{number} {severity.value}"
