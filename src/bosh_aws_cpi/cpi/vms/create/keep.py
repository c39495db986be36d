"""Keeps the instance of a failed create_vm, stopped, so that an operator can examine it."""

from bosh_aws_cpi.aws import instances, tags
from bosh_aws_cpi.aws.sdk import clock, timing
from bosh_aws_cpi.aws.sdk.idempotency import written_time
from bosh_aws_cpi.aws.sdk.translation import explained
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.undo import reason_of
from bosh_aws_cpi.cpi.vms.create.vm_plan import VmPlan
from bosh_aws_cpi.errors import Note
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Instance
from bosh_aws_cpi.plan import tags as tag_plan
from bosh_aws_cpi.tag_names import VM_METADATA


def keep(cloud: Cloud, plan: VmPlan, instance: Instance, failure: Exception) -> bool:
    """Tag an instance with the time and the failure's code, and stop it; False if it can't be kept.

    The tag comes first: if the CPI is killed after it, the instance still runs, and a retry completes it. If
    it were stopped without the tag, a retry would wait for it to run.
    """
    vm_cid = instance.vm_cid
    if why := _reason_against(plan, instance):
        logger.warning("aws.keep_failed_vms: instance '%s' is not kept: %s", vm_cid, why)
        return False
    try:
        tag = tag_plan.of_kept(written_time(clock.now()), reason_of(failure), vm_cid)
        tags.require(cloud.ec2, vm_cid, tag, timing.TAGGABLE)
        instances.stop(cloud.ec2, vm_cid)
        timing.until(
            timing.INSTANCE_STOPPED, f"instance '{vm_cid}' to be kept", lambda: _check(cloud, vm_cid)
        )
    except Exception as error:  # noqa: BLE001 - the caller gets the first error
        logger.warning("aws.keep_failed_vms: instance '%s' is not kept: %s", vm_cid, explained(error))
        return False
    logger.warning("aws.keep_failed_vms: instance '%s' is stopped and kept", vm_cid)
    director = cloud.config.director_uuid or "UUID"
    note = (
        f". Instance '{vm_cid}' is stopped and kept, because of aws.keep_failed_vms: examine it, then "
        f"delete it: bin/cpi sweep --director {director} --delete --instance {vm_cid}"
    )
    failure.add_note(Note(note))
    return True


def _check(cloud: Cloud, vm_cid: str) -> None:
    """A retry must not find the instance running, or without its tag: it would take it for the VM."""
    if not tag_plan.is_kept(found := instances.find(cloud.ec2, vm_cid)):
        raise timing.NotYet(found.state)


def _reason_against(plan: VmPlan, instance: Instance) -> str:
    """Why the instance can't be kept; empty if it can.

    The next attempt may need what it holds: EC2 takes neither the primary address from an interface nor the
    primary interface from an instance, not even from a stopped one.
    """
    if plan.creates_nics_first:
        return "the next attempt needs its network interfaces"
    if any(nic.addresses or nic.ipv4_prefix or nic.ipv6_prefix for nic in plan.nic_plans):
        return "the next attempt needs its static address"
    if plan.traffic is not None and plan.traffic.vip is not None:
        return "the next attempt needs its elastic IP"
    if instance.is_spot:
        return "EC2 stops no one-time spot instance"
    names = ", ".join(sorted(VM_METADATA & {*plan.spec.tags, *instance.tags}))
    return f"with tags of these names it counts as a VM of the Director; use others: {names}" if names else ""
