"""What is wrong with the files themselves: their form, single values, addresses, the configuration. Pure."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Final

from pydantic import create_model

from bosh_aws_cpi.config.aws_config import AwsConfig, Stemcell
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.properties.disk import DiskProperties
from bosh_aws_cpi.properties.stemcell import kind_of
from bosh_aws_cpi.properties.types import Properties
from bosh_aws_cpi.properties.vm import MetadataOptions
from bosh_aws_cpi.properties.vm_disks import EphemeralDisk, RootDisk
from bosh_aws_cpi.tools.checks import addresses, configuration, property_values, references, requests
from bosh_aws_cpi.tools.checks.bosh_models import BoshCloudConfig, BoshHash, CreateEnv, Manifest
from bosh_aws_cpi.tools.checks.bosh_rules import BOSH_CLI, DIRECTOR, hashes_in, keys_of, name_of, text_of
from bosh_aws_cpi.tools.checks.cloud_config import Files
from bosh_aws_cpi.tools.checks.documents import TEMPLATE, Document, Node, variables_in
from bosh_aws_cpi.tools.findings import Finding, Place, Severity, as_warning

_IS_MANIFEST: Final = ("instance_groups", "jobs", "resource_pools", "cloud_provider")
_UNREAD: Final = frozenset(
    {"properties", "jobs", "templates", "env", "stemcell", "stemcells", "releases", "update", "addons"}
    | {"cloud_provider", "variables", "tags", "name", "features", "director_uuid"}
)
"""Keys of manifests whose values are not checked."""
_DEPTH: Final = 3
"""The depth of these keys: at the top, or in an instance group or a resource pool."""
_DEFAULTS: Final[dict[type[Properties], str]] = {
    RootDisk: "default_root_disk",
    EphemeralDisk: "default_ephemeral_disk",
    DiskProperties: "default_persistent_disk",
}
_OF_ANY: Final = ("vm_types", "vm_extensions", "disk_types")
"""Sections whose entries don't say which CPI they are for."""


def findings(files: Files, *, is_offline: bool) -> Iterator[Finding]:
    """All that is wrong with the files' contents.

    Args:
        files: The files.
        is_offline: Whether AWS is not asked which instance types there are.
    """
    of_documents: list[Finding] = []
    for document in files.all:
        of_documents += _repeated(document)
        of_documents += _of_document(files, document, is_offline=is_offline)
    yield from of_documents
    yield from _of_configuration(files)
    yield from configuration.of_message_bus(files)
    yield from _of_others(files)
    yield from _elsewhere(of_documents, addresses.unreadable_addresses(files))
    yield from addresses.findings(files)
    for node in files.users:
        yield from requests.sized_properties(files, node)[1]
    yield from _variables(files)


def _of_document(files: Files, document: Document, *, is_offline: bool) -> Iterator[Finding]:
    """Find what is wrong with a document's form and values."""
    source = BOSH_CLI if files.is_for_create_env else DIRECTOR
    model: type[BoshHash] = CreateEnv if files.is_for_create_env else BoshCloudConfig
    model = Manifest if document is files.manifest else model
    of_form = [*keys_of(document.root, model, source, files.others)]
    around = hashes_in(((document.root, model),), files.others)
    of_values = property_values.findings(around, files.aws.region, is_offline=is_offline)
    yield from of_form
    yield from _elsewhere(of_form, of_values)


def _elsewhere(known: Iterable[Finding], further: Iterable[Finding]) -> Iterator[Finding]:
    """The further findings at places of which nothing is known yet: one mistake is one finding."""
    places = {each.place for each in known}
    return (each for each in further if each.place not in places)


def _repeated(document: Document) -> Iterator[Finding]:
    """Find repeated keys: the bosh CLI, as most programs, keeps only the last one."""
    for route in document.repeated:
        what = f"key '{route[-1]}' occurs twice in this hash, and only the last one counts"
        place = document.root.at(*route).place
        yield Finding(Severity.WARNING, what, "Remove one", place, "bosh")


def _of_configuration(files: Files) -> Iterator[Finding]:
    """What is wrong in the configuration's hashes of cloud properties; methods refuse other keys of disks."""
    aws = files.aws
    stemcell = aws.stemcell.overrides
    kind = kind_of(stemcell)
    # What only the configuration has is no cloud property, and no mistake.
    more: Any = {key: (Any, None) for key in sorted(Stemcell.rows) if key not in kind.model_fields}
    hashes: list[tuple[type[Properties], Json, str]] = [
        (MetadataOptions, MetadataOptions.renamed(aws.metadata_options), "aws.metadata_options"),
        (create_model("Stemcell", __base__=kind, **more), stemcell, "aws.stemcell"),
    ]
    for model, key in _DEFAULTS.items():
        known = {name: each for name, each in getattr(aws, key).items() if name in model.model_fields}
        hashes.append((model, known, f"aws.{key}"))
    for each in hashes:
        yield from property_values.of_configuration(*each, aws.region)


def _of_others(files: Files) -> Iterator[Finding]:
    if others := files.azs_of_others:
        names = ", ".join(f"'{name_of(each)}'" for each in others)
        what = f"another CPI has the azs {names}: they and the subnets only in them are not checked"
        remedy = "Check them with --cpi NAME and that CPI's configuration"
        severity = Severity.NOTE if files.cpi else Severity.NOT_CHECKED
        yield Finding(severity, what, remedy, others[0].at("cpi").place)


def _variables(files: Files) -> Iterator[Finding]:
    """One finding for each variable, whose value only the Director or the bosh CLI knows."""
    nodes: list[tuple[Node, Place]] = []
    for document in files.all:
        unread = _UNREAD if any(map(document.root.get, _IS_MANIFEST)) else frozenset()
        inner = document.root.variables()
        nodes += [(node, node.place) for node in inner if not unread & {*node.route[:_DEPTH]}]
    for key, row in AwsConfig.rows.items() if not files.is_for_create_env else ():
        inner = Document("", None if row.is_secret else getattr(files.aws, key)).root.variables()
        nodes += [(node, Place(f"aws.{key}")) for node in inner]
    places: dict[str, list[Place]] = {}
    for node, place in nodes:
        for name in variables_in(node.value):
            places.setdefault(name, []).append(place)
    for name, found in places.items():
        more = f", here and in {len(found) - 1} more" if len(found) > 1 else ""
        what = f"{name} is a variable: values with it are not checked{more}"
        remedy = "Render the template first (erb)" if name == TEMPLATE else configuration.INTERPOLATE
        yield Finding(Severity.NOT_CHECKED, what, remedy, found[0])


def adjust(files: Files, finding: Finding) -> Finding:
    """Adjust a finding to its place: give it the place in a manifest for create-env, or make it a warning.

    What only users of an entry meet is a warning at most, if the manifest does not use it. So it is of types
    if some azs have another CPI, which they may be for.
    """
    if files.is_for_create_env:
        return configuration.move_to_manifest(finding, files.documents[0])
    place = finding.place
    is_unused = place is not None and (place.file, *place.route[:_OF_ENTRY]) in _unused(files)
    is_of_use = finding.source != DIRECTOR or finding.what == addresses.NO_RANGE
    return as_warning(finding) if is_unused and is_of_use else finding


_OF_ENTRY: Final = 2
"""How many keys lead to an entry of a section."""


@cache
def _unused(files: Files) -> frozenset[tuple[object, ...]]:
    """The file and the route of each entry that nothing uses; none of a section with an unknown name."""
    others = {name_of(az) for az in files.azs_of_others}
    azs_of = [(user, _names(user, "azs")) for user in files.users]
    own = [user for user, azs in azs_of if not azs or not azs <= others]
    found: set[tuple[object, ...]] = set()
    for section in references.NAMING_KEYS if files.manifest is not None else _OF_ANY if others else ():
        names = {name for user in own for name in _names(user, section)}
        if "" not in names and names <= {*map(name_of, files.lists[section])}:
            unused = (each for each in files.lists[section] if name_of(each) not in names)
            found |= {(each.document.name, *each.route) for each in unused}
    return frozenset(found)


def _names(user: Node, section: str) -> set[str]:
    """The entries of a section that a user names; "" stands for one that is not known."""
    return {
        text_of(name)
        for key in references.NAMING_KEYS[section]
        for name in references.names_in(user.get(key))
    }
