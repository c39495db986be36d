"""Lists that tests and pages keep beside the program's tables: a test names what is missing, and where."""

from collections.abc import Iterable
from typing import Final

from bosh_aws_cpi.rpc.methods import METHODS

IMPLEMENTED: Final = frozenset(name for name, row in METHODS.items() if row.target)
"""The methods that a function implements."""


def check_listed(listed: Iterable[str], known: Iterable[str], missing: str, unknown: str) -> None:
    """Check that a list has exactly the known names.

    Args:
        listed: The list's names.
        known: The names of the program's table.
        missing: Where to add a name that only the table has.
        unknown: What to say of a name that only the list has.
    """
    assert sorted(set(known) - set(listed)) == [], missing
    assert sorted(set(listed) - set(known)) == [], unknown


def check_methods_listed(listed: Iterable[str], missing: str) -> None:
    """Check that a list has exactly the implemented methods; `missing` says where to add one."""
    check_listed(listed, IMPLEMENTED, missing, "not in rpc/methods.py")
