"""Installs the package ``bosh_aws_cpi`` when BOSH compiles it: ``install.py LIB PLATFORM``.

LIB gets our own package, the wheels for every platform and the wheels for PLATFORM (``Linux-x86_64``), all in
one folder, with bytecode for every module. The folder ``licenses`` beside LIB gets the wheels' licences. This
module uses the standard library only, because nothing else is installed yet.
"""

import ast
import compileall
import hashlib
import importlib
import io
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from py_compile import PycInvalidationMode

HASHES = "bosh_release/wheels.sha256"
"""The SHA-256 and path of each wheel, in the format of ``sha256sum``; a wheel's folder is its platform."""
REGEXES = "stored_regexes.py"
"""The module that stores regular expressions, and uses them in each call."""
ROOTS = "roots.py"
"""The module that replaces certifi."""
EVERY_PLATFORM = "any"
LICENSES = ("LICEN", "NOTICE", "COPYING", "AUTHORS")
"""Prefixes of the names of a wheel's licence files."""


class InstallError(SystemExit):
    """The package cannot be installed. This ends the program with a message that says why."""


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
    cut_data(lib)
    drop_typed_dicts(lib / "pydantic_core" / "core_schema.py")
    shutil.copyfile(sources / "bosh_release" / ROOTS, lib / "certifi" / "__init__.py")
    # The bytecode stays valid if the files' times change: nothing is written at run time.
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
    """Check a wheel's hash, and unpack the wheel without its installation data and scripts."""
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


def cut_data(lib: Path) -> None:
    """Cut botocore's data, and delete the data of services that the CPI does not call.

    Each client searches all of the data.
    """
    sys.path.insert(0, str(lib))
    own = importlib.import_module("bosh_aws_cpi.aws.sdk.data_cut")
    version = importlib.import_module("botocore").__version__
    sys.path.remove(str(lib))
    own.write(lib / "botocore", version, lib / "bosh_aws_cpi" / "aws" / "sdk" / "cuts")
    for folder in (lib / "botocore" / "data").iterdir():
        if folder.is_dir() and folder.name not in {*own.SERVICES, *own.COMMAND_SERVICES}:
            shutil.rmtree(folder)


def drop_typed_dicts(module: Path) -> None:
    """Replace each TypedDict of a module, and each class that derives from a TypedDict, by `dict`.

    These classes are for type checkers only, but Python creates them with all their annotations in every
    process: 8 % of what `create_disk` executes (docs/performance.md). All lines keep their numbers.
    """
    lines = module.read_text(encoding="utf-8").splitlines()
    dropped = {"TypedDict"}
    for node in ast.parse("\n".join(lines)).body:
        if isinstance(node, ast.ClassDef) and dropped.intersection(map(ast.unparse, node.bases)):
            dropped.add(node.name)
            first, end = node.lineno - 1, node.end_lineno or node.lineno
            lines[first:end] = [f"{node.name} = dict", *[""] * (end - first - 1)]
    module.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    install(Path.cwd(), Path(sys.argv[1]), sys.argv[2])
