"""Orders of refusals by which CreateTags goes from all resources and tags to single ones."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import tags
from tests.unit.aws.looks import tagged
from tests.unit.conftest import Clock, ProgramLog, Stub

TAGS = {"a": "1", "b": ""}
NOT_FOUND = "InvalidVolume.NotFound"


def lay(ec2: Stub, resources: str, given: dict[str, str], *ends: str | dict[str, Any]) -> None:
    """Lay out CreateTags with these tags."""
    ec2.lay("create_tags", *ends, Resources=resources.split(), Tags=tagged(**given))


def errors(log: ProgramLog) -> list[str]:
    """List the errors that were logged."""
    return [record.text for record in log.records if record.level == "ERROR"]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("InvalidID", ""),
        ("UnauthorizedOperation", ""),
        ("InvalidParameterValue", "Value (x) for parameter volume is invalid. Expected: 'vol-...'."),
    ],
)
def test_refused(ec2: Stub, clock: Clock, code: str, message: str) -> None:
    """An invalid id is raised at once, however EC2 says so, as is any refusal that is not about a tag."""
    ec2.refuses("create_tags", code, message, Resources=["x"], Tags=tagged(**TAGS))
    with pytest.raises(ClientError, match=code):
        tags.create(ec2.client, ["x"], TAGS)
    assert clock.pauses == []


@pytest.mark.parametrize("code", [NOT_FOUND, "UnauthorizedOperation"])
def test_one_attempt(ec2: Stub, clock: Clock, program_log: ProgramLog, code: str) -> None:
    """What is being deleted is named by one attempt, whose failure is logged; a required tag's is raised."""
    lay(ec2, "vol-1", {"Name": "to be deleted"}, code)
    tags.mark_deleted(ec2.client, "vol-1")
    (said,) = errors(program_log)
    assert f"vol-1: CreateTags failed with {code}: " in said
    lay(ec2, "vol-1", {"a": "b"}, code)
    with pytest.raises(ClientError, match=code):
        tags.require(ec2.client, "vol-1", {"a": "b"})
    assert clock.pauses == []


def test_tag_by_tag(ec2: Stub, program_log: ProgramLog) -> None:
    """One bad tag does not cost the others: those that say who knows the resource come first.

    Tags that are refused for one reason are named together.
    """
    given = {"aws:team": "x", "d": "1", "z": "1", "director": "d", "job": "j"}
    full, reserved = ("TagLimitExceeded", "full"), ("InvalidParameterValue", "reserved")
    refusals = {"aws:team": reserved, "d": full, "z": full}
    lay(ec2, "vol-1", given, "TagLimitExceeded")
    for key in ("director", "job", "aws:team", "d", "z"):
        if key in refusals:
            ec2.refuses("create_tags", *refusals[key], Resources=["vol-1"], Tags=tagged(**{key: given[key]}))
        else:
            lay(ec2, "vol-1", {key: given[key]}, {})
    tags.create(ec2.client, ["vol-1"], given)
    said = errors(program_log)
    assert ["vol-1" in each for each in said] == [True, True]
    assert [": reserved" in said[0], said[0].endswith("refused: aws:team")] == [True, True]
    assert [": full" in said[1], said[1].endswith("refused: d, z")] == [True, True]


def test_so_many_calls(ec2: Stub, program_log: ProgramLog) -> None:
    """However many tags and resources there are, fifty calls with one tag are the most; the rest is named."""
    given = {f"t{number:02}": "x" for number in range(60)}
    lay(ec2, "vol-1 vol-2", given, "TagLimitExceeded")
    for resource in ("vol-1", "vol-2"):
        lay(ec2, resource, given, "TagLimitExceeded")
        for key in list(given)[:25]:
            lay(ec2, resource, {key: "x"}, {})
    tags.create(ec2.client, ["vol-1", "vol-2"], given)
    untried = ", ".join(list(given)[25:])
    assert [text.endswith(f": {untried}") for text in errors(program_log)] == [True, True]


def test_other_refusal_of_one_tag(ec2: Stub, program_log: ProgramLog) -> None:
    """A refusal that is not about a tag is raised; tags that were refused before are told all the same."""
    lay(ec2, "vol-1", TAGS, "TagLimitExceeded")
    lay(ec2, "vol-1", {"a": "1"}, "TagLimitExceeded")
    lay(ec2, "vol-1", {"b": ""}, "UnauthorizedOperation")
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        tags.create(ec2.client, ["vol-1"], TAGS)
    (said,) = errors(program_log)
    assert said.endswith("refused: a")


@pytest.mark.parametrize("code", [NOT_FOUND, "InvalidID"])
def test_refusal_of_one_among_several(ec2: Stub, program_log: ProgramLog, code: str) -> None:
    """When EC2 refuses resources together, each is tagged by itself, and only the failing one is logged."""
    lay(ec2, "i-1 vol-1 vol-2", TAGS, code if code == "InvalidID" else "TagLimitExceeded")
    lay(ec2, "i-1", TAGS, {})
    lay(ec2, "vol-1", TAGS, code)
    lay(ec2, "vol-2", TAGS, {})
    tags.create(ec2.client, ["i-1", "vol-1", "vol-2"], TAGS)
    (said,) = errors(program_log)
    assert f"vol-1: CreateTags failed with {code}: " in said
