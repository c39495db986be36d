"""VPC Block Public Access: the region's mode, exclusions of it, and the state of each VPC and subnet."""

from __future__ import annotations

from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.models.subnets import Subnet
from moto.ec2.models.vpcs import VPC
from moto.ec2.responses.general import General
from moto.ec2.utils import random_resource_id

from testbed.moto_patches.patching import Patch, Patches, parameter

PATCHES = Patches()


def exclusions(backend: Any) -> dict[str, str]:
    """The modes of the exclusions, by the id of the VPC or the subnet."""
    found: dict[str, str] = vars(backend).setdefault("testbed_public_access_exclusions", {})
    return found


def state_of(backend: Any, *identifiers: str) -> dict[str, str]:
    """The state of a VPC, or of a subnet and its VPC.

    An exclusion of a VPC applies to its subnets; allow-egress means something only in mode
    block-bidirectional (VPC user guide, "VPC BPA basics", and scenario 5 of the advanced example). That the
    state shows what remains of the mode is a guess: see `public-access-excluded` in docs/aws-assumptions.md.
    """
    mode = getattr(backend, "testbed_public_access_mode", "off")
    excluded = {exclusions(backend)[each] for each in identifiers if each in exclusions(backend)}
    if "allow-bidirectional" in excluded:
        mode = "off"
    elif "allow-egress" in excluded and mode == "block-bidirectional":
        mode = "block-ingress"
    return {"InternetGatewayBlockMode": mode}


def of_vpc(vpc: Any) -> dict[str, str]:
    """EC2 shows the state of each VPC (API model, Vpc, BlockPublicAccessStates); moto lacks it."""
    return state_of(vpc.ec2_backend, vpc.id)


def of_subnet(subnet: Any) -> dict[str, str]:
    """EC2 shows the state of each subnet (API model, Subnet, BlockPublicAccessStates); moto lacks it."""
    return state_of(subnet.ec2_backend, subnet.id, subnet.vpc_id)


PATCHES.append(Patch(VPC, "block_public_access_states", property(of_vpc), is_new=True))
PATCHES.append(Patch(Subnet, "block_public_access_states", property(of_subnet), is_new=True))


@PATCHES.adding(General, "modify_vpc_block_public_access_options")
def modified_options(response: Any) -> Any:
    """EC2 sets the region's mode (API model, ModifyVpcBlockPublicAccessOptions); moto lacks it."""
    mode = parameter(response, "InternetGatewayBlockMode")
    response.ec2_backend.testbed_public_access_mode = mode
    return ActionResult({"VpcBlockPublicAccessOptions": {"InternetGatewayBlockMode": mode}})


@PATCHES.adding(General, "create_vpc_block_public_access_exclusion")
def created_exclusion(response: Any) -> Any:
    """EC2 excludes a VPC or a subnet (API model, CreateVpcBlockPublicAccessExclusion); moto lacks it."""
    mode = parameter(response, "InternetGatewayExclusionMode")
    excluded = parameter(response, "SubnetId") or parameter(response, "VpcId")
    exclusions(response.ec2_backend)[excluded] = mode
    exclusion_id = f"vpcbpa-exclude-{random_resource_id(17)}"
    shown = {"ExclusionId": exclusion_id, "InternetGatewayExclusionMode": mode}
    return ActionResult({"VpcBlockPublicAccessExclusion": shown})
