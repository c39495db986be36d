"""Launch templates: the parameters that a version sets."""

from typing import TYPE_CHECKING, Final

from bosh_aws_cpi.model import TemplateVersion
from bosh_aws_cpi.properties.vm import LaunchTemplate

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client


_CONSOLE_DEFAULTS: Final = {
    "CapacityReservationSpecification": {"CapacityReservationPreference": "open"},
    "HibernationOptions": {"Configured": False},
    "Placement": {"Tenancy": "default"},
}
"""EC2's defaults, which the AWS console writes into templates."""


def describe_version(client: "EC2Client", given: LaunchTemplate) -> TemplateVersion:
    """DescribeLaunchTemplateVersions for the version that a VM's properties name.

    The result has the names of the parameters that are neither empty, false nor `_CONSOLE_DEFAULTS`, and no
    values, because user data may hold secrets.

    Raises:
        ClientError: There is no such template or version, or EC2 refuses the call.
    """
    named = {"LaunchTemplateName": given.name} if given.id is None else {"LaunchTemplateId": given.id}
    answer = client.describe_launch_template_versions(Versions=[given.version], **named)
    version = answer["LaunchTemplateVersions"][0]
    data = version["LaunchTemplateData"]
    data.get("ImageId")  # an error if it can't be read, because the names below would lack it
    names = {key for key, value in data.items() if value and value != _CONSOLE_DEFAULTS.get(key)}
    return TemplateVersion(version["LaunchTemplateId"], version["VersionNumber"], frozenset(names))
