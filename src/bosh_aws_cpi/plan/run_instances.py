"""RunInstances' arguments."""

import re
from collections.abc import Mapping, Sequence

from bosh_aws_cpi.model import BlockDevices, Json
from bosh_aws_cpi.plan import tags as tag_plan
from bosh_aws_cpi.properties import VmProperties


def arguments(  # noqa: PLR0913 - one for each thing that RunInstances is told
    *,
    ami_id: str,
    properties: VmProperties,
    defaults: Json,
    metadata_options: Json,
    devices: BlockDevices,
    interfaces: Sequence[Json],
    tags: Mapping[str, str],
    user_data: str,
    zone: str,
) -> Json:
    """All arguments of RunInstances but the counts.

    Args:
        ami_id: The stemcell's AMI.
        properties: The VM's cloud properties.
        defaults: The configuration's ``key_name`` and ``iam_instance_profile``, under the VM's own.
        metadata_options: EC2's instance metadata options, in snake case.
        devices: The block devices.
        interfaces: The network interfaces, each with its device index.
        tags: For instance and volumes, and for an interface that is made here.
        user_data: The agent's settings as JSON; the SDK encodes them in Base64.
        zone: The availability zone.
    """
    key_name = properties.key_name or defaults["key_name"]
    profile = properties.iam_instance_profile or defaults["iam_instance_profile"]
    options = {_camel(name): value for name, value in metadata_options.items()}
    made_here = any("SubnetId" in interface for interface in interfaces)
    tagged = ("instance", "volume", "network-interface") if made_here else ("instance", "volume")
    optional = {
        "KeyName": key_name,
        "IamInstanceProfile": {"Name": profile} if profile else None,
        "MetadataOptions": options or None,
    }
    return {
        "ImageId": ami_id,
        "InstanceType": properties.instance_type,
        "UserData": user_data,
        "BlockDeviceMappings": list(devices.mappings),
        "NetworkInterfaces": list(interfaces),
        "Placement": _placement(properties, zone),
        **{name: value for name, value in optional.items() if value},
        **tag_plan.specifications(tags, *tagged),
    }


def _camel(name: str) -> str:
    return re.sub(r"(?:^|_)([a-z0-9])", lambda match: match.group(1).upper(), name)


def _placement(properties: VmProperties, zone: str) -> Json:
    placement = {"AvailabilityZone": zone}
    if properties.placement_group:
        placement["GroupName"] = properties.placement_group
    if properties.tenancy == "dedicated":
        placement["Tenancy"] = "dedicated"
    return placement
