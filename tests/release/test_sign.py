"""The script that signs a release, where it can't."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "sign"
SSH_KEYGEN = shutil.which("ssh-keygen") or "ssh-keygen"


@pytest.mark.parametrize(("passphrase", "name"), [("secret", "file"), ("", "missing"), ("", "file")])
def test_failed_signature_leaves_nothing(passphrase: str, name: str, tmp_path: Path) -> None:
    """If the key has a passphrase or is not listed, or a file is missing, no hashes are left unsigned."""
    key, folder = tmp_path / "key", tmp_path / "final"
    folder.mkdir()
    (folder / "file").touch()
    subprocess.run([SSH_KEYGEN, "-q", "-t", "ed25519", "-N", passphrase, "-f", str(key)], check=True)
    done = subprocess.run(
        [SCRIPT, str(folder), name],
        env={**os.environ, "SIGNING_KEY": key.read_text()},
        start_new_session=True,  # ssh-keygen can't ask for the passphrase
        check=False,
    )
    assert done.returncode == 1
    assert [path.name for path in folder.iterdir()] == ["file"]


def test_interrupted_signature_leaves_nothing(tmp_path: Path) -> None:
    """If a signal ends the script, the key and the unsigned hashes are deleted, too."""
    folder, programs, scratch = (tmp_path / name for name in ("final", "programs", "scratch"))
    for each in (folder, programs, scratch):
        each.mkdir()
    (folder / "file").touch()
    program = programs / "ssh-keygen"
    program.write_text('#!/bin/sh\n[ -s "$TMPDIR"/*/key ] && kill -TERM "$PPID"\n')
    program.chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "TMPDIR": str(scratch), "SIGNING_KEY": "key"}
    done = subprocess.run([SCRIPT, str(folder), "file"], env=environment, check=False)
    assert done.returncode == 1
    assert [path.name for path in folder.iterdir()] == ["file"]
    assert list(scratch.iterdir()) == []
