"""What fixtures are, where a fixture is a function: its arguments and what it returns."""

from collections.abc import Callable
from typing import Any, Protocol

from testbed.executable import Answer, Cpi, Process

Properties = dict[str, Any] | None


class CreateVm(Protocol):
    """Asks for a VM; what is not given is ordinary."""

    def __call__(
        self,
        properties: Properties = None,
        networks: Properties = None,
        disks: list[str] | None = None,
        env: Properties = None,
        *,
        executable: Cpi | None = None,
        **more: Any,
    ) -> Answer:
        """Wait for the answer."""


class StartVm(Protocol):
    """Asks for a VM and does not wait for it."""

    def __call__(self, properties: Properties = None, networks: Properties = None, **more: Any) -> Process:
        """Start the call; the caller ends it."""


class VmArguments(Protocol):
    """Writes create_vm's arguments; what is not given is ordinary."""

    def __call__(
        self,
        properties: Properties = None,
        networks: Properties = None,
        disks: list[str] | None = None,
        env: Properties = None,
        **more: Any,
    ) -> list[Any]:
        """List them."""


class WriteNetwork(Protocol):
    """Writes a network: manual with an address, else dynamic."""

    def __call__(
        self, ip: str | None = None, subnet: int = 0, groups: str | list[Any] | None = None, **keys: Any
    ) -> dict[str, Any]:
        """Write it, in one of the laid subnets."""


class RunInstance(Protocol):
    """Has an instance run without the executable."""

    def __call__(self, instance_type: str = "t3.micro", **parameters: Any) -> str:
        """Return its id."""


class CreateVolume(Protocol):
    """Has a volume there without the executable."""

    def __call__(self, zone: str = ..., size: int = 1) -> str:
        """Return its id."""


class Refuse(Protocol):
    """Has AWS refuse an action for good, from its nth call on."""

    def __call__(self, action: str, nth: int = 1) -> str:
        """Return the words of the refusal."""


class RefuseLaunch(Protocol):
    """Has AWS refuse launches, or only those with some parameters."""

    def __call__(self, code: str, where: dict[str, str] | None = None, status: int = 400) -> str:
        """Return the words of the refusal."""


class WriteError(Protocol):
    """Writes an error as it goes over the wire."""

    def __call__(self, kind: str, message: str, *, ok_to_retry: bool = False) -> dict[str, Any]:
        """Write it under BOSH's name."""


CheckRefused = Callable[..., list[str]]
"""Checks an `Answer` for a CloudError with some words, and that nothing was created; returns the actions."""
ListResources = Callable[[], dict[str, list[str]]]
"""Lists the ids of what there is beyond what was laid, by kind."""
ReadCalls = Callable[[str], list[dict[str, str]]]
"""Lists the parameters of all calls of one action, in their order."""
ReadTags = Callable[[str], dict[str, str]]
"""Reads the tags of anything, by name."""
ReadSettings = Callable[[str], dict[str, Any]]
"""Reads the agent's settings that a VM boots from."""
ReadWarnings = Callable[[Answer], list[str]]
"""Reads the warnings of a call in their order, without the time."""
CpiWith = Callable[..., Cpi]
"""Returns an executable whose configuration has other keys of the aws section."""
Checked = Callable[[Answer], Any]
"""Checks a response; returns its result, or the type and message of its error."""
