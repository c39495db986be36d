"""What a trial is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from acceptance.lab import Lab


class Seen(NamedTuple):
    """What AWS did.

    Attributes:
        agrees: Whether that is what is believed.
        text: What it was, in a few words.
    """

    agrees: bool
    text: str


@dataclass(frozen=True)
class Trial:
    """The trial of one belief.

    Attributes:
        name: The belief's id.
        run: Tries it.
    """

    name: str
    run: Callable[[Lab], Seen]


@dataclass
class Trials:
    """The trials of one module, in their order."""

    all: list[Trial] = field(default_factory=list)

    def of(self, name: str) -> Callable[[Callable[[Lab], Seen]], Callable[[Lab], Seen]]:
        """Make a function the trial of a belief."""

        def register(run: Callable[[Lab], Seen]) -> Callable[[Lab], Seen]:
            self.all.append(Trial(name, run))
            return run

        return register
