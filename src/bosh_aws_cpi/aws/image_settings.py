"""What an AMI gets after its creation: those who may launch it, and the time of its deprecation."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.error_codes import NOT_FOUND_YET

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import LaunchPermissionTypeDef


def deprecate(client: "EC2Client", ami_id: str, at: str) -> None:
    """EnableImageDeprecation: from that time on, in ISO 8601, EC2 marks an AMI as deprecated."""
    _once_found(ami_id, lambda: client.enable_image_deprecation(ImageId=ami_id, DeprecateAt=at))


def share(client: "EC2Client", ami_id: str, others: Sequence[str]) -> None:
    """ModifyImageAttribute: let others launch an AMI; it is no error if they already may."""
    added = [_permission(each) for each in dict.fromkeys(others)]
    _once_found(
        ami_id, lambda: client.modify_image_attribute(ImageId=ami_id, LaunchPermission={"Add": added})
    )


def _permission(other: str) -> "LaunchPermissionTypeDef":
    if ":organization/" in other:
        return {"OrganizationArn": other}
    return {"OrganizationalUnitArn": other} if ":ou/" in other else {"UserId": other}


def _once_found(ami_id: str, call: Callable[[], object]) -> None:
    timing.patiently(timing.VISIBLE, f"AMI '{ami_id}' to be found", NOT_FOUND_YET, call)
