"""Reads what the release's blobs say of themselves: name, version, licence, and the libraries inside them."""

import email.parser
import email.policy
import json
import re
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from cyclonedx import spdx

from bosh_release.blobs import Blob, VendorError
from bosh_release.sources import UPSTREAM


@dataclass(frozen=True)
class Part:
    """A component of the release."""

    ref: str
    """What names it in the document; unique."""
    name: str
    version: str | None
    """None if the machine that compiles the packages provides it."""
    licence: str | None
    """An SPDX expression; None if the version decides."""
    purl: str
    """Its package URL, by which scanners find it."""
    cpe: str | None = None
    """Its name in the National Vulnerability Database, where scanners don't know it by its purl."""
    sha256: str | None = None
    """Of the file that is shipped, or of the crate that was compiled into it."""
    url: str | None = None
    """Where upstream publishes it."""
    platform: str | None = None
    """Of a wheel: `uname -s` and `uname -m` with a hyphen, or `any`."""
    note: str | None = None
    """What the document says of it besides."""
    parts: tuple["Part", ...] = ()
    """What is compiled into it, or linked with it."""


@dataclass(frozen=True)
class Bundled:
    """A library whose source is part of another one's."""

    licence: str
    file: str
    """The file that states the version."""
    version: str
    """The pattern of the version in it; its groups are the numbers between the dots."""
    cpe: str | None = None
    """Vendor and product in the National Vulnerability Database."""


CPYTHON = {
    "expat": Bundled(
        "MIT",
        "Modules/expat/expat.h",
        r"XML_MAJOR_VERSION (\d+)[^/]*XML_MINOR_VERSION (\d+)[^/]*XML_MICRO_VERSION (\d+)",
        "libexpat_project:libexpat",
    ),
    "hacl-star": Bundled("MIT", "Modules/_hacl/refresh.sh", r"expected_hacl_star_rev=(\w+)"),
    "libb2": Bundled("CC0-1.0", "Misc/sbom.spdx.json", r"libb2-([\d.]+)\.tar"),
    "mimalloc": Bundled(
        "MIT",
        "Include/internal/mimalloc/mimalloc.h",
        r"MI_MALLOC_VERSION (\d)(\d)(\d)\b",
        "microsoft:mimalloc",
    ),
    "mpdecimal": Bundled(
        "BSD-2-Clause",
        "Modules/_decimal/libmpdec/mpdecimal.h",
        r'MPD_VERSION "([\d.]+)"',
        "bytereef:mpdecimal",
    ),
}
"""What the interpreter's package compiles in; the licences are those in the headers of the sources.

The versions come from the sources and not from CPython's own list, which names expat 2.6.3 in CPython 3.13.5,
where the source is that of 2.7.1.
"""
LIST_OF_CPYTHON = "Misc/sbom.spdx.json"
"""CPython's own list: a library that is new in it is an error here, so that nobody overlooks it."""
NOT_COMPILED = {"macholib"}
"""What CPython's list has besides: a part of ctypes, which the package leaves out."""
STEMCELL = tuple(
    Part(
        ref=f"pkg:generic/{name}",
        name=name,
        version=None,
        licence=None,
        purl=f"pkg:generic/{name}",
        note=f"Not shipped: {library} of the stemcell, or of the machine that runs bosh create-env; "
        "the interpreter's package is linked with it dynamically.",
    )
    for name, library in {"openssl": "libssl and libcrypto", "zlib": "libz"}.items()
)
"""What CPython is linked with that the release does not contain."""
LIBYAML = Part(
    ref="pkg:generic/libyaml@0.2.5",
    name="libyaml",
    version="0.2.5",
    licence="MIT",
    purl="pkg:generic/libyaml@0.2.5",
    cpe="cpe:2.3:a:pyyaml:libyaml:0.2.5:*:*:*:*:*:*:*",
)
"""What the wheels of PyYAML are linked with; a test compares the version with what the library says."""
UNDECLARED = {"pyyaml": (LIBYAML,)}
"""What is compiled into wheels whose metadata does not name it."""
LICENCES = {"python-dateutil": "BSD-3-Clause"}
"""Licences of wheels whose metadata has no SPDX expression.

python-dateutil says "Dual License"; its licence file has the BSD licence apply to all code, and Apache 2.0 to
newer contributions as well.
"""


def read(blob: Blob) -> Part:
    """Return what a blob is.

    Raises:
        VendorError: It is not the listed file, or does not say what it is.
    """
    if not blob.file.exists():
        raise VendorError(f"{blob.file} is missing: run `make vendor`")
    blob.check(blob.file)
    return _wheel(blob) if blob.is_wheel else _cpython(blob)


def _wheel(blob: Blob) -> Part:
    with zipfile.ZipFile(blob.file) as archive:
        names = archive.namelist()
        (metadata,) = [name for name in names if re.fullmatch(r"[^/]+\.dist-info/METADATA", name)]
        said = email.parser.BytesParser(policy=email.policy.compat32).parsebytes(archive.read(metadata))
        lists = [name for name in names if re.fullmatch(r"[^/]+\.dist-info/sboms/[^/]+", name)]
        crates = [crate for name in lists for crate in _declared(blob, json.loads(archive.read(name)))]
    name = re.sub("[-_.]+", "-", said["Name"]).lower()
    licence = said["License-Expression"] or said["License"]
    if not _is_spdx(licence):
        if name not in LICENCES:
            raise VendorError(f"{blob.path} does not name its licence: add it to LICENCES in parts.py")
        licence = LICENCES[name]
    version = said["Version"]
    return Part(
        ref=blob.path,
        name=name,
        version=version,
        licence=licence,
        purl=f"pkg:pypi/{name}@{version}?file_name={blob.file.name}",
        sha256=blob.sha256,
        platform=blob.platform,
        parts=(*crates, *UNDECLARED.get(name, ())),
    )


def _is_spdx(licence: str | None) -> bool:
    return licence is not None and (spdx.is_supported_id(licence) or spdx.is_expression(licence))


def _declared(blob: Blob, document: Any) -> Iterator[Part]:  # noqa: ANN401 - JSON
    """Return what a wheel's own CycloneDX document names, without what only its build used."""
    if document.get("bomFormat") != "CycloneDX":
        raise VendorError(f"{blob.path} has a list of its parts that is not of CycloneDX")
    for component in document["components"]:
        if component.get("scope") == "excluded":
            continue
        hashes = {entry["alg"]: entry["content"] for entry in component.get("hashes", ())}
        (licence,) = component["licenses"]
        yield Part(
            ref=component["purl"],
            name=component["name"],
            version=component["version"],
            licence=licence["expression"],
            purl=component["purl"],
            sha256=hashes.get("SHA-256"),
        )


def _cpython(blob: Blob) -> Part:
    version = blob.file.name.removeprefix("Python-").removesuffix(".tar.xz")
    url = f"{UPSTREAM}/{version}/{blob.file.name}"
    texts = _texts(blob, {bundled.file for bundled in CPYTHON.values()} | {LIST_OF_CPYTHON})
    listed = {package["name"] for package in json.loads(texts[LIST_OF_CPYTHON])["packages"]}
    if unknown := listed - CPYTHON.keys() - NOT_COMPILED:
        raise VendorError(f"{blob.path} contains {', '.join(sorted(unknown))}: add it to CPYTHON in parts.py")
    return Part(
        ref=blob.path,
        name="cpython",
        version=version,
        licence="Python-2.0.1",
        purl=f"pkg:generic/cpython@{version}?checksum=sha256:{blob.sha256}&download_url={url}",
        cpe=f"cpe:2.3:a:python:python:{version}:*:*:*:*:*:*:*",
        sha256=blob.sha256,
        url=url,
        parts=(
            *(_bundled(name, bundled, texts[bundled.file]) for name, bundled in CPYTHON.items()),
            *STEMCELL,
        ),
    )


def _texts(blob: Blob, wanted: Iterable[str]) -> dict[str, str]:
    """Return files of a source archive, which is compressed as a whole: one pass reads all of them."""
    missing, texts = set(wanted), {}
    with tarfile.open(blob.file, "r|xz") as archive:
        for member in archive:
            _, _, path = member.name.partition("/")
            if path in missing and (opened := archive.extractfile(member)):
                texts[path] = opened.read().decode()
                missing.discard(path)
                if not missing:
                    return texts
    raise VendorError(f"{blob.path} lacks {', '.join(sorted(missing))}: correct CPYTHON in parts.py")


def _bundled(name: str, bundled: Bundled, text: str) -> Part:
    found = re.search(bundled.version, text)
    if found is None:
        raise VendorError(f"{bundled.file} of CPython does not state a version of {name}: correct parts.py")
    version = ".".join(found.groups())
    purl = f"pkg:generic/{name}@{version}"
    cpe = f"cpe:2.3:a:{bundled.cpe}:{version}:*:*:*:*:*:*:*" if bundled.cpe else None
    return Part(ref=purl, name=name, version=version, licence=bundled.licence, purl=purl, cpe=cpe)
