"""What a launch template may hold, and what becomes of it in a launch.

EC2 user guide, "Launch instances from a launch template", and API model, RunInstancesRequest: parameters of
the request replace the template's, tags are merged by key, and block devices by name. "Use Amazon EC2 launch
templates to control launching": a request can't remove a parameter of the template.
"""

from collections.abc import Collection, Iterator
from typing import Final

from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.properties.types import Problem
from bosh_aws_cpi.records import Record

_NETWORKS: Final = "use the networks, and security_groups"
_DELETED: Final = "with it, the CPI could not delete the VM"
REFUSED: Final = {
    "BlockDeviceMappings": "use root_disk and ephemeral_disk",
    "CapacityReservationSpecification": "use capacity_reservation",
    "DisableApiStop": _DELETED,
    "DisableApiTermination": _DELETED,
    "HibernationOptions": "use hibernation",
    "InstanceMarketOptions": "use spot, or capacity_reservation.market",
    "InstanceRequirements": "use instance_type and instance_type_fallbacks",
    "NetworkInterfaces": _NETWORKS,
    "Placement": "use placement_group, tenancy or dedicated_host",
    "SecondaryInterfaces": _NETWORKS,
    "SecurityGroupIds": _NETWORKS,
    "SecurityGroups": _NETWORKS,
    "TagSpecifications": "use tags",
}
"""Parameters that a template must not hold, and what to use in their place, or why.

With them EC2 would refuse every launch, or the VM would be another one than the properties say, because a
launch without such a property does not have the parameter.
"""


class TemplateVersion(Record):
    """A version of a launch template; ``parameters`` are the names of those that it holds."""

    template_id: str
    version: int
    parameters: Collection[str]

    @property
    def argument(self) -> Json:
        """RunInstances' argument ``LaunchTemplate``.

        It has the number that was read: all launches of a create_vm must be equal, or their client tokens
        can't be used again.
        """
        return {"LaunchTemplateId": self.template_id, "Version": str(self.version)}

    def problems(self) -> Iterator[Problem]:
        """What create_vm refuses of it."""
        if wrong := [f"{name} ({why})" for name, why in REFUSED.items() if name in self.parameters]:
            text = f"cloud_properties.launch_template: {self} holds {', '.join(wrong)}"
            yield Problem("launch_template", f"{text}. Use a version of the template without them")

    def ignored(self, arguments: Collection[str]) -> list[str]:
        """Those of its parameters in whose place EC2 takes those of a launch.

        Args:
            arguments: The names of RunInstances' arguments.
        """
        return sorted(set(self.parameters).intersection(arguments))

    def __str__(self) -> str:
        return f"version {self.version} of launch template '{self.template_id}'"
