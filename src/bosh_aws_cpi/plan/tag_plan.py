"""The tags of the CPI's resources, in the form that EC2 accepts."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json, encode, type_name
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Encryption, Volume
from bosh_aws_cpi.tag_names import (
    DISK_METADATA,
    MAX_KEY,
    MAX_VALUE,
    OF_BOSH,
    OWN_KEYS,
    VM_METADATA,
    fold,
    records_target,
)

if TYPE_CHECKING:
    from bosh_aws_cpi.config.cpi_config import CpiConfig
    from bosh_aws_cpi.properties.disk import DiskProperties
    from bosh_aws_cpi.properties.types import Review


def _warn(text: str) -> None:
    logger.warning("%s", text, is_whole=True)


def of_request(
    tags: Mapping[str, Any], denied: frozenset[str] = frozenset(), warn: Callable[[str], None] = _warn
) -> dict[str, str]:
    """The tags that a request wants, as EC2 gets them, without keys of the CPI's own: a warning names those.

    Everything in a manifest, a cloud config or metadata that becomes a tag passes through here, and nothing
    changes its key afterwards.

    Args:
        tags: The tags. Keys and values are cut to EC2's limits, null values dropped, booleans, numbers, lists
            and objects converted to JSON.
        denied: Other keys that it may not set.
        warn: Gets the warning.
    """
    wanted = _format(tags)
    allowed = {key: value for key, value in without_own(wanted).items() if key not in denied}
    if left_out := [ascii(key) for key in wanted if key not in allowed]:
        warn(f"Left out, because these tags are reserved for the CPI: {', '.join(left_out)}")
    return allowed


def without_own(tags: Mapping[str, str]) -> dict[str, str]:
    """Tags without those that are, or look like, the CPI's own."""
    return {key: value for key, value in tags.items() if not _is_own(key)}


def _is_own(key: str) -> bool:
    read = fold(key)[:MAX_KEY]
    return read in OWN_KEYS or records_target(read)


def _format(tags: Mapping[str, Any]) -> dict[str, str]:
    texts = {key: value if isinstance(value, str) else encode(value) for key, value in tags.items()}
    return {key[:MAX_KEY]: text[:MAX_VALUE] for key, text in texts.items() if tags[key] is not None}


def check_hash(value: object) -> Json:
    """Return a ``tags`` property, which must be a hash or null.

    Raises:
        CloudError: It is neither.
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise CloudError(f"Invalid value for 'tags': expected a Hash but got {type_name(value)}")
    return value


MAX_TAGS = 50
"""EC2's limit for a resource, in which tags that begin with "aws:" don't count."""


def _is_of_aws(key: str) -> bool:
    """Whether AWS reserves a tag's key."""
    return key.lower().startswith("aws:")


def check_for_ec2(tags: Mapping[str, str]) -> None:
    """Check that EC2 accepts these tags.

    Raises:
        CloudError: There are too many, or one has a key that is reserved for AWS.
    """
    if reserved := sorted(filter(_is_of_aws, tags)):
        named = ", ".join(f"'{key}'" for key in reserved)
        raise CloudError(f"Tags that begin with 'aws:' are reserved for AWS. Remove these: {named}")
    if len(tags) > MAX_TAGS:
        more = "with those of aws.tags, env.bosh.tags and the CPI itself"
        raise CloudError(f"EC2 allows {MAX_TAGS} tags, but there are {len(tags)}, {more}")


def at_launch(
    tags: Mapping[str, str], records: Mapping[str, str], warn: Callable[[str], None]
) -> Mapping[str, str]:
    """The tags of a VM from its launch on: those that leave room for BOSH's own (`vm_metadata`).

    Args:
        tags: All that it should have; the last ones are left out.
        records: The CPI's own that it gets later.
        warn: Gets a warning that names what is left out.

    Raises:
        CloudError: There are too many even without BOSH's own.
    """
    check_for_ec2({**tags, **records})
    own = {key for key in tags if key in OWN_KEYS}
    left_out = _beyond_limit(OF_BOSH | own | {*records}, tags, warn)
    return {key: value for key, value in tags.items() if key not in left_out}


def _beyond_limit(taken: Collection[str], wanted: Iterable[str], warn: Callable[[str], None]) -> list[str]:
    """The keys for which EC2 has no room beside others: a warning names them."""
    left_out = [key for key in wanted if key not in taken][max(MAX_TAGS - len(taken), 0) :]
    if left_out:
        named = ", ".join(map(ascii, left_out))
        warn(f"EC2 allows {MAX_TAGS} tags, and BOSH has {len(OF_BOSH)} of its own. Left out: {named}")
    return left_out


_OF_METADATA: Final = re.compile(r"(?!(\.{1,2}|_index)$)[0-9a-zA-Z_+=,.@:-]+")
"""The keys that instance metadata can show (EC2 user guide, "View tags … using instance metadata")."""


def check_for_instance(tags: Mapping[str, str], metadata_options: Mapping[str, object]) -> None:
    """Check that EC2 accepts these tags for an instance.

    Args:
        tags: All that it has from its launch on.
        metadata_options: EC2's options, in snake case.

    Raises:
        CloudError: It does not.
    """
    check_for_ec2(tags)
    is_shown = metadata_options.get("instance_metadata_tags") == "enabled"
    if is_shown and (wrong := [ascii(key) for key in tags if not _OF_METADATA.fullmatch(key)]):
        raise CloudError(
            "metadata_options.instance_metadata_tags is enabled: EC2 then allows only letters, digits and "
            "_+-=.,:@ in the keys of a VM's tags. Set it to disabled, or rename these in tags, aws.tags or "
            f"the manifest's tags: {', '.join(wrong)}"
        )


def with_common_tags(common: Mapping[str, str], tags: Mapping[str, str]) -> dict[str, str]:
    """``tags``, and as many of ``common`` as EC2 allows: a snapshot or a copy must not fail for a default.

    Args:
        common: ``aws.tags``.
        tags: All others, whose number the operator does not choose; they win.
    """
    further = [key for key in common if key not in tags]
    room = max(MAX_TAGS - len(tags), 0)
    if left_out := ", ".join(sorted(further[room:])):
        logger.warning("EC2 allows %d tags: these of aws.tags are left out: %s", MAX_TAGS, left_out)
    return {**{key: common[key] for key in further[:room]}, **tags}


DIRECTOR_TAG = "bosh_director_uuid"
AGENT_TAG = "bosh_agent_id"


def of_origin(director_uuid: str | None, agent_id: str | None = None) -> dict[str, str]:
    """The tags that name the Director and the VM that a resource was created for.

    Args:
        director_uuid: The UUID of the request's Director; None when the request has none.
        agent_id: The VM's agent, for resources of one VM.
    """
    return _format({DIRECTOR_TAG: director_uuid or None, AGENT_TAG: agent_id or None})


SPREAD_TAG = "bosh_spread_group"
"""On a spread placement group: the instance group that it belongs to, as ``env.bosh.group`` names it."""


def of_spread_group(director_uuid: str, group: str) -> dict[str, str]:
    """The tags that name the Director and the instance group of a placement group."""
    return {**of_origin(director_uuid), **_format({SPREAD_TAG: group})}


SHUTDOWN_TAG = "bosh_skip_os_shutdown"
"""On a VM: its cloud property, which delete_vm does not get."""


def of_vm(environment: Json | None, own: object, review: "Review") -> dict[str, str]:
    """The tags of create_vm's environment, ``bosh.tags``, and those of the VM's cloud properties, which win.

    Args:
        environment: create_vm's.
        own: The cloud property ``tags``.
        review: Collects what is ignored.

    Raises:
        CloudError: They are no hashes.
    """
    bosh = (environment or {}).get("bosh")
    of_director = check_hash(bosh.get("tags")) if isinstance(bosh, dict) else {}
    wanted = {**of_director, **check_hash(own)}
    return of_request(wanted, warn=lambda text: review.ignore("tags", text))


def of_shutdown(*, is_skipped: bool | None) -> dict[str, str]:
    """The tag with the VM's ``skip_os_shutdown``; none if the property is not given."""
    return _format({SHUTDOWN_TAG: is_skipped})


def are_shown(tags: Mapping[str, str]) -> bool:
    """Whether these can be the tags of a VM; if not, EC2 does not show them, which says nothing about them.

    EC2 takes the tags off a terminated instance after a while. A VM has the tag of its agent from its launch
    on; one of the Ruby release has those of set_vm_metadata.
    """
    return AGENT_TAG in tags or bool(VM_METADATA & tags.keys())


def skips_shutdown(tags: Mapping[str, str], *, default: bool) -> bool:
    """Whether a VM with these tags may end without its shutdown.

    Args:
        tags: The VM's tags.
        default: Whether a VM without the tag may.
    """
    return {"true": True, "false": False}.get(tags.get(SHUTDOWN_TAG, ""), default)


def of_disk(properties: "DiskProperties", config: "CpiConfig", review: "Review") -> dict[str, str]:
    """The tags of a new disk, without its call's: ``aws.tags``, its cloud properties', and its origin.

    Args:
        properties: The disk's. Its name is the tag ``Name``, unless its tags have one. Those with which the
            Director shows that it uses a disk are left out.
        config: The configuration.
        review: Collects what is ignored.

    Raises:
        CloudError: The ``tags`` are not a hash, or EC2 would refuse them.
    """
    wanted = {"Name": properties.name or None, **check_hash(properties.tags)}
    own = of_request(wanted, denied=DISK_METADATA, warn=lambda text: review.ignore("tags", text))
    tags_of_disk = {**config.aws.tags, **own, **of_origin(config.director_uuid)}
    check_for_ec2({**tags_of_disk, CALL_TAG: ""})
    return tags_of_disk


def differing_keys(current: Mapping[str, str], name: str | None, tags: object) -> list[str]:
    """The keys of tags that create_disk would set for cloud properties, and that a disk lacks."""
    given = {"Name": name or None, **(tags if isinstance(tags, dict) else {})}
    wanted = of_request(given, denied=DISK_METADATA)
    return [key for key, value in wanted.items() if current.get(key) != value]


CALL_TAG = "bosh_call"
"""On a disk, a disk's snapshot, a subnet and a copy of an AMI: the id of the call that created it."""
NETWORK_TAG = "bosh_network"
"""On the subnet of a managed network: "managed"."""
STEMCELL_TAG = "bosh_stemcell"
"""On all resources that one create_stemcell created from an image: the id of that call."""
SOURCE_TAG = "bosh_source_ami"
KEY_TAG = "bosh_kms_key"
STEMCELL_NAME_TAG = "bosh_stemcell_name"
"""On a copy of an AMI: the stemcell that it belongs to, "NAME/VERSION"."""


def stemcell_name(name: str | None, version: str | None) -> dict[str, str]:
    """The tag with the stemcell that a copy belongs to; none unless name and version are known."""
    return _format({STEMCELL_NAME_TAG: f"{name}/{version}"}) if name and version else {}


def of_copy(director_uuid: str | None, source: str, encryption: Encryption) -> dict[str, str]:
    """The tags with the origin of an AMI's copy: its source AMI, and the key that encrypts it."""
    key = (encryption.kms_key_arn or "default") if encryption.encrypted else "none"
    return {**of_origin(director_uuid), **_format({SOURCE_TAG: source, KEY_TAG: key})}


REPLACED_BY_TAG = "bosh_replaced_by"
"""On a volume that update_disk replaced by a copy: the copy. Empty if the copy was discarded."""
REPLACES_TAG = "bosh_replaces"
"""On that copy: the volume."""


def of_volume_copy(volume: "Volume", director_uuid: str | None, call: str) -> dict[str, str]:
    """The tags of a copy: those of the volume, and those that say where the copy comes from.

    Left out are tags that begin with "aws:", which EC2 reserves; the CPI's own, which are about that volume;
    and those that the Director sets when it has attached a disk, because it has not attached the copy.

    Args:
        volume: The volume that is copied.
        director_uuid: The Director's UUID.
        call: The id of the call.
    """
    tags_of_copy = {
        key: value
        for key, value in without_own(volume.tags).items()
        if key not in DISK_METADATA and not _is_of_aws(key)
    }
    return {**tags_of_copy, **of_origin(director_uuid), CALL_TAG: call, REPLACES_TAG: volume.disk_cid}


def specifications(tags: Mapping[str, str], *resource_types: str) -> Json:
    """The ``TagSpecifications`` argument of a call that creates; empty when there are no tags."""
    if not tags:
        return {}
    listed = [{"Key": key, "Value": value} for key, value in tags.items()]
    return {"TagSpecifications": [{"ResourceType": kind, "Tags": listed} for kind in resource_types]}


def vm_metadata(metadata: Json, current: Collection[str] = ()) -> dict[str, str]:
    """The tags of set_vm_metadata, as many as EC2 allows: BOSH's own first; a warning names the others.

    ``Name`` is ``name`` (moved, not copied), else ``job/index``, else ``compiling/X``.

    Args:
        metadata: The method's.
        current: The keys of the VM's tags.
    """
    tags = dict(metadata)
    if tags.get("name"):
        tags["Name"] = tags.pop("name")
    elif tags.get("job") and tags.get("index") is not None:
        tags["Name"] = f"{tags['job']}/{tags['index']}"
    elif tags.get("compiling"):
        tags["Name"] = f"compiling/{tags['compiling']}"
    wanted = of_request(tags)
    counted = {key for key in current if not _is_of_aws(key)}
    left_out = _beyond_limit(counted, (key for key in wanted if key in OF_BOSH), _warn)
    left_out += _beyond_limit(counted | OF_BOSH, wanted, _warn)
    return {key: value for key, value in wanted.items() if key not in left_out}


_RENAMED_FOR_SNAPSHOTS: Final = frozenset({"director_name", "index", "job"})
MAX_DESCRIPTION: Final = 255
"""EC2's limit, in characters."""


def snapshot_description(metadata: Json, device: str | None) -> str:
    """``deployment/job/index`` and the last part of the device's path, without missing parts.

    Args:
        metadata: The Director's metadata; all keys are optional.
        device: The disk's device name; None when it is not attached.
    """
    parts = [metadata.get(key) for key in ("deployment", "job", "index")]
    named = [str(part) for part in parts if part is not None and part != ""]
    whole = "/".join([*named, device.rpartition("/")[2]] if device else named)
    return whole[:MAX_DESCRIPTION]


def of_snapshot(metadata: Json, device: str | None) -> dict[str, str]:
    """The snapshot's tags: the metadata under names that operators know.

    Args:
        metadata: The Director's metadata.
        device: The disk's device name; None when it is not attached.
    """
    instance = [metadata.get(key) for key in ("job", "instance_id")]
    index = metadata.get("index")
    renamed = {
        **{key: value for key, value in metadata.items() if key not in _RENAMED_FOR_SNAPSHOTS},
        "director": metadata.get("director_name"),
        "instance_index": None if index is None else str(index),
        "instance_name": "/".join(str(part) for part in instance if part) or None,
        "device": device,
        "Name": snapshot_description(metadata, device) or None,
    }
    return of_request(renamed)
