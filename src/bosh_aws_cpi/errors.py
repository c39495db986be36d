"""The errors in the CPI's responses.

The Director maps the type in a response back to its own classes, so the type strings are part of the
contract::

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
        ├── DiskNotFound              Bosh::Clouds::DiskNotFound
        └── DiskNotAttached           Bosh::Clouds::DiskNotAttached

The Director acts on ``ok_to_retry`` of VMCreationFailed only: it calls create_vm, with the same agent
id, up to five times in all.
"""

from __future__ import annotations

from typing import ClassVar


class BoshError(Exception):
    """An error that has a type in the response.

    Args:
        message: The failed action, the id of the resource, and the remedy.
    """

    wire_type: ClassVar[str] = "Unknown"

    def __init__(self, message: str, *, ok_to_retry: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.ok_to_retry = ok_to_retry


class InvalidCall(BoshError):
    """The request, its arguments or the configuration are wrong."""

    wire_type = "InvalidCall"


_NOT_CORRECT = "Arguments are not correct, details: '"


def not_correct(details: str) -> InvalidCall:
    """The error for wrong arguments or a wrong configuration, in the wording of the Ruby release."""
    return InvalidCall(f"{_NOT_CORRECT}{details}'")


def reason(error: BoshError) -> str:
    """The message of an error without the wording of the Ruby release."""
    is_quoted = error.message.startswith(_NOT_CORRECT)
    return error.message[len(_NOT_CORRECT) : -1] if is_quoted else error.message


class Unknown(BoshError):
    """The configuration file can't be used, or an unexpected error occurred."""

    wire_type = "Unknown"


class CpiError(BoshError):
    """An error of the CPI itself rather than of the cloud."""

    wire_type = "Bosh::Clouds::CpiError"


class CPIAPIVersionNotSupported(CpiError):
    """The stemcell's api_version is not a positive integer."""

    wire_type = "Bosh::Clouds::CPIAPIVersionNotSupported"


class MethodNotImplemented(CpiError):
    """The method is unknown or not implemented; the caller falls back to another method."""

    wire_type = "Bosh::Clouds::NotImplemented"


class NotSupported(CpiError):
    """The method can't do this; the caller falls back to another method."""

    wire_type = "Bosh::Clouds::NotSupported"


class CloudError(BoshError):
    """A general failure."""

    wire_type = "Bosh::Clouds::CloudError"


def wrong_variable(name: str, what: str) -> CloudError:
    """The error for a variable of the environment.

    Args:
        what: A predicate whose subject is the variable.
    """
    return CloudError(f"{name} in the environment {what}: correct it, or unset it")


class VMNotFound(CloudError):
    """The VM does not exist: callers continue their cleanup."""

    wire_type = "Bosh::Clouds::VMNotFound"

    def __init__(self, vm_cid: str) -> None:
        super().__init__(f"VM `{vm_cid}' not found")


class VMCreationFailed(CloudError):
    """The VM could not be created, and nothing is left behind."""

    wire_type = "Bosh::Clouds::VMCreationFailed"


class NetworkNotFound(CloudError):
    """The network to delete does not exist."""

    wire_type = "Bosh::Clouds::NetworkNotFound"

    def __init__(self, subnet_id: str) -> None:
        super().__init__(f"Network '{subnet_id}' not found")


class DiskNotFound(CloudError):
    """The disk does not exist."""

    wire_type = "Bosh::Clouds::DiskNotFound"

    def __init__(self, disk_cid: str) -> None:
        super().__init__(f"Disk '{disk_cid}' not found")


class DiskNotAttached(CloudError):
    """The disk is not attached to that VM."""

    wire_type = "Bosh::Clouds::DiskNotAttached"

    def __init__(self, disk_cid: str, vm_cid: str) -> None:
        super().__init__(f"Disk `{disk_cid}' is not attached to instance `{vm_cid}'", ok_to_retry=True)
