"""Launches a VM into the spread placement group of its instance group.

The group belongs to all VMs of the instance group, of which others may be launched at this moment. So no
create_vm deletes it, not even one that created it and fails: it has its tags from its creation on, the next
create_vm uses it, and `cpi sweep` deletes it when the instance group has no VMs any more.
"""

from collections.abc import Callable
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from bosh_aws_cpi.aws import placement_groups
from bosh_aws_cpi.aws.launches import GroupUnknown, NoCapacity
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.errors import described
from bosh_aws_cpi.aws.sdk.translation import explained
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.errors import CloudError, VMCreationFailed
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Instance
from bosh_aws_cpi.plan import spread
from bosh_aws_cpi.plan import tags as tag_plan
from bosh_aws_cpi.plan.run_instances import LaunchSpec
from bosh_aws_cpi.plan.spread import SpreadGroup

_REMEDY: Final = ". Retry the deployment. If it fails again, check that nobody deletes the placement group"


class GroupFailed(VMCreationFailed):
    """The spread placement group, which all launch options share, is full, or EC2 does not accept it."""


def ensure_group(cloud: Cloud, launch_spec: LaunchSpec) -> None:
    """Create the VM's spread placement group, if it needs one that EC2 has not shown.

    Raises:
        CloudError: The CPI did not create the placement group of that name.
        VMCreationFailed: EC2 says that the group exists, but does not show it in time; retriable.
    """
    if launch_spec.spread is not None and not launch_spec.spread.exists:
        _ensure(cloud, launch_spec.spread)


def spreading(cloud: Cloud, launch_spec: LaunchSpec, launch: Callable[[], Instance]) -> Instance:
    """Launch an instance, into its spread placement group if it has one.

    Args:
        cloud: The call's cloud.
        launch_spec: The VM.
        launch: RunInstances. It is repeated while EC2 does not know the group, which may be new, or which a
            sweep may have deleted since this call saw it: then the group is created again.

    Raises:
        GroupFailed: The group is full; or EC2 does not accept it in time, which is retriable.
        CloudError: Somebody else has created a placement group of that name.
    """
    group = launch_spec.spread
    if group is None:
        return launch()
    try:
        return _into(cloud, group, launch)
    except (NoCapacity, ClientError) as error:
        if (refusal := _full(cloud, group, launch_spec.zone, error)) is not None:
            raise refusal from error
        raise


def _into(cloud: Cloud, group: SpreadGroup, launch: Callable[[], Instance]) -> Instance:
    """Launch into the group; the wait for it begins when EC2 first answers that it does not know it."""
    try:
        return launch()
    except GroupUnknown:
        logger.info("EC2 does not know placement group '%s'", group.name)

    def probe() -> Instance:
        _ensure(cloud, group)
        try:
            return launch()
        except GroupUnknown as error:
            raise timing.NotYet("EC2 does not know it") from error

    def timed_out(message: str) -> GroupFailed:
        return GroupFailed(f"spread: {message}{_REMEDY}", ok_to_retry=True)

    what = f"EC2 to accept placement group '{group.name}'"
    return timing.until(timing.VISIBLE, what, probe, timed_out, is_repeatable=False)


def _ensure(cloud: Cloud, group: SpreadGroup) -> None:
    """Create the group, or check the one that exists, as soon as EC2 shows its tags."""
    refusal: CloudError | None = None

    def probe() -> None:
        nonlocal refusal
        refusal = None
        tags = tag_plan.specifications(group.tags, "placement-group")
        found = placement_groups.ensure_spread(cloud.ec2, group.name, tags)
        if found is None:
            return
        refusal = spread.refusal(group, found.strategy, found.tags)
        if spread.may_lack_tags_yet(found.strategy, found.tags):
            raise timing.NotYet("EC2 does not show its tags")
        if refusal is not None:
            raise refusal

    def timed_out(message: str) -> CloudError:
        return refusal or VMCreationFailed(message, ok_to_retry=True)

    what = f"placement group '{group.name}' to be available"
    timing.until(timing.GROUP_AVAILABLE, what, probe, timed_out, is_repeatable=False)


def _full(cloud: Cloud, group: SpreadGroup, zone: str, error: NoCapacity | ClientError) -> GroupFailed | None:
    """The error that names EC2's limit, if it may be why EC2 refused the launch.

    AWS documents no code for that, so the group's instances are counted after any refusal.
    """
    if isinstance(error, ClientError) and error.operation_name != "RunInstances":
        return None
    try:
        count = placement_groups.running(cloud.ec2, group.name)[zone]
    except (BotoCoreError, ClientError) as unknown:
        logger.warning(
            "Could not count the instances of placement group '%s': %s", group.name, described(unknown)
        )
        return None
    if count < spread.MAX_RUNNING:
        return None
    said = error.message if isinstance(error, NoCapacity) else explained(error)
    return GroupFailed(spread.full(group, zone, count, said))
