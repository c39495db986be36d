"""What the tests of the sweep share: a run, and EC2's answers to its listings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from bosh_aws_cpi.tools import sweep
from tests.unit.tools.sweep_things import BY_TAG, DIRECTOR, OWN, OWN_IMAGES, PAGE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.conftest import Ec2
    from tests.unit.tools.sweep_things import Run

AWS = SimpleNamespace(region="us-east-1")


@pytest.fixture
def run(ec2: Ec2, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs the sweep and lists the kind and outcome of each stray."""
    monkeypatch.setattr(sweep, "load", lambda _path, _context: SimpleNamespace(aws=AWS))
    monkeypatch.setattr(sweep, "Clients", lambda _aws, _statistics: SimpleNamespace(ec2=ec2.client))
    monkeypatch.setattr(
        "bosh_aws_cpi.tools.command.run",
        lambda parser, arguments, body: body(parser.parse_args(arguments)),
    )

    def carry_out(*more: str) -> list[tuple[str, str]]:
        sweep.main(["cpi.json", "--director", DIRECTOR, "--delete", *more])
        rows = capsys.readouterr().out.partition("\n\n")[0].splitlines()[1:]
        return [(row.split()[0], row.split("  ")[-1].strip()) for row in rows]

    return carry_out


@pytest.fixture
def there(ec2: Ec2) -> Callable[..., None]:
    """Return a function that sets EC2's answers to all listings."""

    def show(**things: dict[str, Any]) -> None:
        def shown(name: str) -> list[dict[str, Any]]:
            return [things[name]] if name in things else []

        nics = {"NetworkInterfaces": shown("nic")}
        ec2.answers("describe_snapshots", {"Snapshots": shown("snapshot")}, **OWN, Filters=BY_TAG)
        ec2.answers("describe_placement_groups", {"PlacementGroups": []}, Filters=BY_TAG)
        ec2.answers("describe_images", {"Images": shown("image")}, **OWN_IMAGES)
        ec2.answers("describe_volumes", {"Volumes": shown("volume")}, MaxResults=500, Filters=BY_TAG)
        ec2.answers("describe_network_interfaces", nics, **PAGE, Filters=BY_TAG)
        ec2.answers("describe_subnets", {"Subnets": shown("subnet")}, **PAGE, Filters=BY_TAG)
        ec2.answers("describe_instances", {"Reservations": []}, **PAGE, Filters=BY_TAG)

    return show
