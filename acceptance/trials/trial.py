"""The type of a trial, and helpers for trials."""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from acceptance.lab import Lab, Said

UNKNOWN = "0" * 17
"""The digits of a well-formed id that no resource has."""
UNKNOWN_KEY = "00000000-0000-4000-8000-000000000000"
"""The id of a KMS key that does not exist."""


class Seen(NamedTuple):
    """The observed behaviour of AWS.

    Attributes:
        agrees: Whether it agrees with the assumption.
        text: A short description.
    """

    agrees: bool
    text: str


def compared(said: Mapping[str, Said], assumed: Mapping[str, Container[str]]) -> Seen:
    """Compare the codes of several answers with the assumed ones."""
    codes = {what: answer.code or "success" for what, answer in said.items()}
    agrees = all(codes[what] in assumed[what] for what in codes)
    return Seen(agrees, ", ".join(f"{what} {code}" for what, code in codes.items()))


@dataclass(frozen=True)
class Trial:
    """The trial of one assumption.

    Attributes:
        name: The assumption's id.
        run: Tries it.
    """

    name: str
    run: Callable[[Lab], Seen]


@dataclass
class Trials:
    """The trials of one module, in their order."""

    all: list[Trial] = field(default_factory=list)

    def of(self, name: str) -> Callable[[Callable[[Lab], Seen]], Callable[[Lab], Seen]]:
        """Register a function as the trial of an assumption."""

        def register(run: Callable[[Lab], Seen]) -> Callable[[Lab], Seen]:
            self.all.append(Trial(name, run))
            return run

        return register
