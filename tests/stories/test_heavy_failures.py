"""Heavy stemcells when AWS is busy, does not answer, fails or refuses: nothing is left."""

import pytest

from testbed.cloud import FakeAws
from testbed.rules import REQUEST_ID
from tests.stories.stemcell_images import FULL_BLOCKS, Heavy, read_back
from tests.stories.story import Story

pytestmark = pytest.mark.usefixtures("fast_clock")


UNREAD = {
    "code": "ValidationException",
    "message": "Failed to read block data",
    "reason": "INVALID_PARAMETER_VALUE",
    "status": 400,
}
"""The one ValidationException that is documented as retryable: EBS user guide, "Error retries"."""
OFF_EC2 = "The VM's own id can't be read: AWS_EC2_METADATA_DISABLED is set"


def test_blocks_are_repeated(story: Story, heavy: Heavy, fake_aws: FakeAws) -> None:
    """A block that EBS can't accept now is sent again, more often than by the SDK."""
    fake_aws.rule(action="PutSnapshotBlock", nth=1, times=10, error=UNREAD)
    ami_id = heavy.create().ok()
    assert fake_aws.actions().count("PutSnapshotBlock") == len(FULL_BLOCKS) + 10
    found = story.leftovers()
    (snapshot_id,) = found["snapshots"]
    assert found == {"images": [ami_id], "snapshots": [snapshot_id]}
    assert read_back(fake_aws, snapshot_id) == FULL_BLOCKS


def test_block_that_is_refused(story: Story, heavy: Heavy, fake_aws: FakeAws) -> None:
    """A block that EBS refuses for another reason is not sent again, and nothing is left."""
    refusal = {**UNREAD, "message": "Not this block.", "reason": "INVALID_BLOCK"}
    fake_aws.rule(action="PutSnapshotBlock", nth=2, error=refusal)
    error = heavy.create().error
    assert error["message"].startswith("PutSnapshotBlock failed with ValidationException: Not this block.")
    assert "A heavy stemcell needs" not in error["message"]
    assert story.leftovers() == {}


def test_other_call_that_is_refused(story: Story, heavy: Heavy, fake_aws: FakeAws) -> None:
    """The refusal of a call outside the EBS direct APIs is the error."""
    fake_aws.refuse("DescribeSnapshots", "UnauthorizedOperation", "You may not.", 403)
    error = heavy.create().error
    assert error["message"].startswith("DescribeSnapshots failed with UnauthorizedOperation: You may not.")
    assert "A heavy stemcell needs" not in error["message"]
    assert story.leftovers() == {}


@pytest.mark.parametrize(
    ("action", "states", "message"),
    [
        (
            "CompleteSnapshot",
            ["pending", "error: the key is disabled"],
            r"EBS could not create snapshot 'snap-{id}': the key is disabled",
        ),
        (
            "RegisterImage",
            ["pending", "failed: no such snapshot"],
            "EC2 could not create AMI 'ami-{id}', its state is failed: no such snapshot",
        ),
    ],
)
def test_failed(
    story: Story, heavy: Heavy, fake_aws: FakeAws, action: str, states: list[str], message: str
) -> None:
    """A snapshot or an AMI that AWS could not create is an error with its reason, and nothing is left."""
    fake_aws.rule(action=action, states=states)
    error = heavy.create().error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
    head, _, tail = message.partition("{id}")
    assert error["message"].startswith(head)
    assert error["message"].endswith(tail)
    assert story.leftovers() == {}


@pytest.mark.parametrize("action", ["StartSnapshot", "PutSnapshotBlock", "CompleteSnapshot"])
def test_not_permitted(story: Story, heavy: Heavy, fake_aws: FakeAws, action: str) -> None:
    """Outside EC2, the error names the permissions, and the light stemcell, which needs none."""
    fake_aws.refuse(action, "AccessDeniedException", "You may not.", 403)
    message = (
        f"{action} failed with AccessDeniedException: You may not. (request id {REQUEST_ID}). "
        "A heavy stemcell needs ebs:StartSnapshot, ebs:PutSnapshotBlock and ebs:CompleteSnapshot: "
        "allow them, or use the light stemcell of the same version. "
        f"The upload through a volume also failed: {OFF_EC2}"
    )
    assert heavy.create().error == story.failure("CloudError", message)
    assert story.leftovers() == {}


def test_by_volume_off_ec2(story: Story, heavy: Heavy, fake_aws: FakeAws) -> None:
    """Outside EC2 the upload through a volume is refused before anything is created."""
    answer = heavy.create(cpi=story.cpi_with(stemcell_upload="volume"))
    assert answer.error == story.failure("CloudError", OFF_EC2)
    assert fake_aws.actions() == []


def test_endpoint_that_is_not_reached(story: Story, heavy: Heavy) -> None:
    """If the EBS direct APIs can't be reached, the error has the remedies."""
    error = heavy.create(cpi=story.cpi_with(ebs_endpoint="http://127.0.0.1:9", max_retries=0)).error
    assert error["type"] == "Bosh::Clouds::CloudError"
    assert error["message"].startswith("The EBS direct APIs can't be reached: ")
    assert error["message"].endswith(
        "Correct aws.ebs_endpoint, give the VPC an endpoint for them, or set aws.stemcell_upload to volume"
    )
    assert story.leftovers() == {}
