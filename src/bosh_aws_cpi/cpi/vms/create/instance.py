"""Launches a VM's instance: tries one launch option after the other, and relaunches if EC2 itself ends it."""

from collections.abc import Sequence
from typing import Final

from bosh_aws_cpi.aws import network_interfaces
from bosh_aws_cpi.aws.launches import Ended, NoCapacity, SubnetFull, TokenSpent
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.undo import Undo
from bosh_aws_cpi.cpi.vms.create.answers import Answers
from bosh_aws_cpi.cpi.vms.create.client_tokens import MAX_GENERATIONS, ClientTokens, following
from bosh_aws_cpi.cpi.vms.create.launch_plan import LaunchPlan
from bosh_aws_cpi.cpi.vms.create.launcher import Launcher
from bosh_aws_cpi.errors import CloudError, VMCreationFailed
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Instance, Nic
from bosh_aws_cpi.plan.launch_options import LaunchOption
from bosh_aws_cpi.records import Record

MAX_RELAUNCHES: Final = 2
"""The maximum number of relaunches after EC2 has ended an instance for reasons of its own."""
_SHORTAGES: Final = frozenset({"Server.InsufficientInstanceCapacity", "Server.SpotInstanceTermination"})
"""Reasons that may not apply to another instance type."""


class Launched(Record):
    """A running instance, and the launch option that it came from."""

    instance: Instance
    option: LaunchOption


class InstanceCreation:
    """The launches of one create_vm.

    Args:
        cloud: The call's cloud.
        plan: The VM.
        created: The interfaces that already exist; none when RunInstances creates the only one.
        undo: Collects the step that discards each instance.
    """

    def __init__(self, cloud: Cloud, plan: LaunchPlan, created: Sequence[Nic], undo: Undo) -> None:
        self._cloud = cloud
        self._plan = plan
        self._created = created
        self._tokens = ClientTokens(cloud, plan.identity)
        self._relaunches = MAX_RELAUNCHES
        self._launcher = Launcher(cloud, plan, created, undo, self._tokens)
        self._answers = Answers()

    def run(self) -> Launched:
        """Launch until an instance runs.

        Raises:
            CloudError: EC2 refused the launch, or its interface's address belongs to somebody else.
            VMCreationFailed: EC2 has no capacity or no free address for any launch option, or it ended the
                instance.
        """
        options, generation = self._tokens.begin(self._plan.options)
        while options:
            option = options.pop(0)
            has_more = any(other.way != option.way for other in options)
            if launched := self._try(option, generation, has_more=has_more):
                return launched
            options = [other for other in options if self._answers.allow(other)]
            generation = 0
        raise self._answers.error()

    def _try(self, option: LaunchOption, generation: int, *, has_more: bool) -> Launched | None:
        """Launch one option, generation by generation; None when EC2 can't launch it.

        Args:
            option: The option.
            generation: The first generation.
            has_more: Whether another type or market is left to try.
        """
        following_one: int | None = generation
        while following_one is not None and following_one < MAX_GENERATIONS:
            generation = following_one
            try:
                return Launched(self._launcher.run(option, generation, has_more=has_more), option)
            except (NoCapacity, SubnetFull) as error:
                self._answers.note(option, error)
                return None
            except TokenSpent as error:
                logger.info("The client token belongs to an earlier launch: %s", error)
                following_one = self._after_spent(option, generation)
            except Ended as error:
                following_one = self._after_end(option, generation, error, has_more=has_more)
        if following_one is None:
            return None
        message = f"{MAX_GENERATIONS} instances were already launched for this VM: use another agent id"
        raise VMCreationFailed(message)

    def _after_end(
        self, option: LaunchOption, generation: int, error: Ended, *, has_more: bool
    ) -> int | None:
        """After the end of an instance: the next generation, or None for the next launch option.

        Raises:
            Ended: A relaunch would not help.
        """
        if not self._launcher.is_new(error.instance):
            logger.info("Instance '%s' was launched by an earlier call", error.instance.vm_cid)
            self._wait_for_interfaces()
            return following(generation, self._tokens.used(option))
        goes_on = has_more and (
            error.code in _SHORTAGES
            or (not option.is_on_demand and error.ok_to_retry)
            or (option.is_spot and error.is_about_a_key)  # on demand needs no grant
        )
        if not goes_on and not (error.ok_to_retry and self._relaunches):
            raise error
        self._wait_for_interfaces()
        if goes_on:
            self._answers.note(option, error)
            return None
        self._relaunches -= 1
        logger.warning("Relaunching: %s", error.message)
        return generation + 1

    def _after_spent(self, option: LaunchOption, generation: int) -> int:
        """The generation after one whose token is spent.

        Raises:
            CloudError: Its instance is alive, with other arguments, and has this VM's interfaces.
        """
        used = self._tokens.used(option)
        if generation in used and not used[generation].is_ending:
            vm_cid = used[generation].vm_cid
            if any(nic.vm_cid == vm_cid for nic in self._created):
                message = (
                    f"Instance '{vm_cid}' was created for this agent with other arguments, and has its "
                    "network interfaces: delete it if the Director does not know it"
                )
                raise CloudError(message)
            logger.warning(
                "Instance '%s' was created for this agent with other arguments; it is kept", vm_cid
            )
        return following(generation, used)

    def _wait_for_interfaces(self) -> None:
        """Wait until EC2 has detached the interfaces from an instance that it ended."""
        for nic in self._created:
            try:
                network_interfaces.wait_until_usable(self._cloud.ec2, nic.nic_id, lambda _: False)
            except network_interfaces.NicGone as error:
                raise VMCreationFailed(error.message, ok_to_retry=True) from error
