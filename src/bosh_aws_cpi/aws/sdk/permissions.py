"""The AWS actions that the CPI calls, or that its policy must allow, in one table.

The policies in docs, the table in docs/permissions.md, the calls of `cpi preflight` and the cut of the SDK's
data are derived from this table.
"""

from collections.abc import Mapping
from typing import Any, Final

from bosh_aws_cpi.records import EMPTY, Record

OWN: Final = "own"
"""The resource exists and has had the Director's tag since its creation; IAM compares aws:ResourceTag."""
NEW: Final = "new"
"""The call creates the resource with the Director's tag; IAM compares aws:RequestTag."""
EITHER: Final = "new or own"
"""Both: one resource of the type exists, and the call creates another resource of the type."""
ANY: Final = "any"
"""The resource may have any tags: the CPI also uses resources of others, without the Director's tag, or IAM
does not compare the resource's tags for this action."""


class Action(Record):
    """What the program knows of an action; the keys of `ACTIONS` are IAM's names: "ec2:RunInstances"."""

    features: str
    """The names of the features that need the action, separated by spaces."""
    parameters: str = ""
    """The parameters of preflight's call, separated by spaces: a name of `PARAMETERS`, or NAME=VALUE.

    The call changes nothing: its ids are well formed but can't exist, so that nothing would happen even if
    EC2 ignored DryRun. Most actions that read need no parameters.
    """
    resources: Mapping[str, str] = EMPTY
    """The comparison of IAM by resource type, for docs/iam-policy-restricted.json; "*" is any other type.

    The source is AWS's Service Authorization Reference: "Actions, resources, and condition keys" of Amazon
    EC2 and of Amazon Elastic Block Store, as of May 2026. If this is empty, the policy restricts the action
    to the region only: the action only reads; or its resources belong to the operator (routes, target
    groups, load balancers); or, for CopyImage, the source is also a resource, which mostly belongs to
    somebody else (EC2 guide, "Grant permissions to copy Amazon EC2 AMIs").
    """
    use: str = ""
    """The part of the features that needs the action, in Markdown."""
    unprobed: str = ""
    """The reason why no harmless call can check the action."""

    @property
    def probe(self) -> dict[str, Any]:
        """The parameters of preflight's call, with placeholders."""
        probe: dict[str, Any] = {}
        for each in self.parameters.split():
            name, _, value = each.partition("=")
            probe[name] = (int(value) if value.isdecimal() else value) if value else PARAMETERS[name]
        return probe


class Feature(Record):
    """A part of the CPI that needs permissions of its own. No other feature depends on its statement."""

    name: str
    """The name of the feature and of its statement in the policies."""
    purpose: str
    """The description of the feature, in Markdown, for docs/permissions.md."""
    condition: Mapping[str, Any] = EMPTY
    resource: str = ""
    """The resource that operators must name in docs/iam-policy-restricted.json; capitals are placeholders."""
    is_for_commands: bool = False
    """Whether only operators' commands, which load more of the SDK's data, call the actions."""
    is_by_hand: bool = False
    """Whether AWS checks the actions during other calls, so that no test sees the actions."""

    @property
    def actions(self) -> list[str]:
        """IAM's names of the actions, sorted."""
        return sorted(action for action, row in ACTIONS.items() if self.name in row.features.split())

    @property
    def called(self) -> list[str]:
        """The actions that the program calls."""
        return [] if self.is_by_hand else self.actions


_ABSENT_ID: Final = "0" * 17
_PROBE_NAME: Final = "cpi-preflight"
PARAMETERS: Final[Mapping[str, Any]] = {
    "AllocationId": f"eipalloc-{_ABSENT_ID}",
    "AssociationId": f"aclassoc-{_ABSENT_ID}",
    "BlockDeviceMappings": [{"DeviceName": "/dev/sda1", "Ebs": {"SnapshotId": f"snap-{_ABSENT_ID}"}}],
    "CidrBlock": "192.0.2.0/24",  # which is reserved for documentation
    "DestinationCidrBlock": "192.0.2.0/24",
    "GroupName": f"{_PROBE_NAME}-{_ABSENT_ID}",
    "ImageId": f"ami-{_ABSENT_ID}",
    "InstanceId": f"i-{_ABSENT_ID}",
    "InstanceIds": [f"i-{_ABSENT_ID}"],
    "Instances": [{"InstanceId": f"i-{_ABSENT_ID}"}],
    "LaunchPermission": {"Add": [{"UserId": "123456789012"}]},
    "LoadBalancerName": f"no-{_PROBE_NAME}",
    "MapPublicIpOnLaunch": {"Value": False},
    "Name": _PROBE_NAME,
    "NetworkAclId": f"acl-{_ABSENT_ID}",
    "NetworkInterfaceId": f"eni-{_ABSENT_ID}",
    "Resources": [f"i-{_ABSENT_ID}"],
    "RouteTableId": f"rtb-{_ABSENT_ID}",
    "SnapshotId": f"snap-{_ABSENT_ID}",
    "SourceDestCheck": {"Value": True},
    "SourceImageId": f"ami-{_ABSENT_ID}",
    "SourceVolumeId": f"vol-{_ABSENT_ID}",
    "SpotInstanceRequestIds": [f"sir-{_ABSENT_ID}"],
    "SubnetId": f"subnet-{_ABSENT_ID}",
    "Tags": [{"Key": _PROBE_NAME, "Value": ""}],
    "TargetGroupArn": "arn:{partition}:elasticloadbalancing:{region}:{account}:targetgroup/"
    f"{_PROBE_NAME}/{'0' * 16}",
    "Targets": [{"Id": f"i-{_ABSENT_ID}"}],
    "Versions": ["$Default"],
    "VolumeId": f"vol-{_ABSENT_ID}",
    "VpcId": f"vpc-{_ABSENT_ID}",
}
"""The parameters of preflight's calls. Placeholders: {region}; {zone}, a zone of the region; {partition} and
{account} of the credentials."""
RUBY_ACTIONS: Final = (
    "ec2:AssociateAddress ec2:AttachVolume ec2:CopyImage ec2:CreateRoute ec2:CreateSnapshot ec2:CreateTags "
    "ec2:CreateVolume ec2:DeleteVolume ec2:DescribeAddresses ec2:DescribeAvailabilityZones "
    "ec2:DescribeImages ec2:DescribeInstances ec2:DescribeRouteTables ec2:DescribeSecurityGroups "
    "ec2:DescribeSubnets ec2:DescribeVolumes ec2:DetachVolume ec2:ModifyInstanceAttribute ec2:RegisterImage "
    "ec2:ReplaceRoute ec2:RunInstances ec2:TerminateInstances elasticloadbalancing:DescribeTargetGroups "
    "elasticloadbalancing:RegisterInstancesWithLoadBalancer elasticloadbalancing:RegisterTargets "
    "iam:PassRole"
)
"""The actions that every policy for the Ruby release allows, separated by spaces."""

_OWN_INSTANCE: Final = {"instance": OWN}
_OWN_NIC: Final = {"network-interface": OWN}
_OWN_SNAPSHOT: Final = {"snapshot": OWN}
_OWN_SUBNET: Final = {"subnet": OWN}
_OWN_VOLUME: Final = {"volume": OWN}

_CREATED_STEMCELLS: Final = "CopiedStemcells HeavyStemcells HeavyStemcellsByVolume"
"""The features for stemcells whose AMIs the CPI creates and deletes."""
BASELINE: Final = "Baseline"
_KEY_OF_DISK: Final = "AWS checks it when a disk with a key of your own is"
_NICS: Final = "several networks"

ACTIONS: Final[Mapping[str, Action]] = {
    # AssignIpv6Addresses, AssignPrivateIpAddresses and ModifySubnetAttribute have no dry run: preflight's
    # calls have no effect only because the interface or subnet does not exist.
    "ec2:AssignIpv6Addresses": Action("DelegatedPrefixes", "NetworkInterfaceId Ipv6PrefixCount=1", _OWN_NIC),
    "ec2:AssignPrivateIpAddresses": Action(
        "DelegatedPrefixes", "NetworkInterfaceId Ipv4PrefixCount=1", _OWN_NIC
    ),
    "ec2:AssociateAddress": Action(
        "ElasticIps", "AllocationId InstanceId", {"elastic-ip": ANY, **_OWN_INSTANCE, **_OWN_NIC}
    ),
    "ec2:AssociateRouteTable": Action(
        "ManagedNetworks", "RouteTableId SubnetId", {"route-table": ANY, **_OWN_SUBNET}, "`route_table`"
    ),
    # A stemcell may be uploaded through a volume on the Director's VM, which `bosh create-env` created.
    "ec2:AttachVolume": Action(
        BASELINE, "VolumeId InstanceId Device=/dev/sdf", {"instance": ANY, **_OWN_VOLUME}
    ),
    "ec2:CancelSpotInstanceRequests": Action(
        "SpotInstances", "SpotInstanceRequestIds", {"spot-instances-request": OWN}, "after a refused launch"
    ),
    "ec2:CopyImage": Action("CopiedStemcells", "Name SourceImageId SourceRegion={region}"),
    # The old and the new volume are resources of CopyVolumes (AWS's policy AmazonEBSCSIDriverPolicyV2). The
    # reference lists no aws:ResourceTag for CopyVolumes, but AWS's ROSAAmazonEBSCSIDriverOperatorPolicy has
    # this condition in the statement CopyManagedVolumes.
    "ec2:CopyVolumes": Action("UpdateByCopy", "SourceVolumeId VolumeType=gp3", {"volume": EITHER}),
    "ec2:CreateNetworkInterface": Action(
        BASELINE, "SubnetId", {"network-interface": NEW, "security-group": ANY, "subnet": ANY}, _NICS
    ),
    "ec2:CreatePlacementGroup": Action("SpreadGroups", "GroupName Strategy=spread", {"placement-group": NEW}),
    "ec2:CreateRoute": Action("Routes", "RouteTableId DestinationCidrBlock NetworkInterfaceId"),
    "ec2:CreateSnapshot": Action(
        "HeavyStemcellsByVolume Snapshots", "VolumeId", {"snapshot": NEW, **_OWN_VOLUME}
    ),
    "ec2:CreateSubnet": Action("ManagedNetworks", "VpcId CidrBlock", {"subnet": NEW, "vpc": ANY}),
    # Tags at the creation of a resource have statements of their own.
    "ec2:CreateTags": Action(BASELINE, "Resources Tags", {"*": OWN}),
    # Since 2025 the snapshot is a resource, too (kubernetes-sigs/aws-ebs-csi-driver issue 2190).
    "ec2:CreateVolume": Action(
        BASELINE, "AvailabilityZone={zone} SnapshotId VolumeType=gp3", {"volume": NEW, **_OWN_SNAPSHOT}
    ),
    "ec2:DeleteNetworkInterface": Action(
        BASELINE, "NetworkInterfaceId", _OWN_NIC, f"{_NICS}, addresses in use"
    ),
    "ec2:DeletePlacementGroup": Action("SpreadGroups", "GroupName", {"placement-group": OWN}, "`cpi sweep`"),
    "ec2:DeleteRoute": Action(
        "Routes", "RouteTableId DestinationCidrBlock", use="after a failed `create_vm`"
    ),
    "ec2:DeleteSnapshot": Action(f"{_CREATED_STEMCELLS} Snapshots", "SnapshotId", _OWN_SNAPSHOT),
    "ec2:DeleteSubnet": Action("ManagedNetworks", "SubnetId", _OWN_SUBNET),
    "ec2:DeleteVolume": Action(BASELINE, "VolumeId", _OWN_VOLUME),
    "ec2:DeregisterImage": Action(_CREATED_STEMCELLS, "ImageId", {"image": OWN}),
    "ec2:DescribeAddresses": Action("ElasticIps Check"),
    "ec2:DescribeAvailabilityZones": Action(BASELINE),
    "ec2:DescribeCapacityReservations": Action("Check"),
    "ec2:DescribeHosts": Action("Check"),
    "ec2:DescribeImages": Action(BASELINE),
    # DescribeInstanceAttribute reads user data, which has secrets.
    "ec2:DescribeInstanceAttribute": Action("Diagnose", "InstanceId Attribute=userData", _OWN_INSTANCE),
    "ec2:DescribeInstanceStatus": Action("Diagnose"),
    "ec2:DescribeInstanceTypeOfferings": Action("VmResourcesByRegion Check"),
    "ec2:DescribeInstanceTypes": Action(BASELINE, use="optional; see `aws.enable_describe_instance_types`"),
    "ec2:DescribeInstances": Action(BASELINE),
    "ec2:DescribeKeyPairs": Action("Check"),
    # This reads user data, which may hold secrets, but has no resources to which a policy could restrict it.
    # The parameter requests the default version of all templates.
    "ec2:DescribeLaunchTemplateVersions": Action("LaunchTemplates Check", "Versions"),
    "ec2:DescribeNetworkAcls": Action("ManagedNetworks Check Diagnose"),
    "ec2:DescribeNetworkInterfaces": Action(BASELINE, use=f"{_NICS}, addresses in use"),
    "ec2:DescribePlacementGroups": Action("SpreadGroups Check"),
    "ec2:DescribeRouteTables": Action("Routes ManagedNetworks Check Diagnose"),
    "ec2:DescribeSecurityGroupVpcAssociations": Action("Check"),
    "ec2:DescribeSecurityGroups": Action(BASELINE, use="security groups by name"),
    "ec2:DescribeSnapshots": Action(f"{_CREATED_STEMCELLS} Snapshots Check"),
    "ec2:DescribeSpotInstanceRequests": Action("SpotInstances", use="after a refused launch"),
    "ec2:DescribeSubnets": Action(BASELINE),
    "ec2:DescribeVolumes": Action(BASELINE),
    "ec2:DescribeVolumesModifications": Action("ResizeUpdate"),
    "ec2:DescribeVpcAttribute": Action("Diagnose", "VpcId Attribute=enableDnsSupport"),
    "ec2:DescribeVpcs": Action("ManagedNetworks Check Diagnose"),
    "ec2:DetachVolume": Action(BASELINE, "VolumeId", {"instance": ANY, **_OWN_VOLUME}),
    # AWS's policy EC2ImageBuilderLifecycleExecutionPolicy has a condition with aws:ResourceTag for this.
    "ec2:EnableImageDeprecation": Action(
        "DeprecatedStemcells", "ImageId DeprecateAt=2035-01-01T00:00:00Z", {"image": OWN}
    ),
    "ec2:GetAllowedImagesSettings": Action("AllowedAmis"),
    # GetConsoleOutput reads output that may have secrets.
    "ec2:GetConsoleOutput": Action("Diagnose", "InstanceId", _OWN_INSTANCE),
    "ec2:ModifyImageAttribute": Action("SharedStemcells", "ImageId LaunchPermission", {"image": OWN}),
    "ec2:ModifyInstanceAttribute": Action("SourceDestCheck", "InstanceId SourceDestCheck", _OWN_INSTANCE),
    "ec2:ModifyNetworkInterfaceAttribute": Action(
        BASELINE, "NetworkInterfaceId SourceDestCheck", {**_OWN_INSTANCE, **_OWN_NIC}, _NICS
    ),
    "ec2:ModifySubnetAttribute": Action(
        "ManagedNetworks", "SubnetId MapPublicIpOnLaunch", _OWN_SUBNET, "`auto_assign_public_ip`"
    ),
    "ec2:ModifyVolume": Action("ResizeUpdate", "VolumeId Size=1", _OWN_VOLUME),
    "ec2:RebootInstances": Action(BASELINE, "InstanceIds", _OWN_INSTANCE),
    "ec2:RegisterImage": Action(
        "HeavyStemcells HeavyStemcellsByVolume",
        "Name RootDeviceName=/dev/sda1 BlockDeviceMappings",
        {"image": NEW, **_OWN_SNAPSHOT},
    ),
    "ec2:ReplaceNetworkAclAssociation": Action(
        "ManagedNetworks", "AssociationId NetworkAclId", {"network-acl": ANY, **_OWN_SUBNET}, "`network_acl`"
    ),
    "ec2:ReplaceRoute": Action("Routes", "RouteTableId DestinationCidrBlock NetworkInterfaceId"),
    # preflight's call names a subnet, because EC2 would otherwise look for a default VPC, which many accounts
    # lack. A spot request is a resource only if it has tags (EC2 guide, "Tag Spot Instance requests"), as the
    # CPI's spot requests have. "*" covers an AMI and its snapshots, which may belong to somebody else; the
    # resources of a launch template, such as licences; and existing interfaces, whose tags IAM ignores.
    "ec2:RunInstances": Action(
        BASELINE,
        "ImageId SubnetId MinCount=1 MaxCount=1",
        {"instance": NEW, "volume": NEW, "spot-instances-request": NEW, "*": ANY},
    ),
    "ec2:StartInstances": Action(BASELINE, "InstanceIds", _OWN_INSTANCE, "`reboot_vm` of a stopped VM"),
    "ec2:TerminateInstances": Action(BASELINE, "InstanceIds", _OWN_INSTANCE),
    "ebs:CompleteSnapshot": Action("HeavyStemcells", "SnapshotId ChangedBlocksCount=0", _OWN_SNAPSHOT),
    # preflight adds a whole block: EBS would refuse a short block before it checks the permission.
    "ebs:PutSnapshotBlock": Action("HeavyStemcells", "SnapshotId BlockIndex=0", _OWN_SNAPSHOT),
    "ebs:StartSnapshot": Action(
        "HeavyStemcells",
        unprobed="it has no dry run, and would create a snapshot",
        resources={"snapshot": NEW},
    ),
    "elasticloadbalancing:DeregisterInstancesFromLoadBalancer": Action(
        "LoadBalancers", "LoadBalancerName Instances", use="`elbs`"
    ),
    "elasticloadbalancing:DeregisterTargets": Action(
        "LoadBalancers", "TargetGroupArn Targets", use="`lb_target_groups`"
    ),
    "elasticloadbalancing:DescribeLoadBalancers": Action("LoadBalancers Check", "PageSize=1", use="`elbs`"),
    "elasticloadbalancing:DescribeTargetGroupAttributes": Action(
        "LoadBalancers", "TargetGroupArn", use="`deregister_on_delete`"
    ),
    "elasticloadbalancing:DescribeTargetGroups": Action(
        "LoadBalancers Check", "PageSize=1", use="`lb_target_groups`"
    ),
    "elasticloadbalancing:DescribeTargetHealth": Action(
        "LoadBalancers", "TargetGroupArn", use="`lb_target_groups`, `deregister_on_delete`"
    ),
    "elasticloadbalancing:RegisterInstancesWithLoadBalancer": Action(
        "LoadBalancers", "LoadBalancerName Instances", use="`elbs`"
    ),
    "elasticloadbalancing:RegisterTargets": Action(
        "LoadBalancers", "TargetGroupArn Targets", use="`lb_target_groups`"
    ),
    "iam:CreateServiceLinkedRole": Action(
        "SpotRole", unprobed="AWS checks it when the account's first spot instance is launched"
    ),
    "iam:ListInstanceProfiles": Action("Check", "MaxItems=1"),
    "iam:PassRole": Action(
        "InstanceProfiles", unprobed="AWS checks it when a VM with an instance profile is launched"
    ),
    "kms:CreateGrant": Action("EncryptionGrants", unprobed=f"{_KEY_OF_DISK} attached"),
    "kms:Decrypt": Action(
        "Encryption", unprobed="AWS checks it when a disk or snapshot with a key of your own is used"
    ),
    "kms:DescribeKey": Action("Check Encryption", unprobed=f"it depends on the key; {_KEY_OF_DISK} created"),
    "kms:Encrypt": Action(
        "Encryption", unprobed="AWS checks it when a snapshot with a key of your own is written"
    ),
    "kms:GenerateDataKey*": Action(
        "Encryption", unprobed="AWS checks it when a disk or snapshot with a key of your own is created"
    ),
    "kms:ReEncrypt*": Action(
        "Encryption", unprobed="AWS checks it when an image or a volume is copied with a key of your own"
    ),
    "servicequotas:ListServiceQuotas": Action("Check", "ServiceCode=ec2 MaxResults=1"),
    "sts:AssumeRole": Action("Roles"),
    "sts:TagSession": Action(
        "SessionTags", unprobed="AWS checks it when a role is assumed with aws.session_tags"
    ),
}

_DNS_SUFFIXES: Final = (
    "amazonaws.com",
    "amazonaws.com.cn",
    "amazonaws.eu",
    "c2s.ic.gov",
    "cloud.adc-e.uk",
    "csp.hci.ic.gov",
    "sc2s.sgov.gov",
)
"""The suffixes of all partitions. EC2's service principal ends with amazonaws.com outside of China, but
isolated partitions also accept their own suffix (aws/aws-cdk pull request 22589)."""
_KMS_KEY: Final = "arn:*:kms:REGION:ACCOUNT_ID:key/KEY_ID"
_ROLE: Final = "arn:*:iam::ACCOUNT_ID:role/CPI_ROLE"
_FEATURES: Final = (
    Feature(BASELINE, "every deployment"),
    Feature("CopiedStemcells", "encrypted and copied stemcells"),
    # The better error tells whether the account's Allowed AMIs setting may hide the AMI.
    Feature("AllowedAmis", "a better error when an AMI is not found"),
    Feature(
        "HeavyStemcells",
        "heavy stemcells; without the `ebs:` actions the CPI uploads through a volume, if it runs on EC2",
    ),
    Feature("HeavyStemcellsByVolume", "heavy stemcells through a volume"),
    Feature("DeprecatedStemcells", "`deprecate_at` of a stemcell"),
    Feature("SharedStemcells", "`share_with` of a stemcell"),
    Feature("Snapshots", "`snapshot_disk`, `delete_snapshot`, disks with `snapshot_id`"),
    Feature("ResizeUpdate", "`resize_disk`, `update_disk`"),
    Feature(
        "UpdateByCopy",
        "`update_disk` by a copy; without it the Director copies the data. Don't allow it if the Director is "
        "older than 282.1.7 and has [`enable_cpi_update_disk`](disk-changes.md)",
    ),
    Feature("ElasticIps", "`vip` networks"),
    Feature("DelegatedPrefixes", "delegated prefixes"),
    Feature("Routes", "`advertised_routes`"),
    Feature(
        "ManagedNetworks",
        "managed networks; DescribeRouteTables only for `route_table`, DescribeNetworkAcls only for "
        "`network_acl`",
    ),
    Feature("SpreadGroups", "`spread` or `aws.spread`"),
    Feature("SpotInstances", "`spot` or `spot_bid_price`"),
    Feature("VmResourcesByRegion", "`aws.vm_resources_by_region`"),
    Feature("LaunchTemplates", "`launch_template`"),
    Feature("SourceDestCheck", "`source_dest_check: false`; not needed with several networks"),
    Feature(
        "LoadBalancers",
        "`elbs`, `lb_target_groups`; `aws.deregister_on_delete` needs all but Register…; "
        "`cpi sweep --instance` needs DescribeTargetGroups and DeregisterTargets if the VM has addresses in "
        "target groups",
    ),
    Feature("Check", "[`cpi check`](check.md)", is_for_commands=True),
    Feature("Diagnose", "[`cpi diagnose`](diagnose.md)", is_for_commands=True),
    # EBS uses a customer managed key on behalf of the caller: EBS describes the key, generates data keys for
    # new volumes and snapshots, decrypts the data keys to attach a volume or read a snapshot, and re-encrypts
    # them for copies. The guide to the EBS direct APIs also requires kms:Encrypt.
    Feature(
        "Encryption",
        "a customer managed KMS key of disks, `root_disk` or stemcells",
        resource=_KMS_KEY,
        is_by_hand=True,
    ),
    # While a volume is attached, EC2 decrypts it with a grant that is created on behalf of the caller.
    Feature(
        "EncryptionGrants",
        "attached disks with such a key",
        condition={"Bool": {"kms:GrantIsForAWSResource": "true"}},
        resource=_KMS_KEY,
        is_by_hand=True,
    ),
    Feature("Roles", "`role_arn`", resource=_ROLE),
    Feature(
        "SessionTags",
        "`aws.session_tags`; the role's trust policy must allow it, too",
        resource=_ROLE,
        is_by_hand=True,
    ),
    # RunInstances passes the role of an instance profile to the VM.
    Feature(
        "InstanceProfiles",
        "VMs with an instance profile, on its role",
        condition={"StringEquals": {"iam:PassedToService": [f"ec2.{suffix}" for suffix in _DNS_SUFFIXES]}},
        resource="arn:*:iam::ACCOUNT_ID:role/VM_ROLE",
        is_by_hand=True,
    ),
    # The launch of the account's first spot instance creates the role with which EC2 runs all of them.
    Feature(
        "SpotRole",
        "`spot` or `spot_bid_price`, once per account",
        condition={"StringEquals": {"iam:AWSServiceName": "spot.amazonaws.com"}},
        resource="arn:*:iam::ACCOUNT_ID:role/aws-service-role/spot.amazonaws.com/*",
        is_by_hand=True,
    ),
)
FEATURES: Final = {each.name: each for each in _FEATURES}
"""The features by name; every configuration needs the first feature."""
NEEDS_NO_PERMISSION: Final = {
    "sts:AssumeRoleWithWebIdentity": "it is not signed: the role's trust policy decides",
    "sts:GetCallerIdentity": "AWS answers it to everybody, even when a policy denies it",
}
"""The actions that the program calls without any permission, each with the reason."""


def operations(*, for_commands: bool = False) -> frozenset[str]:
    """Return the names of the AWS operations that the program calls: "RunInstances".

    Args:
        for_commands: Whether to add the operations that only operators' commands call.
    """
    names = {
        each.name for each in _FEATURES if not each.is_by_hand and (for_commands or not each.is_for_commands)
    }
    called = [action for action, row in ACTIONS.items() if not names.isdisjoint(row.features.split())]
    return frozenset(action.partition(":")[2] for action in [*called, *NEEDS_NO_PERMISSION])
