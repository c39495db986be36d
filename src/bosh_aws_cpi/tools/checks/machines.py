"""The cloud properties of VMs: read with the models and plans of create_vm, for each combination.

Each mistake is found once: in the property where it stands, whichever zones are combined with it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from pydantic import ValidationError

from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import MIB_PER_GIB, Image, InstanceTypeFacts, gib
from bosh_aws_cpi.plan import instance_types, tags, type_options
from bosh_aws_cpi.plan.disk_defaults import DiskDefaults
from bosh_aws_cpi.properties.types import Problem
from bosh_aws_cpi.properties.vm import NEEDS, REQUIRED, VmProperties
from bosh_aws_cpi.properties.vm_disks import EphemeralDisk
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.checks.bosh.cloud_config import CloudConfig
from bosh_aws_cpi.tools.checks.bosh.models import Compilation
from bosh_aws_cpi.tools.checks.bosh.rules import name_of, renamed
from bosh_aws_cpi.tools.checks.combinations import Identity, Merged, identity
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.property_values import is_no_zone, near_type
from bosh_aws_cpi.tools.checks.reading import is_open, properties_of, read_known, said
from bosh_aws_cpi.tools.checks.references import grouped, judged
from bosh_aws_cpi.tools.findings import Finding, Severity, as_warning

_ANY_IMAGE: Final = Image("ami-0", "/dev/xvda", "hvm", "", ["/dev/xvda"], [], is_encrypted=True)
"""Stands for the stemcell, which a cloud config does not name; whether it is encrypted is not known."""
_UNKNOWN: Final = "a variable"
"""Stands for a value that is not known."""
_ENOUGH: Final = 16 * 1024 * 1024
"""A size in MiB that allows any iops; the default size depends on the type."""
_WITHOUT_SIZE: Final = {"use_instance_storage", "use_root_disk"}


def findings(
    config: CloudConfig, combinations: Iterable[Merged], aws: AwsConfig, common_tags: Json
) -> Iterator[Finding]:
    """Check the cloud properties of all VMs.

    Args:
        config: The cloud config.
        combinations: The VMs.
        aws: The CPI's configuration, for its defaults.
        common_tags: The manifest's tags, which the Director gives all of its VMs.
    """
    aws = aws.replaced(tags={**aws.tags, **common_tags})
    defaults, extended = disk_defaults(aws), _of_extensions(config)
    seen: set[Identity] = set()
    told: set[tuple[Identity, str]] = set()
    for merged in combinations:
        if merged.is_open:
            continue
        if not merged.is_extension:
            yield from _missing(merged, extended if merged.use is None else set())
        if merged.identity in seen or any(map(_is_wrong, merged.nodes.items())):
            continue
        seen.add(merged.identity)
        for problem in _problems(_values(merged), defaults, aws):
            node = _blamed(problem, merged)
            if (identity(node), problem.text) not in told:
                told.add((identity(node), problem.text))
                yield Finding(Severity.ERROR, f"{_asked_by(merged)}{problem.text}", "", node.place)


def _of_extensions(config: CloudConfig) -> set[str]:
    """The properties that some extension may set."""
    extensions = config.lists["vm_extensions"]
    return {key for each in extensions for key in (REQUIRED if is_open(each) else properties_of(each))}


def _is_wrong(item: tuple[str, Node]) -> bool:
    """Whether a property has a wrong type, which another check reports."""
    key, node = item
    return not node.has_variables and read_known(VmProperties, {key: node.value}) is None


def _missing(merged: Merged, others: set[str]) -> Iterator[Finding]:
    """The required properties that nothing sets, nor may set."""
    for key, entry in zip(REQUIRED, (merged.entry, merged.az or merged.entry), strict=True):
        if not (key in merged.nodes or key in merged.sized or key in others):
            section = entry.at("cloud_properties")
            remedy = f"Move {key} into cloud_properties" if entry.child(key) else ""
            if section is entry:
                remedy = remedy or renamed(entry, "cloud_properties", Compilation.model_fields)
            what = f"has no cloud_properties.{key}"
            yield Finding(Severity.ERROR, what, remedy or f"Add {key}", section.place)


def _asked_by(merged: Merged) -> str:
    if merged.use is None:
        return ""
    names = ", ".join(f"'{name_of(each)}'" for each in merged.extensions)
    return f"for {merged.use.shown}{names and f' with vm_extensions {names}'}: "


def _values(merged: Merged) -> Json:
    """The properties without variables; other required ones get a placeholder."""
    known = {key: node.known() for key, node in merged.nodes.items() if not node.has_variables}
    values = {**merged.sized, **known}
    disk = known.get("ephemeral_disk")
    if "instance_type" not in values and isinstance(disk, dict) and not _WITHOUT_SIZE & disk.keys():
        values["ephemeral_disk"] = {**disk, "size": disk.get("size") or _ENOUGH}
    needed = [other for one, other in NEEDS if merged.is_extension and one in values]
    return {**dict.fromkeys((*REQUIRED, *needed), _UNKNOWN), **values}


def _problems(values: Json, defaults: DiskDefaults, aws: AwsConfig) -> list[Problem]:
    """Why create_vm would refuse properties, though each of them alone is right."""
    properties = VmProperties.model_validate(values)
    found = [*properties.problems(), *properties.ignored()]
    if properties.instance_type == _UNKNOWN and properties.ephemeral_disk.size is None:
        defaults = defaults.replaced(ephemeral_disk=EphemeralDisk())  # their size may depend on the type
    for name in properties.instance_types:
        tabled = instance_types.tabled_facts(name)
        facts = tabled or instance_types.static_facts(name).replaced(store_disks=1)
        found += type_options.planned(properties, _ANY_IMAGE, facts, defaults)[1]
    if of_tags := said(lambda: _check_tags(properties, aws)):
        found.append(Problem("tags", of_tags))
    return found


def _blamed(problem: Problem, merged: Merged) -> Node:
    """The property to blame; the instance type, if a default of cpi.json is to blame."""
    key, *rest = problem.key.split(".")
    return merged.nodes.get(key, merged.nodes.get("instance_type", merged.entry)).at(*rest)


def with_types(merged: Merged, types: Iterable[InstanceTypeFacts], aws: AwsConfig) -> Iterator[Finding]:
    """What create_vm would refuse of a VM, with facts of its instance types that only EC2 knows.

    Args:
        merged: The VM.
        types: The facts.
        aws: The CPI's configuration, for its defaults.
    """
    try:
        properties = VmProperties.model_validate(_values(merged))
    except ValidationError:
        return
    defaults = disk_defaults(aws)
    for facts in types if not merged.is_open else ():
        tabled = instance_types.tabled_facts(facts.name)
        known, now = (
            type_options.planned(properties, _ANY_IMAGE, each, defaults)[1] if each is not None else []
            for each in (tabled, facts)
        )
        for problem in dict.fromkeys(each for each in now if each not in known):
            yield Finding(Severity.ERROR, problem.text, "", _blamed(problem, merged).place)


def misfits(
    facts: Mapping[str, InstanceTypeFacts], images: Sequence[Image], combinations: Iterable[Merged]
) -> Iterator[Finding]:
    """Types that can't run the same AMI as the others of a VM type, or none of the stemcells."""
    for node, users in grouped(combinations, lambda merged: merged.types):
        own = facts.get(str(node.value))
        if own is None:
            continue
        refusals = [said(partial(instance_types.check_image, image, own)) for image in images]
        if images and all(refusals):
            yield Finding(Severity.ERROR, str(refusals[0]), "", node.place)
        else:
            yield from judged(node, users, partial(_different, own, facts), "No stemcell fits both")


def _different(own: InstanceTypeFacts, facts: Mapping[str, InstanceTypeFacts], merged: Merged) -> str:
    """How a fallback type differs in architecture from the first one; empty for the first one."""
    first = facts.get(str(merged.types[0].value))
    if first is None or not first.architectures or not own.architectures:
        return ""
    if first.architectures & own.architectures:
        return ""
    mine, its = (" and ".join(sorted(each.architectures)) for each in (own, first))
    return f"type '{own.name}' runs {mine}, but '{first.name}' runs {its}"


def disk_defaults(aws: AwsConfig) -> DiskDefaults:
    """The configuration's defaults; without those that are wrong, which is reported once, with cpi.json."""
    try:
        return DiskDefaults.of(aws)
    except CloudError:
        return DiskDefaults(aws.encryption)


def _check_tags(properties: VmProperties, aws: AwsConfig) -> None:
    given = tags.of_request({**aws.tags, **tags.checked(properties.tags)})
    options = {**aws.metadata_options, **properties.metadata_options}
    tags.check_for_instance({**given, **tags.of_origin("director", "agent")}, options)


class Offers(Record):
    """Where instance types are offered.

    Attributes:
        region: The region.
        zones_of: The zones that offer each type.
        zones: The zones that the account can use; empty if they could not be looked up.
    """

    region: str
    zones_of: Mapping[str, Collection[str]]
    zones: Collection[str]

    def problem(self, name: str, merged: Merged) -> str:
        """Why a type can't be launched in a combination's zone; empty if it can."""
        if name not in self.zones_of:
            return f"there is no instance type '{name}' in {self.region}"
        zones = self.zones_of[name]
        if not merged.zone or merged.zone in zones or (self.zones and merged.zone not in self.zones):
            return ""
        return f"zone {merged.zone} does not offer type '{name}'; these do: {', '.join(sorted(zones))}"

    def end(self, merged: Merged) -> bool:
        """Whether no VM of a combination can be created.

        create_vm tries the next type if a zone does not offer one, but not if a type does not exist.
        """
        for node in merged.types:
            name = str(node.value)
            if name not in self.zones_of or not self.problem(name, merged):
                return name not in self.zones_of
        return merged.knows_all_types


def missing_zones(offers: Offers, combinations: Iterable[Merged]) -> Iterator[Finding]:
    """Zones that don't exist, or that the account can't use."""
    for node, _ in grouped(combinations, lambda merged: merged.named("availability_zone")):
        name = str(node.value)
        if name in offers.zones or is_no_zone(name):  # the check without AWS reports those
            continue
        what = f"zone '{name}' does not exist in {offers.region}, or the account can't use it"
        yield Finding(Severity.ERROR, what, f"Use {', '.join(sorted(offers.zones))}", node.place, "AWS")


def unoffered(offers: Offers, combinations: Iterable[Merged]) -> Iterator[Finding]:
    """Types that can't be launched in the zones of their VMs: a warning while others can."""
    for node, users in grouped(combinations, lambda merged: merged.types):
        name = str(node.value)
        remedy = near_type(name) if name not in offers.zones_of else ""
        found = judged(node, users, partial(offers.problem, name), remedy)
        yield from found if all(map(offers.end, users)) else map(as_warning, found)


def stemcells(cid: str, image: Image | None) -> Iterator[Finding]:
    """A stemcell's AMI must exist and be enabled."""
    if image is None:
        what = f"there is no AMI '{cid}': no VM can be created from the stemcell"
        yield Finding(Severity.ERROR, what, "Upload the stemcell: bosh upload-stemcell --fix", source="AWS")
    elif image.state == "disabled":
        what = f"AMI '{cid}' is disabled: no VM can be created from it"
        yield Finding(Severity.ERROR, what, "Enable it (aws ec2 enable-image)", source="AWS")


def small_roots(images: Sequence[Image], combinations: Iterable[Merged]) -> Iterator[Finding]:
    """Root disks that are smaller than all stemcells': EBS refuses a volume smaller than its snapshot.

    Source: EC2 API reference, EbsBlockDevice.
    """
    least = min(images, key=lambda image: image.root_gib)
    for node, _ in grouped(combinations, _root_size):
        if gib(node.value) < least.root_gib:
            what = (
                f"the root disk of {gib(node.value)} GiB is smaller than that of AMI '{least.ami_id}' "
                f"({least.root_gib} GiB): EC2 refuses the launch"
            )
            remedy = f"Give at least {least.root_gib * MIB_PER_GIB} MiB, or remove size"
            yield Finding(Severity.ERROR, what, remedy, node.place, "AWS")


def _root_size(merged: Merged) -> list[Node]:
    node = merged.get("root_disk", "size")
    return [node] if node is not None and type(node.value) is int else []
