"""Making an instance run: EC2's shortages and faults, one offer after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws.sdk.error_table import ROWS
from bosh_aws_cpi.errors import CloudError, VMCreationFailed
from tests.unit.cpi.launches import (
    ON_DEMAND,
    OTHER,
    SPOT,
    launch,
    lay_agents,
    lay_ended,
    lay_run,
    lay_running,
    option,
)

if TYPE_CHECKING:
    from bosh_aws_cpi.cpi.cloud import Cloud
    from bosh_aws_cpi.plan.launch_options import LaunchOption
    from tests.unit.conftest import Ec2

SHORT = "InsufficientInstanceCapacity"
QUOTA = "VcpuLimitExceeded"
FAULT = "Server.InternalError"
SAID = "RunInstances failed with {}: sorry (request id none)"


def explained(code: str) -> str:
    """Return what EC2 said, and what can be done about it."""
    remedy = ROWS[code].remedy
    return f"{SAID.format(code)}. {remedy[0].upper()}{remedy[1:]}"


def failed(cloud: Cloud, *options: LaunchOption) -> VMCreationFailed:
    """Launch in vain; returns the error."""
    with pytest.raises(VMCreationFailed) as caught:
        launch(cloud, *options)
    assert caught.value.wire_type == "Bosh::Clouds::VMCreationFailed"
    return caught.value


def warnings(program_log: pytest.LogCaptureFixture) -> list[str]:
    """List what was warned about."""
    return [record.getMessage() for record in program_log.records if record.levelname == "WARNING"]


@pytest.mark.parametrize("way", [ON_DEMAND, SPOT], ids=str)
def test_at_once(cloud: Cloud, ec2: Ec2, way: LaunchOption) -> None:
    """A launch that succeeds costs one RunInstances and one look."""
    lay_run(ec2, way, 0, "i-1")
    lay_running(ec2, "i-1")
    launched = launch(cloud, way)
    assert (launched.instance.vm_cid, launched.option) == ("i-1", way)


@pytest.mark.parametrize("code", [SHORT, QUOTA, "Unsupported"])
def test_fallback(cloud: Cloud, ec2: Ec2, code: str, program_log: pytest.LogCaptureFixture) -> None:
    """A type that is not to be had is left for the next one at once, and that is logged."""
    lay_agents(ec2)
    lay_run(ec2, ON_DEMAND, 0, code)
    lay_run(ec2, OTHER, 0, "i-1")
    lay_running(ec2, "i-1")
    assert launch(cloud, ON_DEMAND, OTHER).option is OTHER
    assert warnings(program_log) == [f"EC2 can't launch m5.large (on demand): {SAID.format(code)}"]


def test_all_markets(cloud: Cloud, ec2: Ec2) -> None:
    """Spot and on demand are tried in the order in which they are offered."""
    options = [SPOT, option("c5.large", is_spot=True), ON_DEMAND, OTHER]
    lay_agents(ec2)
    for way in options[:3]:
        lay_run(ec2, way, 0, SHORT)
    lay_run(ec2, OTHER, 0, "i-1")
    lay_running(ec2, "i-1")
    assert launch(cloud, *options).option is OTHER


@pytest.mark.parametrize(("code", "ok_to_retry"), [(SHORT, True), (QUOTA, False)])
def test_one_type_short(cloud: Cloud, ec2: Ec2, code: str, *, ok_to_retry: bool) -> None:
    """Without a fallback EC2's answer is the error; a quota does not pass by itself."""
    lay_run(ec2, ON_DEMAND, 0, code)
    error = failed(cloud, ON_DEMAND)
    assert (error.message, error.ok_to_retry) == (explained(code), ok_to_retry)


@pytest.mark.parametrize("code", [SHORT, QUOTA, "SpotMaxPriceTooLow", "InvalidParameterValue"])
def test_one_spot_offer_short(cloud: Cloud, ec2: Ec2, code: str) -> None:
    """A spot launch without a fallback is not repeated, whatever the reason; the message says what to set."""
    lay_run(ec2, SPOT, 0, code)
    error = failed(cloud, SPOT)
    assert error.ok_to_retry is False
    assert error.message == (
        f"Spot instance creation failed, and spot_ondemand_fallback is not set: {explained(code)}"
    )


@pytest.mark.parametrize(
    ("codes", "ok_to_retry"),
    [
        ((SHORT, SHORT), True),
        ((SHORT, QUOTA), True),
        ((QUOTA, SHORT), True),
        (("InstanceLimitExceeded", QUOTA), False),
    ],
)
def test_all_types_short(cloud: Cloud, ec2: Ec2, codes: tuple[str, str], *, ok_to_retry: bool) -> None:
    """When all are exhausted each one's answer is told; only quotas alone are not worth another try."""
    lay_agents(ec2)
    for way, code in zip((ON_DEMAND, OTHER), codes, strict=True):
        lay_run(ec2, way, 0, code)
    error = failed(cloud, ON_DEMAND, OTHER)
    assert error.ok_to_retry is ok_to_retry
    assert error.message == (
        "No capacity for any of the VM's instance types. "
        f"m5.large (on demand): {SAID.format(codes[0])}; c5.large (on demand): {SAID.format(codes[1])}"
    )


def test_refused(cloud: Cloud, ec2: Ec2) -> None:
    """A refusal that has nothing to do with the type ends the launches on demand at once."""
    lay_agents(ec2)
    lay_run(ec2, ON_DEMAND, 0, "InvalidParameterValue")
    with pytest.raises(ClientError, match="InvalidParameterValue"):
        launch(cloud, ON_DEMAND, OTHER)


@pytest.mark.parametrize("code", ["InvalidParameterValue", "InternalError", "RequestLimitExceeded"])
def test_spot_refused(cloud: Cloud, ec2: Ec2, code: str) -> None:
    """Whatever a spot launch fails with: on demand it may go."""
    lay_agents(ec2)
    lay_run(ec2, SPOT, 0, code)
    lay_run(ec2, ON_DEMAND, 0, "i-1")
    lay_running(ec2, "i-1")
    assert launch(cloud, SPOT, ON_DEMAND).option is ON_DEMAND


@pytest.mark.parametrize("options", [[ON_DEMAND], [ON_DEMAND, OTHER]], ids=len)
def test_aws_at_fault(cloud: Cloud, ec2: Ec2, options: list[LaunchOption]) -> None:
    """A fault of AWS is none of the type's: no other one is tried, the caller may repeat the call."""
    if len(options) > 1:
        lay_agents(ec2)
    lay_run(ec2, ON_DEMAND, 0, "InternalError")
    error = failed(cloud, *options)
    assert (error.message, error.ok_to_retry) == (explained("InternalError"), True)


def test_relaunches(cloud: Cloud, ec2: Ec2, program_log: pytest.LogCaptureFixture) -> None:
    """An instance that EC2 ends for a reason of its own is launched again, twice at most."""
    for generation in range(3):
        lay_run(ec2, ON_DEMAND, generation, f"i-{generation}")
        lay_ended(ec2, f"i-{generation}", FAULT)
    error = failed(cloud, ON_DEMAND)
    assert error.message == f"EC2 terminated instance 'i-2' before it ran: {FAULT}: so"
    assert error.ok_to_retry is True
    assert [said.split(":")[0] for said in warnings(program_log)] == ["Relaunching"] * 2


def test_relaunch_that_runs(cloud: Cloud, ec2: Ec2) -> None:
    """Whichever of the launches runs is the VM."""
    for generation in (0, 1):
        lay_run(ec2, ON_DEMAND, generation, f"i-{generation}")
        lay_ended(ec2, f"i-{generation}", FAULT)
    lay_run(ec2, ON_DEMAND, 2, "i-2")
    lay_running(ec2, "i-2")
    assert launch(cloud, ON_DEMAND).instance.vm_cid == "i-2"


@pytest.mark.parametrize("options", [[ON_DEMAND], [SPOT, ON_DEMAND]], ids=len)
def test_ended_for_a_reason_of_ours(cloud: Cloud, ec2: Ec2, options: list[LaunchOption]) -> None:
    """A reason on our side would end every other launch too: none is made."""
    if len(options) > 1:
        lay_agents(ec2)
    lay_run(ec2, options[0], 0, "i-1")
    lay_ended(ec2, "i-1", "Client.VolumeLimitExceeded")
    error = failed(cloud, *options)
    assert error.ok_to_retry is False
    assert error.message.endswith("Delete volumes, or have the account's EBS quota raised")


@pytest.mark.parametrize(
    ("first", "code"),
    [
        (ON_DEMAND, "Server.InsufficientInstanceCapacity"),
        (SPOT, "Server.SpotInstanceTermination"),
        (SPOT, FAULT),
    ],
)
def test_ended_for_want_of_capacity(cloud: Cloud, ec2: Ec2, first: LaunchOption, code: str) -> None:
    """An instance that EC2 could not keep is not launched again while there is another offer."""
    lay_agents(ec2)
    lay_run(ec2, first, 0, "i-1")
    lay_ended(ec2, "i-1", code)
    lay_run(ec2, OTHER, 0, "i-2")
    lay_running(ec2, "i-2")
    assert launch(cloud, first, OTHER).instance.vm_cid == "i-2"


def test_ended_by_a_fault(cloud: Cloud, ec2: Ec2) -> None:
    """A fault of AWS is none of the type's: on demand the same one is launched again."""
    lay_agents(ec2)
    lay_run(ec2, ON_DEMAND, 0, "i-1")
    lay_ended(ec2, "i-1", FAULT)
    lay_run(ec2, ON_DEMAND, 1, "i-2")
    lay_running(ec2, "i-2")
    assert launch(cloud, ON_DEMAND, OTHER).option is ON_DEMAND


def test_address_that_is_taken(cloud: Cloud, ec2: Ec2) -> None:
    """An address that somebody else holds ends the launches; the interface's group is named."""
    lay_run(ec2, ON_DEMAND, 0, "InvalidIPAddress.InUse")
    named = {"Name": "addresses.private-ip-address", "Values": ["10.0.0.5"]}
    filters = [{"Name": "subnet-id", "Values": ["subnet-1"]}, named]
    tags = [{"Key": "bosh_director_uuid", "Value": "another"}]
    holder = {"NetworkInterfaceId": "eni-9", "Status": "available", "MacAddress": "m", "TagSet": tags}
    ec2.answers("describe_network_interfaces", {"NetworkInterfaces": [holder]}, Filters=filters)
    with pytest.raises(CloudError) as caught:
        launch(cloud, ON_DEMAND)
    said = SAID.format("InvalidIPAddress.InUse")
    assert caught.value.message == (
        f"Failed to create network interface for nic_group 'a': {said}: 10.0.0.5 is held by "
        "network interface 'eni-9' (available) which no instance uses"
    )
