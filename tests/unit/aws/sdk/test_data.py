"""The SDK's own data: read from botocore's files alone, into plain dicts."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest
from botocore.loaders import JSONFileLoader, Loader

from bosh_aws_cpi.aws.sdk.data import PlainJson, loader

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("service", "kind"), [("sts", "service-2"), ("ec2", "paginators-1")])
def test_same_as_the_sdk(service: str, kind: str) -> None:
    """A model is the one that botocore's own loader reads."""
    assert loader().load_service_model(service, kind) == Loader().load_service_model(service, kind)


@pytest.mark.parametrize("ending", [".json", ".json.gz"])
def test_plain_dicts(tmp_path: Path, ending: str) -> None:
    """Objects become plain dicts in the order of the file, from both of its forms."""
    content = b'{"b": {"d": 1, "c": [{}]}, "a": "\xc3\xa9"}'
    path = tmp_path / f"data{ending}"
    path.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    name = str(tmp_path / "data")
    data = PlainJson().load_file(name)
    assert data == JSONFileLoader().load_file(name)
    assert [type(data), type(data["b"]), list(data), list(data["b"])] == [dict, dict, ["b", "a"], ["d", "c"]]
    assert PlainJson().exists(name)


def test_no_file(tmp_path: Path) -> None:
    """A missing file is no error."""
    name = str(tmp_path / "data")
    assert not PlainJson().exists(name)
    assert PlainJson().load_file(name) is None


def test_no_other_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SDK data in HOME or AWS_DATA_PATH is not read."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_DATA_PATH", str(tmp_path))
    assert loader().search_paths == [Loader.BUILTIN_DATA_PATH]
