"""The disks that come and go with a VM, in create_vm's cloud properties."""

from bosh_aws_cpi.properties.types import Count, Encryptable, Mib, Truth


class RootDisk(Encryptable):
    """``root_disk``: the volume that the stemcell boots from. No default encrypts it."""

    size: Mib | None = None
    """MiB. Default: the stemcell's."""
    type: str = "gp3"
    """EBS volume type."""
    iops: Count | None = None
    """For `gp3`, `io1` and `io2`; left out with a warning for others. Default: EBS's."""
    throughput: Count | None = None
    """MiB/s, for `gp3`; left out with a warning for others. Default: EBS's."""
    encrypted: Truth = False
    """* Encrypt the disk at launch, even if the AMI is not encrypted. `aws.encrypted` has no effect on it:
    that setting makes an encrypted copy of the stemcell. `false` does not
    undo the encryption of an AMI."""
    kms_key_arn: str | None = None
    """* KMS key; without one, the account's default key for EBS. `aws.kms_key_arn` has no effect on it."""


class EphemeralDisk(Encryptable):
    """``ephemeral_disk``: the volume that lives as long as the VM."""

    size: Mib | None = None
    """MiB. Instance types whose default in the Ruby release was the size of the first disk of their instance
    store (`i3.large`: 475 GiB) keep it, unless `raw_instance_storage` is set. Default: 10 GiB."""
    type: str = "gp3"
    """EBS volume type."""
    iops: Count | None = None
    """For `gp3`; required for `io1` and `io2`. Default: EBS's."""
    throughput: Count | None = None
    """MiB/s, for `gp3`. Default: EBS's."""
    use_root_disk: Truth = False
    """Put the agent's data on the root disk: no ephemeral volume, and no raw instance storage either."""
    use_instance_storage: Truth = False
    """The first disk of the instance store in place of a volume; not together with `size`, `type`, `iops` or
    encryption. Only for types whose instance store is not NVMe (C1, C3, D2, H1, I2, M1, M2, M3, R3, X1, X1e):
    see [below](#instance-storage)."""
