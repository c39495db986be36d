"""create_network and delete_network: managed networks. Each is a subnet."""

import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from bosh_aws_cpi.aws import firewalls, routes, subnets
from bosh_aws_cpi.aws.firewalls import Acl
from bosh_aws_cpi.aws.routes import RouteTable
from bosh_aws_cpi.aws.sdk import clock
from bosh_aws_cpi.aws.sdk.errors import RANGE_TAKEN, describe_error, may_have_taken_effect
from bosh_aws_cpi.aws.sdk.idempotency import format_time
from bosh_aws_cpi.aws.subnets import Vpc
from bosh_aws_cpi.config.cpi_config import CpiConfig
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.identity import call_id
from bosh_aws_cpi.cpi.lookup import Ask, ask_now
from bosh_aws_cpi.cpi.undo import Undo, run_with_undo
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Subnet
from bosh_aws_cpi.plan import subnet_ranges, tag_plan
from bosh_aws_cpi.properties.managed_network import ManagedNetwork
from bosh_aws_cpi.properties.types import Review, read_properties, refuse
from bosh_aws_cpi.records import Record

_MAX_TAKEN: Final = 20
"""The number of ranges that other calls may take first, before create_network fails."""


def create_network(cloud: Cloud, network: Json) -> list[Any]:
    """Create a subnet for a managed network, and wait until it is available (contract: create_network).

    A retry with the same request id finds the subnet that the first attempt created, and completes it.

    Args:
        network: See `ManagedNetwork`.

    Returns:
        The subnet's id; its ``range``, ``gateway`` and ``reserved`` addresses; and the
        cloud properties of a VM's network in it.

    Raises:
        CloudError: A value is wrong, no range is free, or EC2 could not create the subnet. A subnet that this
            call created is deleted.
    """
    review = Review()
    request = parse(cloud.config, network, call_id(cloud, "create_network", network), review)
    refuse(review.problems)
    vpc = review.accept(gather(cloud, request.wish))
    return run_with_undo(cloud.undo, lambda undo: _create(cloud, request, vpc, undo))


def delete_network(cloud: Cloud, subnet_id: str) -> None:
    """Delete the subnet of a managed network (contract: delete_network).

    Raises:
        NetworkNotFound: EC2 does not know the subnet.
        CloudError: It still has interfaces.
    """
    subnets.delete(cloud.ec2, subnet_id)


class NetworkRequest(Record):
    """The network to create, with the id of the call and the subnet's tags."""

    wish: ManagedNetwork
    call: str
    tags: Mapping[str, str]

    @property
    def mark(self) -> tuple[str, str]:
        """The tag by which a retry finds the subnet."""
        return tag_plan.CALL_TAG, self.call

    def is_for(self, subnet: Subnet) -> bool:
        """Whether this request created a subnet: tags may be copied from another one, a range can't."""
        wanted = self.wish.subnet_range
        return subnets.is_marked(subnet, self.mark) and (wanted is None or subnet.range == str(wanted))

    def ranges(self, vpc: Vpc, existing: Sequence[Subnet], tried: Sequence[str]) -> dict[str, str]:
        """CreateSubnet's arguments with the ranges of addresses.

        Args:
            existing: Its subnets.
            tried: Ranges that other calls have taken; EC2 may not show their subnets yet.

        Raises:
            CloudError: The wanted range can't be used, or none is free.
        """
        taken = [each for subnet in existing for each in subnet.ranges]
        wanted = self.wish.subnet_range
        start = random.Random(self.call).getrandbits(32)  # noqa: S311 - spreads subnets; not a secret
        if wanted is not None:
            subnet_ranges.check_range(wanted, vpc.ranges, existing, self._own(existing))
        free = wanted or subnet_ranges.free_range(vpc.ranges, [*taken, *tried], self.wish.netmask_bits, start)
        chosen = {"CidrBlock": str(free)}
        if self.wish.cloud_properties.ipv6:
            free = subnet_ranges.free_ipv6_range(vpc.ipv6_ranges, [*taken, *tried], start)
            chosen["Ipv6CidrBlock"] = str(free)
        return chosen

    def _own(self, existing: Sequence[Subnet]) -> dict[str, str]:
        """When the CPI created the subnets of this Director's managed networks, by id."""
        director = self.tags.get(tag_plan.DIRECTOR_TAG)
        managed = [each for each in existing if director and tag_plan.NETWORK_TAG in each.tags]
        own = [each for each in managed if each.tags.get(tag_plan.DIRECTOR_TAG) == director]
        return {each.subnet_id: each.tags.get(subnets.CREATED_TAG, "an unknown time") for each in own}


def parse(config: CpiConfig, network: Json, call: str, review: Review) -> NetworkRequest:
    """Read create_network's argument.

    Args:
        config: The configuration.
        network: What the caller gave.
        call: The id of the call.
        review: Collects the problems.

    Raises:
        CloudError: A value has the wrong type.
    """
    wish = read_properties(ManagedNetwork, network, "network")
    review.problems += wish.problems()
    tags = review.attempt("cloud_properties.tags", lambda: _tags(config, wish, review)) or {}
    return NetworkRequest(wish, call, tags)


def _tags(config: CpiConfig, wish: ManagedNetwork, review: Review) -> dict[str, str]:
    """The subnet's tags, without those of the call and the time.

    Raises:
        CloudError: EC2 would refuse them.
    """
    given = tag_plan.check_hash(wish.cloud_properties.tags)
    own = tag_plan.of_request(given, warn=lambda text: review.ignore("cloud_properties.tags", text))
    mark = {tag_plan.NETWORK_TAG: "managed"}
    tags = {**config.aws.tags, **own, **tag_plan.of_origin(config.director_uuid), **mark}
    tag_plan.check_for_ec2({**tags, tag_plan.CALL_TAG: "", subnets.CREATED_TAG: ""})
    return tags


def gather(cloud: Cloud, wish: ManagedNetwork, ask: Ask = ask_now) -> Vpc | None:
    """Return the VPC; the route table and the network ACL must belong to it.

    Args:
        cloud: The cloud.
        wish: create_network's argument.
        ask: Makes each lookup.

    Raises:
        CloudError: One is missing, or belongs to another VPC.
    """
    vpc = ask("cloud_properties.vpc_id", lambda: _vpc(cloud, wish))
    properties, vpc_id = wish.cloud_properties, wish.vpc_id
    for key, find in (("route_table", routes.tables), ("network_acl", firewalls.acls_by_id)):
        if given := getattr(properties, key):
            ask(f"cloud_properties.{key}", partial(_check_vpc, key, given, vpc_id, partial(find, cloud.ec2)))
    return vpc


def try_ranges(cloud: Cloud, request: NetworkRequest, review: Review, ask: Ask) -> None:
    """Gather, and choose the ranges that create_network would choose; for `cpi check`."""
    if (vpc := gather(cloud, request.wish, ask)) is not None:
        existing = ask("range", lambda: subnets.find_by_vpc(cloud.ec2, vpc.vpc_id)) or []
        review.attempt("range", lambda: request.ranges(vpc, existing, ()))


def _vpc(cloud: Cloud, wish: ManagedNetwork) -> Vpc:
    vpc = subnets.find_vpc(cloud.ec2, wish.vpc_id)
    if vpc is None:
        raise CloudError(
            f"network.cloud_properties.vpc_id: there is no VPC '{wish.vpc_id}'. Correct the id: the VPC "
            f"must be in region {cloud.config.aws.region} in this account"
        )
    return vpc


def _check_vpc(
    key: str, identifier: str, vpc_id: str, find: Callable[[list[str]], Mapping[str, RouteTable | Acl]]
) -> None:
    found = find([identifier]).get(identifier)
    if found is None:
        raise CloudError(
            f"network.cloud_properties.{key}: '{identifier}' does not exist. Use one of VPC '{vpc_id}'"
        )
    if found.vpc_id != vpc_id:
        raise CloudError(
            f"network.cloud_properties.{key}: '{identifier}' is in VPC '{found.vpc_id}', "
            f"but the network is in '{vpc_id}'"
        )


def _create(cloud: Cloud, request: NetworkRequest, vpc: Vpc, undo: Undo) -> list[Any]:
    ec2, properties = cloud.ec2, request.wish.cloud_properties
    subnet = _find_or_create(cloud, request, vpc, undo)
    addresses = subnet_ranges.addresses(subnet.range)
    subnets.wait_until_available(ec2, subnet.subnet_id)
    if properties.route_table:
        subnets.use_route_table(ec2, subnet.subnet_id, properties.route_table)
    if properties.network_acl:
        subnets.use_acl(ec2, subnet.subnet_id, properties.network_acl)
    if properties.auto_assign_public_ip:
        subnets.assign_public_addresses(ec2, subnet.subnet_id)
    groups = {"security_groups": list(properties.security_groups)} if properties.security_groups else {}
    return [subnet.subnet_id, addresses, {"subnet": subnet.subnet_id, **groups}]


def _find_or_create(cloud: Cloud, request: NetworkRequest, vpc: Vpc, undo: Undo) -> Subnet:
    """Find the subnet that an earlier attempt at this request created, or create one in a free range."""
    tried: list[str] = []
    is_own = False
    while True:
        existing = subnets.find_by_vpc(cloud.ec2, vpc.vpc_id)
        earlier = next((each for each in existing if request.is_for(each)), None)
        if earlier is not None:
            if is_own:  # this call created it without an answer
                undo.arm(earlier, partial(subnets.discard, cloud.ec2, earlier.subnet_id))
            else:  # the Director may already have its id
                logger.info("Subnet '%s' was created by an earlier attempt at this request", earlier)
            return earlier
        ranges = request.ranges(vpc, existing, tried)
        try:
            return _new_subnet(cloud, request, ranges, undo)
        except cloud.ec2.exceptions.ClientError as error:
            chosen = [each for each in ranges.values() if each != request.wish.range]
            is_wanted = request.wish.range is not None and request.wish.range in str(error)
            if not (RANGE_TAKEN(error) and chosen) or is_wanted or len(tried) >= _MAX_TAKEN:
                raise
            logger.info("Trying another range: %s", describe_error(error))
            tried += chosen
            is_own = is_own or may_have_taken_effect(error)


def _new_subnet(cloud: Cloud, request: NetworkRequest, ranges: Mapping[str, str], undo: Undo) -> Subnet:
    zone = request.wish.cloud_properties.availability_zone
    key, value = request.mark
    tags = {**request.tags, key: value, subnets.CREATED_TAG: format_time(clock.now())}
    arguments = {
        "VpcId": request.wish.vpc_id,
        **ranges,
        **({"AvailabilityZone": zone} if zone else {}),
        **tag_plan.specifications(tags, "subnet"),
    }
    return undo.create(
        lambda: subnets.create(cloud.ec2, arguments, request.mark),
        lambda created: subnets.discard(cloud.ec2, created.subnet_id),
    )
