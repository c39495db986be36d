"""What is wrong with the files themselves: their form, single values, addresses, the configuration. Pure."""

from collections.abc import Iterator
from functools import cache
from typing import Final

from bosh_aws_cpi.aws.sdk import clock
from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.plan.disk_defaults import DiskDefaults, persistent
from bosh_aws_cpi.properties.disk import DiskProperties
from bosh_aws_cpi.properties.stemcell import SETTINGS, TAGS_IGNORED, HeavyStemcellProperties
from bosh_aws_cpi.properties.types import Properties
from bosh_aws_cpi.properties.vm import MetadataOptions
from bosh_aws_cpi.properties.vm_disks import EphemeralDisk, RootDisk
from bosh_aws_cpi.tools.checks import addresses, cases, configuration, property_values
from bosh_aws_cpi.tools.checks.bosh import models
from bosh_aws_cpi.tools.checks.bosh.rules import (
    BOSH_CLI,
    DIRECTOR,
    hashes_in,
    keys_of,
    name_of,
    read_known,
    text_of,
)
from bosh_aws_cpi.tools.checks.cloud_config import Files, zones_of
from bosh_aws_cpi.tools.checks.documents import Document, Node, variables_in
from bosh_aws_cpi.tools.findings import Finding, Place, Severity, as_warning

_IS_MANIFEST: Final = ("instance_groups", "jobs", "resource_pools", "cloud_provider")
_UNREAD: Final = frozenset(
    {"properties", "jobs", "templates", "env", "stemcell", "stemcells", "releases", "update", "addons"}
    | {"cloud_provider", "variables", "tags", "name", "features", "director_uuid"}
)
"""Keys of manifests whose values are not checked."""
_DEPTH: Final = 3
"""They stand at the top, or in an instance group or a resource pool."""
_OF_ANY: Final = ("vm_types", "vm_extensions", "disk_types")
"""Sections whose entries don't say which CPI they are for."""
_USED: Final = {
    "vm_types": ("vm_type",),
    "vm_extensions": ("vm_extensions",),
    "disk_types": ("persistent_disk_type", "persistent_disks"),
    "networks": ("networks", "network"),
    "azs": ("azs", "az"),
}
"""The keys of an instance group, or of the compilation, that name entries of the sections."""


def findings(files: Files, *, is_offline: bool) -> Iterator[Finding]:
    """All that is wrong with the files' contents.

    Args:
        files: The files.
        is_offline: Whether AWS is not asked which instance types there are, and in which zones subnets are.
    """
    for document in files.all:
        yield from _repeated(document)
        yield from _of_document(files, document, is_offline=is_offline)
    yield from _of_configuration(files)
    yield from _of_others(files)
    yield from _in_several_zones(files) if is_offline else ()
    yield from addresses.findings(files)
    for node in files.users:
        yield from cases.sized_properties(files, node)[1]
    yield from _variables(files.all)


def _of_document(files: Files, document: Document, *, is_offline: bool) -> Iterator[Finding]:
    """What is wrong with its form, and with values."""
    source = BOSH_CLI if files.is_for_create_env else DIRECTOR
    model: type[models.BoshHash] = models.CreateEnv if files.is_for_create_env else models.BoshCloudConfig
    model = models.Manifest if document is files.manifest else model
    yield from keys_of(document.root, model, source, files.others)
    around = hashes_in(((document.root, model),), files.others)
    yield from property_values.findings(around, files.aws.region, is_offline=is_offline)


def _repeated(document: Document) -> Iterator[Finding]:
    """The bosh CLI, as most programs, keeps only the last of several equal keys."""
    for route in document.repeated:
        what = f"key '{route[-1]}' occurs twice in this hash, and only the last one counts"
        place = document.root.at(*route).place
        yield Finding(Severity.WARNING, what, "Remove one", place, "bosh")


def _of_configuration(files: Files) -> Iterator[Finding]:
    """The configuration's metadata options, default disks and settings of AMIs."""
    aws = files.aws
    hashes: list[tuple[type[Properties], Json, str]] = [
        (MetadataOptions, MetadataOptions.renamed(aws.metadata_options), "aws.metadata_options"),
        (RootDisk, aws.default_root_disk, "aws.default_root_disk"),
        (EphemeralDisk, aws.default_ephemeral_disk, "aws.default_ephemeral_disk"),
        (DiskProperties, aws.default_persistent_disk, "aws.default_persistent_disk"),
    ]
    found = [each for args in hashes for each in property_values.of_configuration(*args, aws.region)]
    if text := _wrong_defaults(aws):
        wrong = [each for each in found if each.severity is Severity.ERROR]
        found = wrong or [Finding(Severity.ERROR, text, "Correct the default in cpi.json")]
    yield from found
    yield from _of_stemcells(aws)
    if aws.stemcell.overrides.get("tags") and not files.is_for_create_env:
        remedy = "Remove aws.stemcell.tags from cpi.json"
        yield Finding(Severity.ERROR, f"aws.stemcell.tags {TAGS_IGNORED}", remedy)


def _wrong_defaults(aws: AwsConfig) -> str:
    """What the CPI refuses of the configuration's disks; empty if nothing."""
    try:
        DiskDefaults.of(aws)
        persistent(DiskProperties(), aws)
    except CloudError as error:
        return error.message
    return ""


def usable(aws: AwsConfig) -> AwsConfig:
    """The configuration without what is wrong with it, so that each case does not say it again."""
    if _wrong_defaults(aws):
        aws = aws.replaced(default_root_disk={}, default_ephemeral_disk={}, default_persistent_disk={})
    is_right = read_known(MetadataOptions, MetadataOptions.renamed(aws.metadata_options)) is not None
    return aws if is_right else aws.replaced(metadata_options={})


def _of_stemcells(aws: AwsConfig) -> Iterator[Finding]:
    """What create_stemcell refuses of the settings in aws.stemcell, and what it does not know there.

    A stemcell may have its own boot mode and key, so the rules about these give no error.
    """
    others = HeavyStemcellProperties.model_fields.keys() - {*SETTINGS, "encrypted", "kms_key_arn"}
    given = {key: value for key, value in aws.stemcell.overrides.items() if key not in others}
    yield from property_values.of_configuration(HeavyStemcellProperties, given, "aws.stemcell", aws.region)
    properties = read_known(HeavyStemcellProperties, given)
    if properties is None:
        return
    encryption = properties.encryption(aws.encryption, "aws.stemcell")
    for each in (*properties.key_problems(encryption), *properties.problems(encryption, clock.now())):
        severity = Severity.ERROR if each.key == "deprecate_at" else Severity.WARNING
        if each.key != "tpm_support":
            remedy = f"Correct aws.stemcell.{each.key} in cpi.json"
            yield Finding(severity, each.text, remedy, Place(f"aws.stemcell.{each.key}"))


def _of_others(files: Files) -> Iterator[Finding]:
    if others := files.azs_of_others:
        names = ", ".join(f"'{name_of(each)}'" for each in others)
        what = f"another CPI has the azs {names}: they and the subnets only in them are not checked"
        remedy = "Check them with --cpi NAME and that CPI's configuration"
        severity = Severity.NOTE if files.cpi else Severity.NOT_CHECKED
        yield Finding(severity, what, remedy, others[0].at("cpi").place)


def _in_several_zones(files: Files) -> Iterator[Finding]:
    """Subnets whose azs have different zones."""
    zones: dict[str, dict[str, Place]] = {}
    for _, subnet in files.subnets:
        node = subnet.get("cloud_properties", "subnet")
        if node is None:
            continue
        for az in files.own_azs:
            zone = text_of(az.properties.get("availability_zone"))
            if zone.startswith(files.aws.region) and name_of(az) in (zones_of(subnet) or ()):
                zones.setdefault(str(node.value), {})[zone] = node.place
    for subnet_id, places in zones.items():
        if len(places) > 1:
            what = f"subnet '{subnet_id}' is used in several zones, {', '.join(places)}: it lies in one"
            yield Finding(Severity.ERROR, what, "Use a subnet of each zone", [*places.values()][-1], "AWS")


def _variables(documents: list[Document]) -> Iterator[Finding]:
    """One finding for each variable, whose value only the Director or the bosh CLI knows."""
    places: dict[str, list[Place]] = {}
    for document in documents:
        unread = _UNREAD if any(map(document.root.get, _IS_MANIFEST)) else frozenset()
        for node in document.root.variables():
            for name in variables_in(node.value) if not unread & set(node.route[:_DEPTH]) else ():
                places.setdefault(name, []).append(node.place)
    for name, found in places.items():
        more = f", here and in {len(found) - 1} more" if len(found) > 1 else ""
        what = f"{name} is a variable: values with it are not checked{more}"
        yield Finding(Severity.NOT_CHECKED, what, configuration.INTERPOLATE, found[0])


def placed(files: Files, finding: Finding) -> Finding:
    """A finding about the configuration, at its place in a manifest for create-env.

    What the CPI or AWS refuses of entries that the manifest does not use is a warning at most. So it is of
    types if some azs have another CPI, which they may be for.
    """
    if files.is_for_create_env:
        return configuration.placed(finding, files.documents[0])
    place = finding.place
    is_unused = place is not None and (place.file, *place.route[:_OF_ENTRY]) in _unused(files)
    return as_warning(finding) if is_unused and finding.source != DIRECTOR else finding


_OF_ENTRY: Final = 2
"""How many keys lead to an entry of a section."""


@cache
def _unused(files: Files) -> frozenset[tuple[object, ...]]:
    """The file and the route of each entry that nothing is known to use; none if a user may name any."""
    others = {name_of(az) for az in files.azs_of_others}
    own = [user for user in files.users if not (azs := _texts(user.get("azs"))) or not azs <= others]
    found: set[tuple[object, ...]] = set()
    for section in _USED if files.manifest is not None else _OF_ANY if others else ():
        names = {text for user in own for key in _USED[section] for text in _texts(user.get(key))}
        entries = files.lists[section] if "" not in names else []
        found |= {(each.document.name, *each.route) for each in entries if name_of(each) not in names}
    return frozenset(found)


def _texts(node: Node | None) -> set[str]:
    """All texts in a value; "" for those that are not known."""
    if node is None or node.value is None:
        return set()
    inner = node.entries() if isinstance(node.value, list | dict) else []
    return {text for each in inner for text in _texts(each)} if inner else {text_of(node)}
