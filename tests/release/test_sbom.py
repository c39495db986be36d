"""The list of components: complete, valid, and the same for the same sources."""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
import zipfile
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from yaml import _yaml

from bosh_release import blobs, install, parts, sbom
from testbed.job import PYTHON

if TYPE_CHECKING:
    from pathlib import Path

LOCK = blobs.read_lock(blobs.LOCK.read_text())
COMMITTED = sbom.COMMITTED.read_text()
STALE = "docs/sbom.cdx.json is stale: run `make sbom docs`"
METADATA = "Metadata-Version: 2.4\nName: Some_thing\nVersion: 1.0\n"
WHEEL = "wheels/any/some_thing-1.0-py3-none-any.whl"
SOURCE = "python/Python-3.13.99.tar.xz"
CRATE = {
    "name": "crate",
    "version": "2.0",
    "purl": "pkg:cargo/crate@2.0",
    "licenses": [{"expression": "MIT OR Apache-2.0"}],
    "hashes": [{"alg": "SHA-256", "content": "ab" * 32}],
}
BUILD_ONLY = {**CRATE, "purl": "pkg:cargo/build@1.0", "scope": "excluded"}
SOURCES = {
    "Modules/expat/expat.h": "XML_MAJOR_VERSION 2\nXML_MINOR_VERSION 8\nXML_MICRO_VERSION 1\n",
    "Modules/_hacl/refresh.sh": "expected_hacl_star_rev=abc123\n",
    "Misc/sbom.spdx.json": '{"packages": [{"name": "expat"}, {"name": "macholib"}], "x": "libb2-0.98.1.tar"}',
    "Include/internal/mimalloc/mimalloc.h": "#define MI_MALLOC_VERSION 212   // major\n",
    "Modules/_decimal/libmpdec/mpdecimal.h": '#define MPD_VERSION "2.5.1"\n',
}


def document(text: str) -> dict[str, Any]:
    """Read a document that is valid by the schema, with no key that the schema does not know."""
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    read: dict[str, Any] = json.loads(text)
    return read


def hashed(name: str) -> dict[str, str]:
    """Return the SHA-256 of each file with which a package checks its sources, by path."""
    lines = (blobs.ROOT / "src" / name).read_text().splitlines()
    return {path: sha256 for sha256, path in map(str.split, lines)}


def by_ref(text: str) -> dict[str, dict[str, Any]]:
    """Return the components of a document by their references."""
    return {component["bom-ref"]: component for component in document(text)["components"]}


def test_schema_refuses() -> None:
    """The schema is enforced: a component without a name is refused."""
    wrong = json.loads(COMMITTED)
    del wrong["components"][0]["name"]
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(wrong)) is not None


def test_every_vendored_file_once() -> None:
    """Each file that the packages check is one component, with its SHA-256."""
    files = hashed(install.HASHES) | hashed(blobs.SOURCE_HASH)
    components = document(COMMITTED)["components"]
    shipped = [
        component for component in components if component["bom-ref"].startswith(("wheels/", "python/"))
    ]
    assert {each["bom-ref"]: each["hashes"][0]["content"] for each in shipped} == files, STALE
    digests = Counter(entry["content"] for each in components for entry in each.get("hashes", ()))
    assert {sha256: digests[sha256] for sha256 in files.values()} == dict.fromkeys(files.values(), 1)


def test_every_requirement_in_its_version() -> None:
    """Each distribution of the lock file is there, in the locked version."""
    components = document(COMMITTED)["components"]
    vendored = {
        (each["name"], each["version"]) for each in components if each["bom-ref"].startswith("wheels/")
    }
    locked = {tuple(requirement.split(" ", 1)[0].split("==")) for requirement in LOCK.values()}
    assert vendored == locked, STALE


def test_release_and_packages() -> None:
    """The document is about the release; each package depends on the files that its spec takes."""
    read = document(COMMITTED)
    below = {entry["ref"]: set(entry.get("dependsOn", ())) for entry in read["dependencies"]}
    assert read["metadata"]["component"]["version"] == sbom.project()["version"], STALE
    specs = [yaml.safe_load(path.read_text()) for path in blobs.ROOT.glob("packages/*/spec")]
    assert below["bosh-aws-cpi"] == {f"packages/{spec['name']}" for spec in specs}, STALE
    assert below[f"packages/{PYTHON}"] == set(hashed(blobs.SOURCE_HASH))
    assert below["packages/bosh_aws_cpi"] == {*hashed(install.HASHES), f"packages/{PYTHON}"}


def test_every_licence_is_known() -> None:
    """Each component has a licence, but for what the stemcell provides, which is said to be not shipped."""
    without = {each["name"]: each for each in document(COMMITTED)["components"] if "licenses" not in each}
    assert without.keys() == {"openssl", "zlib"}
    assert all(each["description"].startswith("Not shipped") for each in without.values())
    assert all("version" not in each for each in without.values())


def test_no_time() -> None:
    """The committed document has no time, so that the same sources give the same bytes."""
    assert "timestamp" not in document(COMMITTED)["metadata"]


def test_libyaml_version() -> None:
    """The version of libyaml is that with which the locked PyYAML is linked."""
    assert parts.LIBYAML.version == _yaml.get_version_string()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder for blobs."""
    monkeypatch.setattr(blobs, "BLOBS", tmp_path)
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    return tmp_path


def written(path: str, content: bytes) -> blobs.Blob:
    """Write a blob, and return its entry."""
    blob = blobs.Blob(path, len(content), hashlib.sha256(content).hexdigest())
    blob.file.parent.mkdir(parents=True)
    blob.file.write_bytes(content)
    return blob


def wheel(metadata: str, sboms: str | None = None) -> blobs.Blob:
    """Write a wheel with this metadata, and perhaps a list of its own parts."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("some_thing-1.0.dist-info/METADATA", METADATA + metadata)
        if sboms is not None:
            archive.writestr("some_thing-1.0.dist-info/sboms/some.cdx.json", sboms)
    return written(WHEEL, content.getvalue())


def source(texts: dict[str, str]) -> blobs.Blob:
    """Write a source of CPython with these files."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:xz") as archive:
        for name, text in texts.items():
            member = tarfile.TarInfo(f"Python-3.13.99/{name}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return written(SOURCE, content.getvalue())


@pytest.mark.parametrize(
    ("metadata", "licence"),
    [
        ("License-Expression: MIT AND PSF-2.0\n", "MIT AND PSF-2.0"),
        ("License: BSD-3-Clause\n", "BSD-3-Clause"),
        ("License-Expression: MIT\nLicense: see the file\n", "MIT"),
    ],
)
def test_licence_of_a_wheel(metadata: str, licence: str) -> None:
    """A wheel's licence is the SPDX expression of its metadata."""
    component = by_ref(sbom.document("1.0", [wheel(metadata)]))[WHEEL]
    assert component["licenses"] == [{"expression": licence}]
    assert component["name"] == "some-thing"


@pytest.mark.parametrize("metadata", ["", "License: Dual License\n"])
def test_unknown_licence_is_refused(metadata: str) -> None:
    """A wheel without a licence that a program can read is an error that names the place to add it."""
    with pytest.raises(blobs.VendorError, match=f"{WHEEL} does not name its licence: add it to LICENCES"):
        sbom.document("1.0", [wheel(metadata)])


def test_libraries_in_a_wheel() -> None:
    """Libraries that are compiled into a wheel are listed, without its build tools."""
    listed = {"bomFormat": "CycloneDX", "components": [CRATE, BUILD_ONLY]}
    text = sbom.document("1.0", [wheel("License: MIT\n", json.dumps(listed))])
    assert by_ref(text)["pkg:cargo/crate@2.0"]["hashes"][0]["content"] == "ab" * 32
    assert "pkg:cargo/build@1.0" not in by_ref(text)
    below = {entry["ref"]: entry.get("dependsOn") for entry in document(text)["dependencies"]}
    assert below[WHEEL] == ["pkg:cargo/crate@2.0"]


def test_other_list_in_a_wheel_is_refused() -> None:
    """A list of a wheel's parts in a form that is not read is an error."""
    with pytest.raises(blobs.VendorError, match=r"not of CycloneDX"):
        sbom.document("1.0", [wheel("License: MIT\n", "{}")])


def test_libraries_in_cpython() -> None:
    """The libraries in CPython have the versions of their sources; OpenSSL and zlib are not shipped."""
    components = by_ref(sbom.document("1.0", [source(SOURCES)]))
    versions = {
        each["name"]: each.get("version") for ref, each in components.items() if ref.startswith("pkg:")
    }
    assert versions == {
        "expat": "2.8.1",
        "hacl-star": "abc123",
        "libb2": "0.98.1",
        "mimalloc": "2.1.2",
        "mpdecimal": "2.5.1",
        "openssl": None,
        "zlib": None,
    }
    assert components[SOURCE]["cpe"] == "cpe:2.3:a:python:python:3.13.99:*:*:*:*:*:*:*"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "Misc/sbom.spdx.json",
            '{"packages": [{"name": "new"}], "x": "libb2-1.tar"}',
            "contains new: add it",
        ),
        ("Modules/_hacl/refresh.sh", "", "does not state a version of hacl-star"),
        ("Modules/expat/expat.h", None, "lacks Modules/expat/expat.h"),
    ],
)
def test_other_cpython_is_refused(name: str, text: str | None, message: str) -> None:
    """A CPython with a new library, or without what names a version, is an error that names it."""
    texts = {path: content for path, content in {**SOURCES, name: text}.items() if content is not None}
    with pytest.raises(blobs.VendorError, match=re.escape(message)):
        sbom.document("1.0", [source(texts)])


def test_missing_blob() -> None:
    """A blob that is not fetched is an error that says how to fetch it."""
    with pytest.raises(blobs.VendorError, match=r"is missing: run `make vendor`"):
        sbom.document("1.0", [blobs.Blob(WHEEL, 1, "00")])


def test_wrong_blob() -> None:
    """A blob that is another file is refused."""
    blob = wheel("License: MIT\n")
    blob.file.write_bytes(b"other")
    with pytest.raises(blobs.VendorError, match=r"is not the file that config/blobs\.yml lists"):
        sbom.document("1.0", [blob])


def test_same_sources_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same sources give the same document; the time is that of SOURCE_DATE_EPOCH, if it is set."""
    blob = wheel("License: MIT\n")
    first = sbom.document("1.0", [blob])
    assert sbom.document("1.0", [blob]) == first
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    dated = document(sbom.document("1.0", [blob]))
    assert dated["metadata"]["timestamp"] == "2023-11-14T22:13:20+00:00"
    assert dated["serialNumber"] != document(first)["serialNumber"]


def run(monkeypatch: pytest.MonkeyPatch, folder: Path, blob: blobs.Blob) -> Path:
    """Run the program for these blobs; return the file that it is told to write."""
    index, output = folder / "blobs.yml", folder / "list.json"
    index.write_text(blobs.index_text([blob]))
    monkeypatch.setattr(sbom, "INDEX", index)
    monkeypatch.setattr("sys.argv", ["sbom", "--version", "1.2.3", "--output", str(output)])
    sbom.main()
    return output


def test_list_of_a_version(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """The program writes the list of a version into the given file."""
    written_to = run(monkeypatch, folder, wheel("License: MIT\n"))
    assert document(written_to.read_text())["metadata"]["component"]["version"] == "1.2.3"


def test_no_list_of_missing_blobs(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Without the blobs the program ends with a message, and writes nothing."""
    with pytest.raises(SystemExit, match=r"sbom: .* is missing: run `make vendor`"):
        run(monkeypatch, folder, blobs.Blob(WHEEL, 1, "00"))
    assert not (folder / "list.json").exists()
