"""Writes the list of everything that the release consists of (SBOM), as CycloneDX JSON.

It reads the blobs, which have to be fetched before. The same sources give the same bytes: the document has a
time only if SOURCE_DATE_EPOCH, in seconds, gives one.
"""

import argparse
import os
import sys
import tomllib
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml
from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, Property, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.contact import OrganizationalContact
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from bosh_release.blobs import INDEX, ROOT, Blob, VendorError, read_index
from bosh_release.parts import Part, read

COMMITTED = ROOT / "docs" / "sbom.cdx.json"
NAME = "bosh-aws-cpi"
PLATFORM = f"{NAME}:platform"
"""The property that names the platform of a wheel."""
NO_SERIAL = uuid.UUID(int=0)


def document(version: str, blobs: Iterable[Blob]) -> str:
    """Return the list as text.

    Args:
        blobs: All of its blobs.

    Raises:
        VendorError: A blob is missing, is another file, or does not say what it is.
    """
    bom = Bom(serial_number=NO_SERIAL)
    bom.metadata.timestamp = _time(os.environ)  # type: ignore[assignment] # the schema does not require it
    bom.metadata.authors.add(OrganizationalContact(name=project()["authors"][0]["name"]))
    release = _own(NAME, version, NAME)
    release.purl = PackageURL("generic", None, NAME, version)
    bom.metadata.component = release
    parts = [read(blob) for blob in blobs]
    # The wheels for several platforms contain the same libraries.
    components = {part.ref: _component(part) for whole in parts for part in (whole, *whole.parts)}
    for whole in parts:
        bom.register_dependency(components[whole.ref], [components[part.ref] for part in whole.parts])
    specs = {spec["name"]: spec for spec in _specs()}
    packages = {name: _own(f"packages/{name}", version, name) for name in specs}
    for name, spec in specs.items():
        contents = [components[part.ref] for part in parts if _takes(spec, part.ref)]
        needs = [packages[need] for need in spec.get("dependencies", ())]
        bom.register_dependency(packages[name], contents + needs)
    bom.register_dependency(release, packages.values())
    bom.components.update(components.values(), packages.values())
    # A name for exactly this content, in place of a random one.
    bom.serial_number = uuid.uuid5(uuid.NAMESPACE_OID, JsonV1Dot6(bom).output_as_string())
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


def project() -> dict[str, Any]:
    """Return the project's own metadata."""
    parsed: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return parsed


def _time(environ: Mapping[str, str]) -> datetime | None:
    seconds = environ.get("SOURCE_DATE_EPOCH")
    return datetime.fromtimestamp(int(seconds), UTC) if seconds else None


def _specs() -> list[dict[str, Any]]:
    """Return the specs of the release's packages."""
    return [yaml.safe_load(path.read_text()) for path in sorted(ROOT.glob("packages/*/spec"))]


def _takes(spec: Mapping[str, Any], path: str) -> bool:
    """Say whether a package takes a blob."""
    return any(fnmatchcase(path, pattern) for pattern in spec["files"])


def _own(ref: str, version: str, name: str) -> Component:
    """Return the release, or one of its packages, which have its version."""
    return Component(
        bom_ref=ref,
        type=ComponentType.APPLICATION,
        name=name,
        version=version,
        licenses=[LicenseExpression(project()["license"])],
    )


def _component(part: Part) -> Component:
    site = ExternalReferenceType.DISTRIBUTION
    return Component(
        bom_ref=part.ref,
        type=ComponentType.LIBRARY,
        name=part.name,
        version=part.version,
        description=part.note,
        licenses=[LicenseExpression(part.licence)] if part.licence else [],
        purl=PackageURL.from_string(part.purl),
        cpe=part.cpe,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=part.sha256)] if part.sha256 else [],
        external_references=[ExternalReference(type=site, url=XsUri(part.url))] if part.url else [],
        properties=[Property(name=PLATFORM, value=part.platform)] if part.platform else [],
    )


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(prog="make sbom", description=__doc__)
    parser.add_argument("--version", default=project()["version"], help="the release's version")
    parser.add_argument("--output", type=Path, default=COMMITTED, help="the file to write")
    arguments = parser.parse_args()
    try:
        text = document(arguments.version, read_index(INDEX.read_text()).values())
    except VendorError as error:
        sys.exit(f"sbom: {error}")
    arguments.output.write_text(text)
    sys.stdout.write(f"sbom: {arguments.output} is written\n")


if __name__ == "__main__":
    main()
