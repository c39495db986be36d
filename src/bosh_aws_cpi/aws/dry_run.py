"""Dry runs, which show whether EC2 would accept a call, and create nothing."""

import re
from collections.abc import Callable

from botocore.exceptions import ClientError

from bosh_aws_cpi.aws.sdk import errors
from bosh_aws_cpi.aws.sdk.translation import explain
from bosh_aws_cpi.jsontext import Json


def may_depend_on_tags(refusal: str) -> bool:
    """Whether a policy may have refused a call for its tags, because AWS's message names no other policy.

    AWS's messages are in the IAM user guide, "Troubleshoot access denied error messages".
    """
    return "not authorized" in refusal and not re.search(f"{errors.EXPLICIT_DENY}|control policy", refusal)


def refusal(call: Callable[..., object], arguments: Json) -> str:
    """Why EC2 would refuse a call, with the remedy; empty if EC2 accepts it, or only lacks capacity now.

    EC2 promises that a dry run checks permissions, including the organization's policies; it may check more.

    Args:
        call: The method of the client, whose operation has the parameter DryRun.
        arguments: The call's other arguments.

    Raises:
        ClientError: EC2 is busy or at fault, or something else than AWS answers.
    """
    try:
        call(**arguments, DryRun=True)
    except ClientError as error:
        if errors.DRY_RUN_PASSED(error) or errors.NO_CAPACITY(error) or errors.SUBNET_FULL(error):
            return ""
        if errors.is_transient(error) or not errors.is_error_of_aws(error):
            raise
        return explain(error)
    return ""
