"""What an operator reads of AWS's error codes, and whether the Director may retry."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi
from testbed.world import World
from tests.stories.story import Story

REFUSED = [
    ("UnsupportedHibernationConfiguration", "Or remove hibernation"),
    ("HostLimitExceeded", "quota"),
    ("InvalidBrandNewID.NotFound", "Correct the named value in the cloud config"),
]
BUSY = [
    ("CreditSpecificationUpdateInProgress", "takes about five minutes"),
    ("InsufficientBrandNewThings", "AWS lacks capacity"),
]


def answered(code: str) -> dict[str, Any]:
    """Write AWS's error."""
    return {"code": code, "message": "No.", "status": 400}


@pytest.mark.parametrize(("code", "remedy"), REFUSED)
def test_refused(story: Story, fake_aws: FakeAws, code: str, remedy: str) -> None:
    """The Director does not retry a launch that AWS refuses so; the error says what to correct."""
    fake_aws.rule(action="RunInstances", error=answered(code))
    error = story.create_vm().error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
    assert remedy in error["message"]


@pytest.mark.parametrize(
    ("properties", "named"),
    [
        ({"iam_instance_profile": "nosuch"}, "cloud_properties.iam_instance_profile"),
        ({"iam_instance_profile": "nosuch", "key_name": "nosuch"}, "the named value in the cloud config"),
    ],
)
def test_refused_value(story: Story, fake_aws: FakeAws, properties: dict[str, str], named: str) -> None:
    """The key of the only property with the value that AWS quotes is named."""
    message = "Value (nosuch) for parameter iamInstanceProfile.name is invalid"
    fake_aws.refuse("RunInstances", "InvalidParameterValue", message)
    assert f"Correct {named}" in story.create_vm(properties).error["message"]


def test_not_implemented(fake_aws: FakeAws, world: World, cpi: Cpi) -> None:
    """HTTP 501 ends the wait in which it comes, and that of the undo: it would not pass."""
    fake_aws.refuse("DescribeVolumes", "NotImplemented", status=501)
    answer = cpi.call("create_disk", 1024, {})
    assert (answer.error["type"], answer.error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
    assert "DescribeVolumes failed with NotImplemented: No." in answer.error["message"]
    assert fake_aws.actions().count("DescribeVolumes") == 2
    assert world.state() == world.empty


@pytest.mark.parametrize(("code", "remedy"), BUSY)
def test_busy(story: Story, fake_aws: FakeAws, code: str, remedy: str) -> None:
    """The Director may retry what AWS refuses for a transient reason; the error says why."""
    fake_aws.rule(action="DescribeImages", error=answered(code))
    error = story.create_vm().error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::VMCreationFailed", True)
    assert remedy in error["message"]


@pytest.mark.parametrize(
    ("message", "remedy"),
    [
        (
            "AWS was not able to validate the provided access credentials",
            "Check the access keys, the clock of the machine that runs the CPI, and whether the account has",
        ),
        ("Not authorized for images: [ami-0123456789abcdef0]", "Use an AMI or elastic IP of this account"),
    ],
)
def test_refused_access(story: Story, fake_aws: FakeAws, message: str, remedy: str) -> None:
    """EC2 answers with one code for keys that it does not accept, and for another account's resource."""
    fake_aws.refuse("RunInstances", "AuthFailure", message, 401)
    assert f". {remedy}" in story.create_vm().error["message"]


def test_enforced_tokens(story: Story, fake_aws: FakeAws) -> None:
    """Where the account enforces IMDSv2, the error names the option that a VM needs."""
    said = "You can't launch instances with IMDSv1 because httpTokensEnforced is enabled for this account."
    fake_aws.refuse("RunInstances", "UnsupportedOperation", said)
    message = story.create_vm({"metadata_options": {"http_tokens": "optional"}}).error["message"]
    assert said in message
    assert message.endswith(". Set metadata_options.http_tokens to required: the account enforces IMDSv2")


def test_copies_at_once(cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """A stemcell that EC2 does not copy while it copies others: waiting helps, and deleting nothing."""
    said = "Too many snapshot copies in progress. The limit is 20 for this destination region."
    fake_aws.refuse("CopyImage", "ResourceLimitExceeded", said)
    properties = {"ami": {"us-east-1": world.image_id}, "encrypted": True}
    refused = cpi.call("create_stemcell", "/x/image", properties).error
    assert refused["ok_to_retry"]
    assert ". Wait until other copies into the region are completed, then retry" in refused["message"]


@pytest.mark.parametrize(
    ("code", "said", "remedy"),
    [
        ("NonEBSInstance", "No.", "Restart the VM, then retry"),
        ("VcpuLimitExceeded", "No.", "If VMs were just deleted, retry in some minutes"),
        ("VolumeModificationRateExceeded", "No.", "retry at the time that AWS's message names"),
        ("UnsupportedOperation", "It is not supported.", "AWS does not support DescribeVolumes with these"),
        ("UnsupportedOperation", "The type 'x' is not supported.", "Correct the named value"),
        (
            "InvalidRequest",
            "You do not have permission to access the storage of this ami",
            "The AMI's owner must also share its snapshots",
        ),
        (
            "OperationNotPermitted",
            "Cannot attach volume vol-1 when it is in modification state: MODIFYING",
            "Wait until the resource has changed its state",
        ),
        (
            "TagPolicyViolation",
            "The tag policy does not allow the specified value for the following tag key: 'CostCenter'.",
            "for the following tag key: 'CostCenter'. (request id",
        ),
    ],
)
def test_remedies(cpi: Cpi, fake_aws: FakeAws, code: str, said: str, remedy: str) -> None:
    """What to do depends on AWS's code, and for some codes on its message, which stays readable."""
    fake_aws.refuse("DescribeVolumes", code, said)
    assert remedy in cpi.call("has_disk", "vol-0123456789abcdef0").error["message"]


ENCODED = "x" * 700
BY_ORGANIZATION = (
    "You are not authorized to perform this operation. User: arn:aws:iam::123456789012:user/bosh is not "
    "authorized to perform: ec2:RunInstances on resource: arn:aws:ec2:us-east-1:123456789012:instance/* "
    "with an explicit deny in a service control policy"
)


def test_denied_by_the_organization(story: Story, fake_aws: FakeAws) -> None:
    """A denial names resource, policy and action, and how to decode the rest; the log has its remedy."""
    message = f"{BY_ORGANIZATION}. Encoded authorization failure message: {ENCODED}"
    fake_aws.refuse("RunInstances", "UnauthorizedOperation", message, 403)
    answer = story.create_vm()
    remedy = ". The service control policy explicitly denies ec2:RunInstances: no other policy can allow it. "
    begin, _, end = answer.error["message"].partition(remedy)
    assert begin.startswith(f"RunInstances failed with UnauthorizedOperation: {BY_ORGANIZATION}. (request id")
    decode = f"aws sts decode-authorization-message --encoded-message {ENCODED}"
    assert begin.endswith(f". To decode the details, run: {decode}")
    assert answer.error["message"].count(ENCODED) == 1
    assert f"{remedy}{end}" in answer.stderr


def test_key_of_another_service(cpi: Cpi, fake_aws: FakeAws) -> None:
    """A code that neither EC2 nor EBS sends has no meaning of its own."""
    fake_aws.rule(action="DescribeVolumes", error=answered("KMSKeyNotAccessibleFault"))
    error = cpi.call("has_disk", "vol-0123456789abcdef0").error
    assert error["message"].startswith("DescribeVolumes failed with KMSKeyNotAccessibleFault: No.")
    assert "key" not in error["message"].removeprefix("DescribeVolumes failed with KMSKeyNotAccessibleFault")


@pytest.mark.usefixtures("fast_clock")
def test_wrong_default(story: Story) -> None:
    """A default that EC2 refuses is named; a profile may be new, so it is tried for up to two minutes."""
    spot = {"spot_bid_price": 1, "spot_ondemand_fallback": True}
    answer = story.create_vm(spot, executable=story.cpi_with(default_iam_instance_profile="nobody"))
    assert "nobody" in answer.error["message"]
    assert answer.error["message"].endswith(". Correct aws.default_iam_instance_profile")
    launches = story.parameters_of("RunInstances")
    assert len(launches) > 20
    assert {each["InstanceMarketOptions.MarketType"] for each in launches} == {"spot"}
    assert "Still waiting after 1 min for EC2 to know the instance profile" in answer.stderr


def test_foreign_text(cpi: Cpi, fake_aws: FakeAws) -> None:
    """AWS's words in a response are one line of limited length, which ends with the remedy."""
    said = f"a\nb\u202e{'x' * 100_000}"
    fake_aws.refuse("DescribeVolumes", "InvalidParameter", said)
    answer = cpi.call("has_disk", "vol-0123456789abcdef0")
    message, log = answer.error["message"], answer.document["log"]
    assert "InvalidParameter: a\\nb\\u202ex" in message
    assert message.endswith("cloud config, the manifest, or the CPI's configuration")
    assert log.endswith("\n")
    for text in (message, log[:-1]):
        assert text.isprintable()
        assert len(text) < 10_000
