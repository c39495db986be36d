"""The SDK's own data: read from botocore's files alone, cut once, and left for later calls."""

import gzip
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from botocore.loaders import Loader
from botocore.regions import EndpointResolver

from bosh_aws_cpi.aws.sdk import data, data_cut, permissions
from bosh_aws_cpi.aws.sdk.data import LARGE, MAX_AGE, PlainJson, loader
from bosh_aws_cpi.aws.sdk.permissions import operations


def ec2(*, for_commands: bool = False) -> dict[str, Any]:
    """Read EC2's model as a call does."""
    model: dict[str, Any] = loader(for_commands=for_commands).load_service_model("ec2", "service-2")
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


@pytest.mark.parametrize("ending", [".json", ".json.gz"])
def test_plain_dicts(tmp_path: Path, ending: str) -> None:
    """Objects become plain dicts in the order of the file, from both of its forms; a missing file is None."""
    content = b'{"b": {"d": 1, "c": [{}]}, "a": "\xc3\xa9"}'
    name = str(tmp_path / "data")
    assert not PlainJson().exists(name)
    assert PlainJson().load_file(name) is None
    (tmp_path / f"data{ending}").write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    read: Any = PlainJson().load_file(name)
    assert PlainJson().exists(name)
    assert (read, type(read), list(read["b"])) == ({"b": {"d": 1, "c": [{}]}, "a": "é"}, dict, ["d", "c"])


def test_no_other_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SDK data in HOME or AWS_DATA_PATH is not read."""
    for name in ("HOME", "AWS_DATA_PATH"):
        monkeypatch.setenv(name, str(tmp_path))
    assert loader().search_paths == [Loader.BUILTIN_DATA_PATH]


def test_cut_once(own_cache: Path, cuts: list[str]) -> None:
    """The first call leaves copies of EC2's model and the endpoints; the next ones read them, if whole."""
    first = (ec2(), loader().load_data("endpoints"))
    loader().load_service_model("sts", "service-2")  # which is small
    assert cuts == ["service-2", "endpoints"]
    assert [(file.stat().st_mode & 0o777) for file in copies(own_cache)] == [0o600] * 2
    assert (ec2(), loader().load_data("endpoints")) == first
    assert len(cuts) == 2
    for content in (b"[", b'[1, {"metadata": {}}]'):
        for copy in copies(own_cache):
            copy.write_bytes(content)
        assert (ec2(), loader().load_data("endpoints")) == first


def test_other_program(
    own_cache: Path, tmp_path: Path, cuts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version of the program or the SDK, and operators' commands, have copies of their own."""
    for for_commands in (False, True):
        ec2(for_commands=for_commands)
    table = tmp_path / "permissions.py"
    table.write_text("another one")
    assert data.ACTIONS.samefile(permissions.__file__)
    changes: list[tuple[str, object]] = [
        ("bosh_aws_cpi.aws.sdk.data_cut.FORMAT", data_cut.FORMAT + 1),
        ("botocore.__version__", "2"),
        ("bosh_aws_cpi.aws.sdk.data.ACTIONS", table),
    ]
    for name, value in changes:
        monkeypatch.setattr(name, value)
        ec2()
    assert len(copies(own_cache)) == len(cuts) == 2 + len(changes)


def test_other_file(tmp_path: Path, cuts: list[str]) -> None:
    """A data file of another size, time or place is read anew."""

    def read(name: str, spaces: int, moment: int) -> object:
        file = tmp_path / name / "endpoints.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"partitions": []}) + " " * spaces)
        os.utime(file, ns=(moment, moment))
        return PlainJson().load_file(str(file.with_suffix("")))

    for source in (("a", LARGE, 5), ("a", LARGE, 5), ("a", LARGE + 1, 5), ("a", LARGE, 6), ("b", LARGE, 5)):
        assert read(*source) == {"partitions": []}
    assert len(cuts) == 4


def test_old_copies(own_cache: Path) -> None:
    """A process that leaves a copy removes old and partial copies, and no other file."""
    ec2()
    folder = copies(own_cache)[0].parent
    ages = {"sdk-old.json": 60, "sdk-killed.json.x5b2": 60, "sdk-young.json": -60, "other.json": 60}
    for name, age in ages.items():
        (folder / name).touch()
        os.utime(folder / name, (time.time() - MAX_AGE - age,) * 2)
    loader().load_data("endpoints")
    assert [(folder / name).exists() for name in ages] == [False, False, True, True]


def test_no_place_for_copies(monkeypatch: pytest.MonkeyPatch, cuts: list[str]) -> None:
    """Where no folder can be the user's alone, each call reads the whole data."""
    monkeypatch.setattr("bosh_aws_cpi.aws.sdk.private_files.folder", lambda: None)
    assert ec2() == ec2()
    assert cuts == ["service-2", "service-2"]


@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("for_commands", [False, True])
def test_cut_model_says_the_same(for_commands: bool) -> None:  # noqa: FBT001
    """The cut models say the same of all that is called, but for documentation; pages stay."""
    known = loader(for_commands=for_commands)
    services = [*data_cut.SERVICES, *(data_cut.COMMAND_SERVICES if for_commands else ())]
    models = [known.load_service_model(service, "service-2") for service in services]
    called = operations(for_commands=for_commands)
    assert {name for model in models for name in model["operations"]} >= called
    whole, left = Loader().load_service_model("ec2", "service-2"), ec2(for_commands=for_commands)
    assert left["operations"].keys() == whole["operations"].keys() & called
    assert data_cut.references([left["operations"], left["shapes"]]) == left["shapes"].keys()
    for section in ("operations", "shapes"):
        kept = {name: whole[section][name] for name in left[section]}
        whole[section] = data_cut.without_documentation(kept)
    assert left == whole
    pages = Loader().load_service_model("ec2", "paginators-1")
    assert known.load_service_model("ec2", "paginators-1") == pages


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


def test_member_named_documentation_stays() -> None:
    """Only text is documentation, and only a text names a shape: members of these names stay."""
    shapes = {"documentation": {"members": {"documentation": {"shape": "S", "documentation": "text"}}}}
    stays = {"documentation": {"members": {"documentation": {"shape": "S"}}}}
    assert data_cut.without_documentation(shapes) == stays
    assert data_cut.references({"members": {"shape": {"shape": "Name"}}}) == {"Name"}
