"""CreateTags, patient with resources that were made a moment ago."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError

from bosh_aws_cpi.aws import timing
from bosh_aws_cpi.aws.errors import NOT_FOUND_YET, TAG_REFUSED, UNTAGGABLE, described, has_code
from bosh_aws_cpi.log import logger

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

_PASSING: Final = NOT_FOUND_YET | {"ConcurrentTagAccess"}
"""The last is EC2's word for two calls at once on one resource, set_vm_metadata and a person's perhaps."""
TO_BE_DELETED: Final = {"Name": "to be deleted"}


def create(
    client: "EC2Client",
    resource_ids: Sequence[str],
    tags: Mapping[str, str],
) -> None:
    """Tag resources, all in one CreateTags; no call when there are no tags.

    EC2 tags all of them or none: when it refuses, each is tried by itself, so that one
    full or vanished resource doesn't leave the others without tags. A tag limit and an
    invalid value are logged and not raised, nor is a resource that is gone unless it is
    the only one: tags are a help to operators and no reason to fail a deployment.

    Args:
        client: The EC2 client.
        resource_ids: What to tag.
        tags: The tags, within EC2's limits.
    """
    if not tags or not resource_ids:
        return
    try:
        _create(client, resource_ids, tags, timing.TAGGABLE)
    except client.exceptions.ClientError as error:
        several = len(resource_ids) > 1
        if several and has_code(error, UNTAGGABLE):
            for resource_id in resource_ids:
                _create_leniently(client, resource_id, tags)
        elif has_code(error, TAG_REFUSED) and not _is_about_an_id(error):
            _log_refusal(resource_ids[0], error)
        else:
            raise


def mark_deleted(client: "EC2Client", resource_id: str) -> None:
    """Name a resource that AWS is still deleting so that operators see it; failing to is logged."""
    try_to_create(client, resource_id, TO_BE_DELETED)


def try_to_create(client: "EC2Client", resource_id: str, tags: Mapping[str, str]) -> None:
    """Tag a resource, tried once; failing to is logged, whatever the reason."""
    try:
        _create(client, [resource_id], tags, timing.AT_ONCE)
    except (client.exceptions.ClientError, BotoCoreError) as error:
        _log_refusal(resource_id, error)


def _create_leniently(client: "EC2Client", resource_id: str, tags: Mapping[str, str]) -> None:
    try:
        _create(client, [resource_id], tags, timing.AT_ONCE)
    except client.exceptions.ClientError as error:
        if not has_code(error, UNTAGGABLE):
            raise
        _log_refusal(resource_id, error)


def _create(
    client: "EC2Client", resource_ids: Sequence[str], tags: Mapping[str, str], patience: timing.Policy
) -> None:
    timing.patiently(
        patience,
        f"{', '.join(resource_ids)} to take tags",
        _PASSING,
        lambda: client.create_tags(
            Resources=list(resource_ids),
            Tags=[{"Key": key, "Value": value} for key, value in tags.items()],
        ),
    )


def _is_about_an_id(error: Exception) -> bool:
    return "Expected: '" in str(error)


def _log_refusal(resource_id: str, error: Exception) -> None:
    logger.error("Could not tag %s: %s", resource_id, described(error))
