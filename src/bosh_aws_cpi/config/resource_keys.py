"""The keys of ``aws`` for resources: VMs, disks, sizes, stemcells, tags, and their deletion."""

from __future__ import annotations

from bosh_aws_cpi.config.values import (
    Key,
    anything,
    flag,
    json_object,
    one_of,
    optional_choice,
    optional_flag,
    string,
    strings,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, Literal

    StemcellUpload = Literal["ebs_direct", "volume"]
_OF_VMS: Final = "VMs that specify none"

DEFAULT_SECURITY_GROUPS = Key(
    "aws.default_security_groups",
    strings,
    "Names or ids of security groups for VMs that have none in the cloud config.",
    is_required_by_job=True,
    example=["bosh"],
)
DEFAULT_KEY_NAME = Key(
    "aws.default_key_name", string, f"Name of the SSH key pair for {_OF_VMS}.", example="bosh"
)
DEFAULT_IAM_INSTANCE_PROFILE = Key(
    "aws.default_iam_instance_profile", string, f"Name of the instance profile for {_OF_VMS}."
)
ENCRYPTED = Key(
    "aws.encrypted",
    flag,
    "Encrypt ephemeral and persistent disks and copies of stemcells. A resource's own property takes "
    "precedence, even if it is false or null.",
    default=False,
    job_default=False,
)
KMS_KEY_ARN = Key(
    "aws.kms_key_arn",
    string,
    "KMS key for encryption. Default: the account's default key for EBS. A resource's own property takes "
    "precedence.",
    example="arn:aws:kms:us-east-1:123456789012:key/00000000-0000-0000-0000-000000000000",
)
DEFAULT_ROOT_DISK = Key(
    "aws.default_root_disk",
    json_object,
    "Defaults for the root disks of VMs, with the keys of the cloud property `root_disk`: `size`, `type`, "
    "`iops`, `throughput`, `encrypted`, `kms_key_arn`. A VM's own keys take precedence, key by key.",
    is_new=True,
    example={"type": "gp3", "iops": 4000, "encrypted": True},
)
DEFAULT_EPHEMERAL_DISK = Key(
    "aws.default_ephemeral_disk",
    json_object,
    "The same for `ephemeral_disk`. `encrypted` and `kms_key_arn` take precedence over those of `aws`.",
    is_new=True,
    example={"size": 20480},
)
METADATA_OPTIONS = Key(
    "aws.metadata_options",
    json_object,
    "EC2 instance metadata options for every VM, in snake case. A VM's own options take precedence, key "
    "by key.",
    example={"http_endpoint": "enabled", "http_tokens": "required"},
)
ENABLE_DESCRIBE_INSTANCE_TYPES = Key(
    "aws.enable_describe_instance_types",
    flag,
    "Get instance type data from EC2 (ec2:DescribeInstanceTypes). `false` uses a built-in table, which lacks "
    "instance types that are newer than this release.",
    default=True,
    job_default=True,
)
VM_RESOURCES_FAMILIES = Key(
    "aws.vm_resources_families",
    strings,
    "Families of instance types that the CPI chooses from for a manifest's `vm_resources`: the type that "
    "suffices and is cheapest by an estimate (one vCPU costs as much as 10 GiB of memory); of several, that "
    "of the family that is named first. Default: the Ruby release's list of T2, C5, M5 and R5.",
    is_new=True,
    example=["t3", "m7i", "c7i", "r7i"],
)
STEMCELL = Key(
    "aws.stemcell",
    json_object,
    "Overrides the cloud properties of every stemcell, except for `copy_from_region` and "
    "`copy_completion_minutes`.",
    job=(),
)
STEMCELL_KERNEL_ID = Key(
    "aws.stemcell.kernel_id",
    anything,
    "Kernel image (aki-...) for stemcells, in place of the stemcell's own.",
)
STEMCELL_COPY_FROM_REGION = Key(
    "aws.stemcell.copy_from_region",
    flag,
    "If a light stemcell has no AMI for the region, copy one from another region of the same partition.",
    default=False,
    is_new=True,
)
STEMCELL_COPY_COMPLETION_MINUTES: Key[int | None] = Key(
    "aws.stemcell.copy_completion_minutes",
    optional_choice,
    "Copy the AMI of a light stemcell within 15, 30 or 45 minutes (a time-based copy, for which AWS charges "
    "by the GiB). Default: no time limit.",
    choices=(15, 30, 45),  # AWS takes 15 minutes to 48 hours; create_stemcell waits for several such copies
    is_new=True,
)
STEMCELL_UPLOAD: Key[StemcellUpload] = Key(
    "aws.stemcell_upload",
    one_of,
    "How to upload heavy stemcells: `ebs_direct`, or `volume`, through a volume attached to the CPI's own "
    "VM. The CPI also uses `volume` if it runs on EC2 and may not use the EBS direct APIs.",
    default="ebs_direct",
    choices=("ebs_direct", "volume"),
    is_new=True,
)
TAGS = Key(
    "aws.tags",
    json_object,
    "Tags for everything that the CPI creates: VMs, their interfaces and disks, snapshots, AMIs, managed "
    "subnets. The tags of the manifest, the Director and the CPI take precedence.",
    is_new=True,
    example={"cost-center": "4711"},
)
FAST_PATH_DELETE = Key(
    "aws.fast_path_delete",
    flag,
    "delete_vm and delete_disk set the tag `Name` to `to be deleted` and return without waiting until the "
    "resource is gone.",
    default=False,
    is_new=True,
)
DEREGISTER_ON_DELETE = Key(
    "aws.deregister_on_delete",
    flag,
    "delete_vm first deregisters the VM from its target groups and classic load balancers, and waits up to "
    "330 seconds for connections to drain. With `fast_path_delete` it does not wait.",
    default=False,
    is_new=True,
)
SKIP_OS_SHUTDOWN = Key(
    "aws.skip_os_shutdown",
    optional_flag,
    "Whether delete_vm terminates VMs without waiting for their operating system to shut down, unless they "
    "have disks that outlive them. A VM's own `skip_os_shutdown` takes precedence, but has no effect if this "
    "key is not set: `false` means those VMs only. If set, delete_vm looks at the VM first.",
    is_new=True,
    example=True,
)
