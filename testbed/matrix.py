"""Long tables of cases: some of them for every run of the tests, all of them for `make faults`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable


def sampled(cases: Iterable[Any], every: int = 6) -> list[Any]:
    """Mark each so manieth case, beginning with the first, as `sampled`, and all others as `faults`.

    Args:
        cases: Values of one parameter, or tuples of several.
        every: How far apart the cases are that every run takes.
    """
    rows = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [
        pytest.param(*row, marks=pytest.mark.faults if place % every else pytest.mark.sampled)
        for place, row in enumerate(rows)
    ]
