"""The AWS actions that the CPI calls, and those that its policy must allow, by feature.

The policies in docs, `cpi preflight` and the cut of the SDK's data are derived from it.
"""

from collections.abc import Mapping
from typing import Any, Final

from bosh_aws_cpi.records import EMPTY, Record


class Feature(Record):
    """The actions that a feature needs beyond Baseline. No other feature depends on its statement."""

    called: str = ""
    """The actions that the program calls."""
    by_hand: str = ""
    """The actions that AWS checks during other calls: no test can see them, so they are listed by hand."""
    condition: Mapping[str, Any] = EMPTY
    resource: str = ""
    """What the operator must name in docs/iam-policy-restricted.json; words in capitals are placeholders."""
    is_for_commands: bool = False
    """Whether only operators' commands call them, which load more of the SDK's data than the methods."""

    @property
    def actions(self) -> list[str]:
        """All of them, sorted, as IAM writes them: "ec2:RunInstances"."""
        return sorted([*self.called.split(), *self.by_hand.split()])


_MADE: Final = "ec2:DeleteSnapshot ec2:DeregisterImage ec2:DescribeSnapshots"
"""Needed for every stemcell that the CPI creates, and for its deletion."""
_KEY: Final = "arn:*:kms:REGION:ACCOUNT_ID:key/KEY_ID"
_ROLE: Final = "arn:*:iam::ACCOUNT_ID:role/CPI_ROLE"
BASELINE: Final = "Baseline"
FEATURES: Final = {
    BASELINE: Feature(
        "ec2:AttachVolume ec2:CreateNetworkInterface ec2:CreateTags ec2:CreateVolume "
        "ec2:DeleteNetworkInterface ec2:DeleteVolume ec2:DescribeAvailabilityZones ec2:DescribeImages "
        "ec2:DescribeInstanceTypes ec2:DescribeInstances ec2:DescribeNetworkInterfaces "
        "ec2:DescribeSecurityGroups ec2:DescribeSubnets ec2:DescribeVolumes ec2:DetachVolume "
        "ec2:ModifyNetworkInterfaceAttribute ec2:RebootInstances ec2:RunInstances ec2:StartInstances "
        "ec2:TerminateInstances"
    ),
    "CopiedStemcells": Feature(f"ec2:CopyImage {_MADE}"),
    # For the message when an AMI is not found: whether the account's Allowed AMIs setting may hide it.
    "AllowedAmis": Feature("ec2:GetAllowedImagesSettings"),
    "HeavyStemcells": Feature(
        f"ebs:CompleteSnapshot ebs:PutSnapshotBlock ebs:StartSnapshot ec2:RegisterImage {_MADE}"
    ),
    "HeavyStemcellsByVolume": Feature(f"ec2:CreateSnapshot ec2:RegisterImage {_MADE}"),
    "Snapshots": Feature("ec2:CreateSnapshot ec2:DeleteSnapshot ec2:DescribeSnapshots"),
    "ResizeUpdate": Feature("ec2:DescribeVolumesModifications ec2:ModifyVolume"),
    # CopyVolumes needs the old and the new volume as resources (AWS's policy AmazonEBSCSIDriverPolicyV2).
    "UpdateByCopy": Feature("ec2:CopyVolumes"),
    "ElasticIps": Feature("ec2:AssociateAddress ec2:DescribeAddresses"),
    "DelegatedPrefixes": Feature("ec2:AssignIpv6Addresses ec2:AssignPrivateIpAddresses"),
    "Routes": Feature("ec2:CreateRoute ec2:DeleteRoute ec2:DescribeRouteTables ec2:ReplaceRoute"),
    "ManagedNetworks": Feature(
        "ec2:AssociateRouteTable ec2:CreateSubnet ec2:DeleteSubnet ec2:DescribeNetworkAcls "
        "ec2:DescribeRouteTables ec2:DescribeVpcs ec2:ModifySubnetAttribute "
        "ec2:ReplaceNetworkAclAssociation"
    ),
    # For the property spread. DeletePlacementGroup is for `cpi sweep`.
    "SpreadGroups": Feature("ec2:CreatePlacementGroup ec2:DeletePlacementGroup ec2:DescribePlacementGroups"),
    "SourceDestCheck": Feature("ec2:ModifyInstanceAttribute"),
    "LoadBalancers": Feature(
        "elasticloadbalancing:DeregisterInstancesFromLoadBalancer elasticloadbalancing:DeregisterTargets "
        "elasticloadbalancing:DescribeLoadBalancers elasticloadbalancing:DescribeTargetGroups "
        "elasticloadbalancing:DescribeTargetHealth "
        "elasticloadbalancing:RegisterInstancesWithLoadBalancer elasticloadbalancing:RegisterTargets"
    ),
    # For `cpi check`, which only reads.
    "Check": Feature(
        "ec2:DescribeCapacityReservations ec2:DescribeHosts ec2:DescribeInstanceTypeOfferings "
        "ec2:DescribeKeyPairs ec2:DescribeNetworkAcls ec2:DescribePlacementGroups "
        "ec2:DescribeRouteTables ec2:DescribeSecurityGroupVpcAssociations ec2:DescribeVpcs "
        "elasticloadbalancing:DescribeLoadBalancers elasticloadbalancing:DescribeTargetGroups "
        "iam:ListInstanceProfiles kms:DescribeKey servicequotas:ListServiceQuotas",
        is_for_commands=True,
    ),
    # For `cpi diagnose`.
    "Diagnose": Feature(
        "ec2:DescribeDhcpOptions ec2:DescribeInstanceAttribute ec2:DescribeInstanceStatus "
        "ec2:DescribeNetworkAcls ec2:DescribeRouteTables ec2:DescribeVpcAttribute ec2:DescribeVpcs "
        "ec2:GetConsoleOutput",
        is_for_commands=True,
    ),
    # EBS uses a customer managed key on behalf of the caller: it describes the key, generates data keys for
    # new volumes and snapshots, decrypts them to attach or read, and re-encrypts copies. The guide to the EBS
    # direct APIs also asks for kms:Encrypt.
    "Encryption": Feature(
        by_hand="kms:Decrypt kms:DescribeKey kms:Encrypt kms:GenerateDataKey* kms:ReEncrypt*",
        resource=_KEY,
    ),
    # While a volume is attached, EC2 decrypts it with a grant that is created on behalf of the caller.
    "EncryptionGrants": Feature(
        by_hand="kms:CreateGrant",
        condition={"Bool": {"kms:GrantIsForAWSResource": "true"}},
        resource=_KEY,
    ),
    # For role_arn.
    "Roles": Feature("sts:AssumeRole", resource=_ROLE),
    # For session_tags. The role's trust policy must allow it, too.
    "SessionTags": Feature(by_hand="sts:TagSession", resource=_ROLE),
    # RunInstances hands the role of an instance profile to the VM.
    "InstanceProfiles": Feature(
        by_hand="iam:PassRole",
        condition={
            "StringEquals": {"iam:PassedToService": ["ec2.amazonaws.com", "ec2.amazonaws.com.cn"]},
        },
        resource="arn:*:iam::ACCOUNT_ID:role/VM_ROLE",
    ),
    # The launch of the account's first spot instance creates the role with which EC2 runs all of them.
    "SpotInstances": Feature(
        by_hand="iam:CreateServiceLinkedRole",
        condition={"StringEquals": {"iam:AWSServiceName": "spot.amazonaws.com"}},
        resource="arn:*:iam::ACCOUNT_ID:role/aws-service-role/spot.amazonaws.com/*",
    ),
}
"""The features by the name of their statement in the policy; every configuration needs the first."""
NEEDS_NO_PERMISSION: Final = {
    "sts:AssumeRoleWithWebIdentity": "it is not signed: the role's trust policy decides",
    "sts:GetCallerIdentity": "AWS answers it to everybody, even when a policy denies it",
}
"""Actions that the program calls and no policy has to allow, each with the reason."""


def operations(*, for_commands: bool = False) -> frozenset[str]:
    """Return the names of the AWS operations that the program calls: "RunInstances".

    Args:
        for_commands: Whether to add those that only operators' commands call.
    """
    features = [each for each in FEATURES.values() if for_commands or not each.is_for_commands]
    called = [action for feature in features for action in feature.called.split()]
    return frozenset(action.partition(":")[2] for action in [*called, *NEEDS_NO_PERMISSION])
