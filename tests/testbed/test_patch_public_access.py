"""VPC Block Public Access."""

from __future__ import annotations

from typing import Any

import pytest

BOTH, EGRESS = "allow-bidirectional", "allow-egress"


@pytest.mark.parametrize(
    ("mode", "excluded", "exclusion", "of_vpc", "of_subnet"),
    [
        ("off", "subnet", EGRESS, "off", "off"),
        ("block-ingress", "", "", "block-ingress", "block-ingress"),
        ("block-bidirectional", "subnet", BOTH, "block-bidirectional", "off"),
        ("block-bidirectional", "subnet", EGRESS, "block-bidirectional", "block-ingress"),
        ("block-ingress", "subnet", EGRESS, "block-ingress", "block-ingress"),
        ("block-ingress", "vpc", BOTH, "off", "off"),
    ],
)
def test_states(
    ec2: Any, world: Any, mode: str, excluded: str, exclusion: str, of_vpc: str, of_subnet: str
) -> None:
    """VPCs and subnets show what exclusions leave of the region's mode."""
    ec2.modify_vpc_block_public_access_options(InternetGatewayBlockMode=mode)
    if excluded:
        which = {"SubnetId": world.subnet_id} if excluded == "subnet" else {"VpcId": world.vpc_id}
        ec2.create_vpc_block_public_access_exclusion(InternetGatewayExclusionMode=exclusion, **which)
    (vpc,) = ec2.describe_vpcs(VpcIds=[world.vpc_id])["Vpcs"]
    (subnet,) = ec2.describe_subnets(SubnetIds=[world.subnet_id])["Subnets"]
    shown = [each["BlockPublicAccessStates"]["InternetGatewayBlockMode"] for each in (vpc, subnet)]
    assert shown == [of_vpc, of_subnet]
