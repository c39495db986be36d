"""Installs the package ``bosh_aws_cpi`` when BOSH compiles it: ``install.py LIB PLATFORM``.

LIB gets our own package, the wheels for every platform and those for PLATFORM (``Linux-x86_64``), all in
one folder, with bytecode for every module; the folder ``licenses`` beside it gets the wheels' licences.
It uses the standard library only, since nothing else is installed yet.
"""

import ast
import compileall
import gzip
import hashlib
import importlib
import io
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from py_compile import PycInvalidationMode
from types import ModuleType
from typing import Any

HASHES = "bosh_release/wheels.sha256"
"""SHA-256 and path of each wheel, as ``sha256sum`` writes them; a wheel's folder is its platform."""
REGEXES = "stored_regexes.py"
"""Stores regular expressions, and uses them in each call."""
ROOTS = "roots.py"
"""Takes certifi's place: whom calls trust."""
EVERY_PLATFORM = "any"
FOR_COMMANDS = ".commands"
"""What stands before the suffix in the name of a file for operators' commands; aws/sdk/data.py reads it."""
LICENSES = ("LICEN", "NOTICE", "COPYING", "AUTHORS")
"""Prefixes of the names of a wheel's licence files."""


class InstallError(Exception):
    """The package cannot be installed; the message says why."""


def install(sources: Path, lib: Path, platform: str) -> None:
    """Install everything.

    Args:
        sources: The folder with our package, the hashes and the wheels.
        lib: The folder to create.
        platform: ``uname -s`` and ``uname -m``, with a hyphen between them.
    """
    for wheel, sha256 in wheels(sources / HASHES, platform).items():
        unpack(sources / wheel, sha256, lib)
    shutil.copytree(sources / "bosh_aws_cpi", lib / "bosh_aws_cpi")
    shutil.copyfile(sources / "bosh_release" / "start.py", lib / "__main__.py")
    shutil.copyfile(sources / "bosh_release" / REGEXES, lib / REGEXES)
    cut(lib / "botocore" / "data", cutter(lib))
    drop_typed_dicts(lib / "pydantic_core" / "core_schema.py")
    shutil.copyfile(sources / "bosh_release" / ROOTS, lib / "certifi" / "__init__.py")
    # The bytecode stays valid whatever happens to the files' times: nothing is written at run time.
    if not compileall.compile_dir(
        lib, quiet=1, force=True, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH
    ):
        raise InstallError("not every module could be compiled; see above")
    store = [sys.executable, "-I", "-S", "-B", str(lib / REGEXES), str(lib)]
    if subprocess.run(store, check=False).returncode:  # noqa: S603 - one of ours
        raise InstallError("not every module can be loaded; see above")


def wheels(hashes: Path, platform: str) -> dict[str, str]:
    """Return the SHA-256 of each wheel for this platform, by its path."""
    every = {path: sha256 for sha256, path in map(str.split, hashes.read_text().splitlines())}
    known = {path.split("/")[1] for path in every} - {EVERY_PLATFORM}
    if platform not in known:
        raise InstallError(f"there are no wheels for {platform}, only for {', '.join(sorted(known))}")
    return {
        path: sha256 for path, sha256 in every.items() if path.split("/")[1] in {EVERY_PLATFORM, platform}
    }


def unpack(wheel: Path, sha256: str, lib: Path) -> None:
    """Check a wheel's hash and unpack it, without its installation data and its scripts."""
    content = wheel.read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise InstallError(f"{wheel.name} is not the file whose SHA-256 is in {HASHES}")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            top, *below = name.split("/")
            if top.endswith(".dist-info"):
                if below[-1].upper().startswith(LICENSES):
                    licenses = lib.with_name("licenses") / top.removesuffix(".dist-info")
                    licenses.mkdir(parents=True, exist_ok=True)
                    (licenses / below[-1]).write_bytes(archive.read(name))
            elif not top.endswith(".data"):
                archive.extract(name, lib)
            elif below[0] in {"purelib", "platlib"}:
                raise InstallError(f"{wheel.name} has modules in {top}, which this does not unpack")


def cutter(lib: Path) -> ModuleType:
    """Return our own module that cuts the SDK's data."""
    sys.path.insert(0, str(lib))
    try:
        return importlib.import_module("bosh_aws_cpi.aws.sdk.data_cut")
    finally:
        sys.path.remove(str(lib))


def cut(data: Path, data_cut: Any) -> None:  # noqa: ANN401 - a module that is not installed yet
    """Cut botocore's data to the parts that the CPI reads, in the form that is read fastest.

    Every call that uses AWS reads a service's model, and the list of all endpoints. Operators' commands need
    more: they have files of their own.
    """
    known = data_cut.SERVICES.keys() | data_cut.COMMAND_SERVICES.keys()
    for folder in [entry for entry in data.iterdir() if entry.is_dir()]:
        if folder.name in known:
            cut_service(folder, data_cut.cut)
        else:
            shutil.rmtree(folder)
    missing = known - {entry.name for entry in data.iterdir()}
    if missing:
        raise InstallError(f"botocore has no data for {', '.join(sorted(missing))}")
    endpoints = data / "endpoints.json"
    write_both(endpoints, json.loads(endpoints.read_bytes()), data_cut.cut)


def cut_service(folder: Path, cut_document: Callable[..., Any]) -> None:
    """Keep only the newest version of a service's data, without examples, and uncompressed."""
    *outdated, newest = sorted(folder.iterdir())
    for version in outdated:
        shutil.rmtree(version)
    for path in list(newest.iterdir()):
        if path.name.startswith("examples-"):
            path.unlink()
        elif path.suffix == ".gz":
            plain = path.with_suffix("")
            write_both(plain, json.loads(gzip.decompress(path.read_bytes())), cut_document)
            path.unlink()


def drop_typed_dicts(module: Path) -> None:
    """Make each TypedDict of a module, and each class that derives from one, another name for `dict`.

    They are for type checkers only, but Python creates the classes with all their annotations in every
    process: 8 % of what `create_disk` executes (docs/decisions/start-up.md). All lines keep their numbers.
    """
    lines = module.read_text(encoding="utf-8").splitlines()
    dropped = {"TypedDict"}
    for node in ast.parse("\n".join(lines)).body:
        if isinstance(node, ast.ClassDef) and dropped.intersection(map(ast.unparse, node.bases)):
            dropped.add(node.name)
            first, end = node.lineno - 1, node.end_lineno or node.lineno
            lines[first:end] = [f"{node.name} = dict", *[""] * (end - first - 1)]
    module.write_text("\n".join([*lines, ""]), encoding="utf-8")


def write_both(path: Path, document: Any, cut_document: Callable[..., Any]) -> None:  # noqa: ANN401 - JSON
    """Write what the methods need, and in a second file what the commands need, if that is more."""
    small, large = cut_document(path.stem, document), cut_document(path.stem, document, for_commands=True)
    write(path, small)
    if large != small:
        write(path.with_name(f"{path.stem}{FOR_COMMANDS}{path.suffix}"), large)


def write(path: Path, document: Any) -> None:  # noqa: ANN401 - any JSON value
    """Write a document without spaces."""
    path.write_text(json.dumps(document, separators=(",", ":")))


if __name__ == "__main__":
    try:
        install(Path.cwd(), Path(sys.argv[1]), sys.argv[2])
    except InstallError as error:
        sys.exit(f"bosh_aws_cpi: {error}")
