"""The configuration's file: JSON or YAML of all sorts, and what is refused, and not quoted."""

import codecs
from pathlib import Path

import pytest

from bosh_aws_cpi.config import cpi_config, loading
from bosh_aws_cpi.errors import InvalidCall, Unknown

SECRET = "file-secret-2c19"
PEM = "-----BEGIN CERTIFICATE-----\nMIIfile\n-----END CERTIFICATE-----\n"
BLOCK = """\
# A comment, and a document marker
---
cloud:
  plugin: aws
  properties:
    aws: {max_retries: 2, region: us-east-1}
    debug:
      cpi: {api_version: 2}
"""
ANCHORS = """\
common: &common
  max_retries: 8
  region: nowhere
version: &version 2
cloud:
  plugin: aws
  properties:
    aws:
      <<: [*common]
      max_retries: 2
      region: us-east-1
    debug: {cpi: {api_version: *version}}
"""
TRAILING_COMMAS = """\
{"cloud": {"plugin": "aws", "properties": {
  "aws": {"max_retries": 2, "region": "us-east-1",},
  "debug": {"cpi": {"api_version": 2},},
}}}
"""
VALUES = """\
built: 2024-05-06
at: 2024-05-06 07:08:09
ntp: &ntp [0.pool.ntp.org]
more: {ntp: *ntp, nothing: ~, truth: yes, port: 4222, ratio: 1.5}
certificate: |
  -----BEGIN CERTIFICATE-----
  MIIfile
  -----END CERTIFICATE-----
"""


def read(folder: Path, content: str | bytes) -> object:
    """Read a file with this content."""
    path = folder / "cpi.json"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return loading.read(str(path))


def refusal(folder: Path, content: str | bytes) -> str:
    """Read a file that must be refused, and not quoted, and return the message."""
    with pytest.raises(Unknown) as refused:
        read(folder, content)
    assert SECRET not in refused.value.message
    return refused.value.message


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
def test_yaml(tmp_path: Path, content: str | bytes) -> None:
    """YAML of all sorts is read."""
    found = read(tmp_path, content)
    assert isinstance(found, dict)
    properties = {"aws": {"max_retries": 2, "region": "us-east-1"}, "debug": {"cpi": {"api_version": 2}}}
    assert found["cloud"] == {"plugin": "aws", "properties": properties}


def test_yaml_values(tmp_path: Path) -> None:
    """A date stays the text that was written, and a literal block keeps its line ends."""
    ntp = ["0.pool.ntp.org"]
    assert read(tmp_path, VALUES) == {
        "built": "2024-05-06",
        "at": "2024-05-06 07:08:09",
        "ntp": ntp,
        "more": {"ntp": ntp, "nothing": None, "truth": True, "port": 4222, "ratio": 1.5},
        "certificate": PEM,
    }


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (f'{{"cloud": "{SECRET}', "ScannerError, line 1 column 28"),
        (f"a: *{SECRET}", "ComposerError, line 1 column 4"),
        (f"a: !!python/object/apply:os.system ['echo {SECRET}']", "ConstructorError, line 1 column 4"),
        (f"{SECRET}: .nan", "ValueError"),
        ("a: !!binary aHVudGVyMg==", "TypeError"),
        (f"a: !!bool {SECRET}", "KeyError"),
        (f"a: !!timestamp {SECRET}", "AttributeError"),
        (b"a: \xff\xfe " + SECRET.encode(), "ReaderError"),
    ],
)
def test_broken_file(tmp_path: Path, content: str | bytes, reason: str) -> None:
    """A file that is neither JSON nor YAML is refused with its path and the place, and never quoted."""
    message = refusal(tmp_path, content)
    assert message.startswith(f"The configuration file '{tmp_path}/cpi.json' is neither JSON (")
    assert message.endswith(f") nor YAML ({reason})")


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
def test_limits(tmp_path: Path, content: str, said: str) -> None:
    """A file that would take gigabytes or minutes is refused at once, and the limit is named."""
    message = refusal(tmp_path, content)
    assert message.startswith(f"Cannot read the configuration file '{tmp_path}/cpi.json'")
    assert message.endswith(said)


def test_unreadable(tmp_path: Path) -> None:
    """What can't be read, such as an endless device, is refused by its path, with the reason."""
    reasons = {
        f"{tmp_path}/missing": "No such file or directory",
        str(tmp_path): "Is a directory",
        "/dev/zero": "it is neither a file nor a pipe",
    }
    for path, reason in reasons.items():
        with pytest.raises(Unknown) as refused:
            loading.read(path)
        assert refused.value.message == f"Cannot read the configuration file '{path}': {reason}"


@pytest.mark.parametrize("document", [SECRET, {}, {"cloud": []}, {"cloud": {"properties": [SECRET]}}])
def test_no_cloud_properties(document: object) -> None:
    """A file without cloud.properties is refused."""
    with pytest.raises(Unknown) as refused:
        cpi_config.parse(document, {}, {}, "/cpi.json")
    message = "Could not find cloud properties in the configuration: '/cpi.json' has no hash cloud.properties"
    assert refused.value.message.startswith(message)


@pytest.mark.parametrize("properties", [{"aws": {}}, {"region": "us-east-1", "max_retries": 8}])
def test_no_keys_of_aws(properties: dict[str, object]) -> None:
    """A file whose section aws is missing, or stands elsewhere, is named with the section's place."""
    with pytest.raises(InvalidCall) as refused:
        cpi_config.parse({"cloud": {"properties": properties}}, {}, {}, "/cpi.json")
    message = "missing configuration parameters > aws: '/cpi.json' has none in cloud.properties.aws"
    assert refused.value.message == f"Arguments are not correct, details: '{message}'"
