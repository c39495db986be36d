"""Traffic to a VM from outside: routes, load balancers, an elastic IP.

All of them are looked up before the VM is created, so that a missing one is reported first.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from bosh_aws_cpi import interrupts
from bosh_aws_cpi.aws import elastic_ips, load_balancers, routes, tags
from bosh_aws_cpi.aws.elastic_ips import ElasticIp
from bosh_aws_cpi.aws.load_balancers import ResolvedTargetGroup, Target, record_tags
from bosh_aws_cpi.aws.routes import RouteTable
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.lookup import Ask
from bosh_aws_cpi.cpi.undo import Undo
from bosh_aws_cpi.cpi.vms.create.parse import WantedVm
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import Instance, NicPlan, Subnet, Vip
from bosh_aws_cpi.plan import placement
from bosh_aws_cpi.properties.vm import TargetGroup as WantedGroup
from bosh_aws_cpi.records import EMPTY, Record


class Traffic(Record):
    """The existing resources that will send traffic to a VM."""

    target_groups: Sequence[ResolvedTargetGroup] = ()
    load_balancers: Sequence[str] = ()
    routes: Sequence[tuple[str, str]] = ()
    """(table id, destination)."""
    tables: Mapping[str, RouteTable] = EMPTY
    """The tables of the routes, as they were before the VM was created."""
    vip: Vip | None = None
    elastic_ip: ElasticIp | None = None
    """The vip's elastic IP, as it was before the VM was created."""

    @property
    def records(self) -> dict[str, str]:
        """The tags that record the targets, with placeholders for the targets' ids."""
        return record_tags(Target(group.arn, "", group.port) for group in self.target_groups)


def look_up(
    cloud: Cloud, wanted_vm: WantedVm, subnets: Mapping[str, Subnet], vpc_id: str, ask: Ask
) -> Traffic | None:
    """Look up the resources that will send traffic to a VM; None if none will.

    Args:
        cloud: The cloud.
        wanted_vm: The VM.
        subnets: Its subnets, by id.
        vpc_id: Their VPC.
        ask: Makes each lookup.

    Raises:
        CloudError: One of them does not exist, or can't send traffic to this VM.
    """
    properties, vip, (first, *_) = wanted_vm.properties, wanted_vm.vip, wanted_vm.nic_plans
    if not (properties.lb_target_groups or properties.elbs or properties.advertised_routes or vip):
        return None
    families = placement.families(first, subnets[first.subnet_id])
    balancers = list(dict.fromkeys(properties.elbs))
    wanted = [(route.table_id, route.destination) for route in properties.advertised_routes]
    groups: dict[str, list[WantedGroup]] = {}
    for group in properties.lb_target_groups:
        groups.setdefault(str(group), []).append(group)
    answers = [
        ask(f"lb_target_groups.{properties.lb_target_groups.index(named[0])}", look_up_groups)
        for named in groups.values()
        for look_up_groups in [partial(_target_groups, cloud, named, vpc_id, first, families)]
    ]
    for name in balancers:
        look_up_balancer = partial(load_balancers.check, cloud.clients.elb, [name], vpc_id)
        ask(f"elbs.{properties.elbs.index(name)}", look_up_balancer)
    return Traffic(
        target_groups=list(dict.fromkeys(each for some in answers for each in some or ())),
        load_balancers=balancers,
        routes=wanted,
        tables=_tables(cloud, [table_id for table_id, _ in wanted], vpc_id, ask) if wanted else {},
        vip=vip,
        elastic_ip=ask("networks", lambda: _elastic_ip(cloud, vip, wanted_vm, subnets)) if vip else None,
    )


def _target_groups(
    cloud: Cloud, wanted: Sequence[WantedGroup], vpc_id: str, first: NicPlan, families: frozenset[str]
) -> list[ResolvedTargetGroup]:
    groups = load_balancers.target_groups(cloud.clients.elbv2, wanted, vpc_id, cloud.config.aws.region)
    for group in groups:
        if group.family not in families:
            raise CloudError(group.lacking)
        if group.family == "ipv6" and not (group.is_of_addresses or first.is_ipv6_primary):
            raise CloudError(
                f"Target group '{group.arn}' has target type instance and IP address type ipv6, so it needs "
                "the VM's primary IPv6 address: set primary_ipv6, or use a target group of type ip"
            )
        if group.is_of_addresses and not cloud.config.aws.looks_at_deleted_vms:
            raise CloudError(
                f"Target group '{group.arn}' has target type ip: with aws.fast_path_delete, set "
                "aws.deregister_on_delete too, so that delete_vm deregisters the VM's address"
            )
    return groups


def _elastic_ip(cloud: Cloud, vip: Vip, vm: WantedVm, subnets: Mapping[str, Subnet]) -> ElasticIp:
    nic = [each for each in vm.nic_plans if each.card_index == vip.card_index][vip.position]
    if "ipv4" not in placement.families(nic, subnets[nic.subnet_id]):
        raise CloudError(
            f"Elastic IP {vip.ip} needs an interface with an IPv4 address, but subnet '{nic.subnet_id}' is "
            "IPv6-only: remove the vip network, or use a subnet with IPv4"
        )
    return elastic_ips.find(cloud.ec2, vip.ip)


def route_traffic(cloud: Cloud, traffic: Traffic, instance: Instance, undo: Undo) -> None:
    """Point routes, load balancers and the elastic IP to a running VM."""
    for table_id, destination in traffic.routes:
        _point_route(cloud, traffic.tables[table_id], destination, instance.nic_at(0), undo)
    targets = [_target(group, instance) for group in traffic.target_groups]
    if records := record_tags(targets):  # first the tags record what delete_vm could not find out
        tags.require(cloud.ec2, instance.vm_cid, records, timing.TAGGABLE)
    for target in targets:
        remove = partial(load_balancers.remove_target, cloud.clients.elbv2, target)
        undo.arm(f"{target} in '{target.group_arn}'", remove)
        load_balancers.add_target(cloud.clients.elbv2, target)
    for name in traffic.load_balancers:
        remove = partial(load_balancers.remove, cloud.clients.elb, name, instance.vm_cid)
        undo.arm(f"'{instance.vm_cid}' in '{name}'", remove)
        load_balancers.add(cloud.clients.elb, name, instance.vm_cid)
    if traffic.vip and traffic.elastic_ip:
        nic_id = instance.nic_at(traffic.vip.position, traffic.vip.card_index)
        _associate(cloud, traffic.elastic_ip, nic_id, undo)


def _associate(cloud: Cloud, elastic_ip: ElasticIp, nic_id: str, undo: Undo) -> None:
    """Associate the elastic IP with the VM; undo restores its former association."""
    former = elastic_ip.nic_id
    if former is not None:
        undo.arm(
            f"elastic IP {elastic_ip.ip} of '{former}'",
            lambda: elastic_ips.associate(cloud.ec2, elastic_ip.allocation_id, former, elastic_ip.private_ip),
        )
    elastic_ips.associate(cloud.ec2, elastic_ip.allocation_id, nic_id)


def _tables(cloud: Cloud, table_ids: Sequence[str], vpc_id: str, ask: Ask) -> dict[str, RouteTable]:
    tables = ask("advertised_routes", lambda: routes.tables(cloud.ec2, table_ids))
    for index, table_id in enumerate(table_ids if tables is not None else ()):
        table = (tables or {}).get(table_id)
        ask(f"advertised_routes.{index}.table_id", partial(_check_table, cloud, table_id, table, vpc_id))
    return tables or {}


def _check_table(cloud: Cloud, table_id: str, table: RouteTable | None, vpc_id: str) -> None:
    if table is None:
        raise CloudError(
            f"advertised_routes: there is no route table '{table_id}'. Correct table_id: the table "
            f"must be in VPC '{vpc_id}' of region {cloud.config.aws.region}"
        )
    if table.vpc_id != vpc_id:
        raise CloudError(
            f"advertised_routes: route table '{table_id}' is in VPC '{table.vpc_id}', "
            f"but the VM is in '{vpc_id}'. Correct table_id, or the network's subnet"
        )


def _point_route(cloud: Cloud, table: RouteTable, destination: str, nic_id: str, undo: Undo) -> None:
    """Point the route of a destination to the interface, or create the route if there is none.

    CreateRoute has no client token: if it reports an existing route, an earlier attempt whose answer was
    lost may have created it.
    """
    ec2, table_id, target = cloud.ec2, table.table_id, {"NetworkInterfaceId": nic_id}
    before = table.route(destination)

    def restore() -> None:
        now = routes.find(ec2, table_id, destination)
        if now is None or now.target != target:  # it was not pointed, or somebody else has changed it since
            return
        if before is None:
            routes.delete(ec2, table_id, destination)
        elif before.target and not before.is_blackhole:
            routes.replace(ec2, table_id, destination, dict(before.target))
        # A route that was a blackhole becomes one again when the interface is deleted.

    interrupts.check()
    undo.arm(f"route to {destination} in {table_id}", restore)
    with interrupts.shielded():
        if before is None:
            if routes.create(ec2, table_id, destination, target):
                return
            before = routes.find(ec2, table_id, destination)
        if before is not None and before.target == target:
            before = None
        elif not routes.replace(ec2, table_id, destination, target):  # it was deleted after the lookup
            before = None
            routes.create(ec2, table_id, destination, target)


def _target(group: ResolvedTargetGroup, instance: Instance) -> Target:
    """The VM as a target: its id, or the first interface's primary address."""
    if not group.is_of_addresses:
        return Target(group.arn, instance.vm_cid, group.port)
    address = instance.nics[0].primary_address(group.family)
    if address is None:
        raise CloudError(group.lacking)
    return Target(group.arn, address, group.port)
