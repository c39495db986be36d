"""The requests for managed networks."""

from tests.faults.scenario import Change, Scenario

LOOKED_UP = ("DescribeVpcs", "DescribeRouteTables", "DescribeNetworkAcls")
CREATED = ("DescribeSubnets", "CreateSubnet", *("DescribeSubnets",) * 2)
SET_UP = (
    "AssociateRouteTable",
    "DescribeNetworkAcls",
    "ReplaceNetworkAclAssociation",
    "ModifySubnetAttribute",
)
TAGS = "bosh_call=…, bosh_created=…, bosh_director_uuid=director, bosh_network=managed"
PENDING = {"CreateSubnet": ["pending", "available"]}

NETWORKS = (
    Scenario(
        name="create_network with everything",
        calls=(*LOOKED_UP, *CREATED, *SET_UP),
        states=PENDING,
        lay=lambda stage: [
            {
                "type": "manual",
                "range": "10.0.9.0/24",
                "gateway": "10.0.9.1",
                "cloud_properties": stage.network(),
            }
        ],
        result='"made"',
        success=Change(
            gains=[
                (
                    "subnet made: 10.0.9.0/24, with IPv6 in us-east-1a, available, public "
                    f"[a=b, {TAGS}], ACL, table"
                )
            ]
        ),
    ),
    Scenario(
        name="create_network in a free range",
        calls=("DescribeVpcs", *CREATED),
        states=PENDING,
        # The other half of the VPC is in use.
        lay=lambda stage: [
            {
                "type": "manual",
                "netmask_bits": 17,
                "cloud_properties": {"vpc_id": stage.world.vpc_id, "availability_zone": stage.world.zone},
            }
        ],
        result='"made"',
        success=Change(gains=[f"subnet made: 10.0.128.0/17 in us-east-1a, available [{TAGS}], default ACL"]),
    ),
    Scenario(
        name="delete_network",
        calls=("DeleteSubnet",),
        lay=lambda stage: [stage.subnet()],
        success=Change(["subnet subnet: 10.0.9.0/24 in us-east-1a, available, default ACL, table"]),
        is_in_place=True,
    ),
)
