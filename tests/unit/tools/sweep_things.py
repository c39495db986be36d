"""Resources as EC2 shows them, for the tests of the sweep."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from bosh_aws_cpi.aws.inventory import Kind, Resource
from bosh_aws_cpi.records import EMPTY
from bosh_aws_cpi.tools.strays import Inventory, Stray, SweepOptions
from bosh_aws_cpi.tools.sweep import Report

DIRECTOR = "5c6a4f0e-0000-4000-8000-000000000001"
NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


def hours_ago(hours: float) -> datetime:
    """Return the time so many hours ago."""
    return NOW - timedelta(hours=hours)


def thing(
    kind: Kind,
    state: str = "available",
    tags: Mapping[str, str] | None = None,
    *,
    hours: float | None = 100,
    **more: Any,
) -> Resource:
    """Return a resource of the Director with these further tags, that is so many hours old."""
    return Resource(
        kind,
        more.pop("resource_id", f"{kind}-1"),
        state,
        {"bosh_director_uuid": DIRECTOR, **(tags or {})},
        None if hours is None else hours_ago(hours),
        **more,
    )


def report(
    *strays: Stray,
    options: SweepOptions | None = None,
    there: Sequence[Resource] = (),
    not_listed: Mapping[Kind, str] = EMPTY,
    region: str = "eu-west-1",
) -> Report:
    """Return the report of a run that was not interrupted."""
    return Report(
        Inventory(DIRECTOR, there, not_listed),
        region,
        options or SweepOptions(),
        NOW,
        list(strays),
        is_complete=True,
    )
