"""KMS keys: the ARN of a key, which the EBS direct APIs require, and the state of a key."""

import re
from typing import TYPE_CHECKING, Final

from bosh_aws_cpi.aws.sdk.clients import Clients
from bosh_aws_cpi.aws.sdk.errors import FAILURES, KMS_KEY_MISSING, call_unless, describe_error
from bosh_aws_cpi.errors import CloudError

if TYPE_CHECKING:
    from mypy_boto3_kms import KMSClient


_KEY_ARN: Final = re.compile(r"arn:aws[a-z-]*:kms:[^:]*:[0-9]{12}:key/.+")
"""The pattern of KmsKeyArn in the API model of StartSnapshot."""
_LIKE_KEY_ID: Final = re.compile(r"(mrk-)?[0-9a-fA-F-]+")
ENABLED: Final = "Enabled"
_SYMMETRIC: Final = "SYMMETRIC_DEFAULT"


def arn(key: str, region: str, clients: Clients) -> str:
    """Return the ARN of a key whose ARN or id is configured.

    Args:
        key: The configured key: EC2 accepts an ARN, an id, an alias or an alias's ARN.
        region: The key's region.
        clients: The call's clients. A key that is given by its id must be in the account of the credentials,
            which STS returns without any permission.

    Returns:
        The key's ARN.

    Raises:
        CloudError: ``key`` is an alias, or neither an ARN nor an id, or STS did not answer.
    """
    if _KEY_ARN.fullmatch(key):
        return key
    if not _LIKE_KEY_ID.fullmatch(key):
        what = "an alias" if re.match(r"(arn:.*:)?alias/", key) else "neither a key's ARN nor its id"
        raise CloudError(
            f"kms_key_arn '{key}' is {what}: the EBS direct APIs, which create the snapshot of a heavy "
            "stemcell, need a key's ARN. Set kms_key_arn to the key's ARN or id (aws kms describe-key), "
            "or aws.stemcell_upload to volume"
        )
    try:
        caller = clients.sts.get_caller_identity()["Arn"]
    except FAILURES as error:
        raise CloudError(
            f"kms_key_arn '{key}' is a key's id, and its ARN can't be completed because STS did not name the "
            f"account: {describe_error(error)}. Set kms_key_arn to the key's ARN"
        ) from error
    _, partition, _, _, account, _ = caller.split(":", 5)
    return f"arn:{partition}:kms:{region}:{account}:key/{key}"


def state(client: "KMSClient", key: str) -> str | None:
    """DescribeKey: the state of a key, "Enabled" for a usable key; None when KMS does not know the key.

    EBS accepts only symmetric encryption keys (EBS user guide, "Requirements for Amazon EBS encryption"); for
    other keys this returns the KeySpec.

    Args:
        key: The key's ARN, id, alias or alias ARN.
    """
    metadata = call_unless(KMS_KEY_MISSING, lambda: client.describe_key(KeyId=key)["KeyMetadata"])
    if metadata is None:
        return None
    spec = metadata.get("KeySpec", _SYMMETRIC)
    return str(spec if spec != _SYMMETRIC else metadata.get("KeyState", ENABLED))
