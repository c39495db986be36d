"""Fetches CPython's source: from upstream, or from Debian, which distributes upstream's own file."""

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
PATIENCE = 30
"""Seconds without an answer after which upstream counts as unreachable."""
SUITES = ("testing", "unstable", "stable", "oldstable")
"""Debian's suites by the names that stay when Debian releases: a version moves from one to the next.

Security fixes, updates and proposed updates have a suite's own source, and backports have no CPython.
"""
PACKAGE = f"python{PYTHON}"
ALL_LISTS = ("--option", "APT::Update::Error-Mode=any")
"""A list that apt can't fetch is an error, where its version knows this option."""


def fetched(name: str, scratch: Path, blob: Blob | None) -> Path:
    """Fetch a source, and check it.

    The SHA-256 that config/blobs.yml lists vouches for it, and no mirror's signature: not every machine has
    Debian's keys. A place that sends another file, such as a proxy's error page, counts as one without it.

    Args:
        name: The file's name.
        scratch: A folder for it.
        blob: Its entry; None for a source whose SHA-256 nobody here knows yet. That is shown, and Debian must
            have signed the list with it.

    Raises:
        VendorError: No place has it; the message has the answer of each.
    """
    problems = []
    for place, fetch in _places(name, scratch, "[trusted=yes] " if blob else ""):
        try:
            file = fetch()
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
    """Yield each place that may have the file, with what fetches it from there."""
    yield UPSTREAM, lambda: _upstream(name, scratch)
    if not shutil.which("apt-get"):
        return
    mirrors = run("apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages").splitlines()
    for mirror in dict.fromkeys(mirrors):
        for suite in SUITES:
            source = f"deb-src {trust}{mirror} {suite} main"
            yield f"{mirror} {suite}", partial(_debian, name, scratch, source)


def _version(name: str) -> str:
    return name.removeprefix("Python-").removesuffix(".tar.xz")


def _upstream(name: str, scratch: Path) -> Path:
    url = f"{UPSTREAM}/{_version(name)}/{name}"
    say(f"fetching {name}")
    file = scratch / name
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer, file.open("wb") as written:  # noqa: S310 - https
            shutil.copyfileobj(answer, written)
    except (OSError, http.client.HTTPException) as error:
        raise VendorError(f"can't be fetched: {type(error).__name__}: {error}") from error
    return file


def _debian(name: str, scratch: Path, source: str) -> Path:
    """Fetch the source from one suite of one mirror with apt, which gets settings of its own."""
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
    run("apt-get", config, *ALL_LISTS, "update", folder=folder)
    listed = run("apt-cache", config, "showsrc", "--only-source", PACKAGE, folder=folder).splitlines()
    versions = [line.removeprefix("Version: ") for line in listed if line.startswith("Version: ")]
    wanted = [version for version in versions if version.rpartition("-")[0] == _version(name)]
    if not wanted:
        raise VendorError(f"has {', '.join(versions) or 'no ' + PACKAGE}")
    package = f"{PACKAGE}={wanted[0]}"
    run("apt-get", config, "source", "--download-only", "--tar-only", package, folder=folder)
    return folder / f"{PACKAGE}_{_version(name)}.orig.tar.xz"


def run(*command: str, folder: Path = ROOT) -> str:
    """Run a command; its output is shown only if it fails."""
    ended = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder)  # noqa: S603 - made here
    if ended.returncode:
        raise VendorError(f"{' '.join(command[:4])} … failed:\n{ended.stdout}{ended.stderr}".rstrip())
    return ended.stdout


def say(text: str) -> None:
    """Write a line about the progress to stdout."""
    sys.stdout.write(f"vendor: {text}\n")
    sys.stdout.flush()
