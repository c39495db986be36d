"""What EC2 checks about a request as a whole."""

from __future__ import annotations

import base64
import json
from functools import partial
from typing import TYPE_CHECKING, Any

from moto.core.exceptions import ServiceException
from moto.ec2.responses import instances as instance_responses
from moto.ec2.responses.elastic_block_store import ElasticBlockStore
from moto.ec2.responses.elastic_network_interfaces import ElasticNetworkInterfaces
from moto.ec2.responses.instances import InstanceResponse

from testbed.moto_patches.patching import Patches, parameter, refuse

if TYPE_CHECKING:
    from collections.abc import Callable

PATCHES = Patches()

USER_DATA_LIMIT = 16_384


@PATCHES.around(instance_responses, "parse_user_data")
def user_data(original: Callable[..., Any], value: str | None) -> Any:
    """EC2 reads Base64 with line breaks, and limits what comes out; moto neither."""
    if value is None:
        return original(None)
    encoded = "".join(value.split())
    result = original(encoded)
    if len(base64.b64decode(encoded)) > USER_DATA_LIMIT:
        refuse("InvalidParameterValue", f"User data is limited to {USER_DATA_LIMIT} bytes")
    return result


@PATCHES.around(instance_responses, "filter_iam_instance_profiles")
def instance_profile(original: Callable[..., Any], account_id: str, **keywords: Any) -> Any:
    """EC2 calls an unknown instance profile an invalid value; moto let IAM answer."""
    try:
        return original(account_id, **keywords)
    except ServiceException:
        name = keywords.get("iam_instance_profile_name")
        which = "name" if name else "arn"
        value = name or keywords.get("iam_instance_profile_arn")
        return refuse(
            "InvalidParameterValue",
            f"Value ({value}) for parameter iamInstanceProfile.{which} is invalid. "
            f"Invalid IAM Instance Profile {which}",
        )


def check_interface_parameters(response: Any) -> None:
    """Refuse parameters of RunInstances that exclude interfaces, or several of them."""
    get = partial(parameter, response)
    interfaces = get("NetworkInterfaces", [])
    grouped = get("SecurityGroupIds", []) or get("SecurityGroups", [])
    for given, what in ((grouped, "security groups"), (get("PrivateIpAddress"), "private address")):
        if interfaces and given:
            refuse(
                "InvalidParameterCombination",
                f"Network interfaces and an instance-level {what} may not be specified on the same request",
            )
    public = [spec for spec in interfaces if "AssociatePublicIpAddress" in spec]
    if public and len(interfaces) > 1:
        refuse(
            "InvalidParameterCombination",
            "The associatePublicIPAddress parameter cannot be specified "
            "when launching with multiple network interfaces.",
        )


@PATCHES.around(InstanceResponse, "run_instances")
def checked_launch(original: Callable[..., Any], response: Any) -> Any:
    """EC2 refuses contradicting parameters and shows the whole placement.

    moto took any combination, and dropped the placement's group and tenancy.
    """
    check_interface_parameters(response)
    result = original(response)
    get = partial(parameter, response)
    for instance in result.result.instances:
        instance.placement.group_name = get("Placement.GroupName", "")
        instance.placement.tenancy = get("Placement.Tenancy", "default")
    return result


def idempotent(original: Callable[..., Any], response: Any) -> Any:
    """EC2 answers a repeated client token as the first time; moto did it all again.

    The same token with other parameters is refused. A refused call leaves its
    token unused.
    """
    token = parameter(response, "ClientToken")
    if not token:
        return original(response)
    backend = response.ec2_backend
    if not hasattr(backend, "testbed_tokens"):
        backend.testbed_tokens = {}
    request = json.dumps(response.params, sort_keys=True, default=str)
    key = (original.__name__, token)
    if key in backend.testbed_tokens:
        first_request, first_result = backend.testbed_tokens[key]
        if first_request != request:
            refuse(
                "IdempotentParameterMismatch",
                "The client token you have provided is associated with a "
                "different request: its parameters differ.",
            )
        return first_result
    result = original(response)
    backend.testbed_tokens[key] = (request, result)
    return result


for _owner, _name in (
    (InstanceResponse, "run_instances"),
    (ElasticNetworkInterfaces, "create_network_interface"),
    (ElasticBlockStore, "create_volume"),
):
    PATCHES.around(_owner, _name)(idempotent)
