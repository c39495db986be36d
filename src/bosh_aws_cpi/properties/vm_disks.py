"""The disks that are created and deleted with a VM, in create_vm's cloud properties."""

from bosh_aws_cpi.properties.types import Closed, Count, Encryptable, InitializationRate, KmsKey, Mib, Truth


class RootDisk(Encryptable, Closed):
    """``root_disk``: the volume that the stemcell boots from. No default encrypts it."""

    size: Mib | None = None
    """MiB. Default: the stemcell's."""
    type: str = "gp3"
    """EBS volume type."""
    iops: Count | None = None
    """For `gp3`, `io1` and `io2`; ignored with a warning for others. Default: EBS's."""
    throughput: Count | None = None
    """MiB/s, for `gp3`; ignored with a warning for others. Default: EBS's."""
    volume_initialization_rate: InitializationRate | None = None
    """* MiB/s, 100 to 300, at which EBS loads the disk from the stemcell's snapshot; AWS charges for it.
    Default: no fixed rate."""
    encrypted: Truth = False
    """* Encrypt the disk at launch. If the AMI is encrypted, the disk is too, even with `false`.
    `aws.encrypted` has no effect here: it encrypts the stemcell."""
    kms_key_arn: KmsKey | None = None
    """* KMS key; without one, the account's default key for EBS. `aws.kms_key_arn` has no effect on it."""


class EphemeralDisk(Encryptable, Closed):
    """``ephemeral_disk``: the volume that lives as long as the VM."""

    size: Mib | None = None
    """MiB. For some types with an instance store, the default is the size of its first disk (`i3.large`: 475
    GiB), unless `raw_instance_storage` is set. Default: 10 GiB."""
    type: str = "gp3"
    """EBS volume type."""
    iops: Count | None = None
    """For `gp3`; required for `io1` and `io2`. Default: EBS's."""
    throughput: Count | None = None
    """MiB/s, for `gp3`. Default: EBS's."""
    use_root_disk: Truth = False
    """Put the agent's data on the root disk, without an ephemeral volume or raw instance storage."""
    use_instance_storage: Truth = False
    """Use the first [instance store disk](vm-disks.md#instance-storage) in place of a volume. Not together
    with `size`, `type`, `iops` or encryption."""

    @property
    def ignored(self) -> list[str]:
        """The properties that have no effect because there is no such volume, and that create_vm accepts."""
        if self.use_root_disk:
            accepted = type(self).model_fields.keys() - {"use_root_disk"}
        else:
            accepted = {"throughput", "kms_key_arn"} if self.use_instance_storage else set()
        return sorted(name for name in accepted & self.model_fields_set if getattr(self, name))
