"""How a method looks up what its arguments name: `cpi check` makes the same lookups in another way."""

from collections.abc import Callable
from typing import Protocol

from bosh_aws_cpi.properties.types import Value


class Ask(Protocol):
    """Makes a lookup."""

    def __call__(self, key: str, look_up: Callable[[], Value]) -> Value | None:
        """Make a lookup; None if `cpi check` can't know the answer.

        Args:
            key: The property that names what is looked up.
            look_up: Calls AWS. Its CloudError says that something is missing, or can't be used.
        """


def ask_now(key: str, look_up: Callable[[], Value]) -> Value:  # noqa: ARG001 - an `Ask`
    """Make a lookup for a method, which fails with its error."""
    return look_up()
