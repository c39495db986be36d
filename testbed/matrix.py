"""Long tables of cases: every run of the tests takes some of them, and `make faults` all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable


def sampled(cases: Iterable[Any], every: int = 6) -> list[Any]:
    """Mark some cases as `sampled`, beginning with the first, and all others as `faults`.

    Args:
        cases: Values of one parameter, or tuples of several.
        every: The distance between two sampled cases.
    """
    rows = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [
        pytest.param(*row, marks=pytest.mark.faults if place % every else pytest.mark.sampled)
        for place, row in enumerate(rows)
    ]
