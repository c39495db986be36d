"""Launches a VM's instance: tries one launch option after the other, and relaunches if EC2 itself ends it."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from bosh_aws_cpi.aws import instances, launches, network_interfaces
from bosh_aws_cpi.aws.launches import (
    Ended,
    GroupFailed,
    NeverSeen,
    NoCapacity,
    SubnetFull,
    TokenSpent,
    Unanswered,
)
from bosh_aws_cpi.aws.sdk.cleanup import in_turn
from bosh_aws_cpi.aws.sdk.error_codes import ENDED_FOR_CAPACITY, RESERVATION_CLOSED
from bosh_aws_cpi.aws.sdk.errors import described, has_code
from bosh_aws_cpi.aws.sdk.translation import explained
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.undo import Undo, attempt
from bosh_aws_cpi.cpi.vms.create.interfaces import AddressTaken, claiming, nic_failed
from bosh_aws_cpi.cpi.vms.create.refusals import Refusals
from bosh_aws_cpi.cpi.vms.create.vm_plan import VmPlan
from bosh_aws_cpi.errors import CloudError, VMCreationFailed
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger, redact
from bosh_aws_cpi.model import Instance, Nic
from bosh_aws_cpi.plan import agent_settings, nics, run_instances
from bosh_aws_cpi.plan import tags as tag_plan
from bosh_aws_cpi.plan.launch_options import LaunchOption
from bosh_aws_cpi.plan.tokens import client_token

MAX_GENERATIONS: Final = 20
"""The maximum number of client tokens, and so of earlier calls' instances, for one launch option."""
MAX_RELAUNCHES: Final = 2
"""The maximum number of relaunches after EC2 has ended an instance for reasons of its own."""
_CLOCK_TOLERANCE: Final = 2.0
"""Seconds: AWS reports the times of a launch and of an answer in whole seconds."""


class ClientTokens:
    """The client tokens of one create_vm.

    Args:
        identity: Director and agent, which are the same for a create_vm and its retry.
    """

    def __init__(self, cloud: Cloud, identity: tuple[str, str]) -> None:
        self._cloud = cloud
        self._identity = identity

    def token(self, option: LaunchOption, generation: int) -> str:
        """The client token of a launch, which is the same in every process."""
        return client_token("instance", *self._identity, option, generation)

    def begin(self, options: Sequence[LaunchOption]) -> tuple[list[LaunchOption], int]:
        """The launch options in the order in which to try them, and the first generation.

        With several options, an earlier call may have got further down the list before it was interrupted:
        the option that it launched comes first. For a single option, the client token suffices.
        """
        if len(options) > 1:
            alive = {entry.client_token for entry in self._instances() if not entry.is_ending}
            for option in options:
                for generation in range(MAX_GENERATIONS):
                    if self.token(option, generation) in alive:
                        logger.info("An earlier call has launched this VM as %s", option)
                        return [option, *(other for other in options if other is not option)], generation
        return list(options), 0

    def launched(self, option: LaunchOption, generation: int) -> Instance | None:
        """The instance of a launch; None while EC2 shows none."""
        return self.used(option).get(generation)

    def used(self, option: LaunchOption) -> dict[int, Instance]:
        """The instances that EC2 still shows of this launch option, by generation."""
        by_token = {entry.client_token: entry for entry in self._instances()}
        tokens = {generation: self.token(option, generation) for generation in range(MAX_GENERATIONS)}
        return {generation: by_token[token] for generation, token in tokens.items() if token in by_token}

    def _instances(self) -> list[Instance]:
        return instances.tagged(self._cloud.ec2, tag_plan.of_origin(*self._identity))


def following(generation: int, used: Mapping[int, Instance]) -> int:
    """The next generation: one whose instance is alive, otherwise the first that was never used."""
    alive = [later for later, entry in used.items() if later > generation and not entry.is_ending]
    return min(alive) if alive else max([generation, *used]) + 1


class InstanceCreation:
    """The launches of one create_vm.

    Args:
        created: The interfaces that already exist; none when RunInstances creates the only one.
        undo: Collects the step that discards each instance.
    """

    def __init__(self, cloud: Cloud, plan: VmPlan, created: Sequence[Nic], undo: Undo) -> None:
        self._cloud = cloud
        self._plan = plan
        self._created = created
        self._undo = undo
        self._tokens = ClientTokens(cloud, plan.identity)
        self._relaunches = MAX_RELAUNCHES
        self._began = time.monotonic()
        self._refusals = Refusals()

    def run(self) -> tuple[Instance, LaunchOption]:
        """Launch until an instance runs; returns it, and the launch option that it came from.

        Raises:
            CloudError: EC2 refused the launch, or its interface's address belongs to somebody else.
            VMCreationFailed: EC2 has no capacity or no free address for any launch option, or the
                instance was terminated.
        """
        options, generation = self._tokens.begin(self._plan.options)
        while options:
            option = options.pop(0)
            has_more = any(other.offer != option.offer for other in options)
            if instance := self._try(option, generation, has_more=has_more):
                return instance, option
            options = [other for other in options if self._refusals.allow(other)]
            generation = 0
        raise self._refusals.error()

    def _try(self, option: LaunchOption, generation: int, *, has_more: bool) -> Instance | None:
        """Launch one option, generation by generation; None when EC2 can't launch it.

        Args:
            has_more: Whether another type, market or zone is left to try.
        """
        following_one: int | None = generation
        while following_one is not None and following_one < MAX_GENERATIONS:
            generation = following_one
            try:
                return self._run(option, generation, has_more=has_more)
            except (NoCapacity, SubnetFull) as error:
                self._refusals.note(option, error)
                return None
            except GroupFailed as error:
                if all(not other.is_outside and other.zone == option.zone for other in self._plan.options):
                    raise
                self._refusals.note(option, error)
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

    def _run(self, option: LaunchOption, generation: int, *, has_more: bool) -> Instance:
        """One launch, until its instance runs. The errors are those of `aws.launches`.

        `NoCapacity` also means, if the option is not on demand, that AWS is at fault, or that the reservation
        takes no VMs now; for spot, any refusal.
        """
        launched = self._launch(option, generation, has_more=has_more)
        is_new = self._is_new(launched)
        if launched.is_ending and not is_new:
            message = f"its instance '{launched.vm_cid}' is {launched.state}"
            raise TokenSpent(message)
        nic_count = len(self._plan.nic_plans)
        try:
            return launches.wait_until_running(self._cloud.ec2, launched.vm_cid, nic_count, is_new=is_new)
        except NeverSeen as error:
            instances.discard(self._cloud.ec2, launched.vm_cid)
            raise TokenSpent(error.message) from error

    def _launch(self, option: LaunchOption, generation: int, *, has_more: bool) -> Instance:
        """RunInstances, as soon as the address is free."""
        cloud = self._cloud
        arguments = self._arguments(option, self._tokens.token(option, generation))
        (logger.warning if option.is_outside else logger.info)("Launching %s", option)

        def create() -> Instance:
            return self._undo.create(
                lambda: self._run_instances(option, generation, arguments),
                self._discard,
            )

        nic_plan = self._plan.nic_plan_of(option)

        def claim() -> Instance:
            if self._created:
                return create()
            agent_id = self._plan.settings_input.agent_id
            return claiming(cloud, agent_id, nic_plan.subnet_id, nic_plan.addresses, create)

        try:
            return claim() if option.is_outside else self._spread(claim)
        except AddressTaken as error:
            raise nic_failed(nic_plan, error) from error
        except cloud.ec2.exceptions.ClientError as error:
            # On demand costs more than a reservation: only one that takes no VMs now is a reason for it.
            is_closed = not option.is_on_demand and has_code(error, RESERVATION_CLOSED)
            if option.is_spot or (has_more and is_closed):
                raise NoCapacity(described(error), explained(error), ok_to_retry=False) from error
            raise
        except VMCreationFailed as error:
            is_known = isinstance(error, NoCapacity | SubnetFull | Unanswered | GroupFailed)
            # Otherwise AWS is at fault, or throttles the call.
            if has_more and not is_known and not option.is_on_demand:
                raise NoCapacity(error.message, error.message) from error
            raise

    def _run_instances(self, option: LaunchOption, generation: int, arguments: Json) -> Instance:
        """RunInstances; if it fails, the spot request that it may leave open is cancelled."""
        ec2 = self._cloud.ec2
        try:
            find = partial(self._tokens.launched, option, generation)
            return launches.run(ec2, arguments, find, self._is_new)
        except VMCreationFailed:
            if option.is_spot:
                of_vm = tag_plan.of_origin(*self._plan.identity)
                what = f"open spot requests with the tag {tag_plan.AGENT_TAG}={self._plan.identity[1]}"
                attempt(what, lambda: launches.cancel_open_requests(ec2, of_vm))
            raise

    def _spread(self, launch: Callable[[], Instance]) -> Instance:
        """Launch into the spread placement group, if the VM has one."""
        group = self._plan.spec.spread
        if group is None:
            return launch()
        from bosh_aws_cpi.cpi.vms.create.spread import spreading  # noqa: PLC0415 - few VMs have a group

        return spreading(self._cloud, group, launch)

    def _is_new(self, instance: Instance) -> bool:
        """Whether this call launched the instance; EC2 may answer a client token with an earlier call's."""
        elapsed = time.monotonic() - self._began
        return instance.age is None or instance.age <= elapsed + _CLOCK_TOLERANCE

    def _arguments(self, option: LaunchOption, token: str) -> Json:
        plan = self._plan
        if self._created:
            interfaces = nics.attached_specifications(plan.nic_plans, [nic.nic_id for nic in self._created])
        else:
            is_public = plan.spec.properties.auto_assign_public_ip
            nic_plan = plan.nic_plan_of(option)
            interfaces = [nics.inline_specification(nic_plan, plan.group_ids, is_public=is_public)]
        is_registry_used = self._cloud.registry.is_used
        macs = plan.mac_addresses(self._created)
        user_data = agent_settings.user_data(
            plan.settings_input, option.devices, macs, is_registry_used=is_registry_used
        )
        redact.learn({"user_data": user_data})  # AWS's error may repeat the call's parameters
        arguments = run_instances.arguments(
            plan.spec,
            option,
            interfaces=interfaces,
            user_data=user_data,
            client_token=token,
        )
        template = plan.spec.template
        if template is not None and (ignored := template.ignored(arguments)):
            logger.warning("The VM's own settings replace %s of %s", ", ".join(ignored), template)
        return arguments

    def _after_end(
        self, option: LaunchOption, generation: int, error: Ended, *, has_more: bool
    ) -> int | None:
        """After the end of an instance: the next generation, or None for the next launch option.

        Raises:
            Ended: A relaunch would not help.
        """
        if not self._is_new(error.instance):
            logger.info("Instance '%s' was launched by an earlier call", error.instance.vm_cid)
            self._wait_for_interfaces()
            return following(generation, self._tokens.used(option))
        goes_on = has_more and (
            error.code in ENDED_FOR_CAPACITY
            or (not option.is_on_demand and error.ok_to_retry)
            or (option.is_spot and error.is_about_a_key)  # on demand needs no grant
        )
        # A user's shutdown may be that of an earlier call, whose instance of two seconds ago looks new.
        is_relaunched = (error.ok_to_retry or error.is_by_user) and self._relaunches
        if not (goes_on or is_relaunched):
            raise error
        self._wait_for_interfaces()
        if goes_on:
            self._refusals.note(option, error)
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
            logger.warning("Instance '%s' was created for this agent with other arguments; it stays", vm_cid)
        return following(generation, used)

    def _wait_for_interfaces(self) -> None:
        """Wait until EC2 has detached the interfaces from an instance that it ended."""
        for nic in self._created:
            try:
                network_interfaces.wait_until_usable(self._cloud.ec2, nic.nic_id, lambda _: False)
            except network_interfaces.NicGone as error:
                raise VMCreationFailed(error.message, ok_to_retry=True) from error

    def _discard(self, instance: Instance) -> None:
        """Discard an instance and its settings, which the registry may have even if its answer was lost."""
        settings = f"the settings of '{instance.vm_cid}' in the registry"
        in_turn(
            lambda: instances.discard(self._cloud.ec2, instance.vm_cid),
            lambda: attempt(settings, lambda: self._cloud.registry.delete(instance.vm_cid)),
        )
