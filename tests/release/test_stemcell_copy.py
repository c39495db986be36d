"""stemcell-copy, which sudo lets the CPI run as root: it writes an image to a disk, and harms no other."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stories.own_vm import DISK_SIZE, PROGRAM, loop_device, makes_loop_devices
from tests.stories.stemcell_images import SMALL

NO_DISK = b"\xff" * DISK_SIZE
"""What is on a disk at first."""
MAKE_FILES = "/usr/sbin/mke2fs"


def copy(*arguments: str, image: bytes = SMALL, folder: str = "/") -> subprocess.CompletedProcess[bytes]:
    """Give the program an image."""
    command = [str(PROGRAM), *arguments]
    return subprocess.run(command, check=False, capture_output=True, input=image, cwd=folder)


def refusal(*arguments: str, folder: str = "/") -> str:
    """Run the program, which must refuse, and return why."""
    done = copy(*arguments, folder=folder)
    assert (done.returncode, done.stdout) == (1, b"")
    *_, line = done.stderr.decode().splitlines()
    said, _, reason = line.partition(": ")
    assert said == "stemcell-copy"
    return reason


def root_disk() -> str:
    """Find the disk that this computer runs from; empty when it is none, as in a container."""
    command = ["/usr/bin/findmnt", "-nvo", "SOURCE", "/"]
    try:
        source = subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip()
    except FileNotFoundError:
        return ""
    return source if Path(source).is_block_device() else ""


@pytest.mark.parametrize("arguments", [[], ["/dev/null", "/dev/null"]])
def test_arguments(arguments: list[str]) -> None:
    """There is one argument, no more and no less."""
    assert refusal(*arguments) == "usage: stemcell-copy DEVICE < IMAGE"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "no such device: "),
        ("-x", "no such device: -x"),
        ("/dev/no-such-device", "no such device: /dev/no-such-device"),
        ("null", "not a block device: /dev/null"),
        ("/dev/pts/ptmx", "not one of the kernel's own devices: /dev/pts/ptmx"),
        ("/etc/passwd", "DEVICE must be below /dev: /etc/passwd"),
        ("/dev/../etc/passwd", "DEVICE must be below /dev: /etc/passwd"),
        ("/dev", "DEVICE must be below /dev: /dev"),
    ],
)
def test_devices(name: str, reason: str) -> None:
    """A device is one of the kernel's block devices, right below /dev, whatever leads there."""
    assert refusal(name, folder="/dev") == reason


def test_link_that_leads_elsewhere(tmp_path: Path) -> None:
    """A link is nothing but what it leads to."""
    (tmp_path / "link").symlink_to("/dev/null")
    assert refusal(str(tmp_path / "link")) == "not a block device: /dev/null"


@pytest.mark.skipif(not root_disk(), reason="/ is on no block device")
@pytest.mark.parametrize("is_linked", [False, True])
def test_root_disk(tmp_path: Path, *, is_linked: bool) -> None:
    """The disk that the machine runs from is refused, also when a link leads to it."""
    device = root_disk()
    if is_linked:
        (tmp_path / "link").symlink_to(device)
        device = str(tmp_path / "link")
    assert refusal(device) == f"refusing to overwrite the root device: {Path(device).resolve()}"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[str]:
    """Have a disk that is no other's."""
    if not makes_loop_devices():
        pytest.skip("this user can make no loop devices")
    with loop_device(tmp_path) as device:
        yield device


@pytest.mark.parametrize("image", [SMALL, NO_DISK[:-1] + b"x", b""])
def test_written(disk: str, tmp_path: Path, image: bytes) -> None:
    """The image is written from the disk's beginning, and the rest is left as it was."""
    done = copy(disk, image=image)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (tmp_path / "disk").read_bytes() == image + NO_DISK[len(image) :]


def test_larger_than_the_disk(disk: str) -> None:
    """An image for which there is no room is a failure with the system's words."""
    done = copy(disk, image=bytes(DISK_SIZE + 1))
    assert done.returncode != 0
    assert b"No space left on device" in done.stderr


def test_disk_with_parts(disk: str, tmp_path: Path) -> None:
    """A disk that is parted holds something, and a part is no disk: neither is written to."""
    # By hand: not every kernel reads tables of partitions.
    subprocess.run(["/usr/bin/addpart", disk, "1", "8", "2048"], check=True)
    reason = f"the device has parts, or belongs to something: {disk}"
    assert refusal(disk) == reason
    assert refusal(f"{disk}p1") == f"a partition, not a disk: {disk}p1"
    assert (tmp_path / "disk").read_bytes() == NO_DISK


def test_mounted_disk(disk: str, tmp_path: Path) -> None:
    """A disk that is mounted is in use."""
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    subprocess.run([MAKE_FILES, "-q", disk], check=True)
    words = 'mount "$1" "$2" && exec "$3" "$1"'
    command = ["unshare", "--mount", "sh", "-c", words, "sh", disk, str(mounted), str(PROGRAM)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == f"stemcell-copy: the device is mounted: {disk}\n"
