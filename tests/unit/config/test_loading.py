"""Reading the configuration file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bosh_aws_cpi.config import loading
from bosh_aws_cpi.errors import Unknown

if TYPE_CHECKING:
    from pathlib import Path

YAML = b"""
cloud:
  properties: {aws: {region: us-east-1, max_retries: 8, since: 2024-01-02, encrypted: false}}
  base: &base {a: 1}
  merged: {<<: *base, b: [~, 1.5]}
"""


@pytest.fixture
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of a file that is not there yet; it says nothing of the test."""
    return tmp_path_factory.mktemp("config") / "cpi.json"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b'{"cloud": {"a": [1, null, "\\u00fc"]}}', {"cloud": {"a": [1, None, "ü"]}}),
        (b'{"a": 1,}', {"a": 1}),
        (b"[1]", [1]),
        (b"", None),
        (b"text", "text"),
        (
            YAML,
            {
                "cloud": {
                    "properties": {
                        "aws": {
                            "region": "us-east-1",
                            "max_retries": 8,
                            "since": "2024-01-02",
                            "encrypted": False,
                        }
                    },
                    "base": {"a": 1},
                    "merged": {"a": 1, "b": [None, 1.5]},
                }
            },
        ),
    ],
    ids=["JSON", "JSON with a comma too many", "a list", "an empty file", "text", "YAML"],
)
def test_read(path: Path, raw: bytes, expected: object) -> None:
    """JSON is read, and YAML with the values that JSON has: a date stays the text it is."""
    path.write_bytes(raw)
    assert loading.read(str(path)) == expected


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"password: hunter2\n  oops: [", "ScannerError, line 2 column 7"),
        (b'{"a": "hunter2"} {"b": 1}', "ParserError, line 1 column 18"),
        (b'a: "hunter2', "ScannerError, line 1 column 12"),
        (b"a: hunter2\n\tb: 1", "ScannerError, line 2 column 1"),
        (b"a: *hunter2", "ComposerError, line 1 column 4"),
        (b"a: !hunter2 b", "ConstructorError, line 1 column 4"),
        (b"a: !!python/object/apply:os.system [hunter2]", "ConstructorError, line 1 column 4"),
        (b"a: hunter2\n---\nb: 1", "ComposerError, line 2 column 1"),
        (b"hunter2: .nan", "ValueError"),
        (b"? [hunter2]\n: 1", "ConstructorError, line 1 column 3"),
        (b"a: !!binary aHVudGVyMg==", "TypeError"),
        (b"a: \xff hunter2", "ReaderError"),
        (b"a: !!int ''", "IndexError"),
        (b"a: !!bool hunter2", "KeyError"),
        (b"a: !!timestamp hunter2", "AttributeError"),
    ],
)
def test_unreadable(path: Path, raw: bytes, reason: str) -> None:
    """A file that is neither is refused by its path and the place of the fault, never quoted."""
    path.write_bytes(raw)
    with pytest.raises(Unknown) as caught:
        loading.read(str(path))
    message = caught.value.message
    assert message.startswith(f"The configuration file '{path}' is neither JSON (")
    assert message.endswith(f") nor YAML ({reason})")
    assert "hunter2" not in message


def test_missing_file(path: Path) -> None:
    """A file that is not there is named with the reason."""
    with pytest.raises(Unknown) as caught:
        loading.read(str(path))
    assert caught.value.message == (f"Cannot read the configuration file '{path}': No such file or directory")


@pytest.mark.parametrize(("name", "reason"), [("", "Is a directory"), ("a\0b", "embedded null byte")])
def test_paths_that_are_no_file(tmp_path: Path, name: str, reason: str) -> None:
    """A path that names no file is refused alike."""
    with pytest.raises(Unknown, match=reason):
        loading.read(f"{tmp_path}/{name}")
