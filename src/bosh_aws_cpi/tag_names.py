"""The keys of the tags that the CPI or the Director sets, by which the CPI recognises its resources."""

import re
from typing import Final
from unicodedata import normalize

MAX_KEY: Final = 127
MAX_VALUE: Final = 255
"""EC2's limits in characters (API models: Tag.Key of EC2, StartSnapshot of EBS).

A longer key or value of ``aws.tags`` is an error; `plan.tag_plan` cuts other tags, as the Ruby release does.
"""
VM_METADATA: Final = frozenset({"compiling", "created_at", "id", "index", "job"})
"""Tags of set_vm_metadata, which always sets some of them; a manifest's own tags have other keys."""
OF_BOSH: Final = VM_METADATA | {"Name", "deployment", "director", "instance_group"}
"""All tags that BOSH itself gives a VM by set_vm_metadata (Director: metadata_updater.rb; bosh-cli)."""
DISK_METADATA: Final = frozenset(
    {"attached_at", "director", "instance_id", "instance_index", "instance_name"}
)
"""Tags of set_disk_metadata, which always sets some of them."""

OWN_KEYS: Final = frozenset(
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
"""All tags that the CPI relies on, except for records of targets; a request must never set these tags."""
TARGET_TAG: Final = "bosh_target_"
"""The beginning of the key of a tag that records a target: bosh_target_GROUP_PORT = "ARN TARGET"."""


def records_target(key: str) -> bool:
    """Whether a tag with this key records a target."""
    return re.fullmatch(rf"{TARGET_TAG}[0-9a-f]+_[0-9]+", key) is not None


def fold(key: str) -> str:
    """Normalise a key: ignore case, spaces, invisible characters and forms of letters."""
    if not key.isascii():
        key = normalize("NFKC", normalize("NFKC", key).casefold())
    return "".join(each for each in key.lower() if each.isprintable() and not each.isspace())
