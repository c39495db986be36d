"""Translates the AWS SDK's errors into the CPI's: type, message, remedy, ok_to_retry."""

import re
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError, SSLError
from botocore.parsers import ResponseParserError

from bosh_aws_cpi.aws.sdk.error_codes import UNAUTHORIZED
from bosh_aws_cpi.aws.sdk.error_table import ROWS, Kind, Row, row_of
from bosh_aws_cpi.aws.sdk.errors import (
    CERTIFICATES,
    call_of,
    code_of,
    described,
    detail_of,
    has_code,
    is_subnet_full_by_message,
    is_transient,
    message_of,
)
from bosh_aws_cpi.errors import BoshError, CloudError, DiskNotFound, VMCreationFailed, VMNotFound

_INSTANCE: Final = re.compile(r"\bi-[0-9a-f]+\b")
_VOLUME: Final = re.compile(r"\bvol-[0-9a-f]+\b")
_DENIED: Final = re.compile(r"not authorized to perform: (\w[\w-]*:\w+)")
_POLICY: Final = r"(explicit deny in|because no) (?:an? |the )?([\w -]{0,30}?(?:policy|boundary))\b"
"""The policy that does not allow a call (IAM user guide, "Troubleshoot access denied error messages")."""
_OWN: Final = "identity-based policy"
_CREATED: Final = r" on resource: \S+:([a-z-]+)/\*"
"""The kind of a resource that the call would create; an existing one's ARN has its id."""
_DEMANDS: Final = {
    "instance": "tags (aws.tags) or IMDSv2 (metadata_options.http_tokens: required)",
    "volume": "tags (aws.tags) or encryption (aws.encrypted)",
    "snapshot": "tags (aws.tags) or encryption (aws.encrypted)",
    "network-interface": "tags (aws.tags)",
}
"""What policies demand of a new resource (docs/aws-assumptions.md, `denials`)."""


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


def permission(error: Exception) -> str:
    """What helps if a policy does not allow a call: to change that policy, or to meet it; otherwise empty."""
    if not isinstance(error, ClientError) or not has_code(error, UNAUTHORIZED):
        return ""
    message, action = message_of(error)[0], _denied(error)
    how, policy = found.groups() if (found := re.search(_POLICY, message)) else ("", "")
    if how != "explicit deny in":
        where = policy if policy not in {"", _OWN} else "policy of the CPI's user or role"
        return f"Allow {action} in the {where}"
    remedy = f"The {policy} denies {action}, whatever others allow."
    created = re.search(_CREATED, message)
    if created and (demands := _DEMANDS.get(created[1])):
        remedy += f" Of each new {created[1]}, such policies often demand {demands}."
    return f"{remedy} Meet its conditions, or have it changed"


def _row(error: ClientError) -> Row | None:
    """The row of AWS's error; EC2 may report a full subnet under a code that does not say so."""
    if is_subnet_full_by_message(error):
        return ROWS["InsufficientFreeAddressesInSubnet"]
    return row_of(code_of(error), str(detail_of(error).get("Message", "")))


def _denied(error: ClientError) -> str:
    """IAM's name of the missing action: it may differ from the call, as for tags at a launch."""
    if said := _DENIED.search(str(detail_of(error).get("Message", ""))):
        return said[1]
    call = call_of(error)
    return call.action if call else error.operation_name


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
