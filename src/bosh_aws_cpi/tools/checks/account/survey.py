"""Looks up what a cloud config names in AWS, with one listing for each kind of thing."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any

from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import (
    firewalls,
    images,
    instance_types,
    kms_keys,
    launch_templates,
    network_interfaces,
    snapshots,
)
from bosh_aws_cpi.aws import subnets as aws_subnets
from bosh_aws_cpi.aws.images import of_stemcell
from bosh_aws_cpi.aws.sdk.clients import CommandClients
from bosh_aws_cpi.aws.sdk.errors import code_of, described
from bosh_aws_cpi.model import InstanceTypeFacts
from bosh_aws_cpi.plan.ebs import snapshot_problems
from bosh_aws_cpi.plan.instance_types import tabled_facts
from bosh_aws_cpi.plan.run_instances import template_problems
from bosh_aws_cpi.properties import vm
from bosh_aws_cpi.properties.disk import DiskProperties
from bosh_aws_cpi.tools.asking import Asker
from bosh_aws_cpi.tools.checks import interfaces, machines, quotas
from bosh_aws_cpi.tools.checks.account import groups, subnets, things
from bosh_aws_cpi.tools.checks.disks import encrypted_of_types, encrypted_of_vm, merged_with_defaults, size_of
from bosh_aws_cpi.tools.checks.documents import variables_in
from bosh_aws_cpi.tools.checks.offline import Files
from bosh_aws_cpi.tools.checks.reading import read_known
from bosh_aws_cpi.tools.checks.references import grouped
from bosh_aws_cpi.tools.findings import Finding, Place, Severity


def findings(clients: CommandClients, files: Files, stemcells: Sequence[str]) -> Iterator[Finding]:
    """Ask AWS, and compare; what could not be looked up comes last.

    Args:
        clients: The AWS clients.
        files: The files.
        stemcells: Ids of AMIs, or stemcell CIDs, that VMs are created from.

    Raises:
        CloudError: AWS does not accept the keys, or the role.
    """
    survey = _Survey(clients, files)
    yield from chain(survey.networks(), survey.launches(stemcells), survey.things(), survey.disks())
    yield from survey.asker.not_checked


class _Survey:
    """The lookups, one after the other; each is left out if the cloud config names no such thing."""

    def __init__(self, clients: CommandClients, files: Files) -> None:
        self._clients = clients
        self._files = files
        self._aws = files.aws
        self._references = files.references
        self.asker = Asker(files.aws)
        self._known = subnets.KnownSubnets(self._references, {})

    def _ask(self, what: str, call: Callable[..., Any], *arguments: object, service: str = "ec2") -> Any:  # noqa: ANN401 - the call's own answer
        """Call a service with its client and arguments; None if it refuses, or does not answer."""
        client = service.replace("-", "_")
        return self.asker.ask(what, lambda: call(getattr(self._clients, client), *arguments), service)

    def _found(
        self, what: str, call: Callable[..., Any], *arguments: object, service: str = "ec2"
    ) -> list[Any]:
        """What a call for one thing finds, which may be None; nothing if it could not be looked up."""
        return self._ask(what, lambda client: [call(client, *arguments)], service=service) or []

    def networks(self) -> Iterator[Finding]:
        """Subnets, the addresses in them, and the security groups of their VPCs."""
        ids = {str(node.value) for use in self._references.subnets for node in (use.node, *use.fallbacks)}
        found = self._ask("subnets", aws_subnets.by_id, ids) if ids else {}
        if found is not None:
            self._known = subnets.KnownSubnets(self._references, found)
            yield from subnets.findings(self._known, self._aws.region)
        if uses := subnets.manual(self._known):
            held = self._ask("addresses", network_interfaces.held, {use.subnet_id for use, _ in uses}) or []
            yield from subnets.taken(uses, held, is_for_create_env=self._files.is_for_create_env)
        if vpcs := self._known.vpcs():
            there = self._ask("security groups", firewalls.groups_of_vpcs, vpcs)
            yield from self._groups(there) if there is not None else ()

    def _groups(self, there: Sequence[firewalls.Group]) -> Iterator[Finding]:
        """Security groups; those of other VPCs than a subnet's are looked up only if some are named."""
        defaults = [each for each in self._aws.default_security_groups if not variables_in(each)]
        found = groups.Groups(there)
        if ids := groups.foreign_ids(self._known, there, defaults):
            by_id = self._ask("security groups by id", firewalls.groups_by_id, ids)
            what = "associations of security groups"
            states = self._ask(what, firewalls.group_associations, by_id) if by_id else {}
            found = groups.Groups(there, by_id, states)
        yield from groups.findings(self._known, found, defaults)

    def launches(self, stemcells: Sequence[str]) -> Iterator[Finding]:
        """Instance types and their zones, stemcells, and quotas."""
        combinations, demand = self._references.combinations, self._files.demand()
        names = {str(node.value) for merged in combinations for node in merged.types} | demand.types
        yield from self._offers(names) if names else subnets.zones(self._known, ())
        details: dict[str, instance_types.TypeDetails] = {}
        if self._aws.enable_describe_instance_types and names:
            details = self._ask("instance types", instance_types.types, names) or {}
        facts = {name: details[name].facts if name in details else tabled_facts(name) for name in names}
        yield from self._unfit({name: each for name, each in facts.items() if each is not None}, stemcells)
        if demand.types:
            limits = self._ask("quotas", instance_types.quotas, service="service-quotas")
            vcpus = {name: each.vcpus for name, each in details.items()}
            yield from quotas.findings(demand, vcpus, limits) if limits is not None else ()

    def _offers(self, names: set[str]) -> Iterator[Finding]:
        """The zones, and the instance types that they offer; EC2 is asked for zones if one offers no type."""
        combinations = self._references.combinations
        found = self._ask("offers of instance types", instance_types.offers, names)
        zones, named = {zone for _, zone in found or ()}, {merged.zone for merged in combinations} - {""}
        if found is not None:
            if not named <= zones:
                zones = self._ask("zones", aws_subnets.zones) or set()
            zones_of: dict[str, set[str]] = {}
            for name, zone in found:
                zones_of.setdefault(name, set()).add(zone)
            offers = machines.Offers(self._aws.region, zones_of, zones)
            yield from machines.missing_zones(offers, combinations) if zones else ()
            yield from machines.unoffered(offers, combinations)
        yield from subnets.zones(self._known, named - zones if zones else set())

    def _unfit(self, facts: Mapping[str, InstanceTypeFacts], stemcells: Sequence[str]) -> Iterator[Finding]:
        """What create_vm refuses of types, by EC2's data where that differs from the built-in table."""
        combinations, found = self._references.combinations, []
        for cid in map(of_stemcell, stemcells):
            for image in self._found("the stemcell", images.find, cid):
                yield from machines.stemcells(cid, image)
                found += [image] if image is not None else []
        yield from machines.misfits(facts, found, combinations)
        yield from machines.small_roots(found, combinations) if found else ()
        for merged in self._references.distinct:
            names = [str(node.value) for node in merged.types]
            new = [facts[name] for name in names if name in facts and facts[name] != tabled_facts(name)]
            yield from machines.with_types(merged, new, self._aws) if new else ()
        for each in self._references.vms:
            yield from interfaces.of_types(each, facts)

    def things(self) -> Iterator[Finding]:
        """What VMs and managed networks name; launch templates with one call for each version."""
        for kind in things.of_vms(self._known):
            yield from kind.findings(self._references.combinations, self._ask, self._aws)
        for kind in things.OF_MANAGED:
            yield from kind.findings(self._references.managed, self._ask, self._aws)
        answer = cache(lambda each: self._found(f"launch template '{each.id or each.name}'", _template, each))
        for node, _ in grouped(
            self._references.combinations, lambda merged: filter(None, [merged.get("launch_template")])
        ):
            given = None if node.has_variables else read_known(vm.LaunchTemplate, node)
            if given is not None and not [*given.problems()]:
                for text in (text for texts in answer(given) for text in texts):
                    yield Finding(Severity.ERROR, text, "", node.place, "AWS")

    def disks(self) -> Iterator[Finding]:
        """KMS keys and snapshots: one call for each, because no listing tells what is checked of them."""
        state = cache(lambda name: self._found(f"KMS key '{name}'", kms_keys.state, name, service="kms"))
        for name, place in self._keys():
            for each in state(name):
                if each is None:
                    yield things.absent("KMS key", name, place)
                elif each != kms_keys.ENABLED:
                    what = f"KMS key '{name}' is {each}: EBS can't encrypt with it"
                    yield Finding(Severity.ERROR, what, "Enable it, or use another one", place, "AWS")
        for entry in self._references.disk_types:
            disk = read_known(DiskProperties, entry.get("cloud_properties"))
            if disk is None or disk.snapshot_id is None or [*disk.problems()]:
                continue
            encryption = disk.encryption(merged_with_defaults(disk, self._aws)[2])
            for found in self._found(f"snapshot '{disk.snapshot_id}'", snapshots.find, disk.snapshot_id):
                for each in snapshot_problems(disk, size_of(entry), encryption, found):
                    place = entry.at("cloud_properties", each.key).place
                    yield Finding(Severity.ERROR, each.text, "", place, "AWS")

    def _keys(self) -> Iterator[tuple[str, Place]]:
        """The KMS keys with which EBS would encrypt, and where they are named."""
        defaults = machines.disk_defaults(self._aws)
        of_vms = (
            each
            for merged in self._references.distinct
            for each in encrypted_of_vm(merged, merged.entry, defaults)
        )
        for own, encryption, node in (*of_vms, *encrypted_of_types(self._references.disk_types, self._aws)):
            if encryption.encrypted and encryption.kms_key_arn:
                is_own = "kms_key_arn" in own.model_fields_set
                place = node.at("kms_key_arn").place if is_own else Place(encryption.key_source)
                yield encryption.kms_key_arn, place


def _template(ec2: Any, given: vm.LaunchTemplate) -> list[str]:  # noqa: ANN401 - the EC2 client
    """Why create_vm refuses a version of a launch template; EC2's words if it does not exist."""
    try:
        return [each.text for each in template_problems(launch_templates.version(ec2, given))]
    except ClientError as error:
        if not code_of(error).startswith("InvalidLaunchTemplate"):
            raise
        return [described(error)]
