"""The configuration's defaults for disks, key by key under the properties of a VM or of a disk."""

from collections.abc import Iterator
from typing import Final, Self, TypeVar

from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import MIB_PER_GIB, Encryption, Image, gib
from bosh_aws_cpi.plan import ebs
from bosh_aws_cpi.properties.disk import DiskProperties
from bosh_aws_cpi.properties.types import Encryptable, Problem, PropertyError, read_properties, refuse
from bosh_aws_cpi.properties.vm_disks import EphemeralDisk, RootDisk
from bosh_aws_cpi.records import Record

Disk = TypeVar("Disk", RootDisk, EphemeralDisk, DiskProperties)
_OF_ROOT: Final = "aws.default_root_disk"
_OF_EPHEMERAL: Final = "aws.default_ephemeral_disk"
_OF_PERSISTENT: Final = "aws.default_persistent_disk"
_OWN_ROOT: Final = "cloud_properties.root_disk"
_OWN_EPHEMERAL: Final = "cloud_properties.ephemeral_disk"
_DEFAULT_KEYS: Final = ("size", "type", "iops", "iops_per_gib", "throughput", "encrypted", "kms_key_arn")
"""The properties that can have a default, if the kind of disk has them."""
_OF_IOPS: Final = frozenset({"iops", "iops_per_gib"})


def with_persistent_defaults(
    own: DiskProperties, aws: AwsConfig
) -> tuple[DiskProperties, ebs.Origin, Encryption]:
    """Return a disk with its defaults, the places of its properties, and the default encryption.

    Raises:
        CloudError: A default is wrong, is unknown, or EBS would refuse a disk with it; the message names it.
    """
    default = _read(type(own), aws.default_persistent_disk, _OF_PERSISTENT, "disk")
    disk, origin = _merged(own, default, "cloud_properties", _OF_PERSISTENT)
    return disk, origin, default.encryption(aws.encryption, _OF_PERSISTENT)


class DiskDefaults(Record):
    """The defaults for the disks of VMs."""

    encryption: Encryption = Encryption()
    """``aws.encrypted`` and ``aws.kms_key_arn``, for ephemeral disks without a default of their own."""
    root_disk: RootDisk = RootDisk()
    """``aws.default_root_disk``."""
    ephemeral_disk: EphemeralDisk = EphemeralDisk()
    """``aws.default_ephemeral_disk``."""

    @classmethod
    def of(cls, aws: AwsConfig) -> Self:
        """Read and check the defaults of a configuration.

        Raises:
            CloudError: One is wrong, is unknown, or EBS would refuse a disk with them; the message names it.
        """
        return cls(
            aws.encryption,
            _read(RootDisk, aws.default_root_disk, _OF_ROOT, "root disk"),
            _read(EphemeralDisk, aws.default_ephemeral_disk, _OF_EPHEMERAL, "ephemeral disk"),
        )

    def for_image(self, image: Image) -> Self:
        """The defaults for an AMI: a default root disk that is smaller than the AMI's gets the AMI's size.

        EBS refuses a volume that is smaller than its snapshot (EC2 API reference, EbsBlockDevice), and the
        stemcells of one Director may have several sizes.
        """
        size = self.root_disk.size
        if size is None or gib(size) >= image.root_gib:
            return self
        raised = self.root_disk.model_copy(update={"size": image.root_gib * MIB_PER_GIB})
        return self.replace(root_disk=raised)

    def root(self, own: RootDisk) -> tuple[RootDisk, ebs.Origin]:
        """A VM's root disk with the defaults, but its own encryption, and where its properties stand."""
        return _merged(own, self.root_disk, _OWN_ROOT, _OF_ROOT)

    def ephemeral(self, own: EphemeralDisk) -> tuple[EphemeralDisk, ebs.Origin]:
        """A VM's ephemeral disk with the defaults, but its own encryption, and where its properties stand."""
        return _merged(own, self.ephemeral_disk, _OWN_EPHEMERAL, _OF_EPHEMERAL)

    def ephemeral_encryption(self, own: EphemeralDisk) -> Encryption:
        """The encryption of a VM's ephemeral disk."""
        return own.encryption(self.ephemeral_disk.encryption(self.encryption, _OF_EPHEMERAL), _OWN_EPHEMERAL)

    def encryptions(
        self, root_disk: RootDisk, ephemeral_disk: EphemeralDisk
    ) -> dict[str, tuple[Encryptable, Encryption]]:
        """The properties and the encryption of a VM's volumes, by the name of the property.

        ``aws.encrypted`` has no part in the encryption of the root disk.
        """
        of_root = root_disk.encryption(self.root_disk.encryption(Encryption(), _OF_ROOT), _OWN_ROOT)
        disks: dict[str, tuple[Encryptable, Encryption]] = {"root_disk": (root_disk, of_root)}
        if not (ephemeral_disk.use_root_disk or ephemeral_disk.use_instance_storage):
            disks["ephemeral_disk"] = (ephemeral_disk, self.ephemeral_encryption(ephemeral_disk))
        return disks

    def key_problems(self, root_disk: RootDisk, ephemeral_disk: EphemeralDisk) -> Iterator[Problem]:
        """The problems of a VM's own KMS keys."""
        for name, (own, encryption) in self.encryptions(root_disk, ephemeral_disk).items():
            for each in own.key_problems(encryption):
                yield Problem(f"{name}.{each.key}", f"cloud_properties.{name}.{each.text}")


def _read(model: type[Disk], given: Json, path: str, what: str) -> Disk:
    keys = [key for key in _DEFAULT_KEYS if key in model.model_fields]
    if unknown := [key for key in given if key not in keys]:
        wrong = f"{path}.{unknown[0]}"
        raise PropertyError(Problem(wrong, f"{wrong} is unknown: a default is one of {', '.join(keys)}"))
    disk = read_properties(model, {key: value for key, value in given.items() if value is not None}, path)
    if disk.model_fields_set:  # not the size, which the AMI or the VM may raise: the VM's disk is checked
        if isinstance(disk, DiskProperties):
            refuse(each.replace(key=f"{path}.{each.key}") for each in disk.problems(path))
            volume = ebs.of_disk(disk, None)
        else:
            volume = ebs.of_vm(disk, None)
        refuse(ebs.problems(volume, what, ebs.Origin(path)))
    return disk


def _merged(own: Disk, default: Disk, path: str, default_path: str) -> tuple[Disk, ebs.Origin]:
    """Return a disk with its defaults; a default's iops and throughput apply to the default's type only."""
    inherited = default.model_fields_set - own.model_fields_set - Encryptable.model_fields.keys()
    if "type" in own.model_fields_set and own.type != default.type:
        inherited -= {*_OF_IOPS, "throughput"}
    if own.model_fields_set & _OF_IOPS:
        inherited -= _OF_IOPS
    disk = own.model_copy(update={name: getattr(default, name) for name in inherited})
    return disk, ebs.Origin(path, default_path, inherited)
