"""Heavy stemcells in a process with a limit of memory or threads."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from testbed.executable import Cpi, config
from tests.stories.stemcell_images import filled, packed, read_back, written

if TYPE_CHECKING:
    from testbed.cloud import FakeAws
    from testbed.executable import Answer
    from testbed.world import World
    from tests.protocols import ListResources
    from tests.stories.stemcell_images import Heavy

BLOCKS = {index: filled(index + 1) for index in range(40)}
LIMITED = 'ulimit {}; exec "$0" "$@"'
CPI = str(Path(sys.executable).parent / "cpi")
OUT_OF_MEMORY = (
    "The call needs more memory than this process may have: raise its limits (ulimit -v, ulimit -d, or those "
    "of its container) or the machine's memory, or let fewer calls run at once: "
)


@pytest.fixture
def create(heavy: Heavy, tmp_path: Path) -> Heavy:
    """Return the executable with a heavy stemcell of 20 MiB."""
    heavy.arguments[0] = written(tmp_path, packed(b"".join(BLOCKS.values())))
    return heavy


def limited(heavy: Heavy, limits: str) -> Answer:
    """Create the stemcell in a process with limits; `-v` and `-d` are in KiB, and bind root, too."""
    command = ["sh", "-c", LIMITED.format(limits), CPI]
    return heavy.create(cpi=Cpi(config(heavy.endpoint), command=command))


@pytest.mark.faults
@pytest.mark.parametrize("option", ["-v", "-d"])
@pytest.mark.parametrize("mib", [40, 50, 60, 70, 75, 80, 85, 90, 95, 100, 110, 130, 180])
def test_memory(
    create: Heavy, world: World, fake_aws: FakeAws, left: ListResources, option: str, mib: int
) -> None:
    """Under any limit the whole stemcell is created, or nothing is left, and the error names the limits."""
    answer = limited(create, f"{option} {mib << 10}")
    if answer.error is None:
        (snapshot_id,) = world.state()["snapshots"]
        assert left() == {"images": [answer.result], "snapshots": [snapshot_id]}
        assert read_back(fake_aws, snapshot_id) == BLOCKS
    else:
        assert answer.error["type"] == "Bosh::Clouds::CloudError"
        assert answer.error["message"].startswith(OUT_OF_MEMORY)
        assert left() == {}


@pytest.mark.parametrize(
    "limits", ["-v 160000", "-v 250000", "-v 600000", "-s 500000; -v 600000", "-d 130000"]
)
def test_fewer_threads(create: Heavy, world: World, fake_aws: FakeAws, limits: str) -> None:
    """If the memory does not suffice for all threads, the upload uses fewer of them."""
    answer = limited(create, limits.replace("; ", "; ulimit "))
    answer.ok()
    assert " WARNING: Uploading in " in answer.stderr
    (snapshot_id,) = world.state()["snapshots"]
    assert read_back(fake_aws, snapshot_id) == BLOCKS


def test_all_threads(create: Heavy) -> None:
    """Without limits there is no such warning."""
    answer = create.create()
    answer.ok()
    assert "WARNING" not in answer.stderr
