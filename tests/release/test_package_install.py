"""What the package bosh_aws_cpi installs, from wheels made here."""

import hashlib
import json
import marshal
import runpy
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import botocore
import pytest

import bosh_aws_cpi
from bosh_aws_cpi.aws.sdk.data_cut import COMMAND_SERVICES, LARGE, SERVICES
from bosh_release import install, stored_regexes
from testbed.tls import Authority

PLATFORM = "Linux-x86_64"
EXAMPLE = b'{"documentation": "long", "operations": {}, "shapes": {}}'
PROGRAM = Path(bosh_aws_cpi.__file__).parent
ALL_SERVICES = sorted({*SERVICES, *COMMAND_SERVICES})
OWN = (
    "aws/__init__.py",
    "aws/sdk/__init__.py",
    "aws/sdk/permissions.py",
    "aws/sdk/data.py",
    "aws/sdk/data_cut.py",
    "records.py",
)
"""What the installer needs of the program."""


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Lay what BOSH unpacks before it compiles the package: our code and four wheels."""
    folder = tmp_path / "sources"
    (folder / "bosh_aws_cpi").mkdir(parents=True)
    (folder / "bosh_aws_cpi" / "__init__.py").touch()
    start = "def hold_signals():\n    pass\ndef run():\n    print('started')\n    raise SystemExit(3)\n"
    (folder / "bosh_aws_cpi" / "__main__.py").write_text(start)
    (folder / "bosh_aws_cpi" / "aws" / "sdk").mkdir(parents=True)
    for name in OWN:
        shutil.copy(PROGRAM / name, folder / "bosh_aws_cpi" / name)
    (folder / "bosh_release").mkdir()
    for name in ("install.py", "start.py", install.REGEXES, install.ROOTS):
        shutil.copy(Path(install.__file__).parent / name, folder / "bosh_release")
    service = {f"botocore/data/{name}/2020-01-01/service-2.json": EXAMPLE for name in ALL_SERVICES}
    endpoints: dict[str, Any] = {"partitions": [{"services": {"ec2": {}, "s3": {}}}], "large": "x" * LARGE}
    made = {
        "wheels/any/botocore-1-py3-none-any.whl": {
            "botocore/__init__.py": b"",
            "botocore/loaders.py": b"class JSONFileLoader: pass\nclass Loader: pass\n",
            "botocore/data/endpoints.json": json.dumps(endpoints).encode(),
            "botocore/data/s3/2020-01-01/service-2.json": b"{}",
            "botocore-1.dist-info/METADATA": b"",
            "botocore-1.dist-info/NOTICE": b"notice",
            "botocore-1.dist-info/licenses/LICENSE.txt": b"licence",
            "botocore-1.dist-info/licenses/": b"",
            "botocore-1.data/scripts/tool": b"",
            **service,
        },
        "wheels/any/certifi-1-py3-none-any.whl": {
            "certifi/__init__.py": b"",
            "certifi/core.py": b"",
            "certifi/cacert.pem": Authority(tmp_path, "root").path.read_bytes(),
        },
        "wheels/any/schemas-1-py3-none-any.whl": {"pydantic_core/core_schema.py": b""},
        f"wheels/{PLATFORM}/native-1-cp313-cp313-x.whl": {"native.py": b"HERE = 1"},
        "wheels/Linux-aarch64/native-1-cp313-cp313-y.whl": {"native.py": b"HERE = 2"},
    }
    lines = []
    for path, content in made.items():
        wheel = folder / path
        wheel.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(wheel, "w") as archive:
            for name, written in content.items():
                archive.writestr(name, written)
        lines.append(f"{hashlib.sha256(wheel.read_bytes()).hexdigest()}  {path}\n")
    (folder / install.HASHES).write_text("".join(lines))
    return folder


@pytest.fixture
def lib(sources: Path, tmp_path: Path) -> Path:
    """Install, and return the folder."""
    install.install(sources, tmp_path / "lib", PLATFORM)
    return tmp_path / "lib"


def run(*command: object, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run this interpreter as the package and the job do."""
    words = [sys.executable, "-I", "-S", "-B", *map(str, command)]
    return subprocess.run(words, check=False, capture_output=True, text=True, cwd=folder, env={})


def test_licenses_stay(lib: Path) -> None:
    """Each wheel's licence and notices are installed, beside the library."""
    licenses = lib.with_name("licenses")
    found = {
        str(path.relative_to(licenses)): path.read_text() for path in licenses.rglob("*") if path.is_file()
    }
    assert found == {"botocore-1/LICENSE.txt": "licence", "botocore-1/NOTICE": "notice"}


@pytest.mark.parametrize("kind", ["purelib", "platlib"])
def test_modules_elsewhere_are_refused(kind: str, tmp_path: Path) -> None:
    """A wheel that has modules where installers alone look for them is refused, not installed in part."""
    wheel = tmp_path / "odd-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"odd-1.data/{kind}/odd.py", b"")
    sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
    with pytest.raises(install.InstallError, match=r"odd-1-py3-none-any\.whl has modules in odd-1\.data"):
        install.unpack(wheel, sha256, tmp_path / "lib")


def test_every_module_has_bytecode(lib: Path) -> None:
    """Every module has bytecode that is valid whatever the time stamps say."""
    modules = list(lib.rglob("*.py"))
    assert len(modules) == 16
    for module in modules:
        flags = Path(cache_from_source(str(module))).read_bytes()[4:8]
        assert int.from_bytes(flags, "little") == 1, module  # by hash, and not to be checked


def test_changed_wheel_is_refused(sources: Path, tmp_path: Path) -> None:
    """A wheel that is not the pinned one is refused, and named."""
    wheel = next((sources / "wheels" / PLATFORM).iterdir())
    wheel.write_bytes(wheel.read_bytes() + b"\n")
    with pytest.raises(install.InstallError, match=r"native-1-cp313-cp313-x\.whl is not the file"):
        install.install(sources, tmp_path / "lib", PLATFORM)


def test_unknown_platform_is_refused(sources: Path, tmp_path: Path) -> None:
    """On another platform the package says which there are, and nothing more."""
    ended = run("bosh_release/install.py", tmp_path / "lib", "SunOS-sparc", folder=sources)
    assert ended.returncode == 1
    expected = "there are no wheels for SunOS-sparc, only for Linux-aarch64, Linux-x86_64\n"
    assert ended.stderr == expected


def test_module_that_does_not_compile_is_refused(sources: Path, tmp_path: Path) -> None:
    """A module without bytecode would be compiled at every call: the package refuses it."""
    (sources / "bosh_aws_cpi" / "broken.py").write_text("def")
    with pytest.raises(install.InstallError, match="not every module could be compiled"):
        install.install(sources, tmp_path / "lib", PLATFORM)


WORDS = r"""
import re
TEXT = re.compile(r"(?P<first>\w+)[é-ÿ]?-(?P<second>[^x]{2,3})", re.I | re.A)
BYTES = re.compile(rb"(?:a|\xff)+")
LOCAL = re.compile(rb"\w", re.L)
re.sub("q+", "", "")  # from 3.13 on, its flags are a number of a class of its own
"""
MATCHING = """
import re
parse, parsed = re._parser.parse, []
re._parser.parse = lambda pattern, *flags: parsed.append(pattern) or parse(pattern, *flags)
def hold_signals():
    pass
def run():
    from bosh_aws_cpi import words
    found = words.TEXT.fullmatch("Bé-12")
    print(len(parsed), found.groupdict(), words.BYTES.findall(b"xa\\xffxa"), words.TEXT.flags)
"""


def truncated(content: bytes) -> bytes:
    """Cut a file in the middle."""
    return content[: len(content) // 2]


def of_another_interpreter(content: bytes) -> bytes:
    """Let the stored code be another interpreter's."""
    (magic, size, version), stored = marshal.loads(content)  # noqa: S302 - our own
    return marshal.dumps(((magic, size, version + 1), stored))


@pytest.mark.parametrize(
    ("damage", "compiled"),
    [
        (lambda content: content, 1),  # LOCAL, whose code depends on the process
        (truncated, 4),
        (of_another_interpreter, 4),
        (lambda _: marshal.dumps(1), 4),
        (None, 4),
    ],
    ids=["stored", "truncated", "other interpreter", "other content", "missing"],
)
def test_stored_regexes(
    damage: Callable[[bytes], bytes] | None, compiled: int, sources: Path, tmp_path: Path
) -> None:
    """A call compiles no expression whose code is stored for this interpreter, but all others."""
    (sources / "bosh_aws_cpi" / "words.py").write_text(WORDS)
    (sources / "bosh_aws_cpi" / "__main__.py").write_text(MATCHING)
    lib = tmp_path / "lib"
    install.install(sources, lib, PLATFORM)
    stored = lib / stored_regexes.STORE
    if damage is None:
        stored.unlink()
    else:
        stored.write_bytes(damage(stored.read_bytes()))
    ended = run("-X", "utf8", lib, folder=tmp_path)
    said = f"{compiled} {{'first': 'B', 'second': '12'}} [b'a\\xff', b'a'] 258\n"
    assert (ended.stdout, ended.stderr) == (said, "")


def test_module_that_does_not_load_is_refused(sources: Path, tmp_path: Path) -> None:
    """A module that can't be loaded is found when the package is compiled, not by a call."""
    (sources / "bosh_aws_cpi" / "broken.py").write_text("import not_there")
    with pytest.raises(install.InstallError, match="not every module can be loaded"):
        install.install(sources, tmp_path / "lib", PLATFORM)


def test_roots(lib: Path) -> None:
    """In certifi's place is the module that knows the machine's roots; certifi's file stays beside it."""
    found = runpy.run_path(str(lib / "certifi" / "__init__.py"))
    assert Path(found["BUNDLE"]) == lib / "certifi" / "cacert.pem"
    assert Path(found["BUNDLE"]).exists()


def test_data_of_other_services_is_left_out(lib: Path) -> None:
    """Of botocore's data that of other services goes; large files are cut into the CPI's own folder."""
    data = lib / "botocore" / "data"
    cuts = lib / "bosh_aws_cpi/aws/sdk/cuts" / botocore.__version__
    for kind in ("methods", "commands"):
        (cut,) = (cuts / kind).iterdir()
        assert json.loads(cut.read_text())["partitions"] == [{"services": {"ec2": {}}}]
    assert {entry.name for entry in data.iterdir() if entry.is_dir()} == {*ALL_SERVICES}
    assert (data / "sts" / "2020-01-01" / "service-2.json").read_bytes() == EXAMPLE
