"""Checks of RunInstances that concern the request itself: combinations, words, what hibernation needs."""

import base64
from functools import cache, partial
from typing import Any

from moto.core.exceptions import ServiceException
from moto.core.utils import get_service_model
from moto.ec2.models.instance_types import INSTANCE_TYPES
from moto.ec2.responses import instances as instance_responses
from moto.ec2.responses.instances import InstanceResponse

from testbed.moto_patches.launch import UNKNOWN_SIZE
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


def check_type(response: Any) -> None:
    """Refuse an unknown instance type; hashicorp/packer issue 11585 quotes EC2's message."""
    name = parameter(response, "InstanceType", "m1.small")
    if name not in words_of("InstanceType"):
        refuse("InvalidParameterValue", f"Invalid value '{name}' for InstanceType.")


@PATCHES.around(InstanceResponse, "run_instances")
def checked_launch(original: Original, response: Any) -> Any:
    """EC2 refuses contradicting parameters and unknown types; moto accepted both."""
    check_type(response)
    check_interface_parameters(response)
    return original(response)


TYPES = {"gp2", "gp3", "io1", "io2"}
MIB_PER_GIB = 1024


@PATCHES.around(InstanceResponse, "run_instances")
def launched_for_hibernation(original: Original, response: Any) -> Any:
    """EC2 refuses a launch with hibernation that does not meet the prerequisites; moto ignored the option.

    The code: EC2's error codes, UnsupportedHibernationConfiguration. The prerequisites: EC2 user guide,
    "Prerequisites for EC2 instance hibernation". EC2 can't know how much room the files need: that it
    refuses a root volume that is not larger than the memory is a guess, and so are the messages.
    """
    if parameter(response, "HibernationOptions.Configured") in {True, "true"}:
        check_disks(response)
    return original(response)


def check_disks(response: Any) -> None:
    """Refuse disks with which an instance can't be hibernated."""
    backend = response.ec2_backend
    image = backend.amis.get(parameter(response, "ImageId"))
    devices = response._parse_block_device_mapping()  # noqa: SLF001 - moto has no other way
    for device in devices:
        if device["Ebs"].get("VolumeType", "gp2") not in TYPES:
            refuse_hibernation(f"The type of volume {device['DeviceName']} is not supported.")
    for ebs in (each["Ebs"] for each in devices if image and each["DeviceName"] == image.root_device_name):
        snapshot = backend.snapshots.get(ebs.get("SnapshotId"))
        if ebs.get("Encrypted") is not True and not (snapshot and snapshot.encrypted):
            refuse_hibernation("The root volume must be encrypted.")
        size = ebs.get("VolumeSize") or (snapshot.volume_size if snapshot else UNKNOWN_SIZE)
        facts: dict[str, Any] = INSTANCE_TYPES.get(parameter(response, "InstanceType"), {})
        if size * MIB_PER_GIB <= facts["MemoryInfo"]["SizeInMiB"]:
            refuse_hibernation("The root volume must be larger than the memory.")


def refuse_hibernation(why: str) -> None:
    """Answer EC2's error."""
    refuse("UnsupportedHibernationConfiguration", why)


OF_LAUNCHES = {
    "MetadataOptions.HttpTokens": "HttpTokensState",
    "MetadataOptions.HttpEndpoint": "InstanceMetadataEndpointState",
    "MetadataOptions.HttpProtocolIpv6": "InstanceMetadataProtocolState",
    "MetadataOptions.InstanceMetadataTags": "InstanceMetadataTagsState",
    "CapacityReservationSpecification.CapacityReservationPreference": "CapacityReservationPreference",
    "CpuOptions.AmdSevSnp": "AmdSevSnpSpecification",
    "CpuOptions.NestedVirtualization": "NestedVirtualizationSpecification",
    "Placement.Tenancy": "Tenancy",
}
"""Parameters of RunInstances, and the shapes of the API model that list their words."""
CREDITS = ("standard", "unlimited")
"""CreditSpecificationRequest, CpuCredits: the valid values of the API model's documentation."""
MOST_HOPS = 64
"""InstanceMetadataOptionsRequest, HttpPutResponseHopLimit: "Integers from 1 to 64"."""


@cache
def words_of(shape: str) -> tuple[str, ...]:
    """List the words of a shape of EC2's API model."""
    model: Any = get_service_model("ec2").shape_for(shape)
    return tuple(model.enum)


def check_word(name: str, value: str | None, words: tuple[str, ...]) -> None:
    """Refuse an unknown word; code and message: hashicorp/terraform-provider-aws issue 25547, HttpEndpoint.

    For the other parameters the same code and message are a guess.
    """
    if value is not None and value not in words:
        known = " or ".join(f"'{word}'" for word in sorted(words, reverse=True))
        refuse(
            "InvalidParameterValue",
            f"A value of '{value}' is not valid for {name}. Specify either {known} and try again.",
        )


@PATCHES.around(InstanceResponse, "run_instances")
def known_words(original: Original, response: Any) -> Any:
    """EC2 refuses launch options with unknown words, and too many hops; moto accepted any."""
    for path, shape in OF_LAUNCHES.items():
        check_word(path.rpartition(".")[2], parameter(response, path), words_of(shape))
    check_word("CpuCredits", parameter(response, "CreditSpecification.CpuCredits"), CREDITS)
    hops = parameter(response, "MetadataOptions.HttpPutResponseHopLimit")
    if hops is not None and int(hops) not in range(1, MOST_HOPS + 1):
        refuse("InvalidParameterValue", f"A value of '{hops}' is not valid for HttpPutResponseHopLimit.")
    return original(response)
