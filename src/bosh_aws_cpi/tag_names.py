"""Names of tags by which the CPI recognises its own resources, and those that the Director knows."""

import re
from typing import Final
from unicodedata import normalize

VM_METADATA: Final = frozenset({"compiling", "created_at", "id", "index", "job"})
"""Tags of set_vm_metadata, which always writes some of these; a manifest's own tags have other names."""
DISK_METADATA: Final = frozenset(
    {"attached_at", "director", "instance_id", "instance_index", "instance_name"}
)
"""Tags of set_disk_metadata, which always writes some of these."""

OWN: Final = frozenset(
    {
        "bosh_agent_id",
        "bosh_ami",
        "bosh_call",
        "bosh_created",
        "bosh_delete_failed",
        "bosh_director_uuid",
        "bosh_kms_key",
        "bosh_network",
        "bosh_replaced_by",
        "bosh_replaces",
        "bosh_skip_os_shutdown",
        "bosh_source_ami",
        "bosh_spread_group",
        "bosh_stemcell",
        "bosh_stemcell_name",
        "bosh_sweep_seen",
    }
)
"""All tags that the CPI relies on, besides those that record targets: a request must never set them."""
TARGET_TAG: Final = "bosh_target_"
"""What the keys of the tags begin with that record targets: bosh_target_GROUP_PORT = "ARN TARGET"."""


def records_target(key: str) -> bool:
    """Whether a tag's key is one of a target's record."""
    return re.fullmatch(rf"{TARGET_TAG}[0-9a-f]+_[0-9]+", key) is not None


def fold(key: str) -> str:
    """A key without what a reader may overlook: case, spaces, invisible characters, forms of letters."""
    if not key.isascii():
        key = normalize("NFKC", normalize("NFKC", key).casefold())
    return "".join(each for each in key.lower() if each.isprintable() and not each.isspace())
