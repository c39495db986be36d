"""What verbs call of a registry, for type checkers: no call loads this module."""

from typing import Protocol

from bosh_aws_cpi.jsontext import Json


class Registry(Protocol):
    """The place where the agent of an old stemcell reads its settings."""

    is_used: bool
    """Whether the agent reads it: then user_data contains only minimal settings."""
    is_there: bool
    """Whether settings can be written; False if a registry is needed but none is configured."""

    def check(self, vm_cid: str) -> None:
        """Raise an error if the registry can't store an attach or a detach, before AWS changes anything."""

    def has(self, vm_cid: str) -> bool:
        """Whether it has settings of a VM, or needs none."""

    def save(self, vm_cid: str, settings: Json) -> None:
        """Write a VM's settings, the complete document."""

    def delete(self, vm_cid: str) -> None:
        """Delete a VM's settings; no error if there are none."""

    def attach(self, vm_cid: str, disk_cid: str, device_path: str) -> None:
        """Add a persistent disk to a VM's settings."""

    def detach(self, vm_cid: str, disk_cid: str) -> bool:
        """Remove a persistent disk from a VM's settings; False when it was not in them."""
