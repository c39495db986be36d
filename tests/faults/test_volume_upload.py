"""Heavy stemcells by way of a volume: a refusal, and a signal, at each call."""

import pytest

from testbed.cloud import FakeAws
from testbed.killing import interrupt_at
from testbed.rules import REQUEST_ID
from tests.protocols import ListResources
from tests.stories.conftest import heavy, made, own_vm
from tests.stories.own_vm import OwnVm, works_apart
from tests.stories.story import Story, story

pytestmark = [
    pytest.mark.faults,
    pytest.mark.usefixtures("fast_clock"),
    pytest.mark.skipif(not works_apart(), reason="no program can have a /dev of its own here"),
]

__all__ = ["heavy", "made", "own_vm", "story"]

INVALID = {"code": "InvalidRequest", "message": "No.", "status": 400}
CALLS = [
    ("DescribeInstances", 1),
    ("CreateVolume", 1),
    ("DescribeVolumes", 1),
    ("AttachVolume", 1),
    ("DescribeVolumes", 2),
    ("CreateSnapshot", 1),
    ("DescribeSnapshots", 1),
    ("RegisterImage", 1),
    ("DescribeImages", 1),
]
"""All but those by which the volume is removed, and the last one, which marks a snapshot that is good."""


@pytest.mark.parametrize(("action", "nth"), CALLS)
def test_refused_calls(
    story: Story, own_vm: OwnVm, fake_aws: FakeAws, made: ListResources, action: str, nth: int
) -> None:
    """Each refused call is an error with AWS's words, and nothing is left."""
    fake_aws.rule(action=action, nth=nth, times=None, error=INVALID)
    message = f"{action} failed with InvalidRequest: No. (request id {REQUEST_ID})"
    assert own_vm.create().error == story.failure("CloudError", message)
    fake_aws.clear_rules()
    assert made() == {}


@pytest.mark.parametrize("action", ["CreateVolume", "AttachVolume", "CreateSnapshot", "RegisterImage"])
def test_interrupted(own_vm: OwnVm, fake_aws: FakeAws, made: ListResources, action: str) -> None:
    """A signal during a call ends it with one response, and nothing is left."""
    answer = interrupt_at(fake_aws, own_vm.start, action=action, when="after")
    assert answer.error["message"].startswith("The call was interrupted by SIGTERM")
    assert made() == {}
