"""The configuration file: JSON or YAML, and what is wrong with it when it can't be read."""

import base64
import codecs
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Answer, Cpi, config
from testbed.world import World

pytestmark = pytest.mark.usefixtures("warm")

SECRET = "file-secret-2c19"
PEM = "-----BEGIN CERTIFICATE-----\nMIIfile\n-----END CERTIFICATE-----\n"

BLOCK = """\
# A comment, and a document marker
---
cloud:
  plugin: aws
  properties:
    aws: {max_retries: 2, region: us-east-1, access_key_id: "AKIA1", secret_access_key: 'x-y-z'}
    debug:
      cpi: {api_version: 2}
"""
ANCHORS = """\
common: &common
  max_retries: 8
  region: nowhere
keys: &keys {access_key_id: AKIA1, secret_access_key: x-y-z}
version: &version 2
cloud:
  properties:
    aws:
      <<: [*common, *keys]
      region: us-east-1
    debug: {cpi: {api_version: *version}}
"""
TRAILING_COMMAS = """\
{"cloud": {"properties": {
  "aws": {"max_retries": 2, "region": "us-east-1", "access_key_id": "AKIA1", "secret_access_key": "x-y-z",},
  "debug": {"cpi": {"api_version": 2},},
}}}
"""


def given(content: str | bytes) -> Cpi:
    """Return the executable with this configuration file."""
    cpi = Cpi({})
    cpi.config_path.write_bytes(content.encode() if isinstance(content, str) else content)
    return cpi


def refused(answer: Answer, *words: str) -> None:
    """Check that the file was refused in these words, and not quoted."""
    assert answer.error["type"] == "Unknown"
    for word in words:
        assert word in answer.error["message"]
    assert answer.returncode == 0
    assert SECRET not in answer.stdout.decode() + answer.stderr


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(BLOCK, id="block style"),
        pytest.param(ANCHORS, id="anchors and merge keys"),
        pytest.param(TRAILING_COMMAS, id="trailing commas"),
        pytest.param(BLOCK.replace("\n", "\r\n"), id="line ends of Windows"),
        pytest.param(BLOCK.replace(": ", ":\t"), id="tabs after colons"),
        pytest.param(codecs.BOM_UTF8 + BLOCK.encode(), id="byte order mark"),
    ],
)
def test_yaml(content: str | bytes) -> None:
    """YAML of all sorts is read; what it says of the version shows in info."""
    assert given(content).call("info").ok()["api_version"] == 2


def test_yaml_values_reach_the_vm(world: World, fake_aws: FakeAws) -> None:
    """A date stays the text that was written, and a literal block keeps its line ends."""
    certificate = PEM.replace("\n", "\n          ").rstrip()
    content = f"""\
cloud:
  properties:
    aws: &aws
      max_retries: 2
      region: us-east-1
      ec2_endpoint: {fake_aws.endpoint}
      access_key_id: AKIA1
      secret_access_key: x-y-z
      default_security_groups: [bosh]
    agent:
      built: 2024-05-06
      at: 2024-05-06 07:08:09
      ntp: &ntp [0.pool.ntp.org]
      more: {{ntp: *ntp, nothing: ~, truth: yes, port: 4222, ratio: 1.5}}
      blobstore:
        certificate: |
          {certificate}
"""
    networks = {"default": {"type": "dynamic", "cloud_properties": {"subnet": world.subnet_id}}}
    properties = {"instance_type": "m5.large", "availability_zone": world.zone}
    arguments = ["agent-1", world.image_id, properties, networks, [], {}]
    given(content).call("create_vm", *arguments, stemcell=2).ok()
    (call,) = [call for call in fake_aws.calls() if call["action"] == "RunInstances"]
    settings = json.loads(base64.b64decode(call["parameters"]["UserData"]))
    assert (settings["built"], settings["at"]) == ("2024-05-06", "2024-05-06 07:08:09")
    ntp = ["0.pool.ntp.org"]
    assert settings["more"] == {"ntp": ntp, "nothing": None, "truth": True, "port": 4222, "ratio": 1.5}
    assert settings["blobstore"] == {"certificate": PEM}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (f'{{"cloud": "{SECRET}', "ScannerError, line 1 column 28"),
        (f'{{"a": "{SECRET}"}} {{"b": 1}}', "ParserError, line 1 column 27"),
        (f"a: *{SECRET}", "ComposerError, line 1 column 4"),
        (f"a: !{SECRET} b", "ConstructorError, line 1 column 4"),
        (f"a: !!python/object/apply:os.system ['echo {SECRET}']", "ConstructorError, line 1 column 4"),
        (f"{SECRET}: .nan", "ValueError"),
        ("a: !!binary aHVudGVyMg==", "TypeError"),
        ("a: !!int ''", "IndexError"),
        (f"a: !!bool {SECRET}", "KeyError"),
        (f"a: !!timestamp {SECRET}", "AttributeError"),
        (b"a: \xff\xfe " + SECRET.encode(), "ReaderError"),
    ],
)
def test_broken_file(content: str | bytes, reason: str) -> None:
    """A file that is neither JSON nor YAML is refused with its path and the place, and never quoted."""
    cpi = given(content)
    answer = cpi.call("info")
    refused(answer, f"The configuration file '{cpi.config_path}' is neither JSON (")
    assert answer.error["message"].endswith(f") nor YAML ({reason})")


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("missing", "No such file or directory"),
        ("folder", "Is a directory"),
        ("link to itself", "Too many levels of symbolic links"),
    ],
)
def test_unreadable_file(kind: str, reason: str, tmp_path: Path) -> None:
    """A file that can't be read is refused by its path, with the reason."""
    cpi = Cpi({})
    cpi.config_path = tmp_path / "other.json"
    if kind == "folder":
        cpi.config_path.mkdir()
    elif kind == "link to itself":
        cpi.config_path.symlink_to(cpi.config_path)
    refused(cpi.call("has_vm", "i-1"), f"Cannot read the configuration file '{cpi.config_path}': {reason}")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(f"a: {SECRET * 70_000}", "it is larger than 1 MiB", id="size"),
        pytest.param(f"a:\n- [{'1,' * 20_000}]", "line 2: it has more than 20000 values", id="values"),
        pytest.param(
            "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}' if n else SECRET] * 9)}]" for n in range(9)),
            "line 5: its aliases (*NAME) stand for more than 20000 values",
            id="aliases",
        ),
        pytest.param("a:\n- " + "[" * 200, "line 2: it is nested deeper than 100 levels", id="depth"),
        pytest.param(
            "a0: &a0 [1]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 150)),
            "line 101: with its aliases it is nested deeper than 100 levels",
            id="depth of aliases",
        ),
        pytest.param(f"a:\n- {'1:' * 200}1.0", "line 2: a number has more than 300 characters", id="number"),
    ],
)
def test_limits(content: str, said: str) -> None:
    """A file that would take gigabytes or minutes is refused at once, and the limit is named."""
    cpi = given(content)
    answer = cpi.call("info")
    refused(answer, f"Cannot read the configuration file '{cpi.config_path}'", said)
    assert answer.milliseconds < 30_000


def test_device() -> None:
    """An endless device is not read."""
    cpi = Cpi({})
    cpi.config_path = Path("/dev/zero")
    refused(cpi.call("info"), "'/dev/zero': it is neither a file nor a pipe")


@pytest.fixture
def fifo() -> Cpi:
    """Return the executable with a pipe in place of its configuration file."""
    cpi = Cpi({})
    cpi.config_path.unlink()
    os.mkfifo(cpi.config_path)
    return cpi


def test_pipe(fifo: Cpi) -> None:
    """A pipe such as the shell's <(…) is read to its end."""
    with ThreadPoolExecutor(1) as writers:
        written = writers.submit(fifo.config_path.write_text, BLOCK)
        assert fifo.call("info").ok()["api_version"] == 2
        written.result()


@pytest.mark.parametrize(
    "command",
    [
        ["check", "cloud-config.yml", "--offline"],
        ["diagnose", "i-0123456789abcdef0"],
        ["preflight"],
        ["sweep", "--director", "d"],
    ],
    ids=lambda each: each[0],
)
def test_stdin_of_commands(command: list[str]) -> None:
    """A hyphen in place of the path is stdin for each command."""
    cpi = Cpi(config("http://127.0.0.1:1", max_retries=0))
    (cpi.folder / "cloud-config.yml").write_text("azs: []")
    usual = cpi.run(*command)
    content = cpi.config_path.read_bytes()
    cpi.config_path = Path("-")
    answer = cpi.run(*command, stdin=content)
    assert (answer.returncode, answer.stdout, answer.stderr) == (usual.returncode, usual.stdout, usual.stderr)
    said = "cpi: Cannot read the configuration file '-': it is larger than 1 MiB\n"
    assert cpi.run(*command, stdin=b" " * (2 << 20)).stderr == said


@pytest.mark.usefixtures("hasty")
def test_pipe_without_writer(fifo: Cpi) -> None:
    """A pipe without a writer is an error after a minute."""
    refused(fifo.call("info"), "it is a pipe, and its writer did not close it within 60 seconds")


@pytest.mark.parametrize(
    "document",
    [
        *(None, SECRET, [], {}, {"cloud": None}, {"cloud": []}, {"cloud": {}}),
        {"cloud": {"properties": [SECRET]}},
    ],
    ids=repr,
)
def test_no_cloud_properties(document: Any) -> None:
    """A file without cloud.properties is refused."""
    cpi = given(json.dumps(document))
    answer = cpi.call("ping")
    refused(answer)
    message = "Could not find cloud properties in the configuration: '{}' has no hash cloud.properties"
    assert answer.error["message"].startswith(message.format(cpi.config_path))


@pytest.mark.parametrize("properties", [{}, {"aws": {}}, {"region": "us-east-1", "max_retries": 8}])
def test_no_keys_of_aws(properties: dict[str, Any]) -> None:
    """A file whose section aws is missing, or stands elsewhere, is named with the section's place."""
    cpi = given(json.dumps({"cloud": {"properties": properties}}))
    message = f"missing configuration parameters > aws: '{cpi.config_path}' has none in cloud.properties.aws"
    assert cpi.call("ping").error["message"] == f"Arguments are not correct, details: '{message}'"


@pytest.mark.parametrize("line", ['exec "$0"', 'exec "$0" "$1" "$1"'], ids=["none", "two"])
def test_number_of_paths(line: str) -> None:
    """The executable takes exactly one path; with none, or with more, it answers its usage."""
    executable = str(Path(sys.executable).parent / "cpi")
    cpi = Cpi({}, command=["/bin/sh", "-c", line, executable])
    refused(cpi.call("ping"), "Usage: cpi CONFIG_PATH")
