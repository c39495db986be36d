"""What compiled packages need of the system they run on, and what a stemcell line has.

A native file names the versions of the symbols that it takes from a library, such as GLIBC_2.38. The dynamic
linker refuses to start it where the library lacks one of them (ld.so(8); the GNU C Library's manual,
"Symbol versioning"). The `bosh` CLI compares nothing: see docs/compiled-releases.md.
"""

import re
import tarfile
from collections.abc import Iterable, Mapping
from typing import IO

Version = tuple[int, ...]

LINES: Mapping[str, Mapping[str, str]] = {
    "ubuntu-jammy": {"GLIBC": "2.35", "OPENSSL": "3.0.2"},
    "ubuntu-noble": {"GLIBC": "2.39", "OPENSSL": "3.0.13"},
    "ubuntu-resolute": {"GLIBC": "2.43", "OPENSSL": "3.5.5"},
}
"""The libraries of each stemcell line, by the names in their symbols.

packages.ubuntu.com: libc6, and libssl3 or libssl3t64, of the Ubuntu version after which the line is named.
"""

_SYMBOL = re.compile(rb"\0(GLIBC|OPENSSL)_(\d+(?:[._]\d+)*)[a-z]?(?=\0)")
"""OpenSSL 1.1 writes OPENSSL_1_1_1, and OPENSSL_1_1_0f (its util/libssl.num)."""
_ELF = b"\x7fELF"
_FILE, _FOLDER = 0o004, 0o005
"""The permissions of others, without which the user vcap can't run a package that root has installed."""


class PortabilityError(Exception):
    """A compiled package can't run on a stemcell line; the message says why."""


def check(package: str, archive: IO[bytes], line: str) -> None:
    """Check that a compiled package can run on a stemcell line, as any user.

    Args:
        package: The package's name, for the message.
        archive: The package as it was compiled, a tar archive of any compression.
        line: The operating system as stemcells name it, one of LINES.

    Raises:
        PortabilityError: It can't.
    """
    needed: dict[str, Version] = {}
    with tarfile.open(fileobj=archive) as packed:
        for entry in packed:
            wanted = _FOLDER if entry.isdir() else _FILE
            if not entry.issym() and entry.mode & wanted != wanted:
                raise PortabilityError(
                    f"not every user may read {entry.name} of the package {package}: "
                    "delete ~/.bosh/installations/ID, set `umask 022`, and run `bosh create-env` again"
                )
            if entry.isfile() and (content := packed.extractfile(entry)):
                _raise_to(needed, symbols(content.read()))
    if lacking := missing(needed, LINES[line]):
        raise PortabilityError(
            f"the package {package} needs {lacking}, which {line} lacks: "
            f"compile it on {line}, or on an older system with OpenSSL {LINES[line]['OPENSSL'].split('.')[0]}"
        )


def symbols(content: bytes) -> list[tuple[str, Version]]:
    """Return the symbol versions that a file names; none if it is no ELF file."""
    if not content.startswith(_ELF):
        return []
    return [(name.decode(), _version(number.decode())) for name, number in _SYMBOL.findall(content)]


def missing(needed: Mapping[str, Version], present: Mapping[str, str]) -> str:
    """Say which libraries are lacking; empty if none is.

    The C library has all symbols of its older versions. OpenSSL has those of the same first number only:
    another number is another file, such as libssl.so.1.1 (OpenSSL's migration guide for 3.0).

    Args:
        needed: The newest symbol version of each library that something needs.
        present: The libraries' versions.
    """
    return ", ".join(
        f"{name}_{'.'.join(map(str, version))} (it has {present[name]})"
        for name, version in sorted(needed.items())
        if version > (has := _version(present[name])) or (name == "OPENSSL" and version[0] != has[0])
    )


def line_of(stemcell: str) -> str:
    """Return the operating system of a stemcell given as OS/VERSION, such as ubuntu-noble/1.84.

    Raises:
        PortabilityError: It is not of this form, the only one that the CLI takes
            (director/os_version_slug.go), or the line is unknown.
    """
    line, _, version = stemcell.partition("/")
    if not line or not version or "/" in version:
        raise PortabilityError(
            f"a stemcell is given as OS/VERSION, such as ubuntu-noble/1.84, not as {stemcell!r}"
        )
    if line not in LINES:
        raise PortabilityError(f"the stemcell line {line!r} is unknown; known lines: {', '.join(LINES)}")
    return line


def _raise_to(needed: dict[str, Version], found: Iterable[tuple[str, Version]]) -> None:
    for name, version in found:
        needed[name] = max(version, needed.get(name, ()))


def _version(text: str) -> Version:
    return tuple(map(int, re.split("[._]", text)))
