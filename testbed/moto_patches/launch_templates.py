"""Launch templates: what a version holds, and what RunInstances takes from it."""

from typing import Any

from moto.ec2.models.launch_templates import LaunchTemplateBackend
from moto.ec2.responses.instances import InstanceResponse

from testbed.moto_patches.patching import Original, Patches, parameter, refuse

PATCHES = Patches()

_BY_KEY = {"BlockDeviceMappings": "DeviceName"}
"""Lists that are merged, and what tells their entries apart."""


def own_data(data: dict[str, Any]) -> dict[str, Any]:
    """Leave out what moto adds to a version's data: user data that was not given, the template's own tags."""
    tags = [each for each in data.get("TagSpecifications", []) if each["ResourceType"] != "launch-template"]
    kept = {name: value for name, value in data.items() if value is not None and name != "TagSpecifications"}
    return {**kept, "TagSpecifications": tags} if tags else kept


@PATCHES.around(LaunchTemplateBackend, "create_launch_template")
def plain_template(
    original: Original, backend: Any, name: str, description: str, data: dict[str, Any], tags: Any
) -> Any:
    """The tags of a template are not those of its launches; moto mixed them."""
    return original(backend, name, description, own_data(data), tags)


def version_of(response: Any, given: dict[str, Any]) -> Any:
    """Find the version that a launch names; by default it is the template's default version."""
    backend = response.ec2_backend
    if "LaunchTemplateId" in given:
        template = backend.get_launch_template(given["LaunchTemplateId"])
    else:
        template = backend.get_launch_template_by_name(given["LaunchTemplateName"])
    return template.get_version(given.get("Version", "$Default"))


def laid_over(name: str, below: Any, wanted: Any) -> Any:
    """Lay a parameter of the request over the template's."""
    if name not in _BY_KEY:
        return wanted
    key = _BY_KEY[name]
    return list({each[key]: each for each in (*below, *wanted)}.values())


@PATCHES.around(InstanceResponse, "run_instances")
def from_template(original: Original, response: Any) -> Any:
    """EC2 takes from the template what the request does not say; moto took a few parameters only.

    API model, RunInstancesRequest, LaunchTemplate: parameters of the request replace the template's. User
    guide, "Launch instances from a launch template": block devices are merged by name, and tags by key, which
    moto does. Network interfaces together with a template's security groups are refused
    (ansible-collections/amazon.aws issue 157, hashicorp/terraform-provider-aws issue 32614). That network
    interfaces of the request replace the template's is a guess. moto failed for an unknown template.
    """
    given = parameter(response, "LaunchTemplate")
    if not given:
        return original(response)
    data = version_of(response, given).data
    if parameter(response, "NetworkInterfaces") and {"SecurityGroups", "SecurityGroupIds"} & data.keys():
        refuse(
            "InvalidParameterCombination",
            "Network interfaces and an instance-level security groups may not be specified on the same "
            "request",
        )
    for name in data.keys() - {"TagSpecifications"}:
        wanted = response.params.get(name)
        response.params[name] = data[name] if wanted is None else laid_over(name, data[name], wanted)
    return original(response)
