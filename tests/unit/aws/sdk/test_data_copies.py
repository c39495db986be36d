"""What the CPI needs of the SDK's large files: cut once, and left for later calls."""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from botocore.loaders import Loader
from botocore.regions import EndpointResolver
from botocore.session import Session

from bosh_aws_cpi.aws.sdk import data, data_cut, permissions
from bosh_aws_cpi.aws.sdk.data import LARGE, MAX_AGE, PlainJson, loader
from bosh_aws_cpi.aws.sdk.permissions import operations

if TYPE_CHECKING:
    from pathlib import Path


def ec2() -> dict[str, Any]:
    """Read EC2's model as a call does."""
    model: dict[str, Any] = loader().load_service_model("ec2", "service-2")
    return model


def copies(folder: Path) -> list[Path]:
    """Return the copies that calls have left."""
    return sorted(folder.rglob("sdk-*.json"))


@pytest.fixture
def cuts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list of all that is cut from now on."""
    made = []
    real = data_cut.cut

    def cut(kind: str, document: object, *, for_commands: bool) -> object:
        made.append(kind)
        return real(kind, document, for_commands=for_commands)

    monkeypatch.setattr(data_cut, "cut", cut)
    return made


def test_large_data_is_cut_once(own_cache: Path, cuts: list[str]) -> None:
    """Of EC2's model and the endpoints the first call leaves copies, which the next ones read."""
    first = ec2()
    assert first["operations"].keys() < Loader().load_service_model("ec2", "service-2")["operations"].keys()
    endpoints = loader().load_data("endpoints")
    assert cuts == ["service-2", "endpoints"]
    assert [(file.stat().st_mode & 0o777) for file in copies(own_cache)] == [0o600] * 2
    assert (ec2(), loader().load_data("endpoints")) == (first, endpoints)
    assert cuts == ["service-2", "endpoints"]


@pytest.mark.parametrize("service", ["elb", "elbv2", "ebs", "sts"])
def test_small_data_is_read_as_it_is(service: str, cuts: list[str]) -> None:
    """A model that is read fast needs no copy."""
    loader().load_service_model(service, "service-2")
    assert cuts == []


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"\xff\xfe", b"\0" * 100, b"[" * 100_000, b"null", b"[]", b"3", b"{}"),
        b'{"metadata": {}, "operations": {}}',
    ],
    ids=range(10),
)
def test_broken_copy(own_cache: Path, cuts: list[str], content: bytes) -> None:
    """A copy that is no such document is made anew."""
    first = ec2()
    (copy,) = copies(own_cache)
    copy.write_bytes(content)
    assert (ec2(), ec2()) == (first, first)
    assert len(cuts) == 2


@pytest.mark.parametrize("content", [b"null", b"{}"])
def test_broken_endpoints(own_cache: Path, content: bytes) -> None:
    """A broken copy of the endpoints is made anew."""
    first = loader().load_data("endpoints")
    (copy,) = copies(own_cache)
    copy.write_bytes(content)
    assert loader().load_data("endpoints") == first


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bosh_aws_cpi.aws.sdk.data_cut.FORMAT", data_cut.FORMAT + 1),
        ("botocore.__version__", "2"),
    ],
    ids=["program", "SDK"],
)
def test_other_version(
    own_cache: Path, cuts: list[str], monkeypatch: pytest.MonkeyPatch, name: str, value: object
) -> None:
    """Another version of the program or of the SDK has a copy of its own."""
    ec2()
    monkeypatch.setattr(name, value)
    ec2()
    assert (len(copies(own_cache)), len(cuts)) == (2, 2)


@pytest.fixture
def endpoints(tmp_path: Path) -> Path:
    """Return a data file of the SDK that may be changed; it is large by its blanks."""
    file = tmp_path / "data" / "endpoints.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"partitions": []}) + " " * LARGE)
    return file


def read(file: Path) -> object:
    """Read a data file as a call does."""
    return PlainJson().load_file(str(file.with_suffix("")))


def test_file_of_another_size(endpoints: Path, cuts: list[str]) -> None:
    """A data file that was changed in place is read again."""
    read(endpoints)
    moment = endpoints.stat().st_mtime_ns
    endpoints.write_text(json.dumps({"partitions": [], "version": 3}) + " " * LARGE)
    os.utime(endpoints, ns=(moment, moment))
    assert read(endpoints) == {"partitions": [], "version": 3}
    assert len(cuts) == 2


def test_file_of_another_time(endpoints: Path, cuts: list[str]) -> None:
    """A data file that was changed without a change of its size is read again."""
    read(endpoints)
    os.utime(endpoints, ns=(1, 1))
    read(endpoints)
    assert len(cuts) == 2


def test_file_elsewhere(endpoints: Path, cuts: list[str]) -> None:
    """A file in another place, as in a second environment, has a copy of its own."""
    read(endpoints)
    other = endpoints.parent / "other" / endpoints.name
    other.parent.mkdir()
    shutil.copy2(endpoints, other)
    read(other)
    assert len(cuts) == 2


def test_other_large_data(endpoints: Path) -> None:
    """A large file of another kind, as a later SDK may have one, is read as it is, again and again."""
    other = endpoints.with_name("other.json")
    endpoints.rename(other)
    assert [read(other), read(other)] == [{"partitions": []}] * 2


def test_full_disk(own_cache: Path, cuts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy that can't be written is no error, and leaves nothing."""

    def full(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    assert ec2() == ec2()
    assert cuts == ["service-2", "service-2"]
    assert [path for path in own_cache.rglob("*") if path.is_file()] == []


def test_other_program(
    own_cache: Path, tmp_path: Path, cuts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that calls something else has a copy of its own."""
    ec2()
    names = frozenset({"RunInstances"})
    table = tmp_path / "permissions.py"
    table.write_text("another one")
    assert data.ACTIONS.samefile(permissions.__file__)
    monkeypatch.setattr(data, "ACTIONS", table)
    monkeypatch.setattr(permissions, "operations", lambda **_: names)
    assert ec2()["operations"].keys() == names
    assert (len(copies(own_cache)), len(cuts)) == (2, 2)


def test_commands(own_cache: Path) -> None:
    """Operators' commands read more of the data than the methods, so they have a copy of their own."""
    more = loader(for_commands=True).load_service_model("ec2", "service-2")["operations"].keys()
    assert more - ec2()["operations"].keys() >= {"GetConsoleOutput", "DescribeKeyPairs"}
    assert len(copies(own_cache)) == 2


def test_old_copies(own_cache: Path) -> None:
    """A process that leaves a copy removes old and partial copies, and no other file."""
    ec2()
    folder = copies(own_cache)[0].parent
    names = ("sdk-old.json", "sdk-killed.json.x5b2", "sdk-young.json", "other.json")
    old, killed, young, other = (folder / name for name in names)
    for file, age in ((old, 60), (killed, 60), (young, -60), (other, 60)):
        file.write_text(json.dumps({}))
        os.utime(file, (time.time() - MAX_AGE - age,) * 2)
    loader().load_data("endpoints")
    assert [file.exists() for file in (old, killed, young, other)] == [False, False, True, True]


def test_no_place_for_copies(tmp_path: Path, cuts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no folder can be the user's alone, each call reads the whole data."""
    no_folder = tmp_path / "file"
    no_folder.touch()
    for name in ("XDG_CACHE_HOME", "HOME"):
        monkeypatch.setenv(name, str(no_folder))
    monkeypatch.setattr("tempfile.tempdir", str(no_folder))
    assert ec2() == ec2()
    assert cuts == ["service-2", "service-2"]


@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("for_commands", [False, True])
def test_cut_model_says_the_same(for_commands: bool) -> None:  # noqa: FBT001
    """The SDK reads the same from the cut model, but for documentation and what is not called."""
    whole = Loader().load_service_model("ec2", "service-2")
    left = loader(for_commands=for_commands).load_service_model("ec2", "service-2")
    assert left["operations"].keys() == whole["operations"].keys() & operations(for_commands=for_commands)
    assert data_cut.references([left["operations"], left["shapes"]]) == left["shapes"].keys()
    for section in ("operations", "shapes"):
        kept = {name: whole[section][name] for name in left[section]}
        whole[section] = data_cut.without_documentation(kept)
    assert left == whole


@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("for_commands", [False, True])
def test_all_that_is_called_stays(for_commands: bool) -> None:  # noqa: FBT001
    """Each action that the CPI calls is an operation of one of the models."""
    known = loader(for_commands=for_commands)
    services = [*data_cut.SERVICES, *(data_cut.COMMAND_SERVICES if for_commands else ())]
    models = [known.load_service_model(service, "service-2") for service in services]
    assert {name for model in models for name in model["operations"]} >= operations(for_commands=for_commands)


@pytest.mark.usefixtures("own_cache")
def test_pages_of_what_is_called_stay() -> None:
    """A client of the cut data has a method, and pages, for what the CPI calls."""
    session = Session()
    session.register_component("data_loader", loader())
    client: Any = session.create_client(
        "ec2", "us-east-1", aws_access_key_id="none", aws_secret_access_key="none"
    )
    assert client.can_paginate("describe_instances")
    assert not hasattr(client, "create_vpc")


@pytest.mark.usefixtures("own_cache")
def test_endpoints_stay() -> None:
    """Every service has the endpoints in every region of every partition that it had before."""
    whole, left = (EndpointResolver(known.load_data("endpoints")) for known in (Loader(), loader()))
    partitions = whole.get_available_partitions()
    assert left.get_available_partitions() == partitions
    for partition in partitions:
        for name in sorted(set(data_cut.SERVICES.values())):
            regions = whole.get_available_endpoints(name, partition)
            assert left.get_available_endpoints(name, partition) == regions
            for region in [*regions, "xx-new-1"]:
                assert left.construct_endpoint(name, region) == whole.construct_endpoint(name, region)
