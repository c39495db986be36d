"""Launches of one VM as EC2 answers them, one call after the other."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from botocore.stub import ANY

from bosh_aws_cpi.cpi.identity import client_token
from bosh_aws_cpi.cpi.undo import Undo
from bosh_aws_cpi.cpi.vms.create.instance import InstanceCreation
from bosh_aws_cpi.cpi.vms.create.traffic import Traffic
from bosh_aws_cpi.cpi.vms.create.vm_plan import VmPlan
from bosh_aws_cpi.model import InstanceTypeFacts, NicPlan
from bosh_aws_cpi.plan.agent_settings import AgentSettingsInput
from bosh_aws_cpi.plan.block_devices import BlockDevices
from bosh_aws_cpi.plan.launch_options import LaunchOption, Market
from bosh_aws_cpi.plan.run_instances import InstanceSpec
from bosh_aws_cpi.properties.vm import VmProperties
from tests.unit.conftest import DIRECTOR

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bosh_aws_cpi.cpi.cloud import Cloud
    from bosh_aws_cpi.model import Instance, Nic
    from tests.unit.conftest import Ec2

AGENT = "agent-1"
TAGS = {"bosh_agent_id": AGENT, "bosh_director_uuid": DIRECTOR}
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
"""When earlier calls launched their instances."""
NO_DEVICES = BlockDevices([], None)
NICS = [
    NicPlan("a", ["a"], "subnet-1", "manual", "10.0.0.5"),
    NicPlan("b", ["b"], "subnet-2", "manual", "10.0.1.5"),
]


def option(name: str = "m5.large", market: Market = "on-demand") -> LaunchOption:
    """Offer a type."""
    return LaunchOption(InstanceTypeFacts(name, ebs_needs_nvme_path=True), NO_DEVICES, market)


ON_DEMAND, OTHER, SPOT = option(), option("c5.large"), option(market="spot")


def plan(*options: LaunchOption, nic_count: int = 1) -> VmPlan:
    """Plan a VM that may be launched in these ways."""
    given = {"instance_type": "m5.large", "availability_zone": "z", "spot_bid_price": 0.1}
    return VmPlan(
        spec=InstanceSpec("ami-1", VmProperties.parse(given), None, None, {}, {}, "z"),
        settings_input=AgentSettingsInput(AGENT, {"a": {}, "b": {}}, None, {}, None, "/dev/xvda"),
        options=options,
        nic_plans=NICS[:nic_count],
        creates_nics_first=nic_count > 1,
        group_ids=["sg-1"],
        traffic=Traffic(),
        director_uuid=DIRECTOR,
    )


def launch(cloud: Cloud, *options: LaunchOption, made: Sequence[Nic] = ()) -> tuple[Instance, LaunchOption]:
    """Launch the VM, with an interface of its own or with those that were made before."""
    return InstanceCreation(cloud, plan(*options, nic_count=len(made) or 1), made, Undo()).run()


def token(way: LaunchOption, generation: int) -> str:
    """Return the client token of a launch."""
    return client_token("instance", DIRECTOR, AGENT, way, generation)


def lay_run(
    ec2: Ec2,
    way: LaunchOption,
    generation: int,
    outcome: str,
    state: str = "pending",
    *,
    is_earlier: bool = False,
) -> None:
    """Lay out a RunInstances: an instance's id is answered, any other word is the error's code.

    "lost": the answer is lost. "fault": AWS is at fault, whatever it did before. "again" and a code: that
    is answered to another attempt, after one that AWS was at fault at. Earlier: the token answers an
    instance that an earlier call launched.
    """
    market = {"InstanceMarketOptions": ANY} if way.is_spot else {}
    arguments = {
        **dict.fromkeys(
            ("ImageId", "UserData", "BlockDeviceMappings", "NetworkInterfaces", "Placement"), ANY
        ),
        "MinCount": 1,
        "MaxCount": 1,
        "InstanceType": way.facts.name,
        **market,
        "ClientToken": token(way, generation),
    }
    if outcome.startswith("i-"):
        entry = instance(outcome, state, is_earlier=is_earlier, InstanceType=way.facts.name)
        ec2.answers("run_instances", {"Instances": [entry]}, **arguments)
    elif outcome == "lost":
        ec2.loses("run_instances", **arguments)
    elif outcome.startswith("again "):
        ec2.refuses_repetition("run_instances", outcome.removeprefix("again "), "sorry", **arguments)
    elif outcome == "fault":
        ec2.fails("run_instances", "InternalError", **arguments)
    else:
        ec2.refuses("run_instances", outcome, "sorry", **arguments)


def instance(vm_cid: str, state: str, *, is_earlier: bool = False, **more: Any) -> dict[str, Any]:
    """Describe an instance, which an earlier call may have launched."""
    launched = {"LaunchTime": LONG_AGO if is_earlier else datetime.now(UTC)}
    return {"InstanceId": vm_cid, "State": {"Name": state}, "InstanceType": "m5.large", **launched, **more}


def lay_running(ec2: Ec2, vm_cid: str, nic_count: int = 1) -> None:
    """Lay out a look at an instance that runs."""
    attached = [
        {
            "NetworkInterfaceId": f"eni-{n}",
            "Attachment": {"AttachmentId": f"eni-attach-{n}", "DeviceIndex": n},
        }
        for n in range(nic_count)
    ]
    entry = instance(vm_cid, "running", NetworkInterfaces=attached)
    ec2.answers("describe_instances", {"Reservations": [{"Instances": [entry]}]}, InstanceIds=[vm_cid])


def lay_ended(ec2: Ec2, vm_cid: str, code: str, *, is_earlier: bool = False) -> None:
    """Lay out a look at an instance that EC2 has ended, for a reason."""
    reason = {"Code": code, "Message": "so"}
    entry = instance(vm_cid, "terminated", is_earlier=is_earlier, StateReason=reason)
    ec2.answers("describe_instances", {"Reservations": [{"Instances": [entry]}]}, InstanceIds=[vm_cid])


def lay_agents(ec2: Ec2, *known: tuple[str, str, str], is_earlier: bool = False) -> None:
    """Lay out the question for all instances of the agent: id, state and client token of each."""
    filters = [{"Name": f"tag:{key}", "Values": [value]} for key, value in TAGS.items()]
    more: dict[str, Any] = {
        "is_earlier": is_earlier,
        "Tags": [{"Key": key, "Value": value} for key, value in TAGS.items()],
    }
    entries = [instance(vm_cid, state, ClientToken=by, **more) for vm_cid, state, by in known]
    ec2.answers("describe_instances", {"Reservations": [{"Instances": entries}]}, Filters=filters)
