"""Look-ups of the resources that a method's arguments name; `cpi check` has its own `Ask`."""

from collections.abc import Callable
from typing import Protocol

from bosh_aws_cpi.properties.types import Value


class Ask(Protocol):
    """Looks up a resource."""

    def __call__(self, key: str, look_up: Callable[[], Value]) -> Value | None:
        """Look up a resource; None if `cpi check` can't know the answer.

        Args:
            key: The property that names what is looked up.
            look_up: Calls AWS. Its CloudError says that something is missing, or can't be used.
        """


def ask_now(key: str, look_up: Callable[[], Value]) -> Value:  # noqa: ARG001 - an `Ask`
    """Look up a resource for a method; an error ends the method."""
    return look_up()
