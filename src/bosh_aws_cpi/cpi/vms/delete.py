"""delete_vm: deregisters a VM from what sends traffic to it, and terminates it."""

from typing import TYPE_CHECKING

from bosh_aws_cpi.aws import instances, tags
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.errors import ask_or_warn
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.errors import CloudError, VMNotFound
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Instance
from bosh_aws_cpi.plan import tag_plan
from bosh_aws_cpi.tag_names import records_target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bosh_aws_cpi.aws.load_balancers import Target


def delete_vm(cloud: Cloud, vm_cid: str) -> None:
    """Terminate the VM and wait until it is terminated (contract: delete_vm).

    Attached persistent disks survive. With ``fast_path_delete`` the VM is tagged instead, without waiting.
    With ``deregister_on_delete`` it is first deregistered from its load balancers. Its addresses in target
    groups are deregistered if the call looks at it (`AwsConfig.looks_at_deleted_vms`). With
    ``skip_os_shutdown``, the operating system's shutdown is skipped if no disk outlives the VM. For an old
    stemcell, the VM's registry document is deleted as well, even if the VM is already gone.

    Raises:
        VMNotFound: EC2 does not know the VM.
        CloudError: The deletion is not certain, or an address is still registered.
    """
    registry, aws = cloud.registry_of_existing_vm, cloud.config.aws
    before: Instance | None = None
    deregistered: Sequence[Target] = ()
    try:
        if aws.deregister_on_delete:
            from bosh_aws_cpi.cpi.vms.deregister import deregister  # noqa: PLC0415 - loads pydantic

            before = _with_tags(cloud, instances.find(cloud.ec2, vm_cid))
            deregistered = deregister(cloud, before)
        if aws.skip_os_shutdown is not None and (before is None or deregistered):
            # The drain may have taken minutes, in which disks may have been attached.
            before = _with_tags(cloud, instances.find(cloud.ec2, vm_cid), before)
        skips_shutdown = before is not None and _skips_shutdown(cloud, before)
        instances.terminate(cloud.ec2, vm_cid, skips_shutdown=skips_shutdown)
    except VMNotFound:
        registry.delete(vm_cid)
        raise
    if aws.fast_path_delete:
        if before is not None:
            _deregister_addresses(cloud, before, deregistered)
        tags.mark_deleted(cloud.ec2, vm_cid)
    else:
        _finish(cloud, vm_cid, before, deregistered)
    registry.delete(vm_cid)


def _with_tags(cloud: Cloud, instance: Instance, other: Instance | None = None) -> Instance:
    """The VM with its tags: if EC2 did not show them, those of another look, or of one some seconds later."""
    with_tags = timing.look_twice(
        lambda: next((each for each in (instance, other) if each and tag_plan.are_shown(each.tags)), None),
        lambda: ask_or_warn(
            f"the tags of '{instance}'", lambda: instances.find_with_tags(cloud.ec2, instance.vm_cid)
        ),
    )
    return instance if with_tags is None else instance.replace(tags={**instance.tags, **with_tags.tags})


def _finish(cloud: Cloud, vm_cid: str, before: Instance | None, deregistered: "Sequence[Target]") -> None:
    """Deregister the VM's addresses while it shuts down, and wait until it is terminated in any case."""
    seen: list[Instance] = []
    failed: list[CloudError] = []

    def deregister_now(now: Instance) -> None:
        seen.append(now)
        try:
            _deregister_addresses(cloud, _with_tags(cloud, before or now, now), deregistered)
        except CloudError as error:
            failed.append(error)

    instances.wait_until_terminated(cloud.ec2, vm_cid, deregister_now)
    if not seen:
        logger.warning("EC2 does not show VM '%s' any more: its target groups are not known", vm_cid)
    if failed:
        raise failed[0]


def _skips_shutdown(cloud: Cloud, instance: Instance) -> bool:
    """Whether its property or the configuration says so, and no disk outlives the VM."""
    default = cloud.config.aws.skip_os_shutdown
    if default is None:
        return False
    if not (tag_plan.are_shown(instance.tags) and instance.devices):  # each VM has a root disk
        logger.info("The shutdown of '%s' is not skipped: EC2 does not show its tags and disks", instance)
        return False
    if not tag_plan.skips_shutdown(instance.tags, default=default):
        return False
    if instance.kept_volumes:
        kept = ", ".join(sorted(instance.kept_volumes))
        logger.info(
            "The shutdown of '%s' is not skipped, because disks outlive it: %s", instance.vm_cid, kept
        )
    return not instance.kept_volumes


def _deregister_addresses(cloud: Cloud, instance: Instance, deregistered: "Sequence[Target]") -> None:
    if any(map(records_target, instance.tags)) or not tag_plan.are_shown(instance.tags):
        from bosh_aws_cpi.cpi.vms.deregister import deregister_addresses  # noqa: PLC0415 - loads pydantic

        deregister_addresses(cloud.clients, instance, deregistered)
