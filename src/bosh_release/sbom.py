"""Writes the list of the release's components (SBOM), as CycloneDX JSON.

The facts about a package come from the lock file, config/blobs.yml and the installed package's own metadata.
The same sources give the same bytes: the list has a time only if SOURCE_DATE_EPOCH, in seconds, is set.
"""

import argparse
import json
import os
import sys
import tomllib
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.contact import OrganizationalContact
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from bosh_release.blobs import INDEX, LOCK, ROOT, Blob, read_index, read_lock

COMMITTED = ROOT / "docs" / "sbom.cdx.json"
RELEASE = "bosh-aws-cpi"


def document(version: str) -> str:
    """Return the SBOM of a version of the release, as text."""
    purl = PackageURL("generic", None, RELEASE, version)
    release = _component(purl, project()["license"], type=ComponentType.APPLICATION)
    components = [_cpython(), *(part for name in read_lock(LOCK.read_text()) for part in _package(name))]
    bom = Bom(components=components, serial_number=uuid.UUID(int=0))
    bom.metadata.component = release
    bom.metadata.authors.add(OrganizationalContact(name=project()["authors"][0]["name"]))
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    # The schema does not require it.
    bom.metadata.timestamp = datetime.fromtimestamp(int(seconds), UTC) if seconds else None  # type: ignore[assignment]
    bom.register_dependency(release, components)
    # Derived from the content, not random.
    bom.serial_number = uuid.uuid5(uuid.NAMESPACE_OID, JsonV1Dot6(bom).output_as_string())
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


def project() -> dict[str, Any]:
    """Return the project's own metadata."""
    parsed: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return parsed


def _package(name: str) -> list[Component]:
    """Return a locked package, and the components of its own SBOMs, such as Rust crates."""
    installed = distribution(name)
    metadata = installed.metadata
    licence = metadata["License-Expression"] or metadata["License"]
    files = [blob for blob in _blobs() if blob.is_wheel and _normalize(blob.file.name.split("-")[0]) == name]
    sboms = [json.loads(path.read_text()) for path in installed.files or () if path.parent.name == "sboms"]
    crates = [
        _component(PackageURL.from_string(each["purl"]), each["licenses"][0]["expression"])
        for sbom in sboms
        for each in sbom["components"]
        if each.get("scope") != "excluded"  # from the binary
    ]
    return [_component(PackageURL("pypi", None, name, installed.version), licence, files), *crates]


def _cpython() -> Component:
    """Return the interpreter, whose source has no such metadata."""
    (source,) = (blob for blob in _blobs() if not blob.is_wheel)
    version = source.file.name.removeprefix("Python-").removesuffix(".tar.xz")
    cpe = f"cpe:2.3:a:python:python:{version}:*:*:*:*:*:*:*"
    return _component(PackageURL("generic", None, "cpython", version), "Python-2.0.1", [source], cpe=cpe)


def _component(
    purl: PackageURL,
    licence: str,
    files: Iterable[Blob] = (),
    type: ComponentType = ComponentType.LIBRARY,  # noqa: A002 - the library's name
    cpe: str | None = None,
) -> Component:
    """Return a component with its vendored files."""
    references = [
        ExternalReference(
            type=ExternalReferenceType.DISTRIBUTION,
            url=XsUri(blob.path),
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=blob.sha256)],
        )
        for blob in files
    ]
    return Component(
        type=type,
        name=purl.name,
        version=purl.version,
        purl=purl,
        cpe=cpe,
        bom_ref=str(purl),
        licenses=[LicenseFactory().make_from_string(licence)],
        external_references=references,
    )


def _blobs() -> Iterable[Blob]:
    return read_index(INDEX.read_text()).values()


def _normalize(name: str) -> str:
    return name.replace("_", "-").lower()


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(prog="make sbom", description=__doc__)
    parser.add_argument("--version", default=project()["version"], help="the release's version")
    parser.add_argument("--output", type=Path, default=COMMITTED, help="the file to write")
    arguments = parser.parse_args()
    arguments.output.write_text(document(arguments.version))
    sys.stdout.write(f"sbom: {arguments.output} is written\n")


if __name__ == "__main__":
    main()
