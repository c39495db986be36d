"""Looks up what a cloud config names in AWS, with one listing for each kind of thing."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import (
    firewalls,
    images,
    instance_types,
    kms_keys,
    launch_templates,
    lookups,
    network_interfaces,
    routes,
    snapshots,
)
from bosh_aws_cpi.aws import subnets as aws_subnets
from bosh_aws_cpi.aws.images import of_stemcell
from bosh_aws_cpi.aws.sdk.errors import code_of, described
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import Image, InstanceTypeFacts
from bosh_aws_cpi.plan.ebs import snapshot_problems
from bosh_aws_cpi.plan.instance_types import tabled_facts
from bosh_aws_cpi.plan.launch_template import TemplateVersion
from bosh_aws_cpi.properties import vm
from bosh_aws_cpi.properties.disk import DiskProperties
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.asking import Asker
from bosh_aws_cpi.tools.checks import interfaces, machines, quotas
from bosh_aws_cpi.tools.checks.account import (
    addresses,
    encryption_keys,
    groups,
    managed_networks,
    named_things,
    reserved_capacity,
    subnets,
    templates,
    traffic,
    types,
)
from bosh_aws_cpi.tools.checks.disks import merged_with_defaults, size_of
from bosh_aws_cpi.tools.checks.documents import variables_in
from bosh_aws_cpi.tools.checks.naming import Launch
from bosh_aws_cpi.tools.checks.reading import read_known
from bosh_aws_cpi.tools.checks.references import Named, References, named, values
from bosh_aws_cpi.tools.findings import Finding, Severity, as_warning

if TYPE_CHECKING:
    from bosh_aws_cpi.aws.sdk.command_clients import CommandClients
    from bosh_aws_cpi.config.aws_config import AwsConfig


class Extras(Record):
    """What an operator wants to have checked beyond the cloud config.

    Attributes:
        stemcells: Ids of AMIs, or stemcell CIDs.
        demand: What a deployment needs.
        is_for_create_env: Whether the cloud config comes from a manifest for create-env.
    """

    stemcells: Sequence[str] = ()
    demand: quotas.Demand = quotas.Demand()
    is_for_create_env: bool = False


def findings(
    clients: "CommandClients", aws: "AwsConfig", references: References, extras: Extras
) -> Iterator[Finding]:
    """Ask AWS, and compare; what could not be looked up comes last.

    Args:
        clients: The AWS clients.
        aws: The configuration, for its defaults.
        references: What the cloud config names.
        extras: What else to check.

    Raises:
        CloudError: AWS does not accept the keys, or the role.
    """
    survey = _Survey(clients, aws, references)
    others = (
        survey.zones,
        survey.named_things,
        survey.reserved_capacity,
        survey.launch_templates,
        survey.encryption_keys,
        survey.snapshots,
    )
    yield from chain(survey.networks(extras), survey.launches(extras), *(each() for each in others))
    yield from survey.asker.not_checked


class _Survey:
    """The lookups, one after the other; each is left out if the cloud config names no such thing."""

    def __init__(self, clients: "CommandClients", aws: "AwsConfig", references: References) -> None:
        self._clients = clients
        self._aws = aws
        self._references = references
        self.asker = Asker(aws)
        self._known: subnets.KnownSubnets | None = None
        self._missing_zones: set[str] = set()

    def _named(self, key: str) -> list[Named]:
        return named(self._references.launches, lambda launch: launch.named(key))

    def _chosen(self, key: str, choice: str, beside: str = "") -> list[Named]:
        return named(self._references.launches, lambda launch: launch.chosen(key, choice, beside))

    def _ec2(self, what: str, call: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - the call's own answer
        return self.asker.ask(what, lambda: call(self._clients.ec2))

    def networks(self, extras: Extras) -> Iterator[Finding]:
        """Subnets, and what must be in their VPCs."""
        ids = {str(node.value) for use in self._references.subnets for node in (use.node, *use.fallbacks)}
        found = self._ec2("subnets", lambda ec2: aws_subnets.by_id(ec2, ids)) if ids else {}
        known = subnets.KnownSubnets(self._references, found or {})
        if found is not None:
            yield from subnets.findings(known, self._aws.region)
            self._known = known
        uses = addresses.manual(known)
        taken = {use.subnet_id for use in uses}
        held = self._ec2("addresses", lambda ec2: network_interfaces.held(ec2, taken)) if taken else None
        yield from addresses.findings(uses, held or [], is_for_create_env=extras.is_for_create_env)
        yield from self._groups(known)
        yield from self._traffic(known)
        yield from self._managed()

    def _groups(self, known: subnets.KnownSubnets) -> Iterator[Finding]:
        """Security groups; those of other VPCs are looked up only if a subnet's VPC lacks one."""
        vpcs = known.vpcs()
        defaults = [each for each in self._aws.default_security_groups if not variables_in(each)]
        of_vpcs = partial(firewalls.groups_of_vpcs, vpc_ids=vpcs)
        there = self._ec2("security groups", of_vpcs) if vpcs else None
        if there is None:
            return
        found = list(groups.findings(known, groups.Groups(there), defaults))
        ids = groups.named_ids(known, defaults) if found else set()
        by_id = self._ec2("security groups by id", partial(firewalls.groups_by_id, ids=ids)) if ids else None
        states: dict[tuple[str, str], str] | None = {}
        if by_id:
            lookup = partial(firewalls.group_associations, ids=by_id)
            states = self._ec2("associations of security groups", lookup)
        names = groups.missing_names(known, there, defaults) if found else set()
        by_name = partial(firewalls.groups_by_name, names=names)
        others = self._ec2("security groups by name", by_name) if names else ()
        if ids or others:
            answers = groups.Groups(there, by_id if ids else {}, states, others or ())
            found = list(groups.findings(known, answers, defaults))
        yield from found

    def _managed(self) -> Iterator[Finding]:
        """What managed networks name."""
        managed = self._references.managed
        for what, key in managed_networks.KEYS.items():
            ids = managed_networks.ids(managed, key)
            there = self._ec2(f"{what}s of managed networks", partial(_vpcs_of, what, ids)) if ids else None
            yield from managed_networks.findings(managed, what, there) if there is not None else ()

    def _traffic(self, known: subnets.KnownSubnets) -> Iterator[Finding]:
        """Load balancers, target groups and route tables."""
        clients, ask = self._clients, self.asker.ask
        if elbs := self._named("elbs"):
            vpcs = ask("load balancers", lambda: lookups.load_balancers(clients.elb), "elb")
            yield from traffic.balancers(known, elbs, vpcs) if vpcs is not None else ()
        if targets := named(self._references.launches, Launch.target_groups):
            kinds = ask("target groups", lambda: lookups.target_groups(clients.elbv2), "elbv2")
            yield from traffic.target_groups(known, targets, kinds) if kinds is not None else ()
        if ids := named(self._references.launches, Launch.tables):
            tables = self._ec2("route tables", lambda ec2: routes.tables(ec2, sorted(values(ids))))
            yield from traffic.tables(known, ids, tables) if tables is not None else ()

    def launches(self, extras: Extras) -> Iterator[Finding]:
        """Instance types, stemcells and quotas."""
        names = values(named(self._references.launches, lambda launch: launch.types)) | extras.demand.types
        if not names:
            return
        yield from self._offers(names)
        details: dict[str, instance_types.TypeDetails] = {}
        if self._aws.enable_describe_instance_types:
            details = self._ec2("instance types", lambda ec2: instance_types.types(ec2, names)) or {}
        facts = {name: details[name].facts if name in details else tabled_facts(name) for name in names}
        known = {name: each for name, each in facts.items() if each is not None}
        yield from self._unfit(known, extras)
        if extras.demand.types or extras.demand.uncounted:
            yield from self._quotas(extras.demand, {name: each.vcpus for name, each in details.items()})

    def _offers(self, names: Collection[str]) -> Iterator[Finding]:
        """The zones, and the instance types that they offer."""
        launches = self._references.launches
        offered = self._ec2("offers of instance types", lambda ec2: instance_types.offers(ec2, names))
        if offered is not None:
            offers = types.Offers(self._aws.region, offered, self._zones({zone for _, zone in offered}))
            self._missing_zones = values(offers.missing_zones(launches))
            yield from types.missing_zones(offers, launches)
            yield from types.unoffered(offers, launches)

    def zones(self) -> Iterator[Finding]:
        """The zones of the subnets, once `launches` has told which zones exist."""
        yield from subnets.zones(self._known, self._missing_zones) if self._known is not None else ()

    @cached_property
    def _reservations(self) -> dict[str, instance_types.Reservation] | None:
        """All capacity reservations, by id; None if they could not be looked up."""
        found: dict[str, instance_types.Reservation] | None = self._ec2(
            "capacity reservations", instance_types.reservations
        )
        return found

    def _quotas(self, demand: quotas.Demand, vcpus: Mapping[str, int]) -> Iterator[Finding]:
        """Quotas; reservations of other accounts are looked up only if something is to be said."""
        service_quotas = self._clients.service_quotas
        limits = self.asker.ask("quotas", lambda: instance_types.quotas(service_quotas), "service-quotas")
        if limits is None:
            return
        found = list(quotas.findings(demand, vcpus, limits.values))
        if any(each.severity is not Severity.NOT_CHECKED for each in found):
            if self._reservations is None:
                found = [as_warning(each) for each in found]
            else:
                rest = demand.without(limits.shared(self._reservations))
                found = list(quotas.findings(rest, vcpus, limits.values))
        yield from found

    def _zones(self, offering: set[str]) -> set[str]:
        """The zones that the account can use; EC2 is asked only if a zone offers none of the types."""
        if {launch.zone for launch in self._references.launches} <= {*offering, ""}:
            return offering
        return self._ec2("zones", aws_subnets.zones) or set()

    def _unfit(self, facts: Mapping[str, InstanceTypeFacts], extras: Extras) -> Iterator[Finding]:
        """What create_vm refuses of types, by EC2's data where that differs from the built-in table."""
        found: list[Image] = []
        for cid in extras.stemcells:
            answer = self._ec2("the stemcell", partial(_image, of_stemcell(cid)))
            if answer is not None:
                yield from types.stemcells(of_stemcell(cid), answer[0])
                found += filter(None, answer)
        yield from types.misfits(facts, found, self._references.launches)
        yield from types.small_roots(found, self._references.launches)
        for launch in self._references.launches:
            names = [str(node.value) for node in launch.types]
            new = [facts[name] for name in names if name in facts and facts[name] != tabled_facts(name)]
            yield from machines.with_types(launch.merged, new, self._aws) if new else ()
        for each in self._references.vms:
            yield from interfaces.of_types(each, facts)

    def named_things(self) -> Iterator[Finding]:
        """Key pairs, instance profiles and placement groups."""
        pairs, default = self._named("key_name"), self._aws.default_key_name
        if pairs or default:
            there = self._ec2("key pairs", lookups.key_pairs)
            yield from self._missing("key_name", pairs, default, "key pair", there)
        profiles, default = self._named("iam_instance_profile"), self._aws.default_iam_instance_profile
        if profiles or default:
            iam = self._clients.iam
            there = self.asker.ask("instance profiles", lambda: lookups.instance_profiles(iam), "iam")
            yield from self._missing("iam_instance_profile", profiles, default, "instance profile", there)
        if found := self._named("placement_group"):
            there = self._ec2("placement groups", lookups.placement_groups)
            yield from named_things.placement_groups(found, there) if there is not None else ()

    def _missing(
        self, key: str, found: Sequence[Named], default: str | None, what: str, there: Collection[str] | None
    ) -> Iterator[Finding]:
        """The names of a property, and its default, that do not exist; none if AWS did not tell which do."""
        if there is None:
            return
        yield from named_things.missing(found, what, there)
        if default:
            users = (each for each in self._references.plain if not each.has(key))
            yield from named_things.missing_default(f"aws.default_{key}", default, what, there, users)

    def reserved_capacity(self) -> Iterator[Finding]:
        """Capacity reservations and Dedicated Hosts."""
        if found := self._chosen("capacity_reservation", "id", "market"):
            there = self._reservations
            yield from reserved_capacity.reservations(found, there) if there is not None else ()
        if found := self._chosen("dedicated_host", "id"):
            there = self._ec2("Dedicated Hosts", instance_types.hosts)
            yield from reserved_capacity.hosts(found, there) if there is not None else ()
        for key in ("capacity_reservation", "dedicated_host"):
            for each in self._chosen(key, "resource_group_arn", "market"):
                what = f"resource group '{each.node.value}': its members are not looked up"
                yield Finding(Severity.NOT_CHECKED, what, "", each.node.place, "AWS")

    def launch_templates(self) -> Iterator[Finding]:
        """Launch templates: one call for each version, because no listing has chosen versions of several."""

        @cache
        def answer(given: vm.LaunchTemplate) -> Any:  # noqa: ANN401 - the call's own answer
            return self._ec2(f"launch template '{given.id or given.name}'", partial(_template, given))

        for each in named(
            self._references.launches, lambda launch: filter(None, [launch.get("launch_template")])
        ):
            given = templates.wanted(each.node)
            yield from templates.findings(each.node, answer(given)) if given is not None else ()

    def encryption_keys(self) -> Iterator[Finding]:
        """KMS keys: one call for each, because no listing tells their states."""
        used = encryption_keys.used(self._references, machines.disk_defaults(self._aws), self._aws)
        states = {}
        for name in dict.fromkeys(key.name for key in used):
            answer = self.asker.ask(f"KMS key '{name}'", partial(_state, self._clients, name), "kms")
            states.update({name: answer[0]} if answer is not None else {})
        yield from encryption_keys.findings(used, states)

    def snapshots(self) -> Iterator[Finding]:
        """The snapshots of disk types: one call for each, as create_disk does."""
        for entry in self._references.disk_types:
            disk = read_known(DiskProperties, entry.get("cloud_properties"))
            if disk is None or disk.snapshot_id is None or [*disk.problems()]:
                continue
            answer = self._ec2(f"snapshot '{disk.snapshot_id}'", partial(_snapshot, disk.snapshot_id))
            encryption = disk.encryption(merged_with_defaults(disk, self._aws)[2])
            problems = snapshot_problems(disk, size_of(entry), encryption, answer[0]) if answer else ()
            for each in problems:
                place = entry.at("cloud_properties", each.key).place
                yield Finding(Severity.ERROR, each.text, "", place, "AWS")


def _vpcs_of(what: str, ids: Collection[str], ec2: Any) -> dict[str, str]:  # noqa: ANN401 - the EC2 client
    """The VPCs of those that exist, by id."""
    if what == "VPC":
        return {vpc_id: vpc_id for vpc_id in lookups.vpcs(ec2, ids)}
    if what == "route table":
        return {table_id: table.vpc_id for table_id, table in routes.tables(ec2, sorted(ids)).items()}
    return {acl_id: acl.vpc_id for acl_id, acl in firewalls.acls_by_id(ec2, ids).items()}


def _image(wanted: str, ec2: Any) -> tuple[Image | None]:  # noqa: ANN401 - the EC2 client
    """An AMI, or None, in a tuple: an asker's None stands for no answer."""
    return (images.find(ec2, wanted),)


def _snapshot(wanted: str, ec2: Any) -> tuple[Json | None]:  # noqa: ANN401 - the EC2 client
    """A snapshot, or None, in a tuple for the same reason."""
    return (snapshots.find(ec2, wanted),)


def _template(given: vm.LaunchTemplate, ec2: Any) -> TemplateVersion | str:  # noqa: ANN401 - the EC2 client
    """A version of a launch template, or EC2's words about one that does not exist."""
    try:
        return TemplateVersion(*launch_templates.version(ec2, given))
    except ClientError as error:
        if not code_of(error).startswith("InvalidLaunchTemplate"):
            raise
        return described(error)


def _state(clients: "CommandClients", name: str) -> tuple[str | None]:
    """A key's state, or None for an unknown key, in a tuple for the same reason."""
    return (kms_keys.state(clients.kms, name),)
