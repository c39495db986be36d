"""The registry for agent settings outside user_data: three kinds, which only create_vm tells apart."""

from typing import TYPE_CHECKING, TypeAlias

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json

if TYPE_CHECKING:
    from bosh_aws_cpi.cpi.http_registry import HttpRegistry


class NoRegistry:
    """The registry of stemcells of api_version 2 and above, which need no registry: does nothing."""

    is_used = False
    """Whether the agent reads it: then user_data contains only minimal settings."""

    def check(self, vm_cid: str) -> None:
        """Do nothing: the VM needs no registry."""

    def has(self, vm_cid: str) -> bool:  # noqa: ARG002 - the protocol's signature
        """Return True: the VM needs no settings."""
        return True

    def save(self, vm_cid: str, settings: Json) -> None:
        """Do nothing: user_data contains all settings."""

    def delete(self, vm_cid: str) -> None:
        """Do nothing: there is no document."""

    def attach(self, vm_cid: str, disk_cid: str, device_path: str) -> None:
        """Do nothing: the Director tells the agent."""

    def detach(self, vm_cid: str, disk_cid: str) -> bool:  # noqa: ARG002 - the protocol's signature
        """Do nothing: the Director tells the agent."""
        return False


class DisabledRegistry(NoRegistry):
    """The registry of stemcells that need one, when none is configured: methods that need it check it first.

    A missing registry must not make a deletion fail, so `delete` does nothing.
    """

    is_used = True

    def check(self, vm_cid: str) -> None:
        """Refuse."""
        raise CloudError(
            f"An attempt to read registry settings has failed for instance_id={vm_cid}. "
            "The registry is disabled."
        )


Registry: TypeAlias = "HttpRegistry | NoRegistry"
"""The place where the agent of an old stemcell reads its settings."""
