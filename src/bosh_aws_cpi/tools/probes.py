"""preflight's probes: per action one call that changes nothing, and the answers that prove the permission.

All their ids are well formed but can't exist, so that nothing would happen even if a dry run were ignored.
"""

import re
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

from bosh_aws_cpi.aws.ebs_direct import BLOCK_SIZE
from bosh_aws_cpi.records import EMPTY, Record

_NONE: Final = "0" * 17
_INSTANCE: Final = f"i-{_NONE}"
_VOLUME: Final = f"vol-{_NONE}"
_SNAPSHOT: Final = f"snap-{_NONE}"
_IMAGE: Final = f"ami-{_NONE}"
_NIC: Final = f"eni-{_NONE}"
_SUBNET: Final = f"subnet-{_NONE}"
_TABLE: Final = f"rtb-{_NONE}"
_VPC: Final = f"vpc-{_NONE}"
_NAME: Final = "cpi-preflight"
_GROUP: Final = f"{_NAME}-{_NONE}"
_ARN: Final = re.compile(r"arn:([\w-]+):[^:]*:[^:]*:(\d+):")
"""Partition and account."""
_ROUTE: Final = {
    "RouteTableId": _TABLE,
    "DestinationCidrBlock": "192.0.2.0/24",
}  # an address range that is reserved for documentation

SERVICES: Final = {
    "ec2": ("ec2",),
    "elasticloadbalancing": ("elb", "elbv2"),
    "ebs": ("ebs",),
    "sts": ("sts",),
    "iam": ("iam",),
    "servicequotas": ("service-quotas",),
}
"""The SDK's names of the services that an action belongs to, by the action's prefix in IAM."""

NOT_CHECKABLE: Final = {
    "ebs:StartSnapshot": "it has no dry run, and would create a snapshot",
    "iam:CreateServiceLinkedRole": "AWS checks it when the account's first spot instance is launched",
    "iam:PassRole": "AWS checks it when a VM with an instance profile is launched",
    "kms:CreateGrant": "AWS checks it when a disk with a key of your own is attached",
    "kms:Decrypt": "AWS checks it when a disk or snapshot with a key of your own is used",
    "kms:DescribeKey": "it depends on the key; AWS checks it when a disk with a key of your own is created",
    "kms:Encrypt": "AWS checks it when a snapshot with a key of your own is written",
    "kms:GenerateDataKey*": "AWS checks it when a disk or snapshot with a key of your own is created",
    "kms:ReEncrypt*": "AWS checks it when an image or a volume is copied with a key of your own",
    "sts:TagSession": "AWS checks it when a role is assumed with aws.session_tags",
}
"""Actions that no harmless call can check, each with the reason.

Actions with neither a reason nor a probe are checked by preflight's first calls: the role, and the zones.
"""


class Probe(Record):
    """A call that changes nothing.

    Attributes:
        service: The SDK's name of the service.
        operation: The API's name for the call: "DescribeInstances".
        parameters: The call's parameters; DryRun is added if the operation has it.
        permitted: Error codes that AWS answers only after it has checked the permission.
    """

    service: str
    operation: str
    parameters: Mapping[str, Any] = EMPTY
    permitted: frozenset[str] = frozenset()


def probes(region: str, zone: str, caller: str) -> dict[str, Probe]:
    """A probe for each action that has one.

    Args:
        region: The configured region.
        zone: One of its availability zones.
        caller: The ARN of the keys' user or role. The ARNs of target groups need its partition and
            account; without these, target groups have no probe.

    Returns:
        The probes by the action's name in IAM, "ec2:RunInstances".
    """
    ec2 = {**{name: {} for name in _READS}, **_READS_OF_ONE, **_changes(region, zone)}
    found = {f"ec2:{name}": Probe("ec2", name, parameters) for name, parameters in ec2.items()}
    return found | _balancers() | _target_groups(region, caller) | _blocks() | _LISTINGS


_READS: Final = (
    "DescribeAddresses",
    "DescribeCapacityReservations",
    "DescribeDhcpOptions",
    "DescribeHosts",
    "DescribeImages",
    "DescribeInstanceStatus",
    "DescribeInstanceTypeOfferings",
    "DescribeInstanceTypes",
    "DescribeInstances",
    "DescribeKeyPairs",
    "DescribeNetworkAcls",
    "DescribeNetworkInterfaces",
    "DescribePlacementGroups",
    "DescribeRouteTables",
    "DescribeSecurityGroupVpcAssociations",
    "DescribeSecurityGroups",
    "DescribeSnapshots",
    "DescribeSubnets",
    "DescribeVolumes",
    "DescribeVolumesModifications",
    "DescribeVpcs",
    "GetAllowedImagesSettings",
)
_READS_OF_ONE: Final[Mapping[str, dict[str, Any]]] = {
    "DescribeInstanceAttribute": {"InstanceId": _INSTANCE, "Attribute": "userData"},
    "DescribeVpcAttribute": {"VpcId": _VPC, "Attribute": "enableDnsSupport"},
    "GetConsoleOutput": {"InstanceId": _INSTANCE},
}


_LISTINGS: Final = {
    "iam:ListInstanceProfiles": Probe("iam", "ListInstanceProfiles", {"MaxItems": 1}),
    "servicequotas:ListServiceQuotas": Probe(
        "service-quotas", "ListServiceQuotas", {"ServiceCode": "ec2", "MaxResults": 1}
    ),
}


def _changes(region: str, zone: str) -> dict[str, dict[str, Any]]:
    """The parameters of those EC2 actions that would change something without a dry run."""
    device = {"DeviceName": "/dev/sda1", "Ebs": {"SnapshotId": _SNAPSHOT}}
    return {
        # These three have no dry run: they do nothing only because the interface or subnet does not exist.
        "AssignIpv6Addresses": {"NetworkInterfaceId": _NIC, "Ipv6PrefixCount": 1},
        "AssignPrivateIpAddresses": {"NetworkInterfaceId": _NIC, "Ipv4PrefixCount": 1},
        "ModifySubnetAttribute": {"SubnetId": _SUBNET, "MapPublicIpOnLaunch": {"Value": False}},
        "AssociateAddress": {"AllocationId": f"eipalloc-{_NONE}", "InstanceId": _INSTANCE},
        "AssociateRouteTable": {"RouteTableId": _TABLE, "SubnetId": _SUBNET},
        "AttachVolume": {"VolumeId": _VOLUME, "InstanceId": _INSTANCE, "Device": "/dev/sdf"},
        "CopyImage": {"Name": _NAME, "SourceImageId": _IMAGE, "SourceRegion": region},
        "CopyVolumes": {"SourceVolumeId": _VOLUME, "VolumeType": "gp3"},
        "CreateNetworkInterface": {"SubnetId": _SUBNET},
        "CreatePlacementGroup": {"GroupName": _GROUP, "Strategy": "spread"},
        "CreateRoute": {**_ROUTE, "NetworkInterfaceId": _NIC},
        "CreateSnapshot": {"VolumeId": _VOLUME},
        "CreateSubnet": {"VpcId": f"vpc-{_NONE}", "CidrBlock": "192.0.2.0/24"},
        "CreateTags": {"Resources": [_INSTANCE], "Tags": [{"Key": _NAME, "Value": ""}]},
        "CreateVolume": {"AvailabilityZone": zone, "SnapshotId": _SNAPSHOT, "VolumeType": "gp3"},
        "DeleteNetworkInterface": {"NetworkInterfaceId": _NIC},
        "DeletePlacementGroup": {"GroupName": _GROUP},
        "DeleteRoute": _ROUTE,
        "DeleteSnapshot": {"SnapshotId": _SNAPSHOT},
        "DeleteSubnet": {"SubnetId": _SUBNET},
        "DeleteVolume": {"VolumeId": _VOLUME},
        "DeregisterImage": {"ImageId": _IMAGE},
        "DetachVolume": {"VolumeId": _VOLUME},
        "ModifyInstanceAttribute": {"InstanceId": _INSTANCE, "SourceDestCheck": {"Value": True}},
        "ModifyNetworkInterfaceAttribute": {"NetworkInterfaceId": _NIC, "SourceDestCheck": {"Value": True}},
        "ModifyVolume": {"VolumeId": _VOLUME, "Size": 1},
        "RebootInstances": {"InstanceIds": [_INSTANCE]},
        "RegisterImage": {"Name": _NAME, "RootDeviceName": "/dev/sda1", "BlockDeviceMappings": [device]},
        "ReplaceNetworkAclAssociation": {
            "AssociationId": f"aclassoc-{_NONE}",
            "NetworkAclId": f"acl-{_NONE}",
        },
        "ReplaceRoute": {**_ROUTE, "NetworkInterfaceId": _NIC},
        # Without a subnet, EC2 would first look for a default VPC, which many accounts lack.
        "RunInstances": {"ImageId": _IMAGE, "SubnetId": _SUBNET, "MinCount": 1, "MaxCount": 1},
        "StartInstances": {"InstanceIds": [_INSTANCE]},
        "TerminateInstances": {"InstanceIds": [_INSTANCE]},
    }


def _balancers() -> dict[str, Probe]:
    """Probes for classic load balancers: ELB checks the permission before it looks up the balancer."""
    unknown = frozenset({"LoadBalancerNotFound", "InvalidInstance"})
    member = {"LoadBalancerName": f"no-{_NAME}", "Instances": [{"InstanceId": _INSTANCE}]}
    calls: dict[str, dict[str, Any]] = {
        "DescribeLoadBalancers": {"PageSize": 1},
        "DeregisterInstancesFromLoadBalancer": member,
        "RegisterInstancesWithLoadBalancer": member,
    }
    return {
        f"elasticloadbalancing:{name}": Probe("elb", name, parameters, unknown)
        for name, parameters in calls.items()
    }


def _target_groups(region: str, caller: str) -> dict[str, Probe]:
    """Probes for target groups of our own account: another account's would be refused in any case."""
    calls: dict[str, dict[str, Any]] = {"DescribeTargetGroups": {"PageSize": 1}}
    if (said := _ARN.match(caller)) is not None:
        partition, account = said.groups()
        arn = f"arn:{partition}:elasticloadbalancing:{region}:{account}:targetgroup/{_NAME}/{'0' * 16}"
        member = {"TargetGroupArn": arn, "Targets": [{"Id": _INSTANCE}]}
        calls |= {
            "DescribeTargetHealth": {"TargetGroupArn": arn},
            "DeregisterTargets": member,
            "RegisterTargets": member,
        }
    unknown = frozenset({"TargetGroupNotFound", "InvalidTarget"})
    return {
        f"elasticloadbalancing:{name}": Probe("elbv2", name, parameters, unknown)
        for name, parameters in calls.items()
    }


def _blocks() -> dict[str, Probe]:
    """Probes for the EBS direct APIs, with a snapshot that can't exist."""
    unknown = frozenset({"ResourceNotFoundException"})
    block = bytes(BLOCK_SIZE)  # a shorter one would be refused before the permission is checked
    digest = {"Checksum": b64encode(sha256(block).digest()).decode(), "ChecksumAlgorithm": "SHA256"}
    put = {"SnapshotId": _SNAPSHOT, "BlockIndex": 0, "BlockData": block, "DataLength": len(block), **digest}
    calls = {
        "PutSnapshotBlock": put,
        "CompleteSnapshot": {"SnapshotId": _SNAPSHOT, "ChangedBlocksCount": 0},
    }
    return {f"ebs:{name}": Probe("ebs", name, parameters, unknown) for name, parameters in calls.items()}
