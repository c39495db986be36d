"""What IAM compares of the actions that the CPI calls, for docs/iam-policy-restricted.json.

The source is AWS's Service Authorization Reference: "Actions, resources, and condition keys" of Amazon EC2
and of Amazon Elastic Block Store, as of May 2026.

An action without a row is restricted to the region alone. It only reads; or its resources are the operator's
(routes, target groups, load balancers); or, for CopyImage, the source is a resource as well, and mostly
somebody else's (EC2 guide, "Grant permissions to copy Amazon EC2 AMIs").
"""

from collections.abc import Mapping
from typing import Final

OWN: Final = "own"
"""It exists, has the Director's tag since its creation, and IAM compares aws:ResourceTag."""
NEW: Final = "new"
"""The call creates it with the Director's tag, and IAM compares aws:RequestTag."""
EITHER: Final = "new or own"
"""Both: one resource of the type exists, and the call creates another."""
ANY: Final = "any"
"""It may have any tags: the CPI also uses those of operators and others, without the Director's tag, or IAM
does not compare its tags for this action."""

_INSTANCE: Final = {"instance": OWN}
_INTERFACE: Final = {"network-interface": OWN}
_SNAPSHOT: Final = {"snapshot": OWN}
_SUBNET: Final = {"subnet": OWN}
_VOLUME: Final = {"volume": OWN}

RESOURCES: Final[Mapping[str, Mapping[str, str]]] = {
    "ec2:AssignIpv6Addresses": _INTERFACE,
    "ec2:AssignPrivateIpAddresses": _INTERFACE,
    "ec2:AssociateAddress": {"elastic-ip": ANY, "instance": OWN, **_INTERFACE},  # the operator's address
    "ec2:AssociateRouteTable": {"route-table": ANY, **_SUBNET},
    # A stemcell may be uploaded through a volume on the Director's VM, which `bosh create-env` created.
    "ec2:AttachVolume": {"instance": ANY, **_VOLUME},
    # The reference lists no aws:ResourceTag for it, but AWS's ROSAAmazonEBSCSIDriverOperatorPolicy compares
    # it in the statement CopyManagedVolumes.
    "ec2:CopyVolumes": {"volume": EITHER},
    "ec2:CreateNetworkInterface": {"network-interface": NEW, "security-group": ANY, "subnet": ANY},
    "ec2:CreatePlacementGroup": {"placement-group": NEW},
    "ec2:CreateSnapshot": {"snapshot": NEW, **_VOLUME},
    "ec2:CreateSubnet": {"subnet": NEW, "vpc": ANY},
    "ec2:CreateTags": {"*": OWN},  # tags at creation have statements of their own
    "ec2:CreateVolume": {"volume": NEW},
    "ec2:DeleteNetworkInterface": _INTERFACE,
    "ec2:DeletePlacementGroup": {"placement-group": OWN},
    "ec2:DeleteSnapshot": _SNAPSHOT,
    "ec2:DeleteSubnet": _SUBNET,
    "ec2:DeleteVolume": _VOLUME,
    "ec2:DeregisterImage": {"image": OWN},
    "ec2:DescribeInstanceAttribute": _INSTANCE,  # reads, but user data with secrets
    "ec2:DetachVolume": {"instance": ANY, **_VOLUME},
    "ec2:GetConsoleOutput": _INSTANCE,  # the same
    "ec2:ModifyInstanceAttribute": _INSTANCE,
    "ec2:ModifyNetworkInterfaceAttribute": {**_INSTANCE, **_INTERFACE},
    "ec2:ModifySubnetAttribute": _SUBNET,
    "ec2:ModifyVolume": _VOLUME,
    "ec2:RebootInstances": _INSTANCE,
    "ec2:RegisterImage": {"image": NEW, **_SNAPSHOT},
    "ec2:ReplaceNetworkAclAssociation": {"network-acl": ANY, **_SUBNET},
    "ec2:RunInstances": {
        "instance": NEW,
        "volume": NEW,
        "capacity-reservation": ANY,
        "group": ANY,
        "image": ANY,
        "key-pair": ANY,
        # An interface that exists, as for several networks: IAM does not compare its tags for this action.
        "network-interface": ANY,
        "placement-group": ANY,
        "security-group": ANY,
        "snapshot": ANY,  # those of a light stemcell's AMI are somebody else's
        # Compared only if it is tagged, which it is with aws.tags (EC2 guide, "Tag Spot Instance requests").
        "spot-instances-request": ANY,
        "subnet": ANY,
    },
    "ec2:StartInstances": _INSTANCE,
    "ec2:TerminateInstances": _INSTANCE,
    "ebs:CompleteSnapshot": _SNAPSHOT,
    "ebs:PutSnapshotBlock": _SNAPSHOT,
    "ebs:StartSnapshot": {"snapshot": NEW},
}
"""How the policy may restrict an action, by resource type."""
