"""What a call loads: start-up is paid on every call, so each method pays for itself alone."""

import json
import os
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bosh_aws_cpi.rpc.methods import METHODS
from bosh_aws_cpi.tools.command_line import COMMANDS
from testbed import terminal
from testbed.cloud import ROOT, FakeAws
from testbed.executable import DIRECTOR_UUID, EXECUTABLE, Answer, Cpi, config, finish, spawn

TELLTALE = """
import os, sys
from bosh_aws_cpi import __main__
end = os._exit
def tell(status):
    codes = sys.modules.get("bosh_aws_cpi.aws.sdk.codes")
    read = ["error_codes.txt"] if codes and codes.table.cache_info().misses else []
    sys.stderr.write("\\nloaded " + " ".join([*sorted(sys.modules), *read]))
    sys.stderr.flush()
    end(status)
os._exit = tell
__main__.run()
"""
HEAVY = {"boto3", "botocore", "pydantic", "requests", "tenacity", "yaml"}
COSTLY = {
    *("asyncio", "dataclasses", "inspect", "logging", "pathlib", "socket", "ssl", "tempfile", "threading"),
    *("traceback", "urllib.parse"),
}
"""Parts of Python's own library that take milliseconds."""
PACKAGE = "bosh_aws_cpi"
COMMAND_LINE = {f"{PACKAGE}.tools", f"{PACKAGE}.tools.command_line"}
"""What tells a call from a command."""
VM = "i-0123456789abcdef0"
DISK = "vol-0123456789abcdef0"
NOWHERE = "http://127.0.0.1:1"
REGISTRY = {"endpoint": NOWHERE, "user": "u", "password": "p"}
SIZE = {"cpu": 1, "ram": 512, "ephemeral_disk_size": 1024}
AGAINST_AWS = {"botocore", "tenacity"}
MAKING = AGAINST_AWS | {"pydantic"}


def telling(endpoint: str, **sections: Any) -> Cpi:
    """Return the executable, that says at its end what it has loaded."""
    return Cpi(config(endpoint, **sections), command=[sys.executable, "-c", TELLTALE])


def loaded(answer: Answer) -> set[str]:
    """Return the names of all modules that a call has loaded."""
    assert answer.returncode == 0, answer.stderr
    return set(answer.stderr.rpartition("\nloaded ")[2].split())


def heavy(modules: set[str]) -> set[str]:
    """Return the packages among these that take long to load."""
    return HEAVY & {name.partition(".")[0] for name in modules}


def own(modules: set[str], *packages: str) -> set[str]:
    """Return the program's modules in some of its packages, or in all."""
    prefixes = tuple(f"{PACKAGE}.{package}" for package in packages) or PACKAGE
    return {name for name in modules if name.startswith(prefixes)}


def other_methods(modules: set[str], method: str) -> set[str]:
    """Return the modules of other methods than this one."""
    targets = {name: f"{PACKAGE}.cpi.{row.target.partition(':')[0]}" for name, row in METHODS.items()}
    return modules & set(targets.values()) - {targets[method]}


@pytest.mark.parametrize(
    ("method", "arguments", "allowed"),
    [
        ("info", [], set()),
        ("calculate_vm_cloud_properties", [SIZE], set()),
        ("current_vm_id", [], {"requests"}),
    ],
)
def test_methods_without_aws(method: str, arguments: list[Any], allowed: set[str]) -> None:
    """A method that needs no AWS loads nothing of it, no property, no command and no other method."""
    modules = loaded(telling(NOWHERE, registry=REGISTRY).call(method, *arguments))
    assert heavy(modules) <= allowed
    assert own(modules, "aws", "properties", "tools") == COMMAND_LINE
    assert other_methods(modules, method) == set()
    assert method != "info" or modules & COSTLY == set()


@pytest.mark.parametrize(
    ("method", "arguments", "allowed"),
    [
        ("has_disk", [DISK], {"botocore"}),
        ("attach_disk", [VM, DISK], AGAINST_AWS),
        ("create_disk", [1024, {}], MAKING),
    ],
)
def test_methods_with_aws(fake_aws: FakeAws, method: str, arguments: list[Any], allowed: set[str]) -> None:
    """A method loads its own module, of the packages only what it needs, and no other method."""
    modules = loaded(telling(fake_aws.endpoint).call(method, *arguments, stemcell=2))
    assert "botocore" in heavy(modules)
    assert heavy(modules) <= allowed
    assert other_methods(modules, method) == set()


def test_error_codes_when_there_is_one(fake_aws: FakeAws) -> None:
    """Only an error reads the table of AWS's codes."""
    executable = telling(fake_aws.endpoint)
    created = executable.call("create_disk", 1024, {"availability_zone": "us-east-1a"})
    found, missing = (executable.call("has_disk", each) for each in (created.ok(), DISK))
    assert [found.ok(), missing.ok()] == [True, False]
    assert ["error_codes.txt" in loaded(each) for each in (created, found, missing)] == [False, False, True]


def test_registry_when_it_is_needed(fake_aws: FakeAws) -> None:
    """Only a method that uses the registry loads what speaks to it: here for the VM of an old stemcell."""
    executable = telling(fake_aws.endpoint, registry=REGISTRY)
    assert heavy(loaded(executable.call("has_vm", VM, stemcell=1))) == {"botocore"}
    assert heavy(loaded(executable.call("delete_vm", VM, stemcell=1))) == {"botocore", "requests"}


def test_yaml_when_it_is_needed() -> None:
    """Only a configuration that is no JSON loads the reader of YAML."""
    executable = telling(NOWHERE)
    executable.config_path.write_text("# YAML\n" + executable.config_path.read_text())
    answer = executable.call("info")
    answer.ok()
    assert heavy(loaded(answer)) == {"yaml"}


def test_bad_request() -> None:
    """A request that is refused loads nothing that a method needs."""
    assert heavy(loaded(telling(NOWHERE).raw(b"no JSON"))) == set()


@pytest.fixture
def bare(tmp_path: Path) -> Callable[..., Answer]:
    """Return a function that runs the executable with nothing but these arguments, in an empty folder."""
    environment = {"PATH": os.defpath, "HOME": str(tmp_path)}
    return lambda *arguments: finish(spawn(arguments, environment, tmp_path))


LAZILY = """
import sys
turn_on = getattr(sys, "set_lazy_imports", lambda mode: None)
def tell(mode):
    turn_on(mode)
    sys.stderr.write(f"{mode}: {sorted(name for name in sys.modules if name.startswith('bosh_aws_cpi'))}\\n")
sys.set_lazy_imports = tell
from bosh_aws_cpi import __main__
sys.stderr.write("imported\\n")
__main__.run()
"""


def test_lazy_imports() -> None:
    """All imports are made lazy before anything else is loaded, and not by an import of the executable.

    Before 3.15, Python has no such switch, and a stand-in takes its place: it shows when the switch is used,
    and on 3.15 the rest of the suite shows that the executable works with it.
    """
    answer = Cpi(config(NOWHERE), command=[sys.executable, "-c", LAZILY]).call("info")
    answer.ok()
    assert answer.stderr.splitlines()[:2] == ["imported", "all: ['bosh_aws_cpi', 'bosh_aws_cpi.__main__']"]


def test_command_by_itself(bare: Callable[..., Answer], tmp_path: Path) -> None:
    """A command's name alone is that command without its arguments, also if a file is called so."""
    (tmp_path / "sweep").write_text("{}")
    answer = bare("sweep")
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert "usage: cpi sweep " in answer.stderr
    said = ": the following arguments are required: CONFIG_PATH, --director\n"
    assert answer.stderr.endswith(said)


@pytest.mark.parametrize(
    "arguments", [["-h"], ["--help", "cpi.json"], ["help", "/a/cpi.json"], ["help", "help"]], ids=" ".join
)
def test_help(bare: Callable[..., Answer], arguments: list[str]) -> None:
    """The help names the protocol's form and the commands, in lines that a small terminal has room for."""
    answer = bare(*arguments)
    assert (answer.returncode, answer.stderr) == (0, "")
    text = answer.stdout.decode()
    forms = ["cpi CONFIG_PATH", "cpi help", "cpi version"]
    forms += [f"cpi {command} CONFIG_PATH" for command in COMMANDS]
    assert [form for form in forms if form not in text] == []
    assert max(map(len, text.splitlines())) <= 80


def test_help_of_a_command(bare: Callable[..., Answer]) -> None:
    """The help of a command is asked for in both ways."""
    helps = [bare("help", "/a/cpi.json", "sweep"), bare("sweep", "/a/cpi.json", "--help")]
    assert [(each.returncode, each.stdout) for each in helps] == [(0, helps[0].stdout)] * 2
    assert b"--older-than" in helps[0].stdout
    assert json.loads(bare("version", "/a/cpi.json", "--json").stdout)["version"]


def test_error_for_scripts(bare: Callable[..., Answer]) -> None:
    """With --json, the error of a command that ends with status 2 is the document."""
    answer = bare("preflight", "/nosuch/cpi.json", "--json")
    assert (answer.returncode, f"cpi: {answer.document['error']}\n") == (2, answer.stderr)


@pytest.mark.parametrize("arguments", [["--version"], ["version", "/a/cpi.json"]], ids=" ".join)
def test_version(bare: Callable[..., Answer], tmp_path: Path, arguments: list[str]) -> None:
    """The version is the project's, without a package's metadata, which a release lacks."""
    (tmp_path / "version").touch()  # as a pipeline's folder may have
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    answer = bare(*arguments)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, f"bosh-aws-cpi {version}\n".encode(), "")


@pytest.mark.parametrize(
    ("arguments", "word", "hint"),
    [
        (["chek"], "chek", ". Did you mean check?"),
        (["Sweep", "/a/cpi.json"], "Sweep", ". Did you mean sweep?"),
        (["help", "/a/cpi.json", "foo"], "foo", ""),
        (["ch\x1b[2Jeck", "/a/cpi.json"], "ch\\u001b[2Jeck", ". Did you mean check?"),
        (["/a/cpi.json", "sweep", "--delete"], "/a/cpi.json", ""),
        (["--config=/a/cpi.json"], "--config=/a/cpi.json", ""),
    ],
    ids=lambda each: " ".join(each).replace("\x1b", "ESC") if isinstance(each, list) else "",
)
def test_no_command(bare: Callable[..., Answer], arguments: list[str], word: str, hint: str) -> None:
    """What is neither a command nor a path is refused with status 2, so that it passes no gate."""
    answer = bare(*arguments)
    said = f"cpi: '{word}' is not a command: the command comes first, and `cpi help` lists all{hint}\n"
    assert (answer.returncode, answer.stdout, answer.stderr) == (2, b"", said)


@pytest.mark.parametrize("path", ["./chek", ""])
def test_path_of_nothing(tmp_path: Path, early: Callable[[Answer], Any], path: str) -> None:
    """A single argument that looks like a path is one, also if nothing is there: BOSH reads the response."""
    line = ["/bin/sh", "-c", f'cd {tmp_path} && exec "$0" "$1"', EXECUTABLE, path]
    assert early(Cpi({}, command=line).call("ping")) == (
        "Unknown",
        f"Cannot read the configuration file '{path}': No such file or directory",
    )


def test_path_that_looks_like_a_command(offline: Cpi, result: Callable[[Answer], Any]) -> None:
    """A word that is a file is the configuration's path."""
    (offline.folder / "chek").write_bytes(offline.config_path.read_bytes())
    line = ["/bin/sh", "-c", f'cd {offline.folder} && exec "$0" chek', EXECUTABLE]
    assert result(Cpi({}, command=line).call("ping")) == "pong"


REQUEST = json.dumps({"method": "ping", "arguments": [], "context": {"director_uuid": "d"}}).encode()


def test_request_on_terminal(offline: Cpi) -> None:
    """On a terminal, a call says what it waits for, and answers what is typed."""
    typed = REQUEST + b"\n" + terminal.END
    answer = terminal.run(
        [EXECUTABLE, str(offline.config_path)], {}, offline.folder, typed=typed, streams=["stdin"]
    )
    assert (answer.returncode, answer.ok()) == (0, "pong")
    hint = answer.stderr.splitlines()[0]
    assert hint.startswith("cpi: waiting for a JSON request")
    assert "Ctrl-D" in hint
    assert "waiting" not in offline.call("ping").stderr


def test_nothing_on_terminal(tmp_path: Path) -> None:
    """On a terminal, the executable by itself shows its usage, and waits for nothing."""
    answer = terminal.run([EXECUTABLE], {}, tmp_path, streams=["stdin"])
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert answer.stderr.startswith("Usage: cpi ")


def test_light_commands() -> None:
    """What needs neither AWS nor a file loads nothing of the sort."""
    line = 'exec "$0" -c "$1" --version'
    finished = Cpi({}, command=["/bin/sh", "-c", line, sys.executable, TELLTALE])
    modules = loaded(finished.raw(b""))
    assert own(modules, "tools") == COMMAND_LINE
    assert heavy(modules) == set()


def test_report_that_nobody_reads(fake_aws: FakeAws, tmp_path: Path) -> None:
    """A report whose reader is gone, as behind `| head`, ends without an error."""
    executable = Cpi(config(fake_aws.endpoint))
    process = spawn(
        ["sweep", str(executable.config_path), "--director", DIRECTOR_UUID],
        {"PATH": os.defpath, "HOME": str(tmp_path), "AWS_EC2_METADATA_DISABLED": "true"},
        tmp_path,
    )
    assert process.stdout is not None
    process.stdout.close()
    answer = finish(process)
    assert answer.returncode == 0
    assert "Traceback" not in answer.stderr
    assert "Broken" not in answer.stderr
