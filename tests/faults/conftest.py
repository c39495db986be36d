"""What the matrix of faults shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from testbed.registry import Registry
from tests.faults.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from testbed.cloud import FakeAws
    from testbed.world import World


@pytest.fixture(scope="session")
def registry() -> Iterator[Registry]:
    """Run a registry."""
    with Registry() as running:
        yield running


@pytest.fixture
def stage(fake_aws: FakeAws, world: World, registry: Registry, tmp_path: Path, hasty: None) -> Stage:
    """Return a laid world in which the executable's time goes faster."""
    del hasty
    return Stage(fake_aws, world, registry, tmp_path)
