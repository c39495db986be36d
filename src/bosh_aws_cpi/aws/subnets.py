"""The subnets of managed networks: create, find, wait until available."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.error_codes import SUBNET_MISSING
from bosh_aws_cpi.aws.sdk.errors import has_code
from bosh_aws_cpi.aws.sdk.idempotency import (
    WITHOUT_TOKEN,
    by_tags,
    create_once,
    is_recent,
    parsed_time,
    tags_of,
)
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.records import EMPTY, Record

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import FilterTypeDef

CREATED_TAG: Final = "bosh_created"
"""The time in UTC when the CPI called CreateSubnet: EC2 does not report when a subnet was created."""
_FAILED: Final = frozenset({"failed", "failed-insufficient-capacity", "failing"})
"""States of a subnet, and of the association of its IPv6 range."""


class Vpc(Record):
    """A VPC with the ranges that can be used."""

    vpc_id: str
    ranges: Sequence[str]
    """IPv4."""
    ipv6_ranges: Sequence[str]


class ManagedSubnet(Record):
    """A subnet as EC2 shows it."""

    subnet_id: str
    range: str
    """IPv4; empty for an IPv6-only subnet."""
    ipv6_ranges: Sequence[str] = ()
    tags: Mapping[str, str] = EMPTY
    is_failed: bool = False
    """Whether EC2 could not create it."""

    def __str__(self) -> str:
        return self.subnet_id

    def is_marked(self, mark: tuple[str, str]) -> bool:
        """Whether it has this tag, is recent, and did not fail.

        An older one belongs to another request with the same id.
        """
        key, value = mark
        created = parsed_time(self.tags.get(CREATED_TAG, ""))
        return self.tags.get(key) == value and is_recent(created) and not self.is_failed


def find_vpc(client: "EC2Client", vpc_id: str) -> Vpc | None:
    """DescribeVpcs for one VPC; None when EC2 does not know it."""
    answer = client.describe_vpcs(Filters=[{"Name": "vpc-id", "Values": [vpc_id]}])
    for entry in answer["Vpcs"]:
        ipv4 = entry.get("CidrBlockAssociationSet", [])
        ipv6 = entry.get("Ipv6CidrBlockAssociationSet", [])
        return Vpc(vpc_id, _associated(ipv4, "CidrBlock"), _associated(ipv6, "Ipv6CidrBlock"))
    return None


def of_vpc(client: "EC2Client", vpc_id: str) -> list[ManagedSubnet]:
    """DescribeSubnets: all subnets of a VPC, including those that the CPI did not create."""
    return _listed(client, [{"Name": "vpc-id", "Values": [vpc_id]}])


def create(client: "EC2Client", arguments: Json, mark: tuple[str, str]) -> ManagedSubnet:
    """CreateSubnet; the subnet is pending.

    Args:
        client: The EC2 client.
        arguments: All of the call's arguments.
        mark: The key and value of one of the tags, by which the subnet is found if the answer is lost:
            CreateSubnet takes no client token.
    """
    return create_once(
        f"the subnet with the tag {mark[0]}={mark[1]}",
        lambda: _subnet(client.create_subnet(**arguments)["Subnet"]),
        lambda: next((each for each in _listed(client, by_tags(dict([mark]))) if each.is_marked(mark)), None),
        WITHOUT_TOKEN,
    )


def wait_until_available(client: "EC2Client", subnet_id: str) -> None:
    """Wait until a new subnet, and the association of its IPv6 range, are usable.

    Raises:
        CloudError: EC2 could not create it, it is gone, or the wait timed out.
    """
    window = timing.VisibilityWindow()

    def probe() -> None:
        try:
            answer = client.describe_subnets(SubnetIds=[subnet_id])
        except client.exceptions.ClientError as error:
            if not has_code(error, SUBNET_MISSING):
                raise
            if window.is_lost:
                message = f"Subnet '{subnet_id}' is gone"
                raise CloudError(message) from error
            raise timing.NotYet("not visible yet") from None
        window.was_seen = True
        _check_state(answer["Subnets"][0])

    timing.until(timing.SUBNET_AVAILABLE, f"subnet '{subnet_id}' to be available", probe)


def _check_state(entry: Any) -> None:  # noqa: ANN401 - the SDK's typed dict, looked at by name
    associations = entry.get("Ipv6CidrBlockAssociationSet", [])
    states = [entry["State"], *(each["Ipv6CidrBlockState"]["State"] for each in associations)]
    if failed := [state for state in states if state in _FAILED]:
        message = f"EC2 could not create subnet '{entry['SubnetId']}': it is in state {failed[0]}"
        raise CloudError(message)
    if waiting := [state for state in states if state not in {"available", "associated"}]:
        raise timing.NotYet(waiting[0])


def _listed(client: "EC2Client", filters: "list[FilterTypeDef]") -> list[ManagedSubnet]:
    pages = client.get_paginator("describe_subnets").paginate(Filters=filters)
    return [_subnet(entry) for page in pages for entry in page["Subnets"]]


def _subnet(entry: Any) -> ManagedSubnet:  # noqa: ANN401 - the same
    return ManagedSubnet(
        subnet_id=entry["SubnetId"],
        range=entry.get("CidrBlock", ""),
        ipv6_ranges=[each["Ipv6CidrBlock"] for each in entry.get("Ipv6CidrBlockAssociationSet", [])],
        tags=tags_of(entry),
        is_failed=entry["State"] in _FAILED,
    )


def _associated(blocks: Iterable[Any], key: str) -> list[str]:
    return [each[key] for each in blocks if each[f"{key}State"]["State"] == "associated"]
