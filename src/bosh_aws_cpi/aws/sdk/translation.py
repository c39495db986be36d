"""Translates the AWS SDK's errors into the CPI's: type, message, remedy, ok_to_retry."""

import re
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError, SSLError
from botocore.parsers import ResponseParserError

from bosh_aws_cpi.aws.sdk.error_table import ROWS, Kind, Row, row_of
from bosh_aws_cpi.aws.sdk.errors import (
    CERTIFICATES,
    call_of,
    code_of,
    described,
    detail_of,
    is_subnet_full_by_message,
    is_transient,
    message_of,
    permission,
)
from bosh_aws_cpi.errors import BoshError, CloudError, DiskNotFound, VMCreationFailed, VMNotFound

_INSTANCE: Final = re.compile(r"\bi-[0-9a-f]+\b")
_VOLUME: Final = re.compile(r"\bvol-[0-9a-f]+\b")


def explained(error: Exception) -> str:
    """AWS's error and its remedy; another error as `described` gives it."""
    if not isinstance(error, ClientError):
        return described(error)
    row = _row(error)
    if row is None:
        from bosh_aws_cpi.aws.sdk import unanswered  # noqa: PLC0415 - few errors need it

        return unanswered.unlisted(error)
    encoded = message_of(error)[1]
    more = f". More: aws sts decode-authorization-message --encoded-message {encoded}" if encoded else ""
    remedy = row.remedy.format(permission=permission(error))
    return f"{described(error)}. {remedy[0].upper()}{remedy[1:]}{more}"


def _row(error: ClientError) -> Row | None:
    """The row of AWS's error; EC2 may report a full subnet under a code that does not say so."""
    if is_subnet_full_by_message(error):
        return ROWS["InsufficientFreeAddressesInSubnet"]
    return row_of(code_of(error), str(detail_of(error).get("Message", "")))


def translate(error: Exception, method: str) -> BoshError | None:
    """Return the typed error for an exception of the AWS SDK.

    Args:
        method: The contract's method that failed: create_vm is the only one that the Director retries
            when AWS was busy.

    Returns:
        The error for the caller; None when the exception is not the SDK's.
    """
    if isinstance(error, ClientError):
        return _of_answer(error, method)
    if isinstance(error, BotoCoreError | ResponseParserError):
        from bosh_aws_cpi.aws.sdk import unanswered  # noqa: PLC0415 - only these errors need it

        message = unanswered.message(error)
        is_final = isinstance(error, SSLError) and bool(getattr(error, CERTIFICATES, ""))
        return _busy(message, method) if is_transient(error) and not is_final else CloudError(message)
    if "refreshed credentials are still expired" in str(error):  # a RuntimeError of the SDK
        clock = "Set the clock of the machine that runs the CPI, or renew the keys"
        return CloudError(f"AWS credentials had expired when they arrived. {clock}")
    if isinstance(error, TypeError) and "offset-naive" in str(error):  # the SDK's, where it compares times
        zone = "it must end with Z or an offset"
        return CloudError(f"AWS credentials have an Expiration without a time zone: {zone}")
    return None


def _of_answer(error: ClientError, method: str) -> BoshError:
    row = _row(error)
    kind = row.kind if row else None
    if kind is Kind.BUSY or (kind is None and is_transient(error)):
        return _busy(explained(error), method)
    if kind is Kind.VM_GONE and (vm_cid := _named(error, _INSTANCE)):
        if method == "create_vm":  # somebody else has terminated the instance that was just launched
            return VMCreationFailed(explained(error), ok_to_retry=True)
        return VMNotFound(vm_cid)
    if kind is Kind.DISK_GONE and (disk_cid := _named(error, _VOLUME)):
        return DiskNotFound(disk_cid)
    return CloudError(explained(error))


def _busy(message: str, method: str) -> BoshError:
    if method == "create_vm":
        return VMCreationFailed(message, ok_to_retry=True)
    return CloudError(message, ok_to_retry=True)


def _named(error: ClientError, pattern: re.Pattern[str]) -> str | None:
    """The id that an error is about, from AWS's message or, failing that, from the call's parameters."""
    call = call_of(error)
    texts = [str(detail_of(error).get("Message", "")), *(call.ids if call else ())]
    return next((found[0] for text in texts if (found := pattern.search(text))), None)
