"""What a call needs of the cloud behind the protocol, for type checkers: no call loads this module."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from bosh_aws_cpi.errors import BoshError
from bosh_aws_cpi.rpc.request import Request

Session_co = TypeVar("Session_co", covariant=True)
Verb = Callable[..., Any]


class Host(Protocol[Session_co]):
    """The protocol's interface to the cloud behind it."""

    def open(self, call: Request) -> Session_co:
        """Read and check the configuration; the result is each verb's first argument.

        Raises:
            BoshError: The configuration can't be used.
        """

    def verb(self, target: str) -> Verb:
        """The function behind "module:function"."""

    def translate(self, error: Exception) -> BoshError | None:
        """A typed error for one that a library raised; None for an unexpected one."""

    def summary(self) -> str:
        """The call's AWS calls, for the last line of the log."""
