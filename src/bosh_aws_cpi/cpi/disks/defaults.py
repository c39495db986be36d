"""The configuration's defaults for a persistent disk."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bosh_aws_cpi.config.aws_config import AwsConfig
    from bosh_aws_cpi.encryption import Encryption
    from bosh_aws_cpi.plan.ebs import Origin
    from bosh_aws_cpi.properties.disk import DiskProperties


def with_defaults(own: "DiskProperties", aws: "AwsConfig") -> "tuple[DiskProperties, Origin, Encryption]":
    """A disk's properties with the configuration's defaults, where they stand, and the default encryption.

    Raises:
        CloudError: A default is wrong.
    """
    # What only some disks need is imported here, because few configurations have defaults.
    if not aws.default_persistent_disk:
        from bosh_aws_cpi.plan.ebs import Origin  # noqa: PLC0415

        return own, Origin("cloud_properties"), aws.encryption
    from bosh_aws_cpi.plan.disk_defaults import persistent  # noqa: PLC0415

    merged, encryption = persistent(own, aws)
    return merged.disk, merged.origin, encryption
