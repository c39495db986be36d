"""`cpi check` as a command: how it reads files and the configuration, and how it ends."""

import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from testbed.executable import ABSENT, EXECUTABLE, SERVICES, Answer, Cpi, config
from tests.stories.checked_config import GONE, changed
from tests.stories.right_configs import CREATE_ENV, OWN

AWS = ("cloud_provider", "properties", "aws")


@pytest.fixture
def run(cpi: Cpi, tmp_path: Path) -> Callable[..., Answer]:
    """Return a function that checks a text, and returns the command's answer."""

    def checked(text: str, *arguments: str) -> Answer:
        path = tmp_path / "file.yml"
        path.write_text(text)
        return cpi.run("check", str(path), "--offline", *arguments)

    return checked


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: .inf", "file.yml:1 is not valid YAML: a number must be finite\n"),
        (f"a: {'x' * 5_000_000}", "file.yml' can't be read: it is larger than 4 MiB\n"),
    ],
    ids=["number", "size"],
)
def test_unreadable(run: Callable[..., Answer], text: str, said: str) -> None:
    """A file that can't be read ends the check with status 2, and a message that names it."""
    answer = run(text)
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert answer.stderr.endswith(said)


@pytest.mark.parametrize("command", ["check", "preflight"])
def test_unknown_region(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    """A region that is not known, and where AWS does not answer, ends a command with the nearest one."""
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    path = tmp_path / "file.yml"
    path.write_text(OWN)
    endpoints: dict[str, Any] = {f"{service}_endpoint": ABSENT for service in SERVICES}
    cpi = Cpi(config("http://localhost", region="us-esat-1", **endpoints))
    answer = cpi.run(command, *([str(path)] if command == "check" else []))
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert "aws.region 'us-esat-1' is not a known region, and " in answer.stderr
    assert answer.stderr.endswith(" does not answer: did you mean us-west-1 or us-east-1?\n")


@pytest.mark.parametrize(
    ("workers", "severity"), [("5\n  worker: 5", "warning"), ("((workers))", "not checked")]
)
def test_strict(run: Callable[..., Answer], workers: str, severity: str) -> None:
    """With --strict, warnings and what is not checked fail, too."""
    for arguments, status in (((), 0), (("--strict",), 1)):
        answer = run(OWN.replace("workers: 5", f"workers: {workers}"), "--json", *arguments)
        (found,) = answer.document["findings"]
        assert (answer.returncode, found["severity"]) == (status, severity)


def test_unknown_configuration_keys(tmp_path: Path) -> None:
    """A configuration key that does not exist is a warning with the nearest one."""
    whole = config("http://localhost", regoin="eu-west-1", zzz=1, log_level="debug")
    whole["cloud"]["properties"] |= {
        "registri": {},
        "registry": {"host": "10.0.0.6"},
        "debug": {"cpi": {"log_levl": "debug"}},
    }
    path = tmp_path / "file.yml"
    path.write_text(OWN)
    cpi = Cpi(whole)
    answer = cpi.run("check", str(path), "--offline", "--json")
    found = answer.document["findings"]
    assert [(each["severity"], each["path"], each["remedy"]) for each in found] == [
        ("warning", "registri", "Did you mean registry?"),
        ("warning", "aws.regoin", "Did you mean region?"),
        ("warning", "aws.zzz", "Remove it"),
        ("warning", "aws.log_level", "It belongs into cpi of debug"),
        ("warning", "registry.host", "Did you mean endpoint?"),
        ("warning", "debug.cpi.log_levl", "Did you mean log_level?"),
    ]
    assert {each["file"] for each in found} == {str(cpi.config_path)}
    assert answer.stderr == ""
    without = Cpi(config("http://localhost", region=ABSENT, ec2_endpoint=ABSENT, regoin="eu-west-1"))
    answer = without.run("check", str(path), "--offline")
    assert answer.returncode == 2
    assert answer.stderr.endswith(
        f"cpi: {without.config_path}: missing configuration parameters > aws:region, or aws:ec2_endpoint and "
        "aws:elb_endpoint\n"
    )
    assert "aws.regoin (did you mean region?)" in answer.stderr


def test_named_like_a_secret(run: Callable[..., Answer]) -> None:
    """An unknown key that is named like a secret is shown; its value is not."""
    said = run(OWN.replace("m5.large", "m5.large\n    password: hunter7hunter7")).stdout.decode()
    assert "cloud_properties/password: 'password' is unknown and ignored" in said
    assert "hunter7" not in said


def test_credentials_of_create_env(run: Callable[..., Answer]) -> None:
    """Credentials that the manifest has are complete, or all are variables; a secret in them is not shown."""
    manifest = changed(yaml.safe_load(CREATE_ENV), (*AWS, "secret_access_key"), "hunter7hunter7")
    manifest = changed(manifest, (*AWS, "access_key_id"), GONE)
    manifest = changed(manifest, (*AWS, "default_key_name"), "hunter7hunter7-pair")
    answer = run(yaml.safe_dump(manifest))
    assert answer.returncode == 1
    said = answer.stdout.decode()
    assert "Must use access_key_id and secret_access_key with static credentials_source" in said
    assert "hunter7" not in said + answer.stderr


def test_quoted_boolean(run: Callable[..., Answer]) -> None:
    """A boolean in quotation marks is one finding: what the methods log for each VM is not printed, too."""
    answer = run(OWN.replace("m5.large", 'm5.large\n    source_dest_check: "false"'))
    assert answer.stdout.count(b"any string counts as true. Remove the quotation marks") == 1
    assert answer.stderr == ""


@pytest.mark.parametrize(
    ("argument", "value", "said"),
    [
        ("--stemcell", "", "is not a stemcell's CID"),
        ("--stemcell", "ami-1", "--stemcell needs AWS, which --offline does not call"),
        ("--director", "my-bosh", "must be the UUID that `bosh env` shows, not 'my-bosh'"),
        ("--cpi", "", "must be a CPI's name"),
    ],
)
def test_refused_arguments(run: Callable[..., Answer], argument: str, value: str, said: str) -> None:
    """An argument without effect, or that can be no name of its kind, is refused."""
    answer = run(OWN, argument, value)
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert said in answer.stderr


def test_counts(run: Callable[..., Answer]) -> None:
    """The last line, and with --json the document, counts what was tried."""
    managed = {"name": "m", "type": "manual", "managed": True, "subnets": [{"name": "a", "netmask_bits": 24}]}
    whole = yaml.safe_load(OWN)
    whole["networks"].append(managed)
    whole["compilation"]["az"] = "((az))"
    tried = run(yaml.safe_dump(whole), "--json").document["tried"]
    vms = 1 + 3 * 3 * 2 + 2 * 3  # compilation; types, the extension in each az and subnet; subnets in azs
    assert tried == {"vms": vms, "disks": 2, "networks": 1}
    last = run(OWN).stdout.decode().splitlines()[-1]
    assert last.endswith("file.yml offline: tried 13 VMs, 2 disks, 0 networks")


def test_stdin(cpi: Cpi) -> None:
    """A hyphen stands for stdin, in place of any one file."""
    wrong = OWN.replace("m5.large", "m5.large\n    tame: 1").encode()
    found = cpi.run("check", "-", "--offline", "--json", stdin=wrong).document
    assert (found["files"], [each["file"] for each in found["findings"]]) == (["-"], ["-"])
    twice = cpi.run("check", "-", "--manifest", "-", "--offline", stdin=wrong)
    assert (twice.returncode, twice.stdout, twice.stderr) == (
        2,
        b"",
        "cpi: only one file can be - (stdin): give the others by their paths\n",
    )


def test_other_kind(run: Callable[..., Answer], tmp_path: Path) -> None:
    """A file of another kind, or a second manifest, ends the check with status 2, and what belongs there."""
    answer = run("releases: []\naddons: []\n")
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert (
        "file.yml' is a runtime config. FILE is a cloud config, or a manifest for create-env" in answer.stderr
    )
    manifest = tmp_path / "manifest.yml"
    manifest.write_text("name: a\ninstance_groups: []\n")
    twice = run(OWN, *["--manifest", str(manifest)] * 2)
    assert (twice.returncode, twice.stdout) == (2, b"")
    assert "--manifest can be given only once" in twice.stderr
    assert run(OWN, "--manifest", str(manifest)).returncode == 0


def test_socket(cpi: Cpi) -> None:
    """Stdin may be a socket, as some programs that start others make it."""
    near, far = socket.socketpair()
    with near, far:
        near.sendall(OWN.encode())
        near.shutdown(socket.SHUT_WR)
        command = [EXECUTABLE, "check", str(cpi.config_path), "-", "--offline"]
        answer = subprocess.run(command, stdin=far.fileno(), capture_output=True, check=False)
    assert (answer.returncode, answer.stderr) == (0, b"")
