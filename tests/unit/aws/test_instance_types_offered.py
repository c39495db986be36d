"""The answers about the types that a region offers, kept in a private directory of the user."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest

from bosh_aws_cpi.aws import instance_types
from bosh_aws_cpi.aws.sdk import private_files

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("a.b", "c.d")
AWS: Any = Mock(region="us-east-1", endpoints={})


@pytest.mark.parametrize(
    "content",
    [f'[{"9" * 400}, ["a.b"]]', "[NaN, [[]]]", "[1]", "{}", "7", "[" * 100_000, "", "\xff"],
    ids=["overflow", "unhashable", "short", "hash", "number", "deep", "empty", "not-json"],
)
def test_broken_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str) -> None:
    """A broken file counts as none: EC2 is asked, and its answer replaces the file."""
    monkeypatch.setattr(private_files, "folder", lambda: tmp_path)
    found = iter([frozenset({"a.b"}), frozenset({"c.d"})])
    monkeypatch.setattr(instance_types, "_ask_offers", lambda _client, _names: next(found))
    assert instance_types.offered(AWS, Mock, NAMES) == frozenset({"a.b"})
    (file,) = tmp_path.iterdir()
    file.write_text(content)
    assert instance_types.offered(AWS, Mock, NAMES) == frozenset({"c.d"})
    assert json.loads(file.read_bytes())[1] == ["c.d"]
    assert instance_types.offered(AWS, Mock, NAMES) == frozenset({"c.d"})
