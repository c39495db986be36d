"""CreateTags, with retries for new resources that EC2 does not know yet (eventual consistency)."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from bosh_aws_cpi.aws.sdk import errors, timing
from bosh_aws_cpi.aws.sdk.errors import FAILURES, describe_error, detail_of
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.tag_names import DISK_METADATA, OF_BOSH

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

_MAX_CALLS: Final = 50
"""The maximum number of calls that each create one tag; a resource can have 50 tags."""
TO_BE_DELETED: Final = {"Name": "to be deleted"}
_IDENTIFYING: Final = OF_BOSH | DISK_METADATA
"""The tags to try first when EC2 does not accept all: they identify the resource for operators."""


def _is_new() -> bool:
    """Assume that a resource which CreateTags does not find exists."""
    return True


def create(
    client: "EC2Client",
    resource_ids: Sequence[str],
    tags: Mapping[str, str],
    is_shown: Callable[[], bool] = _is_new,
) -> None:
    """Tag resources, all with one CreateTags; without tags there is no call.

    EC2 sets all tags on all resources, or none. When EC2 refuses, this tries each resource alone, and then
    each tag, so that one bad tag, or one resource that is full or gone, does not prevent the other tags. A
    tag limit or an invalid value is only logged, and so is a missing resource unless it is the only one:
    tags help operators, and must not make a deployment fail.

    Args:
        tags: The tags, within EC2's limits.
        is_shown: Whether EC2 shows the resources, asked whenever CreateTags does not find one; if not, it
            is gone. By default the resources are new.
    """
    if not tags or not resource_ids:
        return
    if len(resource_ids) == 1:
        _create_for_one(client, resource_ids[0], tags, timing.TAGGABLE, _MAX_CALLS, is_shown)
        return
    try:
        _create(client, resource_ids, tags, timing.TAGGABLE, is_shown)
    except client.exceptions.ClientError as error:
        if not errors.UNTAGGABLE(error):
            raise
        for resource_id in resource_ids:
            try:
                _create_for_one(client, resource_id, tags, timing.AT_ONCE, _MAX_CALLS // len(resource_ids))
            except client.exceptions.ClientError as refusal:
                if not errors.UNTAGGABLE(refusal):
                    raise
                _log_refusal(resource_id, refusal)


def require(
    client: "EC2Client", resource_id: str, tags: Mapping[str, str], patience: timing.Policy = timing.AT_ONCE
) -> None:
    """Tag a resource, by default in one attempt; unlike `create`, raise every error."""
    _create(client, [resource_id], tags, patience)


def mark_deleted(client: "EC2Client", resource_id: str) -> None:
    """Tag a resource that AWS is still deleting, for operators; only log an error."""
    try_to_create(client, resource_id, TO_BE_DELETED)


def try_to_create(
    client: "EC2Client", resource_id: str, tags: Mapping[str, str], patience: timing.Policy = timing.AT_ONCE
) -> None:
    """Tag a resource; only log an error, whatever it is.

    Args:
        patience: How long to retry while EC2 does not know the resource yet.
    """
    try:
        _create(client, [resource_id], tags, patience)
    except FAILURES as error:
        _log_refusal(resource_id, error)


def _create_for_one(
    client: "EC2Client",
    resource_id: str,
    tags: Mapping[str, str],
    patience: timing.Policy,
    max_calls: int,
    is_shown: Callable[[], bool] = _is_new,
) -> None:
    """Tag a resource; if EC2 refuses the tags, try them one by one, in at most ``max_calls`` calls."""
    try:
        _create(client, [resource_id], tags, patience, is_shown)
    except client.exceptions.ClientError as error:
        if not errors.TAG_REFUSED(error) or "Expected: '" in str(error):  # about the resource's id
            raise
        if len(tags) == 1:
            _log_refusal(resource_id, error)
        else:
            _create_one_by_one(client, resource_id, tags, patience, max_calls)


def _create_one_by_one(
    client: "EC2Client",
    resource_id: str,
    tags: Mapping[str, str],
    patience: timing.Policy,
    max_calls: int,
) -> None:
    keys = sorted(tags, key=lambda key: key not in _IDENTIFYING)
    refused: dict[str, tuple[Exception, list[str]]] = {}  # by AWS's message
    try:
        for key in keys[:max_calls]:
            try:
                _create(client, [resource_id], {key: tags[key]}, patience)
            except client.exceptions.ClientError as error:
                if not errors.TAG_REFUSED(error):
                    raise
                message = str(detail_of(error).get("Message"))
                refused.setdefault(message, (error, []))[1].append(key)
    finally:
        for reason, refused_keys in refused.values():
            _log_refusal(resource_id, reason, refused_keys)
    if untried := keys[max_calls:]:
        logger.error("Too many tags for %s; not set: %s", resource_id, ", ".join(untried))


def _create(
    client: "EC2Client",
    resource_ids: Sequence[str],
    tags: Mapping[str, str],
    patience: timing.Policy,
    is_shown: Callable[[], bool] = _is_new,
) -> None:
    timing.retry_on_codes(
        patience,
        f"{', '.join(resource_ids)} to accept tags",
        lambda error: errors.TAGS_BUSY(error) or (errors.NOT_FOUND_YET(error) and is_shown()),
        lambda: client.create_tags(
            Resources=list(resource_ids),
            Tags=[{"Key": key, "Value": value} for key, value in tags.items()],
        ),
    )


def _log_refusal(resource_id: str, error: Exception, keys: Sequence[str] = ()) -> None:
    """Log the reason, and then, if not all keys were refused, the refused keys, which may be many."""
    listed = f"; refused: {', '.join(keys)}" if keys else ""
    logger.error("Could not tag %s: %s%s", resource_id, describe_error(error), listed)
