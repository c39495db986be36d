"""The SDK's own data: read from botocore's files alone, and cut when the package is built."""

import gzip
from pathlib import Path
from typing import Any

import botocore
import pytest
from botocore.loaders import Loader
from botocore.regions import EndpointResolver

from bosh_aws_cpi.aws.sdk import data, data_cut
from bosh_aws_cpi.aws.sdk.data import PlainJson, loader
from bosh_aws_cpi.aws.sdk.permissions import operations


def ec2(*, for_commands: bool = False) -> dict[str, Any]:
    """Read EC2's model as a call does."""
    model: dict[str, Any] = loader(for_commands=for_commands).load_service_model("ec2", "service-2")
    return model


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


def test_cuts_are_current(tmp_path: Path) -> None:
    """The installed package has the cuts of the installed botocore alone, for the calls in the table."""
    (tmp_path / "of-another-version.json").touch()
    data_cut.write(Path(botocore.__file__).parent, botocore.__version__, tmp_path)
    written = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*.json")}
    assert len(written) == 4
    assert {path: (data.FOLDER / path).read_bytes() for path in written} == written, "make venv"


def test_other_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """With another version of botocore, its own files are read."""
    monkeypatch.setattr(botocore, "__version__", "2")
    assert ec2() == Loader().load_service_model("ec2", "service-2")


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
