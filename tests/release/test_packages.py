"""config/blobs.yml, the lock file, the packages and the code say the same; nothing is fetched or compiled."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from botocore.loaders import Loader

from bosh_aws_cpi.aws.sdk.data_cut import COMMAND_SERVICES, SERVICES
from bosh_aws_cpi.config import cpi_config
from bosh_release import blobs, install, vendor
from testbed.job import PACKAGES, PYTHON

ROOT = blobs.ROOT
SOURCES = ROOT / "src"
INDEX = blobs.read_index(blobs.INDEX.read_text())
LOCK = blobs.read_lock(blobs.LOCK.read_text())
WHEELS = [blob for blob in INDEX.values() if blob.is_wheel]
PLATFORMS = sorted({wheel.platform for wheel in WHEELS} - {install.EVERY_PLATFORM})


def normalized(name: str) -> str:
    """Return a project's name in the one form that counts."""
    return re.sub("[-_.]+", "-", name).lower()


def locked_as(wheel: blobs.Blob) -> str:
    """Return what the lock file would call a wheel."""
    name, version, *_ = wheel.file.name.split("-")
    return f"{normalized(name)}=={version}"


def spec(package: str) -> dict[str, Any]:
    """Return a package's spec."""
    parsed: dict[str, Any] = yaml.safe_load((ROOT / "packages" / package / "spec").read_text())
    return parsed


def files(package: str) -> set[str]:
    """Return what a package takes from src/ and would take from blobs/, as the `bosh` CLI looks for it."""
    sources = {
        str(path.relative_to(SOURCES)) for pattern in spec(package)["files"] for path in SOURCES.glob(pattern)
    }
    vendored = {path for path in INDEX for pattern in spec(package)["files"] if path_matches(path, pattern)}
    return sources | vendored


def path_matches(path: str, pattern: str) -> bool:
    """Does a pattern of a spec name a path? `**/` stands for any folders, also for none."""
    expression = re.escape(pattern).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
    return re.fullmatch(expression, path) is not None


def test_lock_is_read_whole() -> None:
    """Every requirement of the lock file is known here, with hashes."""
    pinned = re.findall(r"^([^\s#]+)==", blobs.LOCK.read_text(), re.MULTILINE)
    assert list(LOCK) == pinned
    assert all("--hash=sha256:" in requirement for requirement in LOCK.values())


def test_lock_files_agree() -> None:
    """The release has each requirement in the version that the tests use."""
    tested = blobs.read_lock((ROOT / "requirements" / "dev.txt").read_text())
    versions = {name: requirement.split()[0] for name, requirement in LOCK.items()}
    assert versions == {name: tested[name].split()[0] for name in versions}


def test_lock_has_what_the_cpi_depends_on() -> None:
    """The lock file has each dependency that pyproject.toml declares for running the CPI."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {normalized(re.split("[<>=!~; ]", each)[0]) for each in project["dependencies"]}
    assert len(declared) == len(project["dependencies"])
    assert declared <= LOCK.keys()


@pytest.mark.parametrize("platform", PLATFORMS)
def test_each_platform_has_what_is_locked(platform: str) -> None:
    """Each platform gets one wheel of each locked project, in the locked version, and nothing else."""
    got = [locked_as(wheel) for wheel in WHEELS if wheel.platform in {install.EVERY_PLATFORM, platform}]
    assert sorted(got) == sorted(requirement.split()[0] for requirement in LOCK.values())


@pytest.mark.parametrize(
    "wheel", WHEELS, ids=lambda wheel: f"{wheel.platform}/{wheel.file.name.split('-')[0]}"
)
def test_wheels(wheel: blobs.Blob) -> None:
    """A wheel has a SHA-256 of the lock file, and fits its folder's platform and the release's CPython."""
    assert f"--hash=sha256:{wheel.sha256}" in LOCK[locked_as(wheel).split("==")[0]]
    *_, interpreter, abi, tag = wheel.file.name.removesuffix(".whl").split("-")
    if wheel.platform == install.EVERY_PLATFORM:
        assert ("py3" in interpreter.split("."), abi, tag) == (True, "none", "any")
    else:
        system, machine = wheel.platform.split("-")
        assert abi in {f"cp{blobs.PYTHON.replace('.', '')}", "abi3"}
        assert tag.startswith({"Linux": "manylinux", "Darwin": "macosx"}[system])
        assert tag.endswith(machine)


@pytest.mark.parametrize("platform", [each for each in PLATFORMS if each.startswith("Linux")])
def test_old_c_libraries_will_do(platform: str) -> None:
    """Native code is asked for, and there, that runs with glibc 2.17: the oldest that the docs promise."""
    machine = platform.removeprefix("Linux-")
    promised = f"manylinux_2_17_{machine}"
    assert set(vendor.TAGS[platform]) == {promised, f"manylinux2014_{machine}"}
    tags = [wheel.file.name.split("-")[-1].split(".") for wheel in WHEELS if wheel.platform == platform]
    assert len(tags) == len(vendor.NATIVE)
    assert all(promised in each for each in tags)
    assert "glibc 2.17 or later" in (ROOT / "docs" / "release.md").read_text()


@pytest.mark.parametrize(("file", "wheels"), [(install.HASHES, True), (blobs.SOURCE_HASH, False)])
def test_packages_have_the_same_hashes(file: str, wheels: bool) -> None:  # noqa: FBT001
    """The packages check wheels and CPython's source against the hashes of blobs.yml."""
    assert (SOURCES / file).read_text() == blobs.hashes_text(INDEX.values(), wheels=wheels)


def test_one_source_of_the_interpreter() -> None:
    """The one source of CPython, its hash, and what trains the interpreter are the package."""
    (source,) = [path for path in INDEX if path.startswith("python/")]
    assert re.fullmatch(rf"python/Python-{re.escape(blobs.PYTHON)}\.\d+\.tar\.xz", source)
    assert files(PYTHON) == {source, blobs.SOURCE_HASH, "bosh_release/training.py"}


def test_training_needs_only_the_interpreter(tmp_path: Path) -> None:
    """The interpreter is trained in an empty folder, without packages, environment or files of its own."""
    program = str(SOURCES / "bosh_release" / "training.py")
    command = [sys.executable, "-I", "-S", "-B", "-W", "error", program]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path, env={})
    assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_package_takes_the_cpi_and_its_wheels() -> None:
    """The package bosh_aws_cpi takes every file of the CPI, every wheel, and what installs them."""
    program = {
        str(path.relative_to(SOURCES))
        for path in (SOURCES / "bosh_aws_cpi").rglob("*")
        if path.is_file() and path.suffix != ".pyc" and "cuts" not in path.parts  # of the editable install
    }
    installer = {install.HASHES, "bosh_release/install.py", "bosh_release/start.py"}
    installer |= {f"bosh_release/{name}" for name in ("stemcell-copy", install.REGEXES, install.ROOTS)}
    assert files("bosh_aws_cpi") == program | installer | {wheel.path for wheel in WHEELS}


@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_of_another_version_stays(package: str, tmp_path: Path) -> None:
    """Packaging empties its folder, where `bosh create-env` leaves what was installed before an upgrade."""
    for name in ("target", "sources"):
        (tmp_path / name).mkdir()
    (tmp_path / "target" / "lib").mkdir()
    (tmp_path / "target" / "LICENSE").touch()
    done = subprocess.run(
        ["/bin/bash", str(ROOT / "packages" / package / "packaging")],
        cwd=tmp_path / "sources",
        env={
            "PATH": os.defpath,
            "BOSH_INSTALL_TARGET": str(tmp_path / "target"),
            "BOSH_PACKAGES_DIR": "none",
        },
        capture_output=True,
        check=False,
    )
    assert done.returncode != 0, "there are no sources"
    assert list((tmp_path / "target").iterdir()) == []


def test_packages_are_named_by_their_folder() -> None:
    """Each package has its folder's name, and is compiled after the interpreter that it runs with.

    The interpreter's begins with the CPI's: a Director refuses a VM with packages of the same name and other
    contents from two releases (JobPackageCollision in bosh-director's instance_group.rb).
    """
    names = {path.parent.name: spec(path.parent.name) for path in (ROOT / "packages").glob("*/spec")}
    assert {name: parsed["name"] for name, parsed in names.items()} == {name: name for name in names}
    assert names.keys() == set(PACKAGES)
    assert names["bosh_aws_cpi"]["dependencies"] == [PYTHON]
    assert PYTHON.startswith("aws-cpi-")


def test_data_of_every_service_with_an_endpoint() -> None:
    """The SDK's data stays for the services whose endpoints can be configured, and for no other."""
    endpoints = {f"{name}_endpoint": "https://aws.test" for name in ("ec2", "elb", "sts", "ebs")}
    aws = {**endpoints, "region": "here", "max_retries": 8, "access_key_id": "a", "secret_access_key": "b"}
    document = {"cloud": {"properties": {"aws": aws}}}
    assert cpi_config.parse(document, {}, {}).aws.endpoints.keys() == SERVICES.keys()


def test_data_of_every_client() -> None:
    """The SDK's data stays for every service that the code makes a client of."""
    asked = {
        argument.value
        for path in (SOURCES / "bosh_aws_cpi").rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and getattr(call.func, "id", None) == "_client"
        for argument in call.args
        if isinstance(argument, ast.Constant)
    }
    assert "ec2" in asked
    assert asked <= SERVICES.keys() | COMMAND_SERVICES.keys()


@pytest.mark.parametrize("service", sorted(SERVICES))
def test_endpoint_names(service: str) -> None:
    """A service's endpoints stay under the name that botocore looks for."""
    model = Loader().load_service_model(service, "service-2")
    assert model["metadata"]["endpointPrefix"] == SERVICES[service]
