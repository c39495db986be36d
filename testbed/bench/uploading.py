"""How fast a heavy stemcell's image gets into a snapshot, beside a plain sequential loop."""

from __future__ import annotations

import random
import tarfile
from typing import TYPE_CHECKING

from testbed.bench.figures import Upload, spread
from testbed.bench.forms import pip_form, plain_form

if TYPE_CHECKING:
    from pathlib import Path

    from testbed.bench.measuring import Bench
    from testbed.cloud import FakeAws

MIB = 1 << 20
DATA_MIB = 64
"""The image's data, in pieces of a MiB, each followed by a MiB of zeros."""
ZEROS_PER_PIECE = 3
LATENCIES = (0.0, 0.05)
"""Seconds that each answer of the EBS direct APIs is late."""
PROPERTIES = {
    "name": "bosh-aws-xen-hvm-ubuntu-noble",
    "version": "1.2",
    "infrastructure": "aws",
    "architecture": "x86_64",
    "disk": 1024,
    "disk_format": "raw",
    "root_device_name": "/dev/sda1",
    "virtualization_type": "hvm",
}


def uploads(bench: Bench, fake_aws: FakeAws, folder: Path, runs: int) -> list[Upload]:
    """Measure both, in turn, for each latency.

    Args:
        bench: What starts them.
        fake_aws: The stand-in.
        folder: Where the image is written.
        runs: How often each is started.
    """
    image = written(folder)
    return [_upload(bench, fake_aws, str(image), latency, runs) for latency in LATENCIES]


def _upload(bench: Bench, fake_aws: FakeAws, image: str, latency: float, runs: int) -> Upload:
    both = [plain_form("plain_upload.py"), pip_form()]
    rates: dict[str, list[float]] = {form.name: [] for form in both}
    for _ in range(runs):
        for form in both:
            fake_aws.reset()
            fake_aws.lay()
            if latency:
                fake_aws.rule(action="PutSnapshotBlock", delay=latency)
            start = bench.start(form, "create_stemcell", [image, PROPERTIES])
            rates[form.name].append(DATA_MIB / (start.wall / 1000))
    return Upload(latency, *(spread(rates[form.name]) for form in both))


def written(folder: Path) -> Path:
    """Write a stemcell's archive: an image most of which is zeros, and the rest like nothing else."""
    chance = random.Random(1)  # noqa: S311 - the same data each time
    image = folder / "root.img"
    with image.open("wb") as file:
        for _ in range(DATA_MIB):
            file.write(chance.randbytes(MIB))
            file.seek(ZEROS_PER_PIECE * MIB, 1)
        file.truncate()
    archive = folder / "image"
    with tarfile.open(archive, "w:gz", compresslevel=1) as packed:
        packed.add(image, "root.img")
    image.unlink()
    return archive
