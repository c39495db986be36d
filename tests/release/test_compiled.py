"""A compiled release: what `bosh create-env` compiled, in the form of `bosh export-release`."""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from bosh_release import compiled
from bosh_release.installation import InstallationError, read_installation
from bosh_release.portability import LINES, PortabilityError, check, symbols

if TYPE_CHECKING:
    from pathlib import Path

STEMCELL = "ubuntu-noble/1.84"
PACKAGES: list[dict[str, Any]] = [
    {"name": "cpi", "fingerprint": "f1", "version": "f1", "sha1": "0", "dependencies": ["python"]},
    {"name": "python", "fingerprint": "f2", "version": "f2", "sha1": "0", "dependencies": ["openssl"]},
    {"name": "openssl", "fingerprint": "f3", "version": "f3", "sha1": "0", "dependencies": []},
]
DEPENDENCIES = {"cpi": "openssl:f3,python:f2", "python": "openssl:f3", "openssl": ""}


def sha256(content: bytes) -> str:
    """Return a digest as BOSH writes it."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def native(*needs: str) -> bytes:
    """Return what a native file has in its table of strings."""
    return b"\x7fELF\0" + "".join(f"{need}\0" for need in needs).encode()


def packed(files: dict[str, bytes], mode: int = 0o644) -> bytes:
    """Return a compressed tar archive."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"./{name}")
            entry.size, entry.mode = len(content), mode
            tar.addfile(entry, io.BytesIO(content))
    return made.getvalue()


@dataclass
class Site:
    """A release, and what the CLI compiled of it; both can be spoilt before they are read."""

    folder: Path
    manifest: dict[str, Any]
    job: bytes
    blobs: dict[str, bytes]
    digests: dict[str, str]
    output: str = ""

    def run(self, monkeypatch: pytest.MonkeyPatch, stemcell: str = STEMCELL) -> Path:
        """Write all, run the program, and return what should be its result."""
        release, installation = self.folder / "release.tgz", self.folder / "installation"
        files = {"release.MF": yaml.safe_dump(self.manifest).encode(), "jobs/aws_cpi.tgz": self.job}
        release.write_bytes(packed({**files, "packages/cpi.tgz": b"sources", "LICENSE": b"Apache"}))
        (installation / "blobs").mkdir(parents=True, exist_ok=True)
        index = []
        for package in PACKAGES:
            name = package["name"]
            key = {"PackageName": name, "PackageFingerprint": package["fingerprint"]}
            value = {"BlobID": f"blob-{name}", "BlobSHA1": self.digests[name]}
            index.append({"Key": {**key, "DependencyKey": DEPENDENCIES[name]}, "Value": value})
            if name in self.blobs:
                (installation / "blobs" / f"blob-{name}").write_bytes(self.blobs[name])
        (installation / "compiled_packages.json").write_text(json.dumps(index))
        names = {"release": release, "installation": installation, "output": self.folder / self.output}
        arguments = [f"--{name}={value}" for name, value in names.items()]
        monkeypatch.setattr(sys, "argv", ["compiled-release", *arguments, f"--stemcell={stemcell}"])
        compiled.main()
        return self.folder / "bosh-aws-cpi-1.0.0-ubuntu-noble-1.84.tgz"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Return a release of a job and three packages, all of them compiled."""
    job = packed({"job.MF": b"name: aws_cpi"})
    blobs = {each["name"]: packed({"lib": each["name"].encode()}) for each in PACKAGES}
    manifest = {
        "name": "bosh-aws-cpi",
        "version": "1.0.0",
        "commit_hash": "1234e56",
        "uncommitted_changes": False,
        "jobs": [{"name": "aws_cpi", "version": "f0", "fingerprint": "f0", "sha1": sha256(job)}],
        "packages": PACKAGES,
    }
    return Site(tmp_path, manifest, job, blobs, {name: sha256(blob) for name, blob in blobs.items()})


def test_form(site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Manifest first, then jobs, licences and the packages as compiled; no sources; digests are printed."""
    site.digests["cpi"] = hashlib.sha1(site.blobs["cpi"], usedforsecurity=False).hexdigest()
    made = site.run(monkeypatch)
    with tarfile.open(made) as tar:
        found = {name: tar.extractfile(name).read() for name in tar.getnames()}  # type: ignore[union-attr]
    text = found.pop("./release.MF")
    assert list(found) == [
        "./LICENSE",
        "./jobs/aws_cpi.tgz",
        *(f"./compiled_packages/{n}.tgz" for n in site.blobs),
    ]
    assert list(found.values()) == [b"Apache", site.job, *site.blobs.values()]
    assert b'"1234e56"' in text
    expected = {
        "compiled_packages": [
            {**each, "sha1": site.digests[each["name"]], "stemcell": STEMCELL} for each in PACKAGES
        ]
    }
    kept = {key: value for key, value in site.manifest.items() if key != "packages"}
    assert yaml.safe_load(text) == {**kept, **expected}
    assert capsys.readouterr().out == f"compiled-release: {made}\nsha1: {sha256(made.read_bytes())}\n"


NEEDY = """set -eu
echo "compiling $BOSH_PACKAGE_NAME in $BOSH_COMPILE_TARGET"
[ "$PWD" = "$BOSH_COMPILE_TARGET" ]
mkdir "$BOSH_INSTALL_TARGET/bin"
cat words "$BOSH_PACKAGES_DIR"/*/bin/told >>"$BOSH_INSTALL_TARGET/bin/told.new" 2>/dev/null || true
mv "$BOSH_INSTALL_TARGET/bin/told.new" "$BOSH_INSTALL_TARGET/bin/told"
"""


def compiled_here(
    folder: Path, monkeypatch: pytest.MonkeyPatch, scripts: dict[str, str], output: Path | None = None
) -> Path:
    """Run the program without an installation, for packages with these scripts; return its result."""
    sources = {
        name: packed({"packaging": script.encode(), "words": f"{name}\n".encode()}, mode=0o600)
        for name, script in scripts.items()
    }
    listed = [{**each, "sha1": sha256(sources[each["name"]])} for each in PACKAGES]
    manifest = {"name": "bosh-aws-cpi", "version": "1.0.0", "jobs": [], "packages": listed}
    files = {f"packages/{name}.tgz": content for name, content in sources.items()}
    release = folder / "release.tgz"
    release.write_bytes(packed({"release.MF": yaml.safe_dump(manifest).encode(), **files}))
    arguments = [f"--release={release}", f"--output={output or folder}", f"--stemcell={STEMCELL}"]
    monkeypatch.setattr(sys, "argv", ["compiled-release", *arguments])
    compiled.main()
    return folder / "bosh-aws-cpi-1.0.0-ubuntu-noble-1.84.tgz"


def test_compiled_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an installation, each package is compiled here, after those that it depends on."""
    made = compiled_here(tmp_path, monkeypatch, {each["name"]: NEEDY for each in PACKAGES})
    told = {}
    with tarfile.open(made) as release:
        (listed,) = yaml.safe_load_all(release.extractfile("./release.MF").read())  # type: ignore[union-attr]
        for package in listed["compiled_packages"]:
            content = release.extractfile(f"./compiled_packages/{package['name']}.tgz").read()  # type: ignore[union-attr]
            assert package["sha1"] == sha256(content)
            with tarfile.open(fileobj=io.BytesIO(content)) as files:
                assert {(entry.uid, entry.uname, entry.mode & 0o777) for entry in files} == {
                    (0, "root", 0o755),
                    (0, "root", 0o644),
                }
                told[package["name"]] = files.extractfile("./bin/told").read().decode().split()  # type: ignore[union-attr]
    assert told == {
        "openssl": ["openssl"],
        "python": ["python", "openssl"],
        "cpi": ["cpi", "openssl", "python", "openssl"],
    }


def test_compiled_with_a_tight_umask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every user may read the packages, whatever the umask of the person who compiles them."""
    before = os.umask(0o077)
    try:
        made = compiled_here(tmp_path, monkeypatch, {each["name"]: NEEDY for each in PACKAGES})
    finally:
        os.umask(before)
    assert made.exists()


def test_output_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder for the result that is not there is named before anything is compiled."""
    scripts = {each["name"]: "exit 9" for each in PACKAGES}
    with pytest.raises(SystemExit, match="nowhere is not a folder that you can write to"):
        compiled_here(tmp_path, monkeypatch, scripts, output=tmp_path / "nowhere")


def test_script_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script that fails ends the program with the script's last words; nothing is written."""
    scripts = {each["name"]: NEEDY for each in PACKAGES} | {"python": "echo 'no headers' >&2; exit 7"}
    with pytest.raises(SystemExit, match="compiling python failed with status 7:\nno headers"):
        compiled_here(tmp_path, monkeypatch, scripts)
    assert list(tmp_path.glob("bosh-aws-cpi*")) == []


def test_sources_that_are_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package whose sources are missing is not compiled."""
    scripts = {each["name"]: NEEDY for each in PACKAGES}
    compiled_here(tmp_path, monkeypatch, scripts).unlink()
    with tarfile.open(tmp_path / "release.tgz") as release:
        manifest = release.extractfile("./release.MF").read()  # type: ignore[union-attr]
    (tmp_path / "release.tgz").write_bytes(packed({"release.MF": manifest}))
    with pytest.raises(SystemExit, match=r"packages/cpi\.tgz is damaged"):
        compiled.main()


def test_same_bytes(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same release and the same packages give the same bytes."""
    first = site.run(monkeypatch).read_bytes()
    assert site.run(monkeypatch).read_bytes() == first


def refuse(site: Site, monkeypatch: pytest.MonkeyPatch, message: str, stemcell: str = STEMCELL) -> None:
    """Check that the program fails with a message, and writes nothing."""
    with pytest.raises(SystemExit, match=message):
        site.run(monkeypatch, stemcell)
    assert [path.name for path in site.folder.glob("bosh-aws-cpi*")] == []


def test_package_that_is_not_compiled(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of another fingerprint is another package, and so is one with another dependency."""
    changed = {**PACKAGES[2], "fingerprint": "f4"}
    site.manifest["packages"] = [*PACKAGES[:2], changed]
    refuse(site, monkeypatch, r"has not compiled cpi/f1, python/f2, openssl/f4: run `bosh create-env`")


def test_damaged_files(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job or a compiled package that is not the listed file is refused."""
    site.digests["python"] += f";{'0' * 40}"
    refuse(site, monkeypatch, "the compiled package python is damaged: its digest is not 0000")
    site.job += b"x"
    refuse(site, monkeypatch, "jobs/aws_cpi.tgz is damaged")


def test_compiled_already(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiled release has no sources that an installation could have compiled."""
    site.manifest["compiled_packages"] = site.manifest.pop("packages")
    refuse(site, monkeypatch, "is compiled already: give the release that it was made from")


def test_no_release(tmp_path: Path) -> None:
    """A missing file, and one that is not a release, are named."""
    (tmp_path / "some").write_bytes(packed({"file": b""}))
    with pytest.raises(
        compiled.CompiledReleaseError, match=r"some is not a release: it contains no release\.MF"
    ):
        compiled.read_source(tmp_path / "some")
    good = packed({"release.MF": b"name: x"})
    for content in (b"text", good[:40], good[:20] + b"damaged" + good[27:]):
        (tmp_path / "some").write_bytes(content)
        with pytest.raises(compiled.CompiledReleaseError, match="some can't be read as a release"):
            compiled.read_source(tmp_path / "some")
    with pytest.raises(compiled.CompiledReleaseError, match="nowhere can't be read as a release"):
        compiled.read_source(tmp_path / "nowhere")


@pytest.mark.parametrize("manifest", [b"name: [", b"text", b"name: x", b"jobs: [{name: x}]"])
def test_damaged_manifest(tmp_path: Path, manifest: bytes) -> None:
    """A release.MF that is not the CLI's is no traceback."""
    (tmp_path / "some").write_bytes(packed({"release.MF": manifest}))
    with pytest.raises(compiled.CompiledReleaseError, match=r"its release\.MF can't be read"):
        compiled.read_source(tmp_path / "some")


def test_no_installation(tmp_path: Path) -> None:
    """A folder without an installation is named; a file is refused, too."""
    for folder in (tmp_path, tmp_path / "file"):
        (tmp_path / "file").touch()
        with pytest.raises(InstallationError, match=r"holds no compiled packages.*installation_id"):
            read_installation(folder)


@pytest.mark.parametrize("index", ["", "{}x", "[1]", '[{"Key": {}, "Value": {}}]', "7"])
def test_damaged_installation(tmp_path: Path, index: str) -> None:
    """A list of packages that the CLI did not finish writing is named, and what to do."""
    (tmp_path / "compiled_packages.json").write_text(index)
    with pytest.raises(InstallationError, match=r"compiled_packages\.json is damaged: delete the folder"):
        read_installation(tmp_path)


def test_missing_blob(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A listed package whose file is gone, as in an incomplete copy, is named."""
    del site.blobs["python"]
    refuse(site, monkeypatch, r"lists the package python, but it can't be read.*create-env")


def test_output_that_can_not_be_written(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that is not there is no traceback."""
    site.output = "nowhere"
    refuse(site, monkeypatch, "the result can't be written: .*nowhere")


@pytest.mark.parametrize("stemcell", ["ubuntu-noble", "/1.84", "ubuntu-noble/", "ubuntu-noble/1/84"])
def test_form_of_the_stemcell(site: Site, monkeypatch: pytest.MonkeyPatch, stemcell: str) -> None:
    """A stemcell is given by operating system and version."""
    refuse(site, monkeypatch, "a stemcell is given as OS/VERSION", stemcell)


def test_unknown_line(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a line whose libraries are unknown nothing could be checked."""
    refuse(site, monkeypatch, "'ubuntu-trusty' is unknown; known lines: ubuntu-jammy, ", "ubuntu-trusty/1")


def test_compiled_on_a_newer_system(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with symbols that the line's libraries lack would not start there."""
    blob = packed({"bin/python": native("GLIBC_2.2.5", "GLIBC_2.40", "GLIBC_PRIVATE", "OPENSSL_3.0.0")})
    site.blobs["python"], site.digests["python"] = blob, sha256(blob)
    refuse(site, monkeypatch, r"the package python needs GLIBC_2\.40 \(it has 2\.39\)")


@pytest.mark.parametrize(
    ("line", "needs", "runs"),
    [
        ("ubuntu-jammy", ("GLIBC_2.35", "OPENSSL_3.0.0"), True),
        ("ubuntu-jammy", ("GLIBC_2.38",), False),
        ("ubuntu-noble", ("GLIBC_2.38", "OPENSSL_3.0.9"), True),
        ("ubuntu-noble", ("OPENSSL_3.2.0",), False),
        ("ubuntu-resolute", ("GLIBC_2.42", "OPENSSL_3.2.0"), True),
        ("ubuntu-resolute", ("OPENSSL_1_1_1",), False),
        ("ubuntu-resolute", ("OPENSSL_4.0.0",), False),
    ],
)
def test_libraries(line: str, needs: tuple[str, ...], runs: bool) -> None:  # noqa: FBT001 - a column of the table
    """A package runs on its own line and on newer ones, but not with another OpenSSL."""
    archive = io.BytesIO(packed({"a": native(*needs), "b": native("GLIBC_2.17")}))
    if runs:
        check("python", archive, line)
    else:
        with pytest.raises(PortabilityError, match=f"which {line} lacks: compile it on {line}"):
            check("python", archive, line)


def test_symbols() -> None:
    """Only native files are looked at, and only whole names."""
    assert symbols(native("GLIBC_2.34", "OPENSSL_3.0.0")) == [("GLIBC", (2, 34)), ("OPENSSL", (3, 0, 0))]
    assert symbols(native("OPENSSL_1_1_0f")) == [("OPENSSL", (1, 1, 0))]
    assert symbols(native("xGLIBC_2.34", "GLIBC_2.34xy", "GLIBC_PRIVATE")) == []
    assert symbols(b"#!/bin/sh\0GLIBC_2.34\0") == []


def test_files_of_their_owner_alone() -> None:
    """A package compiled under a strict umask could not be used by the user vcap."""
    with pytest.raises(
        PortabilityError, match=r"not every user may read \./lib of the package cpi.*umask 022"
    ):
        check("cpi", io.BytesIO(packed({"lib": b""}, mode=0o640)), next(iter(LINES)))
