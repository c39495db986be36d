"""Resources as EC2 shows them, for the tests of the sweep."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from bosh_aws_cpi.aws.inventory import Kind, Resource

if TYPE_CHECKING:
    from collections.abc import Mapping

DIRECTOR = "director-1"
NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


def hours_ago(hours: float) -> datetime:
    """Tell the time so many hours ago."""
    return NOW - timedelta(hours=hours)


def thing(
    kind: Kind,
    state: str = "available",
    tags: Mapping[str, str] | None = None,
    *,
    hours: float | None = 100,
    **more: Any,
) -> Resource:
    """Write a resource of the director's, with what else its tags say, that is so many hours old."""
    return Resource(
        kind,
        more.pop("resource_id", f"{kind}-1"),
        state,
        {"bosh_director_uuid": DIRECTOR, **(tags or {})},
        None if hours is None else hours_ago(hours),
        **more,
    )
