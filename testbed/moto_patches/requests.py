"""Checks of RunInstances that concern the request itself, not the resources."""

from __future__ import annotations

import base64
import functools
from functools import partial
from typing import Any

from botocore.loaders import create_loader
from moto.core.exceptions import ServiceException
from moto.ec2.responses import instances as instance_responses
from moto.ec2.responses.instances import InstanceResponse

from testbed.moto_patches.patching import Original, Patches, parameter, refuse

PATCHES = Patches()

USER_DATA_LIMIT = 16_384


@PATCHES.around(instance_responses, "parse_user_data")
def user_data(original: Original, value: str | None) -> Any:
    """EC2 accepts Base64 with line breaks, and limits the decoded size; moto did neither."""
    if value is None:
        return original(None)
    encoded = "".join(value.split())
    result = original(encoded)
    if len(base64.b64decode(encoded)) > USER_DATA_LIMIT:
        refuse("InvalidParameterValue", f"User data is limited to {USER_DATA_LIMIT} bytes")
    return result


@PATCHES.around(instance_responses, "filter_iam_instance_profiles")
def instance_profile(original: Original, account_id: str, **keywords: Any) -> Any:
    """EC2 calls an unknown instance profile an invalid value; moto answered IAM's error."""
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
    """Refuse parameters of RunInstances that can't be combined with interfaces, or with several of them."""
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


def check_placement(response: Any) -> None:
    """Refuse parameters that can't be combined with a Dedicated Host.

    EC2 user guide: "Capacity Reservations can't be used with Dedicated Hosts" ("Capacity Reservations",
    limitations); "You can't launch Dedicated Hosts in placement groups" ("Placement groups"). API
    reference, SpotPlacement: "The host tenancy is not supported for Spot Instances." The code is a guess:
    none of the pages gives one.
    """
    get = partial(parameter, response)
    is_on_host = get("Placement.Tenancy") == "host" or get("Placement.HostId")
    excluded = {
        "Capacity Reservations": "CapacityReservationSpecification.CapacityReservationTarget",
        "placement groups": "Placement.GroupName",
        "Spot Instances": "InstanceMarketOptions.MarketType",
    }
    for what, name in excluded.items():
        if is_on_host and get(name):
            refuse("InvalidParameterCombination", f"Dedicated Hosts can't be used with {what}.")


@functools.cache
def instance_types() -> frozenset[str]:
    """Collect the instance types that EC2's API model names."""
    shapes = create_loader().load_service_model("ec2", "service-2")["shapes"]
    return frozenset(shapes["InstanceType"]["enum"])


def check_type(response: Any) -> None:
    """Refuse an unknown instance type; hashicorp/packer issue 11585 quotes EC2's message."""
    name = parameter(response, "InstanceType", "m1.small")
    if name not in instance_types():
        refuse("InvalidParameterValue", f"Invalid value '{name}' for InstanceType.")


@PATCHES.around(InstanceResponse, "run_instances")
def checked_launch(original: Original, response: Any) -> Any:
    """EC2 refuses contradicting parameters and unknown types; moto accepted both."""
    check_type(response)
    check_interface_parameters(response)
    check_placement(response)
    return original(response)
