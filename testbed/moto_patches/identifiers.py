"""Resource ids: a malformed id and an unknown one are different errors."""

import re
from collections.abc import Iterable
from typing import Any

from moto.ec2.models import EC2Backend
from moto.ec2.models.amis import AmiBackend
from moto.ec2.models.elastic_block_store import EBSBackend
from moto.ec2.models.instances import InstanceBackend

from testbed.moto_patches.patching import Original, Patches, refuse

PATCHES = Patches()


def well_formed(prefix: str, identifier: object) -> bool:
    """Tell whether an id consists of the prefix and 8 or 17 hexadecimal digits."""
    pattern = rf"{prefix}-(?:[0-9a-f]{{8}}|[0-9a-f]{{17}})"
    return re.fullmatch(pattern, str(identifier)) is not None


def check_instance_ids(identifiers: Iterable[object]) -> None:
    """Refuse the first malformed instance id."""
    for identifier in identifiers:
        if not well_formed("i", identifier):
            expected = "" if str(identifier).startswith("i-") else ' (expecting "i-...")'
            refuse("InvalidInstanceID.Malformed", f'Invalid id: "{identifier}"{expected}')


def check_value_ids(prefix: str, parameter: str, identifiers: Iterable[object]) -> None:
    """Refuse the first malformed id of a volume or a snapshot."""
    for identifier in identifiers:
        if not well_formed(prefix, identifier):
            refuse(
                "InvalidParameterValue",
                f"Value ({identifier}) for parameter {parameter} is invalid. Expected: '{prefix}-...'.",
            )


def known_instances(original: Original, backend: Any, instance_ids: Any, *filters: Any) -> Any:
    """EC2 has one error for a malformed instance id and another for an unknown one; moto had one for both."""
    check_instance_ids([instance_ids] if isinstance(instance_ids, str) else instance_ids)
    return original(backend, instance_ids, *filters)


for _name in ("get_instance", "get_multi_instances_by_id"):
    PATCHES.around(InstanceBackend, _name)(known_instances)


@PATCHES.around(InstanceBackend, "get_reservations_by_instance_ids")
def described_instances(
    original: Original,
    backend: Any,
    instance_ids: list[str],
    filters: Any = None,
) -> Any:
    """The same for DescribeInstances, which accepts an id that is given twice; moto failed (HTTP 500)."""
    check_instance_ids(instance_ids)
    return original(backend, list(dict.fromkeys(instance_ids)), filters=filters)


def known_volume(original: Original, backend: Any, volume_id: str) -> Any:
    """EC2 calls a malformed volume id an invalid value; moto called it an unknown volume."""
    check_value_ids("vol", "volumeId", [volume_id])
    return original(backend, volume_id)


for _name in ("get_volume", "delete_volume"):
    PATCHES.around(EBSBackend, _name)(known_volume)


@PATCHES.around(EBSBackend, "describe_volumes")
def described_volumes(
    original: Original,
    backend: Any,
    volume_ids: list[str] | None = None,
    filters: Any = None,
) -> Any:
    """EC2 names the first unknown id; moto named a Python set of all ids in the request."""
    check_value_ids("vol", "volumes", volume_ids or [])
    for volume_id in volume_ids or []:
        if volume_id not in backend.volumes:
            refuse("InvalidVolume.NotFound", f"The volume '{volume_id}' does not exist.")
    return original(backend, volume_ids, filters)


def check_snapshot_ids(backend: Any, snapshot_ids: list[str]) -> None:
    """Refuse malformed and unknown snapshot ids."""
    check_value_ids("snap", "snapshotId", snapshot_ids)
    for snapshot_id in snapshot_ids:
        if snapshot_id not in backend.snapshots:
            refuse("InvalidSnapshot.NotFound", f"The snapshot '{snapshot_id}' does not exist.")


@PATCHES.around(EBSBackend, "delete_snapshot")
def deleted_snapshot(original: Original, backend: Any, snapshot_id: str) -> Any:
    """EC2 has one error for a malformed snapshot id and another for an unknown one; moto had one for both."""
    check_snapshot_ids(backend, [snapshot_id])
    return original(backend, snapshot_id)


@PATCHES.around(EBSBackend, "describe_snapshots")
def described_snapshots(
    original: Original,
    backend: Any,
    snapshot_ids: list[str] | None = None,
    filters: Any = None,
) -> Any:
    """The same for DescribeSnapshots."""
    check_snapshot_ids(backend, snapshot_ids or [])
    return original(backend, snapshot_ids, filters)


@PATCHES.around(AmiBackend, "describe_images")
def described_images(
    original: Original,
    backend: Any,
    ami_ids: list[str] | None = None,
    **keywords: Any,
) -> Any:
    """EC2 refuses a list of ids if any of them is unknown; moto refused it only if all were.

    EC2 knows a deregistered image for a while, and leaves it out of the answer, as moto does.
    """
    for ami_id in ami_ids or []:
        if not well_formed("ami", ami_id):
            refuse("InvalidAMIID.Malformed", f'Invalid id: "{ami_id}" (expecting "ami-...")')
        if ami_id not in backend.amis and ami_id not in backend.deleted_amis:
            refuse("InvalidAMIID.NotFound", f"The image id '[{ami_id}]' does not exist")
    return original(backend, ami_ids=ami_ids, **keywords)


@PATCHES.around(EC2Backend, "do_resources_exist")
def tagged_resources(original: Original, backend: Any, resource_ids: list[str]) -> Any:
    """EC2 refuses tags for an instance, interface or image that is unknown.

    moto looked up instances and interfaces but accepted unknown ones, and deregistered images too.
    """
    for resource_id in resource_ids:
        if resource_id.startswith("i-"):
            backend.get_instance(resource_id)
        elif resource_id.startswith("eni-"):
            backend.get_network_interface(resource_id)
        elif resource_id.startswith("ami-") and resource_id not in backend.amis:
            refuse("InvalidAMIID.NotFound", f"The image id '[{resource_id}]' does not exist")
    return original(backend, resource_ids)
