"""The errors a caller of the CPI can be answered with.

The Director maps the type string of a response back to its own classes, so the
strings are part of the contract::

    BoshError
    ├── InvalidCall                   InvalidCall
    ├── Unknown                       Unknown
    ├── CpiError                      Bosh::Clouds::CpiError
    │   ├── CPIAPIVersionNotSupported Bosh::Clouds::CPIAPIVersionNotSupported
    │   ├── MethodNotImplemented      Bosh::Clouds::NotImplemented
    │   └── NotSupported              Bosh::Clouds::NotSupported
    └── CloudError                    Bosh::Clouds::CloudError
        ├── VMNotFound                Bosh::Clouds::VMNotFound
        ├── VMCreationFailed          Bosh::Clouds::VMCreationFailed
        ├── NetworkNotFound           Bosh::Clouds::NetworkNotFound
        ├── NoDiskSpace               Bosh::Clouds::NoDiskSpace
        ├── DiskNotFound              Bosh::Clouds::DiskNotFound
        └── DiskNotAttached           Bosh::Clouds::DiskNotAttached

Only ``ok_to_retry`` of VMCreationFailed is acted upon: the Director then repeats
create_vm, with the same agent id, up to five times.
"""

from typing import ClassVar


class BoshError(Exception):
    """An error with a name on the wire.

    Args:
        message: What was attempted, on which id, and what to do about it.
        ok_to_retry: Whether the same call may succeed when it is made again.
    """

    wire_type: ClassVar[str] = "Unknown"

    def __init__(self, message: str, *, ok_to_retry: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.ok_to_retry = ok_to_retry


class InvalidCall(BoshError):
    """The request, its arguments or the configuration are not what they should be."""

    wire_type = "InvalidCall"


def not_correct(details: str) -> InvalidCall:
    """The error for arguments and configuration that don't fit, in the words that callers know."""
    return InvalidCall(f"Arguments are not correct, details: '{details}'")


class Unknown(BoshError):
    """The configuration file can't be used, or something happened that nobody foresaw."""

    wire_type = "Unknown"


class CpiError(BoshError):
    """An error of the CPI itself rather than of the cloud."""

    wire_type = "Bosh::Clouds::CpiError"


class CPIAPIVersionNotSupported(CpiError):
    """The stemcell's api_version is null or no positive integer."""

    wire_type = "Bosh::Clouds::CPIAPIVersionNotSupported"


class MethodNotImplemented(CpiError):
    """The method is unknown, or known and not there: the caller falls back."""

    wire_type = "Bosh::Clouds::NotImplemented"


class NotSupported(CpiError):
    """This can't be done in this way: the caller falls back."""

    wire_type = "Bosh::Clouds::NotSupported"


class CloudError(BoshError):
    """A general failure."""

    wire_type = "Bosh::Clouds::CloudError"


class VMNotFound(CloudError):
    """The VM is gone: callers go on with their clean-up."""

    wire_type = "Bosh::Clouds::VMNotFound"

    def __init__(self, vm_cid: str) -> None:
        super().__init__(f"VM `{vm_cid}' not found")


class VMCreationFailed(CloudError):
    """The VM could not be created, and nothing of it is left."""

    wire_type = "Bosh::Clouds::VMCreationFailed"


class NetworkNotFound(CloudError):
    """The network that is to be deleted is gone."""

    wire_type = "Bosh::Clouds::NetworkNotFound"


class NoDiskSpace(CloudError):
    """There is no room for the disk."""

    wire_type = "Bosh::Clouds::NoDiskSpace"


class DiskNotFound(CloudError):
    """The disk is gone."""

    wire_type = "Bosh::Clouds::DiskNotFound"

    def __init__(self, disk_cid: str) -> None:
        super().__init__(f"Disk '{disk_cid}' not found")


class DiskNotAttached(CloudError):
    """The disk is not attached to that VM."""

    wire_type = "Bosh::Clouds::DiskNotAttached"

    def __init__(self, disk_cid: str, vm_cid: str) -> None:
        super().__init__(f"Disk `{disk_cid}' is not attached to instance `{vm_cid}'", ok_to_retry=True)
