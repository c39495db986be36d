"""attach_disk and detach_disk: first AWS, then the registry, so that a retry can finish a failed call."""

from bosh_aws_cpi.aws import attachments, instances, volumes
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.cpi.agent_registry import NoRegistry, Registry
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.type_facts import facts_for_attaching
from bosh_aws_cpi.errors import CloudError, DiskNotAttached, DiskNotFound, VMNotFound
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Instance, InstanceTypeFacts
from bosh_aws_cpi.plan import device_names


def attach_disk(cloud: Cloud, vm_cid: str, disk_cid: str) -> str:
    """Attach the disk and return its device path in the guest (contract: attach_disk).

    It is no error if the disk is already attached to that VM: the call may be a retry.

    Returns:
        The device path.

    Raises:
        VMNotFound: EC2 does not know the VM, or it is terminated.
        DiskNotFound: EC2 does not know the disk.
        CloudError: The VM needs a registry and none is configured, no device name is free, or the wait
            timed out.
    """
    registry = _usable_registry(cloud, vm_cid)
    instance = instances.find_alive(cloud.ec2, vm_cid)
    if instance.is_ending:
        raise CloudError(f"VM '{vm_cid}' is {instance.state}: no disk can be attached to it")
    of_type = facts_for_attaching(cloud, instance)
    device_name = _name_of(instance, disk_cid)
    if device_name is None:
        device_name = _attach(cloud, instance, of_type, disk_cid)
    else:
        logger.info("Disk '%s' is already attached to '%s', as %s", disk_cid, vm_cid, device_name)
    attachments.wait_until_attached(cloud.ec2, disk_cid, vm_cid)
    path = device_names.guest_path(device_name, disk_cid, of_type)
    registry.attach(vm_cid, disk_cid, path)
    return path


def _attach(cloud: Cloud, instance: Instance, of_type: InstanceTypeFacts, disk_cid: str) -> str:
    """Attach the disk under a free name; the name of a disk that was just detached is free seconds later."""
    looks = iter([instance])

    def too_many(_: object = None) -> CloudError:
        return CloudError(
            f"Instance has too many disks attached. '{instance.vm_cid}' has no room for "
            f"'{disk_cid}': detach another disk, or use a larger instance type"
        )

    def attempt() -> str:
        seen = next(looks, None) or instances.find_alive(cloud.ec2, instance.vm_cid)
        names = device_names.free_names(seen.devices, device_names.further_names(seen, of_type))
        if not (names or seen.detaching_volumes):
            raise too_many()
        try:
            card = device_names.ebs_card(seen, of_type)
            return attachments.attach(cloud.ec2, disk_cid, instance.vm_cid, names, card)
        except attachments.NameTaken:
            raise timing.NotYet("every device name is in use") from None

    what = f"a device name of instance '{instance.vm_cid}' to be free"
    return timing.poll(timing.DEVICE_NAME_FREE, what, attempt, too_many, is_repeatable=False)


def detach_disk(cloud: Cloud, vm_cid: str, disk_cid: str) -> None:
    """Detach the disk and wait until it is free (contract: detach_disk).

    A deleted disk counts as detached. If the disk is detached but still in the registry, an earlier call
    failed half-way, and this one finishes it.

    Raises:
        DiskNotAttached: It is not attached to that VM, or EC2 does not know the VM.
        CloudError: The VM needs a registry and none is configured, or the wait timed out.
    """
    registry = _usable_registry(cloud, vm_cid)
    try:
        _detach(cloud, vm_cid, disk_cid)
    except DiskNotFound:
        logger.info("Disk '%s' is gone: there is nothing to detach from '%s'", disk_cid, vm_cid)
    except DiskNotAttached:
        if not _finish_detaching(registry, vm_cid, disk_cid):
            raise
        return
    registry.detach(vm_cid, disk_cid)


def _detach(cloud: Cloud, vm_cid: str, disk_cid: str) -> None:
    """DetachVolume, and wait.

    A VM that is gone has no disks, so the error is DiskNotAttached: the Director's job that detaches a
    dynamic disk rescues no other. It is VMNotFound only if EC2 shows the disk as attached to the VM.
    """
    try:
        attachments.detach(cloud.ec2, disk_cid, vm_cid)
    except VMNotFound:
        if vm_cid in volumes.find(cloud.ec2, disk_cid).attachments:
            raise
        raise DiskNotAttached(disk_cid, vm_cid) from None
    attachments.wait_until_detached(cloud.ec2, disk_cid, vm_cid)


def _usable_registry(cloud: Cloud, vm_cid: str) -> Registry:
    """The VM's registry, checked before AWS changes anything.

    If the request lacks the stemcell's version, a VM without settings in the registry needs no registry.
    """
    registry = cloud.registry_of_existing_vm
    registry.check(vm_cid)
    return registry if cloud.is_stemcell_known or registry.has(vm_cid) else NoRegistry()


def _finish_detaching(registry: Registry, vm_cid: str, disk_cid: str) -> bool:
    """Remove a detached disk's entry from the registry; False when the registry had none."""
    try:
        is_finished = registry.detach(vm_cid, disk_cid)
    except CloudError as error:
        logger.warning("Could not look for disk '%s' in the registry: %s", disk_cid, error)
        return False
    if is_finished:
        logger.info("Disk '%s' was already detached; removed its registry entry", disk_cid)
    return is_finished


def _name_of(instance: Instance, disk_cid: str) -> str | None:
    """The disk's device name; None for a disk that is not attached or being detached."""
    if disk_cid in instance.detaching_volumes:
        return None
    return next((name for name, attached in instance.devices.items() if attached == disk_cid), None)
