"""Plans an EBS volume's changes for update_disk and resize_disk: in place, by a copy, or not at all."""

from bosh_aws_cpi.errors import NotSupported
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import Encryption, Volume
from bosh_aws_cpi.plan import ebs
from bosh_aws_cpi.properties.disk import DiskProperties
from bosh_aws_cpi.properties.types import refuse
from bosh_aws_cpi.records import Record


class Change(Record):
    """How a volume becomes what create_disk would create."""

    volume: Volume
    """The current volume."""
    in_place: Json
    """ModifyVolume's arguments; empty if no figure differs."""
    by_copy: Json
    """CopyVolumes' arguments for the same volume: all figures, and the encryption."""
    obstacle: str | None
    """Why the change is not possible in place, as a sentence; None if it is."""
    key_text: str
    """The KMS key that encrypts the copy, as `Encryption.key_text` shows it."""
    stays_encrypted: bool
    """Whether the volume is encrypted although nothing requests it."""


def check_not_smaller(volume: Volume, size_gib: int) -> None:
    """Check that a volume does not shrink.

    Raises:
        NotSupported: It would shrink. EBS can't do that, so the Director copies the data to a new disk.
    """
    if size_gib < volume.size_gib:
        message = f"Cannot resize volume to a smaller size from {volume.size_gib} GiB to {size_gib} GiB"
        raise NotSupported(message)


def change(
    volume: Volume, size_gib: int, properties: DiskProperties, default: Encryption, origin: ebs.Origin
) -> Change:
    """Plan how a volume becomes what create_disk would create.

    Args:
        volume: The current volume.
        size_gib: The wanted size in GiB.
        properties: The disk's cloud properties, with the configuration's defaults.
        default: The configuration's encryption.
        origin: Where the properties stand.

    Raises:
        NotSupported: EBS can do it neither in place nor by a copy.
        CloudError: EBS would refuse the combination of type, iops and throughput.
    """
    check_not_smaller(volume, size_gib)
    encryption = properties.encryption(default)
    _check_decryption(volume, properties, encryption)
    wanted = ebs.of_disk(properties, size_gib)
    refuse(ebs.problems(wanted, "disk", origin))
    figures = {"Size": size_gib, "VolumeType": properties.type, **wanted.figures()}
    differing = _differing(volume, figures)
    obstacle = _obstacle_of_encryption(volume, encryption)
    of_copy = _encryption_of_copy(volume, encryption)
    if obstacle is None and differing:
        obstacle = _obstacle_of_type(volume, properties.type)
    return Change(
        volume,
        differing,
        {**figures, **of_copy.arguments()},
        obstacle,
        of_copy.key_text,
        stays_encrypted=volume.encrypted and not encryption.encrypted,
    )


def check_modifiable(volume: Volume, target_type: str) -> None:
    """Check that EBS can change volumes of these types in place.

    Raises:
        NotSupported: A type is "standard": magnetic volumes can't be changed.
    """
    if obstacle := _obstacle_of_type(volume, target_type):
        raise NotSupported(obstacle)


def _differing(volume: Volume, figures: Json) -> Json:
    """ModifyVolume's arguments for the figures that differ."""
    current = {
        "Size": volume.size_gib,
        "VolumeType": volume.type,
        "Iops": volume.iops,
        "Throughput": volume.throughput,
    }
    differing = {name: value for name, value in figures.items() if value != current[name]}
    # When the type changes, EBS resets iops and throughput unless they are sent, too.
    kept = {"Iops", "Throughput"} & figures.keys() if "VolumeType" in differing else set()
    return {**differing, **{name: figures[name] for name in sorted(kept)}}


def _obstacle_of_type(volume: Volume, target_type: str) -> str | None:
    if "standard" not in {volume.type, target_type}:
        return None
    return f"Volume '{volume.disk_cid}' can't be changed in place: EBS can't change volumes of type standard"


def _obstacle_of_encryption(volume: Volume, wanted: Encryption) -> str | None:
    if not wanted.encrypted:
        return None
    if not volume.encrypted:
        return f"Volume '{volume.disk_cid}' can't be encrypted in place"
    current = volume.kms_key_arn or ""  # EBS shows the key's ARN
    if wanted.kms_key_arn and wanted.kms_key_arn not in {current, current.rpartition("key/")[2]}:
        return (
            f"Volume '{volume.disk_cid}' can't change its KMS key in place, and '{wanted.kms_key_arn}' is "
            "not the id or ARN of its current key"
        )
    return None


def _check_decryption(volume: Volume, properties: DiskProperties, wanted: Encryption) -> None:
    """Check that the property ``encrypted`` does not ask to decrypt the volume.

    A copy of an encrypted volume is always encrypted (API model, CopyVolumesRequest). A volume may be
    encrypted although no property requests it: because of the account's default, or because the property was
    removed.
    """
    if volume.encrypted and not wanted.encrypted and "encrypted" in properties.model_fields_set:
        raise NotSupported(
            f"Volume '{volume.disk_cid}' can't lose its encryption, in place or by a copy: "
            "EBS encrypts every copy of an encrypted volume"
        )


def _encryption_of_copy(volume: Volume, wanted: Encryption) -> Encryption:
    """Return the encryption of a copy: a volume keeps its key unless another key is wanted."""
    if wanted.encrypted and (wanted.kms_key_arn or not volume.kms_key_arn):
        return wanted
    return Encryption(volume.encrypted, volume.kms_key_arn, "the disk's own key")
