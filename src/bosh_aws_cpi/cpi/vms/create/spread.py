"""Launches a VM into the spread placement group of its instance group.

The group belongs to all VMs of the instance group, of which others may be launched at this moment. So no
create_vm deletes it, not even one that created it and fails: it has its tags from its creation on, the next
create_vm uses it, and `cpi sweep` deletes it when the instance group has no VMs any more.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from bosh_aws_cpi.aws import placement_groups
from bosh_aws_cpi.aws.launches import GroupUnknown, Unanswered
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.errors import described, may_be_done
from bosh_aws_cpi.aws.sdk.translation import explained
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.errors import VMCreationFailed
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.plan import spread
from bosh_aws_cpi.plan import tags as tag_plan
from bosh_aws_cpi.plan.run_instances import LaunchSpec
from bosh_aws_cpi.plan.spread import SpreadGroup

Launched = TypeVar("Launched")


def spreading(cloud: Cloud, launch_spec: LaunchSpec, launch: Callable[[], Launched]) -> Launched:
    """Launch a VM, after its spread placement group was created if it needs one.

    Args:
        cloud: The call's cloud.
        launch_spec: The VM.
        launch: Launches it. It is repeated while EC2 does not know the group, which may be new, or which a
            sweep may have deleted since this call saw it: then the group is created again.

    Raises:
        CloudError: The CPI did not create the placement group of that name.
        VMCreationFailed: The group is full, or EC2 does not accept it in time.
    """
    group = launch_spec.spread
    if group is None:
        return launch()
    if not group.exists:
        _ensure(cloud, group)

    def probe() -> Launched:
        try:
            return launch()
        except GroupUnknown as error:
            _ensure(cloud, group)
            raise timing.NotYet(error.message) from error

    timed_out = partial(VMCreationFailed, ok_to_retry=True)
    what = f"EC2 to accept placement group '{group.name}'"
    try:
        return timing.until(timing.VISIBLE, what, probe, timed_out, is_repeatable=False)
    except (VMCreationFailed, ClientError) as error:
        if (refusal := _full(cloud, group, launch_spec.zone, error)) is not None:
            raise refusal from error
        raise


def _ensure(cloud: Cloud, group: SpreadGroup) -> None:
    tags = tag_plan.specifications(group.tags, "placement-group")
    found = placement_groups.ensure_spread(cloud.ec2, group.name, tags)
    spread.check_existing(group, found.strategy, found.tags)


def _full(
    cloud: Cloud, group: SpreadGroup, zone: str, error: VMCreationFailed | ClientError
) -> VMCreationFailed | None:
    """The error that names EC2's limit, if it may be the cause; AWS documents no code for that.

    So the group's instances are counted after any refused launch.
    """
    if isinstance(error, Unanswered) or may_be_done(error):
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
    said = error.message if isinstance(error, VMCreationFailed) else explained(error)
    return VMCreationFailed(spread.full(group, zone, count, said))
