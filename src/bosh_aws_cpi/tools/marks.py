"""The mark with which a sweep notes when it first saw a resource whose age EC2 does not report. Pure."""

from datetime import datetime
from typing import Final

from bosh_aws_cpi.aws.inventory import Resource
from bosh_aws_cpi.aws.sdk.idempotency import parsed_time, written_time

SEEN_TAG: Final = "bosh_sweep_seen"
"""The time, and the resource's id, "2026-05-01T00:00:00Z eni-1".

Manifests are written before EC2 chooses the id, so no tag in them can be a mark.
"""


def mark(resource: Resource, now: datetime) -> dict[str, str]:
    """The tag for a resource that is first seen now."""
    return {SEEN_TAG: f"{written_time(now)} {resource.resource_id}"}


def first_seen(resource: Resource) -> datetime | None:
    """When a sweep first saw a resource; None without a mark for this resource."""
    text, _, resource_id = resource.tags.get(SEEN_TAG, "").partition(" ")
    return parsed_time(text) if resource_id == resource.resource_id else None
