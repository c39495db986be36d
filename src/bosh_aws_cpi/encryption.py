"""The encryption of disks, for the configuration and for the properties of disks and stemcells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bosh_aws_cpi.records import Record

if TYPE_CHECKING:
    from bosh_aws_cpi.jsontext import Json


class Encryption(Record):
    """Whether an EBS volume is encrypted and with which key.

    EC2 refuses a key without ``Encrypted`` true, so `arguments` sends it only then.
    """

    encrypted: bool = False
    kms_key_arn: str | None = None
    key_source: str = ""
    """The path of the property that names the key: "aws.kms_key_arn"."""

    def arguments(self) -> Json:
        """The arguments of calls that create volumes or AMIs; none without encryption.

        With ``Encrypted`` false EC2 refuses a copy or a root disk of what is encrypted.
        """
        if not self.encrypted:
            return {}
        return {"Encrypted": True, **({"KmsKeyId": self.kms_key_arn} if self.kms_key_arn else {})}

    @property
    def key_text(self) -> str:
        """The key that encrypts and its property, for messages: "'…' (aws.kms_key_arn)"; "" without any."""
        if not self.encrypted:
            return ""
        return (
            f"'{self.kms_key_arn}' ({self.key_source})" if self.kms_key_arn else "the account's default key"
        )
