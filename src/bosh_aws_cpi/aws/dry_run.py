"""Dry runs: whether EC2 would let the caller make a call. They create nothing."""

import re
from collections.abc import Callable

from botocore.exceptions import ClientError

from bosh_aws_cpi.aws.sdk.errors import EXPLICIT_DENY, code_of, is_shortage, is_subnet_full, is_transient
from bosh_aws_cpi.aws.sdk.translation import explain
from bosh_aws_cpi.jsontext import Json

_WOULD_SUCCEED = "DryRunOperation"
"""EC2's code for a call that it would make (EC2 API reference, RunInstances, DryRun)."""


def may_depend_on_tags(refusal: str) -> bool:
    """Whether a policy that allows only certain tags may have refused a call: AWS names no other reason.

    Its words are in the IAM user guide, "Troubleshoot access denied error messages".
    """
    return "not authorized" in refusal and not re.search(f"{EXPLICIT_DENY}|control policy", refusal)


def refusal(call: Callable[..., object], arguments: Json) -> str:
    """Why EC2 would refuse a call, with the remedy; empty if it would not, or only at this moment.

    EC2 promises that a dry run judges permissions, also by the organization's policies; it may judge more.

    Args:
        call: The client's operation, which has the parameter DryRun.
        arguments: Its arguments.

    Raises:
        ClientError: EC2 is busy or at fault.
    """
    try:
        call(**arguments, DryRun=True)
    except ClientError as error:
        if code_of(error) == _WOULD_SUCCEED or is_shortage(error) or is_subnet_full(error):
            return ""
        if is_transient(error):
            raise
        return explain(error)
    return ""
