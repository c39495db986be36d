"""What the package ``bosh_aws_cpi`` does when BOSH compiles it: ``install.py LIB PLATFORM``.

LIB gets our own package, the wheels for every platform and those for PLATFORM (``Linux-x86_64``), all in
one folder, with bytecode for every module; the folder ``licenses`` beside it gets the wheels' licences.
Standard library only: nothing else is there yet.
"""

import compileall
import gzip
import hashlib
import importlib
import io
import json
import shutil
import sys
import zipfile
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Any

HASHES = "bosh_release/wheels.sha256"
"""SHA-256 and path of each wheel, as ``sha256sum`` writes them; a wheel's folder is its platform."""
EVERY_PLATFORM = "any"
LICENSES = ("LICEN", "NOTICE", "COPYING", "AUTHORS")
"""How the names of the files begin that say under which terms a wheel may be handed on."""
SERVICES = {
    "ebs": "ebs",
    "ec2": "ec2",
    "elb": "elasticloadbalancing",
    "elbv2": "elasticloadbalancing",
    "sts": "sts",
}
"""The AWS services that the CPI calls, by botocore's name, with the name that their endpoints go by."""


class InstallError(Exception):
    """The package cannot be installed; the message says why."""


def install(sources: Path, lib: Path, platform: str) -> None:
    """Install everything.

    Args:
        sources: Holds our package, the hashes and the wheels.
        lib: Is made.
        platform: ``uname -s`` and ``uname -m``, with a hyphen between them.
    """
    for wheel, sha256 in wheels(sources / HASHES, platform).items():
        unpack(sources / wheel, sha256, lib)
    shutil.copytree(sources / "bosh_aws_cpi", lib / "bosh_aws_cpi")
    shutil.copyfile(sources / "bosh_release" / "start.py", lib / "__main__.py")
    cut(lib / "botocore" / "data", operations(lib))
    # Bytecode that is valid whatever the files' times become on their way: nothing is written at run time.
    if not compileall.compile_dir(
        lib, quiet=1, force=True, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH
    ):
        raise InstallError("not every module could be compiled; see above")


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
    """Unpack a wheel that is the one we pinned, without what says how to install it, and its scripts."""
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


def operations(lib: Path) -> set[str]:
    """Return the names of all that the CPI calls at AWS, of which its permissions are the list."""
    sys.path.insert(0, str(lib))
    try:
        permissions = importlib.import_module("bosh_aws_cpi.tools.permissions")
    finally:
        sys.path.remove(str(lib))
    called = {action for feature in permissions.FEATURES.values() for action in feature.called.split()}
    return {action.partition(":")[2] for action in called | set(permissions.NEEDS_NO_PERMISSION)}


def cut(data: Path, called: set[str]) -> None:
    """Leave of botocore's data what the CPI reads, in the form that is read fastest.

    A service's model is a JSON document, compressed, most of it documentation. Every call that asks AWS
    reads one, and the list of all endpoints. From each operation in it botocore makes a method of the
    client: 800 for EC2, of which the CPI calls 40.
    """
    for folder in [entry for entry in data.iterdir() if entry.is_dir()]:
        if folder.name in SERVICES:
            cut_service(folder, called)
        else:
            shutil.rmtree(folder)
    endpoints = data / "endpoints.json"
    document = json.loads(endpoints.read_bytes())
    for partition in document["partitions"]:
        offered = partition["services"]
        partition["services"] = {name: offered[name] for name in offered if name in SERVICES.values()}
    write(endpoints, document)
    missing = SERVICES.keys() - {entry.name for entry in data.iterdir()}
    if missing:
        raise InstallError(f"botocore has no data for {', '.join(sorted(missing))}")


def cut_service(folder: Path, called: set[str]) -> None:
    """Leave the newest version of a service's data: the operations that are called, undocumented."""
    *outdated, newest = sorted(folder.iterdir())
    for version in outdated:
        shutil.rmtree(version)
    for path in list(newest.iterdir()):
        if path.name.startswith("examples-"):
            path.unlink()
        elif path.suffix == ".gz":
            document = json.loads(gzip.decompress(path.read_bytes()))
            if path.name.startswith("service-"):
                document = {**document, **called_only(document, called)}
            write(path.with_suffix(""), document)
            path.unlink()


def called_only(document: Any, called: set[str]) -> dict[str, Any]:  # noqa: ANN401 - what JSON holds
    """Return the operations of a service's model that are called, and the shapes that they need."""
    kept = {name: each for name, each in document["operations"].items() if name in called}
    shapes: dict[str, Any] = {}
    pending = references(kept)
    while pending:
        name = pending.pop()
        shapes[name] = document["shapes"][name]
        pending |= references(shapes[name]) - shapes.keys()
    return {"operations": without_documentation(kept), "shapes": without_documentation(shapes)}


def references(value: Any) -> set[str]:  # noqa: ANN401 - what JSON holds
    """Return the names of the shapes that a part of a model refers to; a member may be called shape."""
    if isinstance(value, list):
        return {name for item in value for name in references(item)}
    if not isinstance(value, dict):
        return set()
    named = {item for key, item in value.items() if key == "shape" and isinstance(item, str)}
    return named.union(*map(references, value.values()))


def without_documentation(value: Any) -> Any:  # noqa: ANN401 - what JSON holds
    """Return the value without its documentation; a member of that name is no text, and stays."""
    if isinstance(value, list):
        return [without_documentation(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: without_documentation(item)
        for key, item in value.items()
        if key != "documentation" or not isinstance(item, str)
    }


def write(path: Path, document: Any) -> None:  # noqa: ANN401 - what JSON holds
    """Write a document without blanks."""
    path.write_text(json.dumps(document, separators=(",", ":")))


if __name__ == "__main__":
    try:
        install(Path.cwd(), Path(sys.argv[1]), sys.argv[2])
    except InstallError as error:
        sys.exit(f"bosh_aws_cpi: {error}")
