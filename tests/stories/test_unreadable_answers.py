"""Answers that can't be read, such as a proxy's, at any call."""

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Answer, Cpi, config
from testbed.world import World
from tests.protocols import CreateVm

SECRET = "hunter2-hunter2"
UNREADABLE = "AWS could not be called: its answer can't be read. Is there a proxy in between?"

pytestmark = pytest.mark.usefixtures("hasty")


def garble(fake_aws: FakeAws, action: str) -> None:
    """Replace the next answer to a call, which takes effect."""
    fake_aws.rule(action=action, replace=[[r"\A.*\Z", f"<p>{SECRET}"]])


def cpi_that_logs_all(fake_aws: FakeAws) -> Cpi:
    """Return the executable with a log of all AWS calls."""
    document = config(fake_aws.endpoint)
    document["cloud"]["properties"]["debug"] = {"cpi": {"log_level": "debug"}}
    return Cpi(document)


def check_not_quoted(answer: Answer, action: str) -> None:
    """Nothing of it reaches the response or the log, which names the call."""
    assert SECRET not in answer.stdout.decode() + answer.stderr
    assert f"{UNREADABLE} (ec2:{action}" in answer.stderr


def test_instance(create_vm: CreateVm, world: World, fake_aws: FakeAws) -> None:
    """A launch whose answer can't be read may have been done: its instance is found, and the only one."""
    garble(fake_aws, "RunInstances")
    answer = create_vm(executable=cpi_that_logs_all(fake_aws))
    assert world.state()["instances"] == [answer.ok()[0]]
    check_not_quoted(answer, "RunInstances")


def test_reading(fake_aws: FakeAws) -> None:
    """A call that reads is an error that may be gone at a retry."""
    garble(fake_aws, "DescribeVolumes")
    answer = cpi_that_logs_all(fake_aws).call("has_disk", "vol-0123456789abcdef0")
    assert (answer.error["type"], answer.error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", True)
    assert answer.error["message"] == (
        f"{UNREADABLE} (ec2:DescribeVolumes for vol-0123456789abcdef0). "
        "Check env.https_proxy and aws.ec2_endpoint, or create a VPC endpoint for it"
    )
    check_not_quoted(answer, "DescribeVolumes")
