"""Which instance types the region offers, cached across processes."""

import json
import time
from collections.abc import Callable, Collection
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from bosh_aws_cpi.aws.instance_types import MAX_AGE
from bosh_aws_cpi.aws.listings import listed
from bosh_aws_cpi.aws.sdk import private_files
from bosh_aws_cpi.aws.sdk.errors import looked_up
from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.log import logger

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client


def offered(aws: AwsConfig, ec2: "Callable[[], EC2Client]", names: Collection[str]) -> frozenset[str] | None:
    """DescribeInstanceTypeOfferings: which of these types a zone of the region offers.

    EC2 is asked once a day. If it can't be asked, an older answer counts, because a VM must not change its
    type only because one call failed.

    Args:
        aws: For the region and its endpoint.
        ec2: Creates the client, which may fail, as the call itself may.
        names: The types.

    Returns:
        The types; None if EC2 does not say, and has never said.
    """
    path = _path(aws, names)
    kept, age = _kept(path, names)
    if kept is not None and 0 <= age < MAX_AGE:
        return kept
    asked = looked_up(f"the instance types that {aws.region} offers", lambda: _ask(ec2(), names))
    if asked is None:
        return kept
    try:
        if path is not None:
            private_files.write(path, json.dumps([time.time(), sorted(asked)]).encode())
    except OSError as error:
        logger.debug("Could not cache which types the region offers: %s", error)
    return asked


def _ask(client: "EC2Client", names: Collection[str]) -> frozenset[str]:
    operation, key = "describe_instance_type_offerings", "InstanceTypeOfferings"
    found = listed(client, operation, key, "instance-type", names, LocationType="region")
    return frozenset(each["InstanceType"] for each in found)


def _path(aws: AwsConfig, names: Collection[str]) -> Path | None:
    """The file for these types, in this region, at this endpoint."""
    source = repr((aws.region, aws.endpoints.get("ec2"), sorted(names)))
    folder = private_files.folder()
    return folder and folder / f"offers-{sha256(source.encode()).hexdigest()[:32]}.json"


def _kept(path: Path | None, names: Collection[str]) -> tuple[frozenset[str] | None, float]:
    """The cached answer and its age in seconds; None without one that can be used."""
    if path is None:
        return None, 0
    try:
        asked_at, listing = json.loads(path.read_bytes())
        kept = frozenset(listing)
        return (kept if kept <= frozenset(names) else None), time.time() - asked_at
    except (OSError, ValueError, TypeError, RecursionError):
        return None, 0
