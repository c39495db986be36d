"""Facts of instance types, kept in a private directory of the user for a day."""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from bosh_aws_cpi.aws.instance_types import MAX_AGE, TypeCache
from bosh_aws_cpi.model import InstanceTypeFacts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ENDPOINT = "https://ec2.us-east-1.amazonaws.com us-east-1"
NAME = "m6id.large"
FACTS = InstanceTypeFacts(
    NAME,
    ebs_needs_nvme_path=True,
    architectures=frozenset({"x86_64", "i386"}),
    ebs_optimized="supported",
    is_burstable=True,
    store_disks=2,
    store_gib=118,
    store_is_nvme=True,
    max_ebs_attachments=27,
    memory_mib=8192,
    network_cards=2,
    lacks=frozenset({"enclave", "hibernation"}),
)
PLAIN = InstanceTypeFacts("t2.nano", ebs_needs_nvme_path=False)


def kept_file(folder: Path) -> Path:
    """Return the only file in the cache."""
    (file,) = (folder / "bosh-aws-cpi").iterdir()
    return file


def rewrite(folder: Path, **changes: Any) -> None:
    """Change values of the only file in the cache."""
    file = kept_file(folder)
    at, facts = json.loads(file.read_text())
    at = changes.pop("asked_at", at)
    file.write_text(json.dumps([at, {**facts, **changes}]))


@pytest.mark.parametrize("facts", [FACTS, PLAIN], ids=["all", "nothing"])
def test_round_trip(facts: InstanceTypeFacts) -> None:
    """Facts that one process keeps are found by the next one."""
    TypeCache(ENDPOINT).put(facts)
    assert TypeCache(ENDPOINT).get(facts.name) == facts


def test_nothing_kept() -> None:
    """A type that was never asked for is not in the cache."""
    TypeCache(ENDPOINT).put(FACTS)
    assert TypeCache(ENDPOINT).get("m6id.xlarge") is None


def test_newer_facts() -> None:
    """Newer facts replace older ones."""
    cache = TypeCache(ENDPOINT)
    for facts in (FACTS, FACTS.replaced(store_gib=1)):
        cache.put(facts)
    assert cache.get(NAME) == FACTS.replaced(store_gib=1)


@pytest.mark.parametrize(
    "endpoint", ["https://ec2.eu-west-1.amazonaws.com eu-west-1", "http://127.0.0.1:5000 us-east-1", ""]
)
def test_other_endpoints(endpoint: str) -> None:
    """Another region, or a stand-in for AWS, may know other facts of a type: they are kept apart."""
    TypeCache(ENDPOINT).put(FACTS)
    TypeCache(endpoint).put(FACTS.replaced(store_gib=1))
    assert TypeCache(ENDPOINT).get(NAME) == FACTS
    assert TypeCache(endpoint).get(NAME) == FACTS.replaced(store_gib=1)


@pytest.mark.parametrize(
    ("seconds", "is_kept"), [(0, True), (MAX_AGE - 60, True), (MAX_AGE, False), (MAX_AGE * 30, False)]
)
def test_age(monkeypatch: pytest.MonkeyPatch, seconds: int, *, is_kept: bool) -> None:
    """Facts are good for a day."""
    TypeCache(ENDPOINT).put(FACTS)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + seconds)
    assert TypeCache(ENDPOINT).get(NAME) == (FACTS if is_kept else None)


def test_future(monkeypatch: pytest.MonkeyPatch) -> None:
    """Facts from the future, as after a clock was set back, would never age: they don't count."""
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3600)
    TypeCache(ENDPOINT).put(FACTS)
    monkeypatch.setattr(time, "time", lambda: now)
    assert TypeCache(ENDPOINT).get(NAME) is None


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b'{"name": "m6id.lar', b"\xff\xfe", b"null", b"[]", b"5", b'"x"', b"{}"),
        *(b'{"asked_at": 1}', b"[" * 100_000, b"\0" * 1000),
    ],
    ids=range(12),
)
def test_corrupt_file(own_cache: Path, content: bytes) -> None:
    """A truncated or invalid file counts as missing; the next facts replace it."""
    cache = TypeCache(ENDPOINT)
    cache.put(FACTS)
    kept_file(own_cache).write_bytes(content)
    assert cache.get(NAME) is None
    cache.put(FACTS)
    assert cache.get(NAME) == FACTS


@pytest.mark.parametrize(
    "changes",
    [
        *({name: None} for name in ("name", "architectures", "store_disks", "asked_at", "ebs_optimized")),
        *({name: "1"} for name in ("is_burstable", "store_gib", "asked_at", "store_is_nvme")),
        *({"ebs_needs_nvme_path": 1}, {"store_disks": 1.0}, {"store_disks": True}, {"store_gib": [1]}),
        *(
            {"lacks": None},
            {"lacks": "enclave"},
            {"memory_mib": "8192"},
            {"network_cards": True},
            {"architectures": 5},
            {"architectures": "x86_64"},
            {"unknown": 1},
            {"name": 5},
            {"name": "m6id.xlarge"},
        ),
        *({"asked_at": float("nan")}, {"asked_at": float("inf")}, {"asked_at": 10**400}),
    ],
    ids=lambda changes: str(changes)[:40],
)
def test_wrong_values(own_cache: Path, changes: dict[str, Any]) -> None:
    """Facts with a wrong value, or of another type, don't count: the file may be of any origin."""
    TypeCache(ENDPOINT).put(FACTS)
    rewrite(own_cache, **changes)
    assert TypeCache(ENDPOINT).get(NAME) is None


def test_missing_value(own_cache: Path) -> None:
    """Facts of which a value is missing don't count."""
    TypeCache(ENDPOINT).put(FACTS)
    file = kept_file(own_cache)
    at, document = json.loads(file.read_text())
    for name in ("name", "ebs_needs_nvme_path", "architectures"):
        file.write_text(json.dumps([at, {key: value for key, value in document.items() if key != name}]))
        assert TypeCache(ENDPOINT).get(NAME) is None


@pytest.mark.parametrize(
    "name", ["", "m5", "../m5.large", "m5.large/..", "M5.large", "m5.large\n", ".", "..", "a.b.c"]
)
def test_names_that_are_none(own_cache: Path, name: str) -> None:
    """A text that can't be a type's name never becomes a file's name."""
    cache = TypeCache(ENDPOINT)
    cache.put(FACTS.replaced(name=name))
    assert cache.get(name) is None
    assert list(own_cache.rglob("*")) == [own_cache / "bosh-aws-cpi"]


def in_threads(count: int, work: Callable[[int], None]) -> None:
    """Do something in several threads at once."""
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_concurrent_writers(own_cache: Path) -> None:
    """A reader finds whole facts while others write, and no temporary file is left."""
    seen: set[InstanceTypeFacts | None] = set()
    TypeCache(ENDPOINT).put(FACTS)

    def work(number: int) -> None:
        cache = TypeCache(ENDPOINT)
        for _ in range(50):
            cache.put(FACTS.replaced(store_disks=number))
            seen.add(cache.get(NAME))

    in_threads(4, work)
    assert seen <= {FACTS.replaced(store_disks=number) for number in range(4)}
    assert kept_file(own_cache).stat().st_mode & 0o777 == 0o600
