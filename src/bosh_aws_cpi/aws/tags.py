"""CreateTags, patient with resources that were made a moment ago."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError

from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.errors import NOT_FOUND_YET, TAG_REFUSED, UNTAGGABLE, described, detail_of, has_code
from bosh_aws_cpi.log import logger

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

_PASSING: Final = NOT_FOUND_YET | {"ConcurrentTagAccess"}
"""The last is EC2's word for two calls at once on one resource, set_vm_metadata and a person's perhaps."""
_MOST_CALLS: Final = 50
"""For tags that EC2 does not take together; it is also how many a resource can have."""
TO_BE_DELETED: Final = {"Name": "to be deleted"}
VM_METADATA: Final = frozenset({"compiling", "created_at", "id", "index", "job"})
"""What set_vm_metadata writes, and some of it always; a manifest's own tags have other names."""
DISK_METADATA: Final = frozenset(
    {"attached_at", "director", "instance_id", "instance_index", "instance_name"}
)
"""The same of set_disk_metadata."""
_FIRST: Final = VM_METADATA | DISK_METADATA | {"Name", "deployment"}
"""Which tags are tried first when not all are taken: who knows the resource is told by them."""


def create(
    client: "EC2Client",
    resource_ids: Sequence[str],
    tags: Mapping[str, str],
) -> None:
    """Tag resources, all in one CreateTags; no call when there are no tags.

    EC2 tags all of them or none, with all tags or none: when it refuses, each resource is tried by
    itself, and then each tag, so that neither one full or vanished resource nor one bad tag costs
    the rest. A tag limit and an invalid value are logged and not raised, nor is a resource that is
    gone unless it is the only one: tags are a help to operators and no reason to fail a deployment.

    Args:
        client: The EC2 client.
        resource_ids: What to tag.
        tags: The tags, within EC2's limits.
    """
    if not tags or not resource_ids:
        return
    if len(resource_ids) == 1:
        _create_for_one(client, resource_ids[0], tags, timing.TAGGABLE, _MOST_CALLS)
        return
    try:
        _create(client, resource_ids, tags, timing.TAGGABLE)
    except client.exceptions.ClientError as error:
        if not has_code(error, UNTAGGABLE):
            raise
        for resource_id in resource_ids:
            _create_leniently(client, resource_id, tags, _MOST_CALLS // len(resource_ids))


def mark_deleted(client: "EC2Client", resource_id: str) -> None:
    """Name a resource that AWS is still deleting so that operators see it; failing to is logged."""
    try_to_create(client, resource_id, TO_BE_DELETED)


def try_to_create(
    client: "EC2Client",
    resource_id: str,
    tags: Mapping[str, str],
    patience: timing.Policy = timing.AT_ONCE,
) -> None:
    """Tag a resource; failing to is logged, whatever the reason.

    Args:
        client: The EC2 client.
        resource_id: What to tag.
        tags: The tags.
        patience: How long it is repeated while EC2 does not know the resource yet.
    """
    try:
        _create(client, [resource_id], tags, patience)
    except (client.exceptions.ClientError, BotoCoreError) as error:
        _log_refusal(resource_id, error)


def _create_leniently(
    client: "EC2Client", resource_id: str, tags: Mapping[str, str], most_calls: int
) -> None:
    try:
        _create_for_one(client, resource_id, tags, timing.AT_ONCE, most_calls)
    except client.exceptions.ClientError as error:
        if not has_code(error, UNTAGGABLE):
            raise
        _log_refusal(resource_id, error)


def _create_for_one(
    client: "EC2Client",
    resource_id: str,
    tags: Mapping[str, str],
    patience: timing.Policy,
    most_calls: int,
) -> None:
    """Tag a resource; tags that are not taken together are tried one by one, in so many calls at most."""
    try:
        _create(client, [resource_id], tags, patience)
    except client.exceptions.ClientError as error:
        if not has_code(error, TAG_REFUSED) or _is_about_an_id(error):
            raise
        if len(tags) == 1:
            _log_refusal(resource_id, error)
        else:
            _create_one_by_one(client, resource_id, tags, patience, most_calls)


def _create_one_by_one(
    client: "EC2Client",
    resource_id: str,
    tags: Mapping[str, str],
    patience: timing.Policy,
    most_calls: int,
) -> None:
    keys = sorted(tags, key=lambda key: key not in _FIRST)
    refused: dict[str, tuple[Exception, list[str]]] = {}
    try:
        for key in keys[:most_calls]:
            try:
                _create(client, [resource_id], {key: tags[key]}, patience)
            except client.exceptions.ClientError as error:
                if not has_code(error, TAG_REFUSED):
                    raise
                refused.setdefault(_reason(error), (error, []))[1].append(key)
    finally:
        for reason, listed in refused.values():
            _log_refusal(resource_id, reason, listed)
    if untried := keys[most_calls:]:
        logger.error("There are too many tags for %s; not tried: %s", resource_id, ", ".join(untried))


def _reason(error: ClientError) -> str:
    """What AWS says, which is the same for all tags that are refused for it."""
    detail = detail_of(error)
    return f"{detail.get('Code')}: {detail.get('Message')}"


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


def _log_refusal(resource_id: str, error: Exception, keys: Sequence[str] = ()) -> None:
    """Log why, and for which keys if not for all; these come last, since they may be many."""
    listed = f"; not taken: {', '.join(keys)}" if keys else ""
    logger.error("Could not tag %s: %s%s", resource_id, described(error), listed)
