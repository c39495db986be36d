"""Launches a VM into the spread placement group of its instance group.

The group belongs to all VMs of the instance group, of which others may be launched at this moment. So no
create_vm deletes it, not even one that created it and fails: it has its tags from its creation on, the next
create_vm uses it, and `cpi sweep` deletes it when the instance group has no VMs any more.
"""

from collections.abc import Sequence
from typing import Final

from bosh_aws_cpi.aws import placement_groups
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.errors import FAILURES, is_transient
from bosh_aws_cpi.aws.sdk.timing import Policy
from bosh_aws_cpi.aws.sdk.translation import explain
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.errors import CloudError, VMCreationFailed
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.plan import spread, tag_plan
from bosh_aws_cpi.plan.launch_options import LaunchOption
from bosh_aws_cpi.plan.spread import SpreadGroup

_REMEDY: Final = ". Retry the deployment. If it fails again, check that nobody deletes the placement group"


def known_group(cloud: Cloud, wanted: SpreadGroup) -> SpreadGroup:
    """Return an instance group's placement group as EC2 knows it; without the CPI's tags it is unknown.

    Raises:
        CloudError: The CPI did not create the placement group of that name.
    """
    existing = placement_groups.find(cloud.ec2, wanted.name)
    if existing is None or spread.may_lack_tags_yet(existing.strategy, existing.tags):
        return wanted
    if (refusal := spread.refusal(wanted, existing.strategy, existing.tags)) is not None:
        raise refusal
    return wanted.replace(exists=True)


def group_wait(policy: Policy, cloud: Cloud, group: SpreadGroup) -> timing.Wait:
    """The wait until EC2 knows a placement group, which may be new.

    A sweep may have deleted it since this call saw it: then it is created again.

    Raises:
        VMCreationFailed: At a pause: EC2 does not accept the group in time, which is retriable, or can't
            create it.
        CloudError: At a pause: somebody else has created a placement group of that name.
    """
    was_logged = False

    def prepare(_: BaseException) -> str:
        nonlocal was_logged
        if not was_logged:
            logger.info("EC2 does not know placement group '%s'", group.name)
        was_logged = True
        try:
            _ensure_group(cloud, group)
        except FAILURES as error:
            raise VMCreationFailed(explain(error), ok_to_retry=is_transient(error)) from error
        return "EC2 does not know it"

    def timed_out(message: str) -> VMCreationFailed:
        return VMCreationFailed(f"spread: {message}{_REMEDY}", ok_to_retry=True)

    return timing.Wait(policy, f"EC2 to accept placement group '{group.name}'", timed_out, prepare)


def prepare_group(
    cloud: Cloud, group: SpreadGroup, options: Sequence[LaunchOption]
) -> Sequence[LaunchOption]:
    """Create the group, or check the one that exists.

    Returns:
        The launch options. If the group is only preferred, and EC2 does not create it, only those outside of
        it. A group that was created without an answer stays, with its tags.

    Raises:
        CloudError: As `_ensure_group`.
    """
    outside = [option for option in options if option.skips_placement_group]
    try:
        _ensure_group(cloud, group)
    except (*FAILURES, VMCreationFailed) as error:
        if not outside:
            raise
        logger.warning("Not spread: %s", explain(error))
        return outside
    return options


def _ensure_group(cloud: Cloud, group: SpreadGroup) -> None:
    """Create the group, or check the one that exists, as soon as EC2 shows its tags.

    Raises:
        CloudError: The CPI did not create the placement group of that name.
        VMCreationFailed: EC2 says that the group exists, but does not show it in time; retriable.
    """
    refusal: CloudError | None = None

    def probe() -> None:
        nonlocal refusal
        refusal = None
        tags = tag_plan.specifications(group.tags, "placement-group")
        existing = placement_groups.ensure_spread(cloud.ec2, group.name, tags)
        if existing is None:
            return
        refusal = spread.refusal(group, existing.strategy, existing.tags)
        if spread.may_lack_tags_yet(existing.strategy, existing.tags):
            raise timing.NotYet("EC2 does not show its tags")
        if refusal is not None:
            raise refusal

    def timed_out(message: str) -> CloudError:
        return refusal or VMCreationFailed(message, ok_to_retry=True)

    what = f"placement group '{group.name}' to be available"
    timing.poll(timing.GROUP_AVAILABLE, what, probe, timed_out, is_repeatable=False)
