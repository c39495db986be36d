"""A policy that demands a tag of all that is created, as organisations have it for their accounts.

IAM compares `aws:RequestTag/KEY` with the tags of each resource type that a call creates, and denies the call
when one of them lacks it (user guide of EC2, "Grant permission to tag Amazon EC2 resources during creation").
"""

from __future__ import annotations

import json
import re

_CREATED: dict[str, tuple[str, ...]] = {
    "CopyImage": ("image", "snapshot"),
    "CopyVolumes": ("volume",),
    "CreateNetworkInterface": ("network-interface",),
    "CreateSnapshot": ("snapshot",),
    "CreateSubnet": ("subnet",),
    "CreateVolume": ("volume",),
    "RegisterImage": ("image",),
    "RunInstances": ("instance", "volume"),
    "StartSnapshot": ("snapshot",),
}
_NEW_INTERFACE = re.compile(r"NetworkInterface\.\d+\.SubnetId")
_KEY = re.compile(r"(TagSpecification\.\d+)\.Tag\.\d+\.Key")


def lacks_tag(action: str, parameters: dict[str, str], key: str) -> bool:
    """Whether a call creates something without a tag of this key."""
    return any(key not in _keys(parameters, kind) for kind in _created(action, parameters))


def _created(action: str, parameters: dict[str, str]) -> list[str]:
    created = list(_CREATED.get(action, ()))
    if action == "RunInstances":
        if any(_NEW_INTERFACE.fullmatch(name) for name in parameters):
            created.append("network-interface")
        if parameters.get("InstanceMarketOptions.MarketType") == "spot":
            created.append("spot-instances-request")
    return created


def _keys(parameters: dict[str, str], kind: str) -> set[str]:
    """The keys of a resource type's tags; the EBS direct APIs create snapshots only, with plain tags."""
    if "Tags" in parameters:
        return {tag["Key"] for tag in json.loads(parameters["Tags"])}
    return {
        value
        for name, value in parameters.items()
        if (match := _KEY.fullmatch(name)) and parameters.get(f"{match[1]}.ResourceType") == kind
    }
