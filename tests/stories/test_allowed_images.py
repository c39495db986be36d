"""Accounts whose Allowed AMIs setting hides public AMIs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from testbed.cloud import FakeAws
    from testbed.executable import Cpi
    from testbed.world import World
    from tests.protocols import VmArguments, WriteError

NOT_IN_REGION = "Stemcell does not contain an AMI in region us-east-1"
HIDDEN = (
    ". The Allowed AMIs setting is enabled in this region (by the account) and may hide the AMI: "
    "add the AMI's owner to the allowed image providers, or upload the heavy stemcell of this version, "
    "whose AMI belongs to your account"
)
FOREIGN = "ami-0123456789abcdef0"
"""A hidden AMI: EC2 answers as if it did not exist (API model: DescribeImages)."""
DENIED = {"code": "UnauthorizedOperation", "message": "No.", "status": 403}


@pytest.fixture
def restrict(world: World) -> Callable[[str], None]:
    """Return a function that sets the state of the account's setting."""

    def enter(state: str) -> None:
        world.ec2.enable_allowed_images_settings(AllowedImagesSettingsState=state)

    return enter


@pytest.mark.parametrize("more", [{}, {"encrypted": True}], ids=["light", "copied"])
def test_hidden_stemcell(cpi: Cpi, restrict: Any, failure: WriteError, more: dict[str, Any]) -> None:
    """The error of a light stemcell whose AMI is hidden says so, and what to do."""
    restrict("enabled")
    answer = cpi.call("create_stemcell", "/image", {"ami": {"us-east-1": FOREIGN}, **more})
    assert answer.error == failure("CloudError", NOT_IN_REGION + HIDDEN)


def test_hidden_from_create_vm(
    cpi: Cpi, vm_arguments: VmArguments, restrict: Any, failure: WriteError
) -> None:
    """So does the error of create_vm, for a setting that was enabled after the upload."""
    restrict("enabled")
    agent_id, _, *others = vm_arguments()
    answer = cpi.call("create_vm", agent_id, f"{FOREIGN} light", *others, stemcell=2)
    assert answer.error == failure("CloudError", f"could not find AMI '{FOREIGN}'{HIDDEN}")


@pytest.mark.parametrize("state", ["audit-mode", "disabled"])
def test_not_enabled(cpi: Cpi, restrict: Any, failure: WriteError, state: str) -> None:
    """The error of an AMI that does not exist says nothing of a setting that hides none."""
    restrict(state)
    answer = cpi.call("create_stemcell", "/image", {"ami": {"us-east-1": FOREIGN}})
    assert answer.error == failure("CloudError", NOT_IN_REGION)


def test_not_permitted(cpi: Cpi, restrict: Any, fake_aws: FakeAws, failure: WriteError) -> None:
    """Without the permission to read the setting, the error stays what it is."""
    restrict("enabled")
    fake_aws.rule(action="GetAllowedImagesSettings", error=DENIED)
    answer = cpi.call("create_stemcell", "/image", {"ami": {"us-east-1": FOREIGN}})
    assert answer.error == failure("CloudError", NOT_IN_REGION)
