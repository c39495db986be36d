"""Uploads through a volume by another user than root, with a program that fails, and after a killed one."""

import os
import stat
import sys
from pathlib import Path

import pytest

from bosh_aws_cpi.aws import attachments, instances, snapshots, volumes
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.stemcells import image_file, volume_upload
from bosh_aws_cpi.cpi.stemcells.image_file import ImageSource
from bosh_aws_cpi.cpi.undo import Undo
from bosh_aws_cpi.errors import CloudError, DiskNotFound, VMNotFound
from bosh_aws_cpi.interrupts import Interrupted
from bosh_aws_cpi.model import Encryption, Instance, Volume

pytestmark = pytest.mark.usefixtures("undone")

CHUNKS = [b"1" * (1 << 20)] * 3
"""Far more than a pipe holds."""
WRITE = "Path(sys.argv[-1]).write_bytes(sys.stdin.buffer.read())"
VM = Instance("i-1", "running", "t", "z", {})
SOURCE = ImageSource("/image", 1, 2, "d", {"a": "1"}, "call-1", Encryption())
MARK = ("bosh_stemcell", "call-1")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder of programs, and pretend to be root, who needs no sudo."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return folder


def install(folder: Path, body: str, name: str = "stemcell-copy") -> Path:
    """Install a program with this body."""
    program = folder / name
    program.write_text(f"#!{sys.executable}\nimport sys\nfrom pathlib import Path\n{body}\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the calls to AWS that create or remove something; a file passes for the volume's device."""
    calls: list[str] = []
    (tmp_path / "device").touch()
    paths = ["/nowhere", str(tmp_path / "device")]
    monkeypatch.setattr("bosh_aws_cpi.plan.device_names.guest_paths", lambda *_: paths)
    monkeypatch.setattr(stat, "S_ISBLK", stat.S_ISREG)
    monkeypatch.setattr(image_file, "chunks", lambda _: iter(CHUNKS))
    monkeypatch.setattr(instances, "find_alive", lambda *_: VM)
    monkeypatch.setattr(volumes, "create", lambda *_: "vol-1")
    monkeypatch.setattr(volumes, "wait_until_available", lambda *_: None)
    monkeypatch.setattr(attachments, "attach", lambda *_: "/dev/sdf")
    monkeypatch.setattr(attachments, "wait_until_attached", lambda *_: None)
    monkeypatch.setattr(attachments, "detach_by_force", lambda *_: calls.append("detach"))
    monkeypatch.setattr(volumes, "discard", lambda *_: calls.append("delete"))
    monkeypatch.setattr(snapshots, "create", lambda *_: calls.append("snapshot"))
    monkeypatch.setattr(snapshots, "wait_until_completed", lambda *_: None)
    return calls


@pytest.mark.parametrize("is_packaged", [True, False])
def test_sudo(
    cloud: Cloud, folder: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch, *, is_packaged: bool
) -> None:
    """A user who is not root uses sudo without a prompt; the package's program has priority."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(volume_upload, "_is_confined", lambda: False)
    program = install(folder, "")
    if is_packaged:
        program = install(folder.parent, "", "packaged")
        monkeypatch.setattr(volume_upload, "_PACKAGED", program)
    install(folder, "sys.stdin.buffer.read(); Path(sys.argv[3]).write_text(' '.join(sys.argv[1:]))", "sudo")
    volume_upload.upload(cloud, SOURCE, "i-1", Undo())
    device = folder.with_name("device")
    assert device.read_text() == f"-n {program} {device}"
    assert calls == ["snapshot", "detach", "delete"]


@pytest.mark.parametrize(("is_confined", "has_sudo"), [(False, False), (True, True)])
def test_no_root(
    cloud: Cloud,
    folder: Path,
    calls: list[str],
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_confined: bool,
    has_sudo: bool,
) -> None:
    """A user who can't become root gets an error before anything is created."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    status = f"Seccomp:\t2\nNoNewPrivs:\t{is_confined:d}\nCpus_allowed:\t3\n"
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: status)
    for name in ("stemcell-copy", "sudo")[: 1 + has_sudo]:
        install(folder, "", name)
    with pytest.raises(CloudError, match=r"must run as root.*use_bpm_for_workers.*ebs_direct"):
        volume_upload.upload(cloud, SOURCE, "i-1", Undo())
    assert calls == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("print('x' * 5000 + 'end'); sys.exit(2)", f"ended with 2: {'x' * 1996}end$"),
        ("sys.stdout.buffer.write(bytes([255])); sys.exit(2)", "ended with 2: \ufffd$"),
        ("sys.stdin.buffer.read(3)", "ended with 0: $"),
    ],
    ids=["long", "not-utf-8", "early"],
)
def test_program_that_fails(cloud: Cloud, folder: Path, calls: list[str], body: str, said: str) -> None:
    """The error has the end of the program's output; no snapshot is created, and the volume is deleted."""
    install(folder, body)
    with pytest.raises(CloudError, match=said):
        volume_upload.upload(cloud, SOURCE, "i-1", Undo())
    assert calls == ["detach", "delete"]


@pytest.mark.parametrize("step", ["attach", "wait_until_attached"])
def test_attachment_that_fails(
    cloud: Cloud, folder: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """A volume is detached before it is deleted, also if it is not certain whether it was attached."""
    install(folder, WRITE)

    def fail(*_: object) -> None:
        raise CloudError("No.")

    monkeypatch.setattr(attachments, step, fail)
    with pytest.raises(CloudError, match="No"):
        volume_upload.upload(cloud, SOURCE, "i-1", Undo())
    assert calls == ["detach", "delete"]


def test_removal_that_is_cut_off(
    cloud: Cloud, folder: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Undo repeats a removal of the volume that a signal has interrupted."""
    tries: list[str] = []

    def discard(_: object, disk_cid: str) -> None:
        tries.append(disk_cid)
        if len(tries) == 1:
            raise Interrupted("SIGTERM")

    install(folder, WRITE)
    monkeypatch.setattr(volumes, "discard", discard)
    monkeypatch.setattr(snapshots, "discard", lambda *_: calls.append("delete snapshot"))
    undo = Undo()
    with pytest.raises(Interrupted):
        volume_upload.upload(cloud, SOURCE, "i-1", undo)
    undo.run("a signal")
    assert (tries, calls) == (["vol-1", "vol-1"], ["snapshot", "detach", "delete snapshot"])
    assert folder.with_name("device").read_bytes() == b"".join(CHUNKS)


@pytest.mark.parametrize(
    ("found", "refused", "removed"),
    [
        (None, None, []),
        (DiskNotFound("vol-1"), None, []),
        ({}, None, ["delete"]),
        ({"i-2": ("attached", "/dev/sdf")}, None, ["detach", "delete"]),
        ({"i-2": ("attached", "/dev/sdf")}, VMNotFound("i-2"), ["delete"]),
    ],
    ids=["none", "deleted meanwhile", "unattached", "attached", "to a VM that is gone"],
)
def test_discard_earlier(
    cloud: Cloud,
    calls: list[str],
    monkeypatch: pytest.MonkeyPatch,
    found: dict[str, tuple[str, str]] | DiskNotFound | None,
    refused: VMNotFound | None,
    removed: list[str],
) -> None:
    """The volume of an earlier, killed upload is detached and deleted."""

    def find(*_: object) -> Volume:
        if isinstance(found, DiskNotFound):
            raise found
        return Volume("vol-1", "in-use", "z", found or {}, 2, "gp3", encrypted=False)

    def detach(*_: object) -> None:
        if refused:
            raise refused
        calls.append("detach")

    monkeypatch.setattr(volumes, "find_marked", lambda *_: None if found is None else "vol-1")
    monkeypatch.setattr(volumes, "find", find)
    monkeypatch.setattr(attachments, "detach_by_force", detach)
    volume_upload.discard_earlier(cloud, MARK)
    assert calls == removed
