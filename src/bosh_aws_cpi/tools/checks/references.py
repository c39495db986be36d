"""The names by which an instance group, the compilation or a subnet asks for entries of the files. Pure."""

from collections.abc import Iterator
from typing import Final

from bosh_aws_cpi.log import nearest
from bosh_aws_cpi.tools.checks.bosh_models import LISTS
from bosh_aws_cpi.tools.checks.bosh_rules import BOSH_CLI, DIRECTOR, hashes, name_of, text_of
from bosh_aws_cpi.tools.checks.cloud_config import Files
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.findings import Finding, Severity

REFUSES: Final = "BOSH refuses the deployment"
"""Why a request is not tried."""
NAMING_KEYS: Final = {
    "vm_types": ("vm_type",),
    "vm_extensions": ("vm_extensions",),
    "disk_types": ("persistent_disk_type", "persistent_disks"),
    "networks": ("networks", "network"),
    "azs": ("azs", "az"),
}
"""The keys that name entries of each list."""
_OF_CREATE_ENV: Final = {
    "vm_types": ("resource_pool",),
    "disk_types": ("persistent_disk_pool",),
    "networks": ("networks",),
}


def names_in(node: Node | None) -> Iterator[Node]:
    """The names in a value that names entries, also those that are variables."""
    for each in node.entries() if node is not None and isinstance(node.value, list) else [node]:
        is_hash = each is not None and isinstance(each.value, dict)
        key = "type" if each is not None and "persistent_disks" in each.route else "name"
        name = each.get(key) if each is not None and is_hash else each
        if name is not None and name.value is not None:
            yield name


def unknown_names(files: Files) -> Iterator[Finding]:
    """The names that nothing has: what they stand for is not tried."""
    known = {section: {*map(name_of, files.lists[section])} for section in LISTS}
    named = _OF_CREATE_ENV if files.is_for_create_env else NAMING_KEYS
    given = [(user, section, key) for user in files.users for section in named for key in named[section]]
    if known["azs"]:
        given += [(subnet, "azs", key) for _, subnet in files.subnets for key in NAMING_KEYS["azs"]]
    if files.is_for_create_env:
        given += [(pool, "networks", "network") for pool in files.lists["vm_types"]]
    if files.manifest is not None and (stemcells := hashes(files.manifest.root.get("stemcells"))):
        known["stemcells"] = {text_of(each.get("alias")) or name_of(each) for each in stemcells}
        given += [(group, "stemcells", "stemcell") for group in files.groups]
    source, by = DIRECTOR, REFUSES
    if files.is_for_create_env:
        source, by = BOSH_CLI, f"{BOSH_CLI} refuses it"
    for node, section, key in given:
        for name in names_in(node.get(key)) if section not in files.open_lists else ():
            if (text := text_of(name)) and text not in known[section]:
                kind = key if files.is_for_create_env else section
                documents = [node.document] if section == "stemcells" else files.documents
                where = ", ".join(each.name for each in documents)
                near = nearest(text, known[section])
                meant = f" (did you mean {near}?)" if near else ""
                what = f"no {kind.removesuffix('s')} '{text}' in {where}{meant}: {by}"
                yield Finding(Severity.NOT_CHECKED, what, "", name.place, source)
