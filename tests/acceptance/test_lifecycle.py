"""The lifecycle program in an account."""

from collections.abc import Callable
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.world import World
from tests.acceptance.conftest import Run

DENIED = {"code": "UnauthorizedOperation", "message": "You are not authorized.", "status": 403}
METHODS = {
    *("info", "create_stemcell", "delete_stemcell", "create_vm", "delete_vm", "has_vm", "reboot_vm"),
    *("set_vm_metadata", "create_disk", "delete_disk", "has_disk", "attach_disk", "detach_disk", "get_disks"),
    *("set_disk_metadata", "resize_disk", "update_disk", "snapshot_disk", "delete_snapshot"),
}


def test_lifecycle(run: Callable[..., Run], nothing_left: Callable[[], None], world: World) -> None:
    """Every method that changes something is called, EC2 agrees with the answers, and nothing is left.

    The given AMI stays, without tags.
    """
    result = run("lifecycle")
    assert (result.status, result.document["left"]) == (0, {})
    assert result.document["summary"].endswith(" calls, all as it should be")
    assert {call["method"] for call in result.document["calls"]} == METHODS
    (image,) = world.ec2.describe_images(ImageIds=[world.image_id])["Images"]
    assert (image["State"], image.get("Tags", [])) == ("available", [])
    nothing_left()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            {"action": "RegisterImage", "error": DENIED},
            "create_stemcell failed with Bosh::Clouds::CloudError: RegisterImage failed",
        ),
        (
            {"action": "DescribeImages", "replace": [["(<rootDeviceName>)/dev/xvda<", r"\1/dev/sda<"]]},
            "the AMI's root device: expected '/dev/xvda', but it is '/dev/sda'",
        ),
    ],
    ids=["method that fails", "answer that is not true"],
)
def test_bad_end(
    run: Callable[..., Run],
    fake_aws: FakeAws,
    nothing_left: Callable[[], None],
    rule: dict[str, Any],
    message: str,
) -> None:
    """The first wrong answer ends the run; the report says what is wrong, and all resources are deleted."""
    fake_aws.rule(**rule)
    result = run("lifecycle")
    assert result.status == 1
    assert message in result.report
    assert result.document["left"] == {}
    nothing_left()
