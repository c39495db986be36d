"""A heavy stemcell of the usual size: it becomes an AMI byte for byte, and needs little memory."""

import gzip
import sys
import tarfile
from hashlib import sha256
from pathlib import Path

import pytest

from testbed.cloud import FakeAws
from testbed.executable import EXECUTABLE, Cpi, config
from testbed.world import World
from tests.stories.stemcell_images import BLOCK, MIB, PROPERTIES, blocks

LARGE = 2048 * MIB // BLOCK
"""How many blocks the large image has."""
FULL = {number * (LARGE - 1) // 599 for number in range(600)}
"""Those of them that are not zeros, from the first to the last: 300 MiB."""
MEMORY = 200 * MIB
MEASURED = """
import resource, subprocess, sys
path, *command = sys.argv[1:]
status = subprocess.call(command)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
open(path, "w").write(str(peak * (1 if sys.platform == "darwin" else 1024)))
sys.exit(status)
"""
"""Runs the executable and writes down its peak memory in bytes.

A process of its own, and a small one: a new process's peak begins with that of who starts it.
"""


def block_of(index: int) -> bytes:
    """Return a block of the large image; of those that are not zeros no two are alike."""
    return sha256(b"%d" % index).digest() * (BLOCK // 32) if index in FULL else bytes(BLOCK)


@pytest.fixture
def large(tmp_path: Path) -> str:
    """Write the archive of the large image."""
    path = tmp_path / "image"
    member = tarfile.TarInfo("root.img")
    member.size = LARGE * BLOCK
    with gzip.open(path, "wb", compresslevel=1) as archive:
        archive.write(member.tobuf())
        for index in range(LARGE):
            archive.write(block_of(index))
        archive.write(bytes(2 * tarfile.BLOCKSIZE))
    return str(path)


@pytest.mark.faults
def test_large(world: World, fake_aws: FakeAws, large: str, tmp_path: Path) -> None:
    """2 GiB become an AMI byte for byte, by one PUT for each block of data, within 200 MiB of memory."""
    peak = tmp_path / "peak"
    command = [sys.executable, "-I", "-c", MEASURED, str(peak), EXECUTABLE]
    cpi = Cpi(config(fake_aws.endpoint), command=command)
    ami_id = cpi.call("create_stemcell", large, {**PROPERTIES, "disk": 2048}).ok()
    assert int(peak.read_text()) < MEMORY
    assert fake_aws.actions().count("PutSnapshotBlock") == len(FULL) == 300 * MIB // BLOCK
    (snapshot_id,) = world.state()["snapshots"]
    assert world.state() == {**world.empty, "images": [ami_id], "snapshots": [snapshot_id]}
    same = {index: data == block_of(index) for index, data in blocks(fake_aws, snapshot_id)}
    assert same == dict.fromkeys(sorted(FULL), True)
    fake_aws.reset()  # it holds all blocks
