"""Interfaces that are made before the launch, as EC2 answers them, one call after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bosh_aws_cpi.cpi.identity import client_token
from bosh_aws_cpi.cpi.undo import Undo
from bosh_aws_cpi.cpi.vms.create.interfaces import create_interfaces
from tests.unit.conftest import DIRECTOR
from tests.unit.cpi.launches import AGENT, NICS, ON_DEMAND, TAGS, instance, plan

if TYPE_CHECKING:
    from bosh_aws_cpi.cpi.cloud import Cloud
    from bosh_aws_cpi.cpi.vms.create.vm_plan import VmPlan
    from bosh_aws_cpi.model import NicPlan
    from tests.unit.conftest import Ec2

NOT_FOUND = "InvalidNetworkInterfaceID.NotFound"
FIRST, SECOND = NICS


def wanted(*plans: NicPlan) -> VmPlan:
    """Plan a VM with these interfaces."""
    return plan(ON_DEMAND).replaced(nic_plans=plans, creates_nics_first=True)


def token(group: str, generation: int = 0) -> str:
    """Return the client token of an interface."""
    return client_token("interface", DIRECTOR, AGENT, group, generation)


def entry(nic_id: str, status: str = "available", vm_cid: str | None = None) -> dict[str, Any]:
    """Describe an interface."""
    attachment = {"Attachment": {"InstanceId": vm_cid}} if vm_cid else {}
    return {"NetworkInterfaceId": nic_id, "Status": status, "MacAddress": f"mac-{nic_id}", **attachment}


def lay_create(ec2: Ec2, nic_plan: NicPlan, outcome: str, generation: int = 0) -> None:
    """Lay out a CreateNetworkInterface: an interface's id is answered, any other word is the error's code.

    "lost": the answer is lost. "fault": AWS is at fault, whatever it did before.
    """
    arguments = {
        "SubnetId": nic_plan.subnet_id,
        "Groups": ["sg-1"],
        "Description": f"BOSH agent {AGENT} of director {DIRECTOR}",
        "PrivateIpAddress": nic_plan.ipv4_address,
        "ClientToken": token(nic_plan.group, generation),
    }
    if outcome == "lost":
        ec2.loses("create_network_interface", **arguments)
    elif outcome == "fault":
        ec2.fails("create_network_interface", **arguments)
    elif outcome.startswith("eni-"):
        answer = {"NetworkInterface": entry(outcome, "pending")}
        ec2.answers("create_network_interface", answer, **arguments)
    else:
        ec2.refuses("create_network_interface", outcome, "sorry", **arguments)


def lay_look(ec2: Ec2, nic_id: str, *looks: dict[str, Any] | None) -> None:
    """Lay out one look at an interface after the other; none: EC2 does not know it."""
    for look in looks:
        if look is None:
            ec2.refuses("describe_network_interfaces", NOT_FOUND, NetworkInterfaceIds=[nic_id])
        else:
            answer = {"NetworkInterfaces": [look]}
            ec2.answers("describe_network_interfaces", answer, NetworkInterfaceIds=[nic_id])


def lay_instance(ec2: Ec2, vm_cid: str, state: str) -> None:
    """Lay out a look at an instance."""
    answer = {"Reservations": [{"Instances": [instance(vm_cid, state)]}]}
    ec2.answers("describe_instances", answer, InstanceIds=[vm_cid])


def made(cloud: Cloud, *plans: NicPlan) -> list[str]:
    """Make the interfaces; returns their ids."""
    nics = create_interfaces(cloud, wanted(*plans), Undo())
    return [nic.nic_id for nic in nics]


def lay_agents(ec2: Ec2, nic_plan: NicPlan, *found: dict[str, Any]) -> None:
    """Lay out the question for all interfaces of the agent in a subnet."""
    filters = [{"Name": "subnet-id", "Values": [nic_plan.subnet_id]}]
    filters += [{"Name": f"tag:{key}", "Values": [value]} for key, value in TAGS.items()]
    tags = [{"Key": key, "Value": value} for key, value in TAGS.items()]
    entries = [{**each, "TagSet": tags} for each in found]
    ec2.answers("describe_network_interfaces", {"NetworkInterfaces": entries}, Filters=filters)
