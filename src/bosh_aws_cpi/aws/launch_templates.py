"""Launch templates: which parameters a version holds."""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

_DEFAULTS: Final = {
    "CapacityReservationSpecification": {"CapacityReservationPreference": "open"},
    "HibernationOptions": {"Configured": False},
    "Placement": {"Tenancy": "default"},
}
"""EC2's defaults, which consoles write into templates."""


def version(
    client: "EC2Client", template_id: str | None, name: str | None, wanted: str
) -> tuple[str, int, frozenset[str]]:
    """DescribeLaunchTemplateVersions for one version.

    Args:
        template_id: The template's id; None if it is given by name.
        name: Its name.
        wanted: A number, "$Latest" or "$Default".

    Returns:
        The template's id, the version's number, and the names of its parameters, without those that are
        empty, false or `_DEFAULTS`. Their values stay here: user data may hold secrets.

    Raises:
        ClientError: There is no such template or version, or EC2 refuses the call.
    """
    named = {"LaunchTemplateName": name} if template_id is None else {"LaunchTemplateId": template_id}
    answer = client.describe_launch_template_versions(Versions=[wanted], **named)
    found = answer["LaunchTemplateVersions"][0]
    held = {
        key for key, value in found["LaunchTemplateData"].items() if value and value != _DEFAULTS.get(key)
    }
    return found["LaunchTemplateId"], found["VersionNumber"], frozenset(held)
