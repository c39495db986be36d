"""The cloud properties of a cloud config: read with the models and plans of create_vm and create_disk.

The Director merges the properties of zone, VM type and extensions key by key (BOSH:
deployment_plan/merged_cloud_properties.rb). Each combination is checked; an extension is checked with each VM
type, though no manifest may combine them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from pydantic import ValidationError

from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.encryption import Encryption
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import Image, InstanceTypeFacts, gib
from bosh_aws_cpi.plan import ebs, instance_types, tags
from bosh_aws_cpi.plan.block_devices import block_devices
from bosh_aws_cpi.properties.disk import DiskProperties
from bosh_aws_cpi.properties.network import NetworkCloudProperties
from bosh_aws_cpi.properties.types import Properties, Route, mistakes
from bosh_aws_cpi.properties.vm import MetadataOptions, VmProperties
from bosh_aws_cpi.tools.checks.cloud_config import CloudConfig, name_of
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.networks import type_of
from bosh_aws_cpi.tools.findings import Finding, Severity

Model = TypeVar("Model", bound=Properties)
_ANY_IMAGE: Final = Image("ami-0", "/dev/xvda", "hvm", "", ["/dev/xvda"], [])
"""Stands for the stemcell, which a cloud config does not name."""
_NAMED: Final = re.compile(r"\b(?:cloud_properties\.)?([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*)\b")
_VARIABLE: Final = "((variable))"


@dataclass(frozen=True)
class Merged:
    """The merged cloud properties of a VM.

    Attributes:
        entry: What has them: a VM type, or the compilation section.
        nodes: Where each property comes from.
        extension: The name of the extension that is merged in; empty without one.
    """

    entry: Node
    nodes: Mapping[str, Node]
    extension: str = ""

    def values(self) -> Json:
        """The properties whose values are known; a required one that is a variable has some value."""
        known = {key: node.known() for key, node in self.nodes.items() if not node.is_unknown}
        hidden = {key for key, node in self.nodes.items() if node.is_unknown}
        return {**dict.fromkeys(hidden & {"instance_type", "availability_zone"}, _VARIABLE), **known}

    def at(self, *route: str | int) -> Node:
        """Where a property is, or the entry."""
        node = self.nodes.get(str(route[0])) if route else None
        return node.at(*route[1:]) if node is not None else self.entry.at("cloud_properties")


def findings(config: CloudConfig, aws: AwsConfig) -> Iterator[Finding]:
    """Check the cloud properties of VMs, disks and networks."""
    for merged in vms(config):
        yield from _of_vm(merged, aws)
    for disk_type in config.lists["disk_types"]:
        yield from _of_disk(disk_type)
    for network in config.lists["networks"]:
        yield from _of_network(network)


def vms(config: CloudConfig) -> Iterator[Merged]:
    """All combinations: zone and VM type, alone and with each extension."""
    zones = [_properties(zone) for zone in config.lists["azs"]] or [{}]
    extensions: list[tuple[str, dict[str, Node]]] = [("", {})]
    extensions += [(name_of(each), _properties(each)) for each in config.lists["vm_extensions"]]
    own = config.compilation if config.compilation and config.compilation.get("cloud_properties") else None
    for entry in [*config.lists["vm_types"], *([own] if own else [])]:
        properties = _properties(entry)
        for zone in zones:
            for name, more in extensions:
                yield Merged(entry, {**zone, **properties, **more}, name)


def _properties(entry: Node) -> dict[str, Node]:
    """An entry's cloud properties; empty when they are a variable, or no hash."""
    node = entry.get("cloud_properties")
    nodes = node.entries() if node is not None and isinstance(node.value, dict) else []
    return {str(each.route[-1]): each for each in nodes if each.value is not None}


def _of_vm(merged: Merged, aws: AwsConfig) -> Iterator[Finding]:
    properties, wrong = _read(VmProperties, merged.values(), merged.at)
    yield from wrong
    if properties is None:
        return
    options = MetadataOptions.renamed(properties.metadata_options)
    yield from _read(MetadataOptions, options, lambda *route: merged.at("metadata_options", *route))[1]
    for said in filter(None, [_said(properties.check), _said(lambda: _check_tags(properties.tags))]):
        yield _contradiction(merged, said)
    names = properties.instance_types if properties.instance_type else []
    yield from with_types(merged, filter(None, map(instance_types.tabled_facts, names)), aws)


def with_types(merged: Merged, types: Iterable[InstanceTypeFacts], aws: AwsConfig) -> Iterator[Finding]:
    """What create_vm would refuse of a VM's properties for these instance types."""
    try:
        properties = VmProperties.model_validate(merged.values())
    except ValidationError:
        return
    for facts in types:
        for said in filter(None, _with_type(properties, facts, aws.encryption)):
            yield _contradiction(merged, said)


def _with_type(
    properties: VmProperties, facts: InstanceTypeFacts, default: Encryption
) -> Iterator[str | None]:
    """What create_vm would refuse for one instance type."""
    is_asked = bool(properties.ebs_optimized)
    yield _said(lambda: instance_types.check_ebs_optimized(facts, is_asked=is_asked))
    yield _said(lambda: block_devices(properties, _ANY_IMAGE, facts, default))


def _contradiction(merged: Merged, said: str) -> Finding:
    """What the CPI refuses; a warning if only an extension causes it, which may never be used so."""
    if not merged.extension:
        return Finding(Severity.ERROR, said, "", _named_in(merged, said).place)
    what = f"with vm_extension '{merged.extension}': {said}"
    return Finding(Severity.WARNING, what, "Don't combine them", merged.entry.place)


def _named_in(merged: Merged, said: str) -> Node:
    """Where the property is that a message names."""
    for match in _NAMED.finditer(said):
        route = match[1].split(".")
        if route[0] in merged.nodes:
            return merged.at(*route)
        for name, node in merged.nodes.items():
            if isinstance(node.value, dict) and route[0] in node.value:
                return merged.at(name, *route)
    return merged.entry


def _check_tags(given: object) -> None:
    checked = tags.formatted(tags.checked(given))
    tags.check_for_ec2({**checked, **tags.of_origin("director", "agent")})


def _of_disk(disk_type: Node) -> Iterator[Finding]:
    node = disk_type.get("cloud_properties")
    values = node.known() if node is not None else {}
    if not isinstance(values, dict):
        return
    place = disk_type.at("cloud_properties").at
    properties, wrong = _read(DiskProperties, values, place)
    yield from wrong
    if properties is None:
        return
    size = disk_type.value.get("disk_size")
    size_gib = gib(size) if isinstance(size, int) and size > 0 else None
    for said in (
        _said(
            lambda: ebs.check(
                "disk", "cloud_properties", properties.type, properties.iops, properties.throughput, size_gib
            )
        ),
        _said(lambda: tags.formatted(tags.checked(properties.tags))),
    ):
        if said is not None:
            match = re.search(r"cloud_properties\.(\w+)", said)
            yield Finding(Severity.ERROR, said, "", place(*([match[1]] if match else ["tags"])).place)


def _of_network(network: Node) -> Iterator[Finding]:
    subnets = network.get("subnets")
    entries = subnets.entries() if subnets is not None else [network] if type_of(network) == "dynamic" else []
    if type_of(network) not in {"manual", "dynamic"} or network.get("managed"):
        return
    for entry in entries:
        node = entry.get("cloud_properties")
        if not isinstance(entry.value, dict) or (node is not None and not isinstance(node.value, dict)):
            continue
        values = node.known() if node is not None else {}
        properties, wrong = _read(NetworkCloudProperties, values, entry.at("cloud_properties").at)
        yield from wrong
        is_unknown = node is not None and node.get("subnet") is not None
        if properties is not None and not properties.subnet and not is_unknown:
            what = "has no cloud_properties.subnet: no VM can be created in it"
            yield Finding(Severity.ERROR, what, "Add the id of the subnet, subnet-…", entry.place)


def _read(model: type[Model], values: Json, at: Callable[..., Node]) -> tuple[Model | None, list[Finding]]:
    """Read properties as the verbs do; returns them unless one is wrong, and the findings."""
    try:
        properties = model.model_validate(values)
    except ValidationError as error:
        return None, [Finding(Severity.ERROR, said, "", at(*route).place) for route, said in mistakes(error)]
    return properties, [*_unknown(properties, at), *_doubtful(values, properties, at, ())]


def _unknown(properties: Properties, at: Callable[..., Node]) -> Iterator[Finding]:
    for route, near in properties.unknown():
        remedy = f"Did you mean {near}?" if near else "Remove it"
        yield Finding(Severity.WARNING, f"'{route[-1]}' is unknown and ignored", remedy, at(*route).place)


def _doubtful(
    values: Json, properties: Properties, at: Callable[..., Node], route: Route
) -> Iterator[Finding]:
    """Texts in place of booleans: any text counts as true."""
    for key, value in values.items():
        read = getattr(properties, key, None)
        if isinstance(read, bool) and isinstance(value, str):
            what = f"'{value}' is a text, which counts as true"
            yield Finding(Severity.WARNING, what, "Remove the quotation marks", at(*route, key).place)
        elif isinstance(read, Properties) and isinstance(value, dict):
            yield from _doubtful(value, read, at, (*route, key))


def _said(check: Callable[[], object]) -> str | None:
    """The message of a check that fails; None when it passes."""
    try:
        check()
    except CloudError as error:
        return error.message
    return None
