"""Accounts whose Allowed AMIs setting hides public AMIs."""

from collections.abc import Callable
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi
from testbed.world import World
from tests.stories.story import Story

NOT_IN_REGION = "Stemcell does not contain an AMI in region us-east-1"
HIDDEN = (
    ". The Allowed AMIs setting is enabled in this region (by the account) and may hide the AMI: "
    "add the AMI's owner to the allowed image providers, or upload the heavy stemcell of this version, "
    "whose AMI belongs to your account"
)
MISSING = "ami-0123456789abcdef0"


@pytest.fixture
def public(world: World) -> str:
    """Return a public AMI of another account."""
    (image,) = world.ec2.describe_images(Owners=["amazon"])["Images"]
    return str(image["ImageId"])


@pytest.fixture
def restrict(world: World) -> Callable[[str], None]:
    """Return a function that sets the state of the account's setting."""

    def enter(state: str) -> None:
        world.ec2.enable_allowed_images_settings(AllowedImagesSettingsState=state)

    return enter


def test_hidden_stemcell(story: Story, cpi: Cpi, restrict: Any, public: str) -> None:
    """The error of a light stemcell whose AMI is hidden says so, and what to do."""
    properties = {"ami": {"us-east-1": public}, "encrypted": True}
    cpi.call("create_stemcell", "/image", properties).ok()
    restrict("enabled")
    answer = cpi.call("create_stemcell", "/image", properties)
    assert answer.error == story.failure("CloudError", NOT_IN_REGION)
    assert answer.error["message"].endswith(HIDDEN)


def test_hidden_from_create_vm(story: Story, cpi: Cpi, restrict: Any, public: str) -> None:
    """The error of create_vm says the same, for a setting that was enabled after the upload."""
    restrict("enabled")
    agent_id, _, *others = story.vm_arguments()
    answer = cpi.call("create_vm", agent_id, f"{public} light", *others, stemcell=2)
    assert answer.error == story.failure("CloudError", f"could not find AMI '{public}'")
    assert answer.error["message"].endswith(HIDDEN)


def test_hidden_by_organisation(
    story: Story, cpi: Cpi, restrict: Any, public: str, fake_aws: FakeAws
) -> None:
    """The error says that an organisation's policy enabled the setting, which the account can't change."""
    restrict("enabled")
    managed = ["<managedBy>account<", "<managedBy>declarative-policy<"]
    fake_aws.rule(action="GetAllowedImagesSettings", replace=[managed])
    answer = cpi.call("create_stemcell", "/image", {"ami": {"us-east-1": public}})
    assert answer.error == story.failure("CloudError", NOT_IN_REGION)
    assert answer.error["message"].endswith(HIDDEN.replace("the account)", "an organisation's policy)"))


def test_not_enabled(story: Story, cpi: Cpi, restrict: Any) -> None:
    """The error for a missing AMI does not mention the setting if it is off."""
    restrict("audit-mode")
    answer = cpi.call("create_stemcell", "/image", {"ami": {"us-east-1": MISSING}})
    assert answer.error == story.failure("CloudError", NOT_IN_REGION)
    assert "Allowed AMIs" not in answer.error["message"]


def test_own_ami(story: Story, cpi: Cpi, restrict: Any) -> None:
    """The error for a missing AMI of the account itself does not mention the setting."""
    restrict("enabled")
    agent_id, _, *others = story.vm_arguments()
    answer = cpi.call("create_vm", agent_id, MISSING, *others, stemcell=2)
    assert answer.error == story.failure("CloudError", f"could not find AMI '{MISSING}'")
    assert "Allowed AMIs" not in answer.error["message"]


def test_other_region(story: Story, cpi: Cpi, restrict: Any) -> None:
    """The error for a stemcell without an AMI of the region does not mention the setting."""
    restrict("enabled")
    answer = cpi.call("create_stemcell", "/image", {"ami": {"eu-west-1": MISSING}, "encrypted": True})
    assert answer.error == story.failure("CloudError", NOT_IN_REGION)
    assert "Allowed AMIs" not in answer.error["message"]


def test_not_looked_up(story: Story, cpi: Cpi, restrict: Any, public: str, fake_aws: FakeAws) -> None:
    """If the setting can't be read, the error stays what it is."""
    restrict("enabled")
    fake_aws.rule(action="GetAllowedImagesSettings", replace=[[r"\A.*\Z", "no XML"]])
    answer = cpi.call("create_stemcell", "/image", {"ami": {"us-east-1": public}})
    assert answer.error == story.failure("CloudError", NOT_IN_REGION)
    assert "WARNING: Could not look up the Allowed AMIs setting: " in answer.stderr
