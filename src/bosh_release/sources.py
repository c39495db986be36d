"""Fetches CPython's source from upstream, or from Debian, which distributes upstream's own file."""

import http.client
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from bosh_release.blobs import PYTHON, ROOT, Blob, VendorError, measure

UPSTREAM = "https://www.python.org/ftp/python"
TIMEOUT = 30
"""The seconds without an answer after which upstream counts as unreachable."""
SUITES = ("testing", "unstable", "stable", "oldstable")
"""Debian's suites, by the names that do not change with a release: a version moves from suite to suite.

Other suites are not needed: security fixes and updates have the source of a suite, backports no CPython.
"""
PACKAGE = f"python{PYTHON}"
FAIL_ON_ERROR = ("--option", "APT::Update::Error-Mode=any")
"""Lets apt fail if it can't fetch a list; older versions of apt ignore this option."""


def fetch(name: str, scratch: Path, blob: Blob | None) -> Path:
    """Fetch a source, and check it.

    The check compares the SHA-256 in config/blobs.yml, not a mirror's signature: not every machine has
    Debian's keys. A place that sends another file, such as a proxy's error page, counts as without the file.

    Args:
        name: The name of the file.
        scratch: A folder for the file.
        blob: The entry of the file; None for a source whose SHA-256 is not known yet. If so, the SHA-256 is
            shown, and Debian must have signed the list with the file.

    Raises:
        VendorError: No place has the file; the message has the answer of each place.
    """
    problems = []
    for place, download in _places(name, scratch, "[trusted=yes] " if blob else ""):
        try:
            file = download()
            if blob:
                blob.check(file)
            else:
                size, sha256 = measure(file)
                say(f"{name}: {size} bytes, SHA-256 {sha256}. Compare it as docs/release.md says")
        except VendorError as problem:
            problems.append(f"{place}: {problem}")
        else:
            return file
    raise VendorError("\n".join(problems))


def _places(name: str, scratch: Path, trust: str) -> Iterator[tuple[str, Callable[[], Path]]]:
    """Yield each place that may have the file, with a function that fetches the file from there."""
    yield UPSTREAM, lambda: _fetch_upstream(name, scratch)
    if not shutil.which("apt-get"):
        return
    mirrors = run("apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages").splitlines()
    for mirror in dict.fromkeys(mirrors):
        for suite in SUITES:
            source = f"deb-src {trust}{mirror} {suite} main"
            yield f"{mirror} {suite}", partial(_fetch_debian, name, scratch, source)


def _version(name: str) -> str:
    return name.removeprefix("Python-").removesuffix(".tar.xz")


def _fetch_upstream(name: str, scratch: Path) -> Path:
    url = f"{UPSTREAM}/{_version(name)}/{name}"
    say(f"fetching {name}")
    file = scratch / name
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as answer, file.open("wb") as written:  # noqa: S310 - https
            shutil.copyfileobj(answer, written)
    except (OSError, http.client.HTTPException) as error:
        raise VendorError(f"can't be fetched: {type(error).__name__}: {error}") from error
    return file


def _fetch_debian(name: str, scratch: Path, source: str) -> Path:
    """Fetch the source from one suite of one mirror with apt, with separate settings."""
    folder = scratch / "debian"
    shutil.rmtree(folder, ignore_errors=True)
    for each in ("lists/partial", "cache/archives/partial"):
        (folder / each).mkdir(parents=True)
    (folder / "sources.list").write_text(f"{source}\n")
    settings = folder / "apt.conf"
    settings.write_text(
        f'Dir::Etc::SourceList "{folder}/sources.list";\nDir::Etc::SourceParts "/dev/null";\n'
        f'Dir::State::Lists "{folder}/lists";\nDir::Cache "{folder}/cache";\nAPT::Sandbox::User "root";\n'
    )
    config = f"--config-file={settings}"
    run("apt-get", config, *FAIL_ON_ERROR, "update", folder=folder)
    listed = run("apt-cache", config, "showsrc", "--only-source", PACKAGE, folder=folder).splitlines()
    versions = [line.removeprefix("Version: ") for line in listed if line.startswith("Version: ")]
    wanted = [version for version in versions if version.rpartition("-")[0] == _version(name)]
    if not wanted:
        raise VendorError(f"has {', '.join(versions) or 'no ' + PACKAGE}")
    package = f"{PACKAGE}={wanted[0]}"
    run("apt-get", config, "source", "--download-only", "--tar-only", package, folder=folder)
    return folder / f"{PACKAGE}_{_version(name)}.orig.tar.xz"


def run(*command: str, folder: Path = ROOT) -> str:
    """Run a command, and return its stdout; show its output only if it fails."""
    result = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder)  # noqa: S603 - made here
    if result.returncode:
        raise VendorError(f"{' '.join(command[:4])} … failed:\n{result.stdout}{result.stderr}".rstrip())
    return result.stdout


def say(text: str) -> None:
    """Write a line about the progress to stdout."""
    sys.stdout.write(f"vendor: {text}\n")
    sys.stdout.flush()
