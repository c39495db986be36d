"""The cloud properties of VMs: read with the models and plans of create_vm, for each combination.

Each mistake is found once: in the property where it stands, whichever zones are combined with it.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

from pydantic import ValidationError

from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import Image, InstanceTypeFacts
from bosh_aws_cpi.plan import instance_types, tags, type_options
from bosh_aws_cpi.plan.disk_defaults import DiskDefaults
from bosh_aws_cpi.properties.types import Problem
from bosh_aws_cpi.properties.vm import REQUIRED, VmProperties
from bosh_aws_cpi.properties.vm_disks import EphemeralDisk
from bosh_aws_cpi.tools.checks.bosh.cloud_config import CloudConfig
from bosh_aws_cpi.tools.checks.bosh.models import Compilation
from bosh_aws_cpi.tools.checks.bosh.rules import name_of, renamed
from bosh_aws_cpi.tools.checks.combinations import Identity, Merged, Use, identity, shown, vms
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.reading import blamed, is_open, properties_of, said
from bosh_aws_cpi.tools.findings import Finding, Severity, as_warning

_ANY_IMAGE: Final = Image("ami-0", "/dev/xvda", "hvm", "", ["/dev/xvda"], [], is_encrypted=True)
"""Stands for the stemcell, which a cloud config does not name; whether it is encrypted is not known."""
_UNKNOWN: Final = "a variable"
"""Stands for a required value that is not known."""
_ENOUGH: Final = 16 * 1024 * 1024
"""The size in MiB of a disk that has the most iops at any size."""
Contradiction = tuple[str, Node]
"""What create_vm says, and the property that is to blame."""


def findings(
    config: CloudConfig, aws: AwsConfig, uses: Iterable[Use] | None = None, common_tags: Json | None = None
) -> Iterator[Finding]:
    """Check the cloud properties of all VMs.

    Args:
        config: The cloud config.
        aws: The CPI's configuration, for its defaults.
        uses: What a manifest asks for; None without a manifest.
        common_tags: The manifest's tags, which the Director gives all of its VMs.
    """
    aws = aws.replaced(tags={**aws.tags, **(common_tags or {})})
    machines = _Machines(config, aws, has_manifest=uses is not None)
    yield from machines.findings(vms(config, uses))


class _Machines:
    """The checks, each of which is made once for all combinations that are alike."""

    def __init__(self, config: CloudConfig, aws: AwsConfig, *, has_manifest: bool) -> None:
        self.config = config
        self.aws = aws
        self.defaults = disk_defaults(aws)
        self.has_manifest = has_manifest
        self.contradictions: dict[Identity, list[Contradiction]] = {}
        self.found: set[tuple[Identity, str]] = set()
        self.of_extensions: dict[tuple[Identity, object], list[tuple[Merged, Contradiction]]] = {}

    def findings(self, combinations: Iterable[Merged]) -> Iterator[Finding]:
        """All findings."""
        for merged in sorted(combinations, key=self._may_be_unused):  # an error goes before a warning
            own = [*self._missing(merged), *self._together(merged)]
            yield from map(as_warning, own) if self._may_be_unused(merged) else own
        for cases in self.of_extensions.values():
            found = self._of_extension(cases)
            yield as_warning(found) if self._may_be_unused(cases[0][0]) else found

    def _may_be_unused(self, merged: Merged) -> bool:
        """Whether a manifest has no such VM, or its VM type may be another CPI's."""
        return merged.use is None and (self.has_manifest or bool(self.config.azs_of_others))

    def _together(self, merged: Merged) -> Iterator[Finding]:
        """What the properties contradict, unless it has been found; those of extensions are kept."""
        for text, node in self._contradictions(merged):
            key = (identity(node), text)
            if key in self.found:
                continue
            if merged.extensions and merged.use is None:
                extension = merged.extensions[0]
                of_one = identity(node) if node.is_within(extension) else text
                cases = self.of_extensions.setdefault((identity(extension), of_one), [])
                cases.append((merged, (text, node)))
                continue
            self.found.add(key)
            yield Finding(Severity.ERROR, f"{_asked_by(merged)}{text}", "", node.place)

    def _contradictions(self, merged: Merged) -> list[Contradiction]:
        if merged.is_open or any(_is_wrong(key, node) for key, node in merged.nodes.items()):
            return []
        if merged.identity not in self.contradictions:
            self.contradictions[merged.identity] = [
                (each.text, _blamed(each, merged)) for each in self._problems(_values(merged))
            ]
        return self.contradictions[merged.identity]

    def _problems(self, values: Json) -> list[Problem]:
        return _problems(values, self.defaults, self.aws)

    def _missing(self, merged: Merged) -> Iterator[Finding]:
        """The required properties that nothing sets; an unknown extension may do so."""
        if merged.is_open or (merged.extensions and merged.use is None):
            return
        more = self._of_any_extension if merged.use is None else set()
        if more is None:
            return
        for key, entry in (
            ("instance_type", merged.entry),
            ("availability_zone", merged.zone or merged.entry),
        ):
            if not (key in merged.nodes or key in merged.sized or key in more):
                what = f"has no cloud_properties.{key}"
                section = entry.at("cloud_properties")
                remedy = f"Move {key} into cloud_properties" if entry.child(key) else ""
                if section is entry:
                    remedy = remedy or renamed(entry, "cloud_properties", Compilation.model_fields)
                yield Finding(Severity.ERROR, what, remedy or f"Add {key}", section.place)

    @cached_property
    def _of_any_extension(self) -> set[str] | None:
        """The properties that some extension sets; None if one may set any."""
        extensions = self.config.lists["vm_extensions"]
        return (
            None
            if any(map(is_open, extensions))
            else {key for one in extensions for key in properties_of(one)}
        )

    def _of_extension(self, cases: Sequence[tuple[Merged, Contradiction]]) -> Finding:
        """What an extension contradicts: an error only if it does so alone.

        Otherwise a manifest may use it with other VM types, or together with other extensions.
        """
        merged, (text, node) = cases[0]
        extension = merged.extensions[0]
        place = (node if node.is_within(extension) else extension.at("cloud_properties")).place
        named = f"with vm_extension '{name_of(extension)}'"
        if text in {each.text for each in self._problems(_values_alone(extension))}:
            return Finding(Severity.ERROR, f"{named}: {text}", "", place)
        entries = list({identity(node): node for each, _ in cases for node in each.alike}.values())
        is_all = len(entries) == len(self.config.lists["vm_types"])
        types = "every vm_type" if is_all else f"vm_type {shown(entries)}"
        remedy = "Don't use this extension with these VM types"
        return Finding(Severity.WARNING, f"{named} and {types}: {text}", remedy, place)


def _is_wrong(key: str, node: Node) -> bool:
    """Whether a property has a wrong type, which is said elsewhere."""
    try:
        VmProperties.model_validate({key: node.value})
    except ValidationError:
        return not node.has_variables
    return False


def _asked_by(merged: Merged) -> str:
    if merged.use is None:
        return ""
    extensions = f" with vm_extensions {shown(merged.extensions)}" if merged.extensions else ""
    return f"for {merged.use.shown}{extensions}: "


def _values(merged: Merged) -> Json:
    """The properties without variables in them; a required one has some value."""
    known = {key: node.known() for key, node in merged.nodes.items() if not node.has_variables}
    values = {**merged.sized, **known}
    if "instance_type" not in values and not (known.get("ephemeral_disk") or {}).get("size"):
        values.pop("ephemeral_disk", None)  # its default size depends on the type
    return {**dict.fromkeys(REQUIRED, _UNKNOWN), **values}


def _values_alone(extension: Node) -> Json:
    """An extension's own properties without variables in them, as if a VM type gave it all that it needs."""
    own = properties_of(extension).items()
    known = {key: node.known() for key, node in own if not node.has_variables}
    if isinstance(disk := known.get("ephemeral_disk"), dict):
        known["ephemeral_disk"] = {"size": _ENOUGH, **disk}
    return {**dict.fromkeys(REQUIRED, _UNKNOWN), **known}


def _problems(values: Json, defaults: DiskDefaults, aws: AwsConfig) -> list[Problem]:
    """Why create_vm would refuse properties, though each of them alone is right."""
    try:
        properties = VmProperties.model_validate(values)
    except ValidationError:
        return []  # the sizes of vm_resources are no whole numbers, which the Director refuses
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
    """Where the property is that is to blame; the instance type if a default of cpi.json is."""
    return blamed(problem, merged.nodes, merged.nodes.get("instance_type", merged.entry))


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
