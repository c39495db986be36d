"""Tags as EC2 takes them."""

from typing import Any

import pytest

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import Encryption
from bosh_aws_cpi.plan import tag_plan
from bosh_aws_cpi.properties.disk import DiskProperties
from bosh_aws_cpi.properties.types import Review
from bosh_aws_cpi.tag_names import OWN_KEYS
from tests.unit.config.parsing import parse


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", ""),
        (0, "0"),
        (1.5, "1.5"),
        (True, "true"),
        ([1, "a", None], '[1,"a",null]'),
        ({"b": [True], "a": "ü"}, '{"b":[true],"a":"ü"}'),
    ],
)
def test_values(value: object, expected: str) -> None:
    """Everything becomes a string: booleans and numbers as JSON has them, lists and objects as JSON."""
    assert tag_plan.of_request({"key": value}) == {"key": expected}


def test_limits() -> None:
    """Keys are cut at 127 characters and values at 255, whatever they were."""
    assert tag_plan.of_request({"ü" * 128: "é" * 256}) == {"ü" * 127: "é" * 255}


def test_for_metadata() -> None:
    """Metadata shows the CPI's own tags, and none whose key it would take for something else."""
    options = {"instance_metadata_tags": "enabled"}
    tag_plan.check_for_instance(dict.fromkeys([*OWN_KEYS, "aZ0_+-=.,:@", "...", "_index_"], ""), options)
    tag_plan.check_for_instance({"cost center": ""}, {})
    for wrong in ("cost center", "team/x", "é", "", ".", "..", "_index", "a\n"):
        with pytest.raises(CloudError) as caught:
            tag_plan.check_for_instance({"good": "", wrong: ""}, options)
        assert caught.value.message.endswith(f"the manifest's tags: {wrong!a}")


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("", {}, {}),
        ("dd1", {"a": 1}, {"Name": "dd1", "a": "1"}),
        ("dd1", {"Name": "own"}, {"Name": "own"}),
        ("dd1", {"Name": None}, {}),
        ("n" * 300, None, {"Name": "n" * 255}),
    ],
)
def test_of_disk(name: str | None, given: object, expected: dict[str, str]) -> None:
    """A disk's name is its tag Name, unless the tags say otherwise."""
    properties = DiskProperties.parse({"name": name, "tags": given})
    assert tag_plan.of_disk(properties, parse(), Review()) == expected


def test_tags_of_a_wrong_type() -> None:
    """Tags that are no hash are refused by their type."""
    for check in (
        tag_plan.check_hash,
        lambda value: tag_plan.of_vm({"bosh": {"tags": value}}, None, Review()),
    ):
        with pytest.raises(CloudError, match="'tags': expected a Hash but got Array"):
            check([])


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        (None, {}),
        ({"bosh": []}, {}),
        ({"bosh": {"tags": None}}, {}),
        ({"bosh": {"tags": {"a": 1}}}, {"a": "1"}),
    ],
)
def test_tags_of_the_environment(environment: dict[str, Any] | None, expected: dict[str, Any]) -> None:
    """The Director's tags are read from env.bosh.tags, if that is there."""
    assert tag_plan.of_vm(environment, None, Review()) == expected


@pytest.mark.parametrize(
    ("director", "agent", "expected"),
    [
        ("d", "a", {"bosh_director_uuid": "d", "bosh_agent_id": "a"}),
        ("d", None, {"bosh_director_uuid": "d"}),
        ("", "", {}),
    ],
)
def test_tags_of_origin(director: str | None, agent: str | None, expected: dict[str, str]) -> None:
    """Resources have the tags of the Director and the agent, as far as they are known."""
    assert tag_plan.of_origin(director, agent) == expected


@pytest.mark.parametrize(
    ("encryption", "key"),
    [
        (Encryption(), "none"),
        (Encryption(encrypted=False, kms_key_arn="arn:k"), "none"),
        (Encryption(encrypted=True), "default"),
        (Encryption(encrypted=True, kms_key_arn="arn:k"), "arn:k"),
    ],
)
def test_tags_of_a_copy(encryption: Encryption, key: str) -> None:
    """A copy of an AMI is found again by its Director, its source, and how it is encrypted."""
    same = {"bosh_source_ami": "ami-1", "bosh_kms_key": key}
    assert tag_plan.of_copy("d", "ami-1", encryption) == {"bosh_director_uuid": "d", **same}
    assert tag_plan.of_copy(None, "ami-1", encryption) == same


def test_reserved_keys() -> None:
    """All of AWS's reserved keys are refused, whatever their case."""
    tag_plan.check_for_ec2({"aws": "", "awsome": "", "my:aws:tag": ""})
    with pytest.raises(CloudError, match=r"reserved for AWS.*: 'AWS:a', 'aws:z'$"):
        tag_plan.check_for_ec2({"b": "", "aws:z": "", "AWS:a": ""})


def test_room_for_later_tags() -> None:
    """A launch leaves room for BOSH's tags and for records; the CPI's own and BOSH's are never left out."""
    own, records = {"bosh_agent_id": "a"}, {"bosh_target_a_1": "b"}
    wanted = {f"team-{number}": "" for number in range(39)}
    said: list[str] = []
    assert tag_plan.at_launch({**wanted, **own}, records, said.append) == {**wanted, **own}
    assert said == []
    more = {**wanted, "job": "j", "last": "", "Name": "n", **own}
    expected = {key: value for key, value in more.items() if key != "last"}
    assert tag_plan.at_launch(more, records, said.append) == expected
    assert said == ["EC2 allows 50 tags, and BOSH has 9 of its own. Left out: 'last'"]
    assert tag_plan.at_launch({**wanted, **own, "last": ""}, {}, said.append).keys() >= {"last"}


@pytest.mark.parametrize(
    ("current", "expected"),
    [
        (39, {"job", "team", "old-0"}),
        (40, {"job", "team", "old-0"}),
        (41, {"job", "old-0"}),
        (49, {"job", "old-0"}),
        (50, {"old-0"}),
    ],
)
def test_metadata_in_the_room(current: int, expected: set[str]) -> None:
    """BOSH's own tags come first; a tag that the VM has, and one of AWS, take no more room."""
    keys = [f"old-{number}" for number in range(current)]
    metadata = {"team": "a", "old-0": "b", "job": "j"}
    assert tag_plan.vm_metadata(metadata, [*keys, "aws:ec2launchtemplate:id"]).keys() == expected


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"name": "n", "job": "j", "index": 0}, {"Name": "n", "job": "j", "index": "0"}),
        ({"job": "j", "index": 0}, {"Name": "j/0", "job": "j", "index": "0"}),
        ({"job": "j", "index": "1", "compiling": "c"}, {"Name": "j/1"}),
        ({"job": "j", "compiling": "c"}, {"Name": "compiling/c"}),
        ({"index": 0, "compiling": "c"}, {"Name": "compiling/c"}),
        ({"name": "", "job": "j", "index": 1}, {"Name": "j/1"}),
        ({"name": "new", "Name": "old"}, {"Name": "new"}),
    ],
)
def test_name_tag(metadata: dict[str, Any], expected: dict[str, str]) -> None:
    """A VM is called by its name, else by job and index, else by what it compiles."""
    made = tag_plan.vm_metadata(metadata)
    assert made.items() >= expected.items()
    assert not made.get("name")
