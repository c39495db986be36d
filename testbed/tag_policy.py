"""A policy that demands a tag of all that is created, as organisations have it for their accounts.

IAM compares `aws:RequestTag/KEY` with the tags of each resource type that a call creates, and denies the call
when one of them lacks it (user guide of EC2, "Grant permission to tag Amazon EC2 resources during creation").
"""

import json
import re

_CREATED: dict[str, tuple[str, ...]] = {
    "CopyImage": ("image", "snapshot"),
    "CopyVolumes": ("volume",),
    "CreateNetworkInterface": ("network-interface",),
    "CreatePlacementGroup": ("placement-group",),
    "CreateSnapshot": ("snapshot",),
    "CreateSubnet": ("subnet",),
    "CreateVolume": ("volume",),
    "RegisterImage": ("image",),
    "RunInstances": ("instance", "volume"),
    "StartSnapshot": ("snapshot",),
}
_NEW_INTERFACE = re.compile(r"NetworkInterface\.\d+\.SubnetId")
_TAG = re.compile(r"(TagSpecification\.\d+\.Tag\.\d+)\.Key")


def lacks_tag(action: str, parameters: dict[str, str], key: str) -> bool:
    """Whether a call creates something without a tag of this key."""
    return any(key not in tags for tags in created_tags(action, parameters).values())


def created_tags(action: str, parameters: dict[str, str]) -> dict[str, dict[str, str]]:
    """The tags of what a call creates, by resource type."""
    created = list(_CREATED.get(action, ()))
    if action == "RunInstances":
        if any(_NEW_INTERFACE.fullmatch(name) for name in parameters):
            created.append("network-interface")
        # An untagged spot request is not judged (user guide, "Tag Spot Instance requests").
        if _tags(parameters, "spot-instances-request"):
            created.append("spot-instances-request")
    return {kind: _tags(parameters, kind) for kind in created}


def _tags(parameters: dict[str, str], kind: str) -> dict[str, str]:
    """A resource type's tags; the EBS direct APIs create snapshots only, with plain tags."""
    if "Tags" in parameters:
        return {tag["Key"]: tag["Value"] for tag in json.loads(parameters["Tags"])}
    return {
        key: parameters.get(f"{match[1]}.Value", "")
        for name, key in parameters.items()
        if (match := _TAG.fullmatch(name))
        and parameters.get(f"{match[1].partition('.Tag.')[0]}.ResourceType") == kind
    }
