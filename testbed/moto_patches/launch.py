"""RunInstances: the volumes and interfaces of a launch, and the cleanup after a refused one."""

from typing import Any

from moto.ec2.models.instances import InstanceBackend
from moto.ec2.responses.instances import InstanceResponse

from testbed.moto_patches.addresses import check_free, check_prefixes_free, requested
from testbed.moto_patches.groups import check_groups
from testbed.moto_patches.images import devices_of
from testbed.moto_patches.patching import Original, Patches, parameter, refuse
from testbed.moto_patches.prefixes import add_prefixes
from testbed.moto_patches.sharing import Visible

PATCHES = Patches()

UNKNOWN_SIZE = 8
"""GiB of a root volume whose image has no snapshot."""


def laid_over(image_device: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """Merge one device of a request over the image's of the same name."""
    below = dict(image_device.get("Ebs", {}))
    if wanted.get("VolumeType", below.get("VolumeType")) != below.get("VolumeType"):
        # The figures of one type do not apply to another.
        below.pop("Iops", None)
        below.pop("Throughput", None)
    return {**below, **wanted}


def launched_devices(backend: Any, image: Any) -> list[dict[str, Any]]:
    """List an image's devices; a launch may read the snapshots of another account's image, moto only its own.

    EC2 user guide, "Share an AMI with specific AWS accounts": "the system provides the instance access to the
    referenced EBS snapshots for the launch."
    """
    devices = devices_of(image)
    for ebs in (device["Ebs"] for device in devices if "Ebs" in device):
        if ebs.get("SnapshotId") not in backend.snapshots:
            ebs.pop("SnapshotId", None)
    return devices


@PATCHES.around(InstanceResponse, "_parse_block_device_mapping")
def launch_devices(original: Original, response: Any) -> list[dict[str, Any]]:
    """EC2 lays a request's block devices over the image's.

    So the root device needs no size: it gets its snapshot's (the API reference, EbsBlockDevice, demands a
    size or a snapshot; terraform-provider-aws and the Ruby release send neither). moto ignored the image's
    devices, refused devices without a size and those with a virtual name (an instance
    store, which is no volume), and dropped iops and throughput.
    """
    del original
    backend, image_id = response.ec2_backend, parameter(response, "ImageId")
    image = Visible(backend).amis.get(image_id)
    devices = {d["DeviceName"]: d for d in (launched_devices(backend, image) if image else [])}
    for wanted in parameter(response, "BlockDeviceMappings", []):
        name = wanted["DeviceName"]
        below = devices.pop(name, {})
        if "Ebs" in wanted and "NoDevice" not in wanted:
            devices[name] = {"DeviceName": name, "Ebs": laid_over(below, wanted["Ebs"])}
    volumes = [device for device in devices.values() if "Ebs" in device]
    for device in volumes:
        ebs = device["Ebs"]
        if image and device["DeviceName"] == image.root_device_name:
            ebs.setdefault("VolumeSize", None if ebs.get("SnapshotId") else UNKNOWN_SIZE)
        elif not ebs.get("VolumeSize") and not ebs.get("SnapshotId"):
            refuse(
                "MissingParameter",
                "The request must contain the parameter size or snapshotId",
            )
    return volumes


def create_volume(backend: Any, instance: Any, device: dict[str, Any]) -> Any:
    """Create and attach one volume of a launch."""
    ebs = device["Ebs"]
    snapshot = backend.snapshots.get(ebs.get("SnapshotId"))
    size = ebs.get("VolumeSize")
    if snapshot is not None and size is not None and size < snapshot.volume_size:
        refuse(
            "InvalidBlockDeviceMapping",
            f"Volume of size {size}GB is smaller than snapshot '{snapshot.id}', "
            f"expect size >= {snapshot.volume_size}GB",
        )
    volume = backend.create_volume(
        size=size,
        zone_name=instance.availability_zone,
        snapshot_id=ebs.get("SnapshotId"),
        encrypted=ebs.get("Encrypted") is True,
        kms_key_id=ebs.get("KmsKeyId"),
        volume_type=ebs.get("VolumeType"),
        iops=ebs.get("Iops"),
        throughput=ebs.get("Throughput"),
    )
    ends_with_instance = ebs.get("DeleteOnTermination", True) is True
    backend.attach_volume(volume.id, instance.id, device["DeviceName"], ends_with_instance)
    return volume


@PATCHES.around(InstanceBackend, "run_instances")
def launch_volumes(original: Original, backend: Any, *positional: Any, **keywords: Any) -> Any:
    """EC2 creates a launch's volumes with all their properties; moto dropped most of them.

    The default of DeleteOnTermination is true for volumes created by a launch.
    """
    devices = keywords.pop("block_device_mappings", None)
    if devices is None:
        return original(backend, *positional, **keywords)
    reservation = original(backend, *positional, block_device_mappings=[], **keywords)
    tags = keywords.get("tags", {}).get("volume", {})
    for instance in reservation.instances:
        for device in devices:
            create_volume(backend, instance, device).add_tags(tags)
    return reservation


def check_interface(backend: Any, spec: dict[str, Any]) -> None:
    """Refuse an interface of a launch that EC2 refuses."""
    if "NetworkInterfaceId" in spec:
        interface = backend.get_network_interface(spec["NetworkInterfaceId"])
        if interface.status != "available":
            refuse("InvalidNetworkInterface.InUse", f"Interface: [{interface.id}] in use.")
    elif "SubnetId" in spec:
        wanted = requested(spec.get("PrivateIpAddress"), spec.get("PrivateIpAddresses", []))
        wanted += [entry["Ipv6Address"] for entry in spec.get("Ipv6Addresses", [])]
        subnet = backend.get_subnet(spec["SubnetId"])
        check_groups(backend, subnet, spec.get("Groups", []))
        check_free(subnet, wanted)
        for version in (4, 6):
            check_prefixes_free(subnet, requested_prefixes(spec, version))


def requested_prefixes(spec: dict[str, Any], version: int) -> list[str]:
    """List the prefixes that a launch asks for on one interface."""
    return [entry[f"Ipv{version}Prefix"] for entry in spec.get(f"Ipv{version}Prefixes", [])]


def finish_interface(interface: Any, spec: dict[str, Any], tags: dict[str, str]) -> None:
    """Give an interface created by a launch the attributes that moto left out."""
    interface.delete_on_termination = spec.get("DeleteOnTermination", True)
    interface.description = spec.get("Description", "")
    known = requested(None, interface.private_ip_addresses)
    for address in requested(None, spec.get("PrivateIpAddresses", [])):
        if address not in known:
            entry = {"Primary": False, "PrivateIpAddress": address}
            interface.private_ip_addresses.append(entry)
    interface.ipv6_addresses += [e["Ipv6Address"] for e in spec.get("Ipv6Addresses", [])]
    for version in (4, 6):
        add_prefixes(interface, version, requested_prefixes(spec, version))
    interface.add_tags(tags)


@PATCHES.around(InstanceBackend, "run_instances")
def launch_interfaces(original: Original, backend: Any, *positional: Any, **keywords: Any) -> Any:
    """EC2 attaches existing interfaces, and creates new ones exactly as described.

    moto put an instance with an existing interface into a default subnet and
    zone, attached interfaces that were in use, forgot DeleteOnTermination (by
    default true for an interface created by a launch), tags, description and further
    addresses, and showed an instance without its first interface's groups.
    """
    specs = {int(spec["DeviceIndex"]): spec for spec in keywords.get("nics") or []}
    for spec in specs.values():
        check_interface(backend, spec)
    if "NetworkInterfaceId" in specs.get(0, {}):
        first = backend.get_network_interface(specs[0]["NetworkInterfaceId"])
        keywords["subnet_id"] = first.subnet.id
    reservation = original(backend, *positional, **keywords)
    tags = keywords.get("tags", {}).get("network-interface", {})
    for instance in reservation.instances:
        for index, interface in instance.nics.items():
            spec = specs.get(index, {})
            if "NetworkInterfaceId" not in spec:
                finish_interface(interface, spec, tags)
        instance.security_groups = list(instance.nics[0].group_set)
        instance.source_dest_check = instance.nics[0].source_dest_check
    return reservation


@PATCHES.around(InstanceBackend, "run_instances")
def launch_known_things(
    original: Original,
    backend: Any,
    image_id: str,
    *positional: Any,
    **keywords: Any,
) -> Any:
    """EC2 refuses unknown and disabled images, and unknown keys; moto accepted any name.

    InvalidAMIID.Unavailable: "or is not in a state from which you can launch an instance" (error codes for
    the Amazon EC2 API).
    """
    images = backend.describe_images(ami_ids=[image_id])
    if not images:
        refuse("InvalidAMIID.NotFound", f"The image id '[{image_id}]' does not exist")
    if images[0].state == "disabled":
        refuse("InvalidAMIID.Unavailable", f"The image id '[{image_id}]' is no longer available")
    if keywords.get("key_name"):
        backend.describe_key_pairs(key_names=[keywords["key_name"]])
    return original(backend, image_id, *positional, **keywords)


def forget_since(created: dict[str, Any], before: set[str]) -> None:
    """Remove everything from one of moto's collections that was not in it before."""
    for identifier in set(created) - before:
        del created[identifier]


@PATCHES.around(InstanceBackend, "run_instances")
def launch_all_or_nothing(original: Original, backend: Any, *positional: Any, **keywords: Any) -> Any:
    """A launch that EC2 refuses leaves nothing behind; moto left the resources that it had created so far."""
    collections = (backend.reservations, backend.enis, backend.volumes)
    before = [set(collection) for collection in collections]
    try:
        return original(backend, *positional, **keywords)
    except Exception:
        for collection, known in zip(collections, before, strict=True):
            forget_since(collection, known)
        for interface in backend.enis.values():
            instance = interface.instance
            if instance is not None and backend.get_instance_by_id(instance.id) is None:
                instance.detach_eni(interface)
        raise
