"""What is known of instance types: asked from EC2, and looked up where it may not be asked."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from tests.stories.story import Story

ASKING = "DescribeInstanceTypes"
DENIED = {"code": "UnauthorizedOperation", "message": "You are not authorized.", "status": 403}
BROKEN = {"code": "InternalError", "message": "No.", "status": 500}
ODD = {"code": "InvalidInstanceType", "message": "The following supplied instance types do not exist: [x]"}
RAW = {"instance_type": "m5d.4xlarge", "raw_instance_storage": True}
"""What can't be launched without the type's facts."""


@pytest.mark.parametrize(
    ("is_asked", "error"),
    [(True, DENIED), (True, BROKEN), (False, DENIED)],
    ids=["denied", "broken", "switched-off"],
)
def test_built_in_table(story: Story, fake_aws: FakeAws, *, is_asked: bool, error: dict[str, Any]) -> None:
    """Where EC2 does not answer a table does: with one warning, unless the question is switched off."""
    fake_aws.rule(action=ASKING, error=error)
    cpi = story.cpi_with(enable_describe_instance_types=is_asked, max_retries=0)
    answer = story.create_vm({**RAW, "instance_type_fallbacks": ["i4i.large"]}, executable=cpi)
    vm_cid = answer.ok()[0]
    raw = [entry["path"] for entry in story.settings(vm_cid)["disks"]["raw_ephemeral"]]
    assert raw == ["/dev/nvme0n1", "/dev/nvme1n1"]
    assert fake_aws.actions().count(ASKING) == int(is_asked)
    told = story.warnings(answer)
    assert len(told) == int(is_asked)
    assert all(ASKING in line and "using a built-in table" in line for line in told)
    assert not told or ("enable_describe" in told[0]) is (error is DENIED)


def test_unknown_type(story: Story, fake_aws: FakeAws) -> None:
    """A type that EC2 does not know is warned about; the others of its list are asked for by themselves."""
    known = {"instance_type": "m5.large", "instance_type_fallbacks": ["t9.odd"]}
    fake_aws.rule(action=ASKING, where={"InstanceType.1": "t9.odd"}, error=ODD)
    fake_aws.rule(action=ASKING, where={"InstanceType.2": "t9.odd"}, error=ODD)
    answer = story.create_vm(known)
    assert answer.ok()
    assert story.devices()["/dev/sdb"]["VolumeSize"] == "10"
    assert story.warnings(answer) == [
        "EC2 does not know instance type 't9.odd': assuming that it has no NVMe instance storage"
    ]
    assert fake_aws.actions().count(ASKING) == 3


def test_failing_question(story: Story, fake_aws: FakeAws) -> None:
    """Another refusal of the question ends the call before anything is made."""
    fake_aws.refuse(ASKING, "AuthFailure", "Wrong key.", 401)
    story.check_refusal(story.create_vm(), f"{ASKING} failed with AuthFailure: Wrong key.")
