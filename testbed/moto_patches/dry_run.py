"""DryRun: EC2 checks a call and does not execute it."""

from typing import Any

from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult, BaseResponse
from moto.core.utils import get_service_model
from moto.ec2.exceptions import DryRunClientError
from moto.ec2.responses import EC2Response

from testbed.moto_patches.identifiers import check_instance_ids, check_value_ids
from testbed.moto_patches.patching import Original, Patches, parameter, refuse

PATCHES = Patches()

PRECONDITION_FAILED = 412


def check_parameters(response: Any, action: str) -> None:
    """Refuse a call that lacks a parameter, or has a malformed id of an instance or a volume."""
    operation: Any = get_service_model("ec2").operation_model(action)
    for name in operation.input_shape.required_members:
        if parameter(response, name) is None:
            refuse("MissingParameter", f"The request must contain the parameter {name}")
    instance_id, volume_id = parameter(response, "InstanceId"), parameter(response, "VolumeId")
    check_instance_ids([*([instance_id] if instance_id else []), *parameter(response, "InstanceIds", [])])
    check_value_ids("vol", "volumeId", [volume_id] if volume_id else [])


@PATCHES.around(BaseResponse, "call_action")
def only_checked(original: Original, response: Any) -> Any:
    """With DryRun EC2 executes nothing; it answers HTTP 412 DryRunOperation for a correct call.

    moto executed many calls; for others it answered DryRunOperation with HTTP 400, before it
    checked the parameters.
    """
    if not isinstance(response, EC2Response) or parameter(response, "DryRun") is not True:
        return original(response)
    try:
        check_parameters(response, response._get_action())  # noqa: SLF001 - moto has no other way
    except ServiceException as refusal:
        return response.serialized(ActionResult(refusal))
    _, headers, body = response.serialized(ActionResult(DryRunClientError()))
    return PRECONDITION_FAILED, headers, body
