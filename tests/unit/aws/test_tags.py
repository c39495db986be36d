"""CreateTags, as EC2 takes and refuses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import tags

if TYPE_CHECKING:
    from tests.unit.conftest import Clock, Ec2, ProgramLog

TAGS = {"a": "1", "b": ""}
LISTED = [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": ""}]
NOT_FOUND = "InvalidVolume.NotFound"


def call(*resources: str) -> dict[str, Any]:
    """Describe a call that tags these."""
    return {"Resources": list(resources), "Tags": LISTED}


def single(resource: str, key: str, value: str) -> dict[str, Any]:
    """Describe a call that gives something one tag."""
    return {"Resources": [resource], "Tags": [{"Key": key, "Value": value}]}


def errors(log: ProgramLog) -> list[str]:
    """List the errors that were logged."""
    return [record.text for record in log.records if record.level == "ERROR"]


@pytest.mark.parametrize(("resources", "given"), [(["i-1"], {}), ([], TAGS)])
def test_nothing_to_do(ec2: Ec2, clock: Clock, resources: list[str], given: dict[str, str]) -> None:
    """Without tags or resources there is no call."""
    tags.create(ec2.client, resources, given)
    assert clock.pauses == []


@pytest.mark.parametrize(
    "code",
    [
        *("InvalidInstanceID.NotFound", "InvalidVolume.NotFound", "InvalidAMIID.NotFound"),
        *("InvalidSnapshot.NotFound", "InvalidNetworkInterfaceID.NotFound"),
    ],
)
def test_not_found_yet(ec2: Ec2, clock: Clock, code: str) -> None:
    """A resource that was made a moment ago and is not known yet is tried again."""
    ec2.refuses("create_tags", code, **call("x-1"))
    ec2.refuses("create_tags", code, **call("x-1"))
    ec2.answers("create_tags", **call("x-1"))
    tags.create(ec2.client, ["x-1"], TAGS)
    assert len(clock.pauses) == 2


def test_never_found(ec2: Ec2, clock: Clock) -> None:
    """A single resource that stays unknown is an error after four and a half minutes."""
    for _ in range(100):
        ec2.refuses("create_tags", NOT_FOUND, **call("vol-1"))
    with pytest.raises(ClientError, match=NOT_FOUND):
        tags.create(ec2.client, ["vol-1"], TAGS)
    assert 270 <= clock.now <= 276
    for _ in range(100 - len(clock.pauses) - 1):
        with pytest.raises(ClientError):
            ec2.client.create_tags(**call("vol-1"))


def test_no_id(ec2: Ec2, clock: Clock) -> None:
    """An invalid id is raised at once: waiting would not help."""
    ec2.refuses("create_tags", "InvalidID", **call("x"))
    with pytest.raises(ClientError, match="InvalidID"):
        tags.create(ec2.client, ["x"], TAGS)
    assert clock.pauses == []


@pytest.mark.parametrize("code", [NOT_FOUND, "UnauthorizedOperation"])
def test_mark_deleted(ec2: Ec2, clock: Clock, program_log: ProgramLog, code: str) -> None:
    """A resource that is being deleted is named so by one attempt; a failure is logged."""
    named = {"Resources": ["vol-1"], "Tags": [{"Key": "Name", "Value": "to be deleted"}]}
    ec2.answers("create_tags", **named)
    ec2.refuses("create_tags", code, **named)
    tags.mark_deleted(ec2.client, "vol-1")
    tags.mark_deleted(ec2.client, "vol-1")
    (record,) = program_log.records
    assert record.text.startswith(f"Could not tag vol-1: CreateTags failed with {code}: ")
    assert clock.pauses == []


@pytest.mark.parametrize("code", ["TagLimitExceeded", "InvalidParameterValue"])
def test_refusal_of_one_tag(ec2: Ec2, program_log: ProgramLog, code: str) -> None:
    """A tag limit and an invalid value are logged, not raised: tags are no reason to fail."""
    ec2.refuses("create_tags", code, "too many", **single("vol-1", "a", "1"))
    tags.create(ec2.client, ["vol-1"], {"a": "1"})
    (said,) = errors(program_log)
    assert said.startswith(f"Could not tag vol-1: CreateTags failed with {code}: too many (request id ")


@pytest.mark.parametrize("code", ["TagLimitExceeded", "InvalidParameterValue"])
def test_one_tag_of_several(ec2: Ec2, program_log: ProgramLog, code: str) -> None:
    """One bad tag, or one too many, does not cost the others, and those that say who knows it come first."""
    given = {"aws:team": "x", "z": "1", "director": "d", "job": "j"}
    listed = [{"Key": key, "Value": value} for key, value in given.items()]
    ec2.refuses("create_tags", code, Resources=["vol-1"], Tags=listed)
    ec2.answers("create_tags", **single("vol-1", "director", "d"))
    ec2.answers("create_tags", **single("vol-1", "job", "j"))
    ec2.refuses("create_tags", code, "not this", **single("vol-1", "aws:team", "x"))
    ec2.answers("create_tags", **single("vol-1", "z", "1"))
    tags.create(ec2.client, ["vol-1"], given)
    (said,) = errors(program_log)
    assert said.startswith(f"Could not tag vol-1: CreateTags failed with {code}: not this (")
    assert said.endswith("; refused: aws:team")


def test_refusals_for_several_reasons(ec2: Ec2, program_log: ProgramLog) -> None:
    """Tags that are refused for one reason are named together, at the end."""
    given = {"a": "1", "b": "1", "aws:c": "1", "d": "1", "long": "1"}
    listed = [{"Key": key, "Value": value} for key, value in given.items()]
    refusals = {
        "a": ("TagLimitExceeded", "full"),
        "aws:c": ("InvalidParameterValue", "reserved"),
        "d": ("TagLimitExceeded", "full"),
        "long": ("InvalidParameterValue", "too long"),
    }
    ec2.refuses("create_tags", "TagLimitExceeded", Resources=["vol-1"], Tags=listed)
    for key in given:
        if key in refusals:
            ec2.refuses("create_tags", *refusals[key], **single("vol-1", key, "1"))
        else:
            ec2.answers("create_tags", **single("vol-1", key, "1"))
    tags.create(ec2.client, ["vol-1"], given)
    told = [(said.partition(" (request id ")[0], said.rpartition("; ")[2]) for said in errors(program_log)]
    failed = "Could not tag vol-1: CreateTags failed with"
    assert told == [
        (f"{failed} TagLimitExceeded: full", "refused: a, d"),
        (f"{failed} InvalidParameterValue: reserved", "refused: aws:c"),
        (f"{failed} InvalidParameterValue: too long", "refused: long"),
    ]


@pytest.mark.parametrize(("resources", "singly"), [(["vol-1"], 50), (["vol-1", "vol-2"], 25)])
def test_so_many_calls(ec2: Ec2, program_log: ProgramLog, resources: list[str], singly: int) -> None:
    """However many tags and resources there are, fifty calls with one tag are the most; the rest is named."""
    given = {f"t{number:02}": "x" for number in range(60)}
    listed = [{"Key": key, "Value": "x"} for key in given]
    if len(resources) > 1:
        ec2.refuses("create_tags", "TagLimitExceeded", Resources=resources, Tags=listed)
    for resource in resources:
        ec2.refuses("create_tags", "TagLimitExceeded", Resources=[resource], Tags=listed)
        for key in list(given)[:singly]:
            ec2.answers("create_tags", **single(resource, key, "x"))
    tags.create(ec2.client, resources, given)
    untried = ", ".join(list(given)[singly:])
    assert errors(program_log) == [
        f"Too many tags for {resource}; not set: {untried}" for resource in resources
    ]


def test_other_refusal_of_one_tag(ec2: Ec2, program_log: ProgramLog) -> None:
    """A refusal of another kind among them is raised, and those before it are told all the same."""
    ec2.refuses("create_tags", "TagLimitExceeded", **call("vol-1"))
    ec2.refuses("create_tags", "TagLimitExceeded", **single("vol-1", "a", "1"))
    ec2.refuses("create_tags", "UnauthorizedOperation", **single("vol-1", "b", ""))
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        tags.create(ec2.client, ["vol-1"], TAGS)
    (said,) = errors(program_log)
    assert said.startswith("Could not tag vol-1: CreateTags failed with TagLimitExceeded: ")
    assert said.endswith("; refused: a")


def test_malformed_id(ec2: Ec2) -> None:
    """An invalid value that is the id itself is raised: there is no such resource."""
    message = "Value (x) for parameter volume is invalid. Expected: 'vol-...'."
    ec2.refuses("create_tags", "InvalidParameterValue", message, **call("x"))
    with pytest.raises(ClientError, match="Expected: 'vol-"):
        tags.create(ec2.client, ["x"], TAGS)


@pytest.mark.parametrize("code", ["InvalidVolume.NotFound", "InvalidID"])
def test_refusal_of_one_among_several(ec2: Ec2, program_log: ProgramLog, code: str) -> None:
    """When EC2 refuses them together each is tagged by itself, and only the failing one is logged."""
    if code == "InvalidID":  # the other passes by itself, which is waited for
        ec2.refuses("create_tags", code, **call("i-1", "vol-1", "vol-2"))
    else:
        ec2.refuses("create_tags", "TagLimitExceeded", **call("i-1", "vol-1", "vol-2"))
    ec2.answers("create_tags", **call("i-1"))
    ec2.refuses("create_tags", code, **call("vol-1"))
    ec2.answers("create_tags", **call("vol-2"))
    tags.create(ec2.client, ["i-1", "vol-1", "vol-2"], TAGS)
    (said,) = errors(program_log)
    assert said.startswith(f"Could not tag vol-1: CreateTags failed with {code}: ")


@pytest.mark.parametrize("code", ["TagLimitExceeded", "InvalidParameterValue"])
def test_refused_tags_of_one_among_several(ec2: Ec2, program_log: ProgramLog, code: str) -> None:
    """The one that does not take all tags gets those that it takes."""
    ec2.refuses("create_tags", code, **call("i-1", "vol-1"))
    ec2.answers("create_tags", **call("i-1"))
    ec2.refuses("create_tags", code, **call("vol-1"))
    ec2.answers("create_tags", **single("vol-1", "a", "1"))
    ec2.refuses("create_tags", code, **single("vol-1", "b", ""))
    tags.create(ec2.client, ["i-1", "vol-1"], TAGS)
    (said,) = errors(program_log)
    assert said.startswith(f"Could not tag vol-1: CreateTags failed with {code}: ")
    assert said.endswith("; refused: b")


@pytest.mark.parametrize("resources", [["i-1"], ["i-1", "vol-1"]])
def test_other_refusals(ec2: Ec2, resources: list[str]) -> None:
    """Any other refusal is raised at once."""
    ec2.refuses("create_tags", "UnauthorizedOperation", **call(*resources))
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        tags.create(ec2.client, resources, TAGS)


def test_other_refusal_of_one_among_several(ec2: Ec2) -> None:
    """Another refusal is also raised while the resources are tagged one by one."""
    ec2.refuses("create_tags", "TagLimitExceeded", **call("i-1", "vol-1"))
    ec2.refuses("create_tags", "UnauthorizedOperation", **call("i-1"))
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        tags.create(ec2.client, ["i-1", "vol-1"], TAGS)


@pytest.mark.parametrize("code", ["TagLimitExceeded", "InvalidVolume.NotFound"])
def test_required_tag_that_is_refused(ec2: Ec2, code: str) -> None:
    """A tag that the program itself depends on is an error if EC2 refuses it, after one attempt."""
    tagging = {"Resources": ["vol-1"], "Tags": [{"Key": "a", "Value": "b"}]}
    ec2.refuses("create_tags", code, **tagging)
    with pytest.raises(ec2.client.exceptions.ClientError, match=code):
        tags.require(ec2.client, "vol-1", {"a": "b"})
