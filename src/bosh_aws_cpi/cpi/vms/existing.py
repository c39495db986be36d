"""The methods for an existing VM: look up, reboot, tag; `delete` has delete_vm."""

from typing import NoReturn

from bosh_aws_cpi.aws import instances, tags
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.errors import NotSupported, VMNotFound
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.plan import tag_plan


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

    def is_shown() -> bool:
        return set(resources) == {vm_cid, *instances.find_alive(cloud.ec2, vm_cid).devices.values()}

    tags.create(cloud.ec2, resources, tag_plan.vm_metadata(metadata, instance.tags), is_shown)


def get_disks(cloud: Cloud, vm_cid: str) -> list[str]:
    """List the ids of all EBS volumes of the VM, including its root disk (contract: get_disks).

    Raises:
        VMNotFound: EC2 does not know the VM, or it is terminated.
    """
    return list(instances.find_alive(cloud.ec2, vm_cid).devices.values())


def configure_networks(cloud: Cloud, vm_cid: str, networks: Json) -> NoReturn:  # noqa: ARG001
    """Refuse, so that the Director recreates the VM, with other networks (contract V1: configure_networks).

    Raises:
        NotSupported: Always.
    """
    raise NotSupported("configure_networks is no longer supported")
