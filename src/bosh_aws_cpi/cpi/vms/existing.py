"""The verbs for an existing VM: delete, look up, reboot, tag."""

from typing import TYPE_CHECKING

from bosh_aws_cpi import targets
from bosh_aws_cpi.aws import instances, tags
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.errors import VMNotFound
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Instance
from bosh_aws_cpi.plan import tags as tag_plan

if TYPE_CHECKING:
    from collections.abc import Container

    from bosh_aws_cpi.targets import Target


def delete_vm(cloud: Cloud, vm_cid: str) -> None:
    """Terminate the VM and wait until it is terminated (contract: delete_vm).

    Attached persistent disks survive. With ``fast_path_delete`` the VM is tagged instead, without waiting.
    With ``deregister_on_delete`` it is first deregistered from its load balancers. Its addresses are
    deregistered if this call sees its tags (`AwsConfig.looks_at_deleted_vms`). With ``skip_os_shutdown`` a VM
    whose disks all go with it ends at once. For an old stemcell, the VM's registry document is deleted as
    well, even if the VM is already gone.

    Raises:
        VMNotFound: EC2 does not know the VM.
        CloudError: The deletion is not certain.
    """
    registry = cloud.registry_of_existing_vm
    seen: Instance | None = None
    left: Container[Target] = ()
    try:
        if cloud.config.aws.deregister_on_delete:
            from bosh_aws_cpi.cpi.vms.deregister import deregister  # noqa: PLC0415 - seldom asked for

            seen, left = deregister(cloud, vm_cid)
        elif cloud.config.aws.skip_os_shutdown is not None:
            seen = instances.find(cloud.ec2, vm_cid)
        skips_shutdown = seen is not None and _skips_shutdown(cloud, seen)
        instances.terminate(cloud.ec2, vm_cid, skips_shutdown=skips_shutdown)
    except VMNotFound:
        registry.delete(vm_cid)
        raise

    def leave(instance: Instance) -> None:
        if any(key.startswith(targets.TAG) for key in instance.tags):
            from bosh_aws_cpi.cpi.vms.targets import leave as leave_groups  # noqa: PLC0415 - seldom needed

            leave_groups(cloud.clients, instance, left)

    if cloud.config.aws.fast_path_delete:
        if seen is not None:
            leave(seen)
        tags.mark_deleted(cloud.ec2, vm_cid)
    else:
        instances.wait_until_terminated(cloud.ec2, vm_cid, lambda now: leave(seen or now))
    registry.delete(vm_cid)


def _skips_shutdown(cloud: Cloud, instance: Instance) -> bool:
    """Whether the VM may end without its shutdown: nothing is lost that a disk should keep."""
    default = cloud.config.aws.skip_os_shutdown
    if default is None or not tag_plan.skips_shutdown(instance.tags, default=default):
        return False
    if instance.outliving:
        kept = ", ".join(sorted(instance.outliving))
        logger.info(
            "The shutdown of '%s' is not skipped, because disks outlive it: %s", instance.vm_cid, kept
        )
    return not instance.outliving


def has_vm(cloud: Cloud, vm_cid: str) -> bool:
    """Say whether the VM exists; a terminated one does not (contract: has_vm)."""
    try:
        return not instances.find(cloud.ec2, vm_cid).is_gone
    except VMNotFound:
        return False


def reboot_vm(cloud: Cloud, vm_cid: str) -> None:
    """Reboot the VM, or start it if it is stopped; the guest is not awaited (contract: reboot_vm).

    Raises:
        VMNotFound: EC2 does not know the VM, or it is terminated.
    """
    instances.reboot(cloud.ec2, vm_cid)


def set_vm_metadata(cloud: Cloud, vm_cid: str, metadata: Json) -> None:
    """Tag the VM and every EBS volume attached to it (contract: set_vm_metadata).

    Raises:
        VMNotFound: EC2 does not know the VM, or it is terminated.
    """
    instance = instances.find_alive(cloud.ec2, vm_cid)
    resources = [vm_cid, *instance.devices.values()]
    tags.create(cloud.ec2, resources, tag_plan.vm_metadata(metadata))


def get_disks(cloud: Cloud, vm_cid: str) -> list[str]:
    """List the ids of all EBS volumes of the VM, including its root disk (contract: get_disks).

    Raises:
        VMNotFound: EC2 does not know the VM, or it is terminated.
    """
    return list(instances.find_alive(cloud.ec2, vm_cid).devices.values())
