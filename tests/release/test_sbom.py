"""The list of components: complete, valid, and the same for the same sources."""

import json
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from bosh_release import blobs, install, sbom

COMMITTED = sbom.COMMITTED.read_text()
COMPONENTS: list[dict[str, Any]] = json.loads(COMMITTED)["components"]


def test_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The committed list is what the sources give, byte for byte; it has no time."""
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    assert sbom.document(sbom.project()["version"]) == COMMITTED, "stale: run `make sbom docs`"
    assert "timestamp" not in json.loads(COMMITTED)["metadata"]


def test_schema() -> None:
    """The list is valid by the schema of CycloneDX, with no key that the schema does not know."""
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(COMMITTED) is None


def test_every_vendored_file_once() -> None:
    """Each file that the packages check is in one component, with its SHA-256."""
    lines = [(blobs.ROOT / "src" / name).read_text() for name in (install.HASHES, blobs.SOURCE_HASH)]
    files = sorted(tuple(line.split()) for text in lines for line in text.splitlines())
    references = [each for component in COMPONENTS for each in component.get("externalReferences", ())]
    listed = [(each["hashes"][0]["content"], each["url"]) for each in references if "hashes" in each]
    assert sorted(listed) == files


def test_every_requirement_in_its_version() -> None:
    """Each distribution of the lock file is there, in the locked version."""
    purls = {each["purl"] for each in COMPONENTS if each["purl"].startswith("pkg:pypi/")}
    lock = blobs.read_lock(blobs.LOCK.read_text()).values()
    assert purls == {"pkg:pypi/" + each.split(" ", 1)[0].replace("==", "@") for each in lock}


def test_crates_and_licences() -> None:
    """The crates that pydantic-core's own list names are there; each component has a licence."""
    assert "pyo3" in {each["name"] for each in COMPONENTS}
    assert [each["name"] for each in COMPONENTS if not each.get("licenses")] == []


def test_list_of_a_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The program writes the list of a version, with the time of SOURCE_DATE_EPOCH."""
    output = tmp_path / "list.json"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    monkeypatch.setattr("sys.argv", ["sbom", "--version", "1.2.3", "--output", str(output)])
    sbom.main()
    metadata = json.loads(output.read_text())["metadata"]
    assert (metadata["component"]["version"], metadata["timestamp"]) == ("1.2.3", "2023-11-14T22:13:20+00:00")
