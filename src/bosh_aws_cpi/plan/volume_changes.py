"""Plans an EBS volume's changes for update_disk and resize_disk, and refuses those that need a copy."""

from bosh_aws_cpi.encryption import Encryption
from bosh_aws_cpi.errors import NotSupported
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import Volume
from bosh_aws_cpi.plan import ebs
from bosh_aws_cpi.properties.disk import DiskProperties


def check_not_smaller(volume: Volume, size_gib: int) -> None:
    """Check that a volume does not shrink.

    Raises:
        NotSupported: It would shrink. EBS can't do that, so the Director copies the data to a new disk.
    """
    if size_gib < volume.size_gib:
        message = f"Cannot resize volume to a smaller size from {volume.size_gib} GiB to {size_gib} GiB"
        raise NotSupported(message)


def changes(volume: Volume, size_gib: int, properties: DiskProperties, default: Encryption) -> Json:
    """ModifyVolume's arguments that turn a volume into what create_disk would create; empty if none differ.

    Args:
        volume: The current volume.
        size_gib: The wanted size in GiB.
        properties: The disk's cloud properties.
        default: The configuration's encryption.

    Raises:
        NotSupported: The change is not possible in place.
        CloudError: EBS would refuse the combination of type, iops and throughput.
    """
    check_not_smaller(volume, size_gib)
    _check_encryption(volume, properties, properties.encryption(default))
    ebs.check("disk", "cloud_properties", properties.type, properties.iops, properties.throughput, size_gib)
    wanted: Json = {"Size": size_gib, "VolumeType": properties.type}
    wanted |= ebs.figures(properties.type, properties.iops, properties.throughput)
    current = {
        "Size": volume.size_gib,
        "VolumeType": volume.type,
        "Iops": volume.iops,
        "Throughput": volume.throughput,
    }
    differing = {name: value for name, value in wanted.items() if value != current[name]}
    if differing:
        check_modifiable(volume, properties.type)
    # When the type changes, EBS resets iops and throughput unless they are sent, too.
    kept = {"Iops", "Throughput"} & wanted.keys() if "VolumeType" in differing else set()
    return {**differing, **{name: wanted[name] for name in sorted(kept)}}


def check_modifiable(volume: Volume, target_type: str) -> None:
    """Check that EBS can change volumes of these types.

    Raises:
        NotSupported: A type is "standard": magnetic volumes can't be changed.
    """
    if "standard" in {volume.type, target_type}:
        message = (
            f"Volume '{volume.disk_cid}' can't be changed in place: EBS can't change volumes of type standard"
        )
        raise NotSupported(message)


def _check_encryption(volume: Volume, properties: DiskProperties, wanted: Encryption) -> None:
    """Check that the encryption does not change.

    A volume may be encrypted although no property requests it, because of the account's default: a copy would
    be encrypted too.
    """
    is_by_account = volume.encrypted and "encrypted" not in properties.model_fields_set
    if wanted.encrypted != volume.encrypted and not (is_by_account and not wanted.encrypted):
        change = "be encrypted" if wanted.encrypted else "lose its encryption"
        message = f"Volume '{volume.disk_cid}' can't {change} in place"
        raise NotSupported(message)
    if wanted.encrypted and wanted.kms_key_arn and not _is_same_key(wanted.kms_key_arn, volume.kms_key_arn):
        message = (
            f"Volume '{volume.disk_cid}' can't change its KMS key in place, and '{wanted.kms_key_arn}' is "
            "not the id or ARN of its current key"
        )
        raise NotSupported(message)


def _is_same_key(wanted: str, current: str | None) -> bool:
    """Whether a key's ARN or id is that of the volume's key; EBS shows that key's ARN."""
    return current is not None and wanted in {current, current.rpartition("key/")[2]}
