"""Which instance types the region offers, cached across processes."""

from collections.abc import Callable, Collection
from hashlib import sha256
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bosh_aws_cpi.aws.instance_types import MAX_AGE
from bosh_aws_cpi.aws.listings import listed
from bosh_aws_cpi.aws.sdk import private_files
from bosh_aws_cpi.aws.sdk.errors import looked_up
from bosh_aws_cpi.config.aws_config import AwsConfig

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

    def read(listing: Any) -> frozenset[str] | None:  # noqa: ANN401 - any JSON value
        return frozenset(listing) if isinstance(listing, list) and {*listing} <= {*names} else None

    path = _path(aws, names)
    kept = private_files.read_json(path, MAX_AGE, read)
    if kept is None:
        kept = looked_up(f"the instance types that {aws.region} offers", lambda: _ask(ec2(), names))
        if kept is None:
            return private_files.read_json(path, inf, read)
        private_files.write_json(path, sorted(kept), "which types the region offers")
    return kept


def _ask(client: "EC2Client", names: Collection[str]) -> frozenset[str]:
    operation, key = "describe_instance_type_offerings", "InstanceTypeOfferings"
    found = listed(client, operation, key, "instance-type", names, LocationType="region")
    return frozenset(each["InstanceType"] for each in found)


def _path(aws: AwsConfig, names: Collection[str]) -> Path | None:
    """The file for these types, in this region, at this endpoint."""
    source = repr((aws.region, aws.endpoints.get("ec2"), sorted(names)))
    folder = private_files.folder()
    return folder and folder / f"offers-{sha256(source.encode()).hexdigest()[:32]}.json"
