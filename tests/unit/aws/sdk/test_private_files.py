"""Cache files that are no files, huge, somebody else's, or without their content: each counts as missing."""

from __future__ import annotations

import itertools
import json
import os
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest

from bosh_aws_cpi.aws import instance_types
from bosh_aws_cpi.aws.instance_types import TypeCache
from bosh_aws_cpi.aws.sdk import clients
from bosh_aws_cpi.aws.sdk.data import loader
from bosh_aws_cpi.model import InstanceTypeFacts
from testbed.tls import Authority

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FACTS = InstanceTypeFacts("m5.large", ebs_needs_nvme_path=True)
AWS: Any = Mock(region="us-east-1", endpoints={})
SPARSE = 30 << 30


def types() -> Any:
    """Read the facts of an instance type, and keep them if there are none."""
    cache = TypeCache("x")
    if (kept := cache.get("m5.large")) is None:
        cache.put(FACTS)
    return kept or FACTS


def offers() -> Any:
    """Read which types a region offers."""
    return instance_types.offered(AWS, Mock, ["a.b"])


def model() -> Any:
    """Read EC2's model."""
    return loader().load_service_model("ec2", "service-2")


def pipe(path: Path) -> None:
    """Put a pipe in the file's place, which nobody writes."""
    path.unlink()
    os.mkfifo(path, 0o600)


def sparse(path: Path) -> None:
    """Lengthen the file by a hole."""
    os.truncate(path, SPARSE)


def linked(path: Path) -> None:
    """Put a link to another file in the file's place."""
    path.symlink_to(path.rename(path.parent.parent / "other"))


def hollow(path: Path) -> None:
    """Take everything from the file except its form."""
    written, content = json.loads(path.read_text())
    emptied = {key: type(value)() for key, value in content.items()} if isinstance(content, dict) else {}
    path.write_text(json.dumps([written, emptied]))


@pytest.mark.parametrize(
    ("use", "damage"),
    [
        *itertools.product([types, offers, model], [pipe, sparse, linked]),
        *[(types, hollow), (offers, hollow)],
    ],
)
def test_damaged(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch, use: Callable[[], Any], damage: Callable[[Path], None]
) -> None:
    """A damaged cache file counts as missing, and is replaced."""
    monkeypatch.setattr(instance_types, "_ask_offers", lambda *_: frozenset({"a.b"}))
    expected = use()
    (file,) = (own_cache / "bosh-aws-cpi").iterdir()
    damage(file)
    assert use() == expected
    assert (file.is_symlink(), file.is_file(), file.stat().st_size < SPARSE) == (False, True, True)
    assert use() == expected


@pytest.mark.parametrize("damage", [pipe, sparse, linked])
def test_damaged_certificates(own_cache: Path, tmp_path: Path, damage: Callable[[Path], None]) -> None:
    """The same for the file of the configuration's CA certificates."""
    certificates = Authority(tmp_path, "one").path.read_text()
    clients.file_of(certificates)
    (file,) = (own_cache / "bosh-aws-cpi").iterdir()
    damage(file)
    assert clients.file_of(certificates) == str(file)
    assert (file.is_symlink(), file.read_text()) == (False, certificates)
