"""What the matrix of faults shares."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.cloud import FakeAws
from testbed.registry import Registry
from testbed.world import World
from tests.faults.stage import Stage


@pytest.fixture(scope="session")
def registry() -> Iterator[Registry]:
    """Run a registry."""
    with Registry() as running:
        yield running


@pytest.fixture
def stage(fake_aws: FakeAws, world: World, registry: Registry, tmp_path: Path, fast_clock: None) -> Stage:
    """Return a laid world in which the executable's time goes faster."""
    del fast_clock
    return Stage(fake_aws, world, registry, tmp_path)
