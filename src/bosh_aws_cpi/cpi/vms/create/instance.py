"""Launches a VM's instance: carries out what `launch_outcomes` decides, until an instance runs."""

import time
from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Final

from bosh_aws_cpi.aws import instances, launches, network_interfaces
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.errors import FAILURES, run_all
from bosh_aws_cpi.aws.sdk.idempotency import create_once
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.identity import client_token
from bosh_aws_cpi.cpi.undo import Undo, attempt
from bosh_aws_cpi.cpi.vms.create import launch_outcomes
from bosh_aws_cpi.cpi.vms.create.interfaces import AddressTaken, address_wait, nic_error
from bosh_aws_cpi.cpi.vms.create.launch_outcomes import Outcome, Rule
from bosh_aws_cpi.cpi.vms.create.spread import group_wait
from bosh_aws_cpi.cpi.vms.create.vm_plan import VmPlan
from bosh_aws_cpi.errors import CloudError, VMCreationFailed
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger, redact
from bosh_aws_cpi.model import Instance, Nic
from bosh_aws_cpi.plan import agent_settings, nics, run_instances, tag_plan
from bosh_aws_cpi.plan.launch_options import LaunchOption

MAX_GENERATIONS: Final = 20
"""The maximum number of client tokens, and so of earlier calls' instances, for one launch option."""
_CLOCK_TOLERANCE: Final = 2.0
"""Seconds: AWS reports the times of a launch and of an answer in whole seconds."""


class _TokenSpent(Exception):
    """The client token belongs to an earlier launch, whose instance has other properties."""


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
        self._began = time.monotonic()
        self._relaunches = launch_outcomes.MAX_RELAUNCHES
        self._refusals: list[tuple[LaunchOption, Outcome]] = []

    def run(self) -> tuple[Instance, LaunchOption]:
        """Launch until an instance runs; returns it, and the launch option that it came from.

        Raises:
            CloudError: EC2 refused the launch, or its interface's address belongs to somebody else.
            VMCreationFailed: EC2 has no capacity or no free address for any launch option, or the
                instance was terminated.
        """
        self._begin(*self._find_start())
        while True:
            try:
                launched = self._undo.create(self._run_instances, self._discard)
            except _TokenSpent as error:
                outcome = launch_outcomes.spent_token(str(error))
            except FAILURES as error:
                outcome = launch_outcomes.outcome_of_error(error, self._waits)
            else:
                running = self._watch(launched)
                if isinstance(running, Instance):
                    return running, self._option
                outcome = running
            self._follow(outcome)

    def _begin(self, options: Sequence[LaunchOption], generation: int) -> None:
        """Prepare the launch of the first of the options, and of a generation.

        The client token of a launch is made of the launch option and the generation. EC2 answers a used token
        with the earlier launch, so a further launch of the same option needs the next generation.
        """
        if generation >= MAX_GENERATIONS:
            text = f"{MAX_GENERATIONS} instances were already launched for this VM: use another agent id"
            raise VMCreationFailed(text)
        self._options, self._generation = options, generation
        self._option = options[0]
        log = logger.warning if self._option.skips_placement_group else logger.info
        log("Launching %s", self._option)
        self._arguments = self._run_arguments()
        self._waits = self._waits_for_launch()

    def _follow(self, outcome: Outcome) -> None:
        """Do what the table says, so that the next launch can be tried.

        Raises:
            CloudError: No further launch makes sense.
        """
        option, rule = self._option, outcome.rule
        allowed = [other for other in self._options[1:] if rule.allows(option, other)]
        step = launch_outcomes.next_step(
            outcome, option, has_others=bool(allowed), relaunches=self._relaunches
        )
        if step == "wait":
            if (over := self._wait(outcome)) is not None:
                self._follow(over)
            return
        if step == "fail":
            raise outcome.error
        if outcome.instance is not None:
            self._wait_for_interfaces()
        if step == "next token":
            self._begin(self._options, self._next_generation(outcome))
        elif step == "relaunch":
            logger.warning("Relaunching: %s", outcome.error.message)
            self._relaunches -= 1
            self._begin(self._options, self._generation + 1)
        else:
            logger.warning("EC2 can't launch %s: %s", option, outcome.message)
            self._refusals.append((option, outcome))
            if step == "fail with all refusals":
                raise launch_outcomes.failure(self._refusals, self._plan.limits)
            self._begin(allowed, 0)

    def _waits_for_launch(self) -> dict[Rule, timing.Wait]:
        """The waits that make sense for the launch, by the rule of the outcome."""
        cloud, plan, option, rules = self._cloud, self._plan, self._option, launch_outcomes
        profile = rules.PROFILE_RULE
        waits = {profile: timing.Wait(profile.wait, "EC2 to know the instance profile")}
        if not self._created:
            nic_plan, taken = plan.nic_plan_of(option), rules.ADDRESS_RULE
            waits[taken] = address_wait(taken.wait, cloud, plan, nic_plan.subnet_id, nic_plan.addresses)
        if plan.spread is not None and not option.skips_placement_group:
            unknown = rules.UNKNOWN_GROUP_RULE
            waits[unknown] = group_wait(unknown.wait, cloud, plan.spread)
        return waits

    def _wait(self, outcome: Outcome) -> Outcome | None:
        """Wait before the same launch; returns None, or the outcome if the wait has failed."""
        try:
            self._waits[outcome.rule].pause(outcome.error.__cause__ or outcome.error)
        except AddressTaken as error:
            raise nic_error(self._plan.nic_plan_of(self._option), error) from error
        except VMCreationFailed as error:  # EC2 does not accept the placement group
            return outcome.replace(message=error.message, error=error, has_waited=True)
        except FAILURES as error:
            return launch_outcomes.outcome_of_error(error, self._waits).replace(has_waited=True)
        return None

    def _find_start(self) -> tuple[list[LaunchOption], int]:
        """The launch options in the order in which to try them, and the first generation.

        With several options, an earlier call may have got further down the list before it was interrupted:
        the option that it launched comes first. For a single option, the client token suffices.
        """
        options = list(self._plan.options)
        if len(options) > 1:
            alive = {token for token, entry in self._find_by_token().items() if not entry.is_ending}
            for option, generation in product(options, range(MAX_GENERATIONS)):
                if self._token(option, generation) in alive:
                    logger.info("An earlier call has launched this VM as %s", option)
                    return [option, *(other for other in options if other is not option)], generation
        return options, 0

    def _token(self, option: LaunchOption, generation: int) -> str:
        """The client token of a launch, which is the same in a retry of the call."""
        return client_token("instance", *self._plan.identity, option, generation)

    def _find_by_token(self) -> dict[str | None, Instance]:
        """The VM's instances that EC2 still shows, by client token."""
        vms = instances.find_by_tags(self._cloud.ec2, tag_plan.of_origin(*self._plan.identity))
        return {each.client_token: each for each in vms}

    def _run_instances(self) -> Instance:
        """Call RunInstances; if it fails, cancel the spot request that it may leave open.

        Raises:
            _TokenSpent: The client token belongs to another launch.
        """
        ec2, token = self._cloud.ec2, self._token(self._option, self._generation)
        launch = partial(launches.run, ec2, self._arguments)
        try:
            instance = create_once("the instance", launch, lambda: self._find_by_token().get(token))
        except FAILURES as error:
            outcome = launch_outcomes.outcome_of_error(error)
            if self._option.is_spot and outcome.rule.error != "AWS's":
                of_vm = tag_plan.of_origin(*self._plan.identity)
                what = f"open spot requests with the tag {tag_plan.AGENT_TAG}={self._plan.identity[1]}"
                attempt(what, lambda: launches.cancel_open_requests(ec2, of_vm))
            raise
        difference = None if self._is_new(instance) else launches.difference(instance, self._arguments)
        if difference is not None:
            raise _TokenSpent(f"its instance '{instance.vm_cid}' has {difference}")
        return instance

    def _watch(self, launched: Instance) -> Instance | Outcome:
        """Wait until the instance runs; returns it, or the outcome of the launch."""
        ec2, vm_cid, nic_count = self._cloud.ec2, launched.vm_cid, len(self._plan.nic_plans)
        seen = launches.wait_until_running(ec2, vm_cid, nic_count, is_new=self._is_new(launched))
        if seen is None:
            instances.discard(ec2, vm_cid)
            return launch_outcomes.spent_token(f"EC2 does not show instance '{vm_cid}'")
        if not seen.is_ending:
            return seen
        outcome = launch_outcomes.outcome_of_end(seen)
        return outcome if self._is_new(seen) else outcome.replace(rule=launch_outcomes.TOKEN_RULE)

    def _is_new(self, instance: Instance) -> bool:
        """Whether this call launched the instance; EC2 may answer a client token with an earlier call's."""
        elapsed = time.monotonic() - self._began
        return instance.age is None or instance.age <= elapsed + _CLOCK_TOLERANCE

    def _run_arguments(self) -> Json:
        plan, option = self._plan, self._option
        if self._created:
            interfaces = nics.attached_specifications(
                plan.nic_plans, [nic.nic_id for nic in self._created], option.of_type.single_cards
            )
        else:
            is_public = plan.properties.auto_assign_public_ip
            nic_plan = plan.nic_plan_of(option)
            interfaces = [nics.inline_specification(nic_plan, plan.group_ids, is_public=is_public)]
        macs = plan.mac_addresses(self._created)
        user_data = agent_settings.user_data(plan.settings_input, option.devices, macs)
        redact.learn({"user_data": user_data})  # AWS's error may repeat the call's parameters
        arguments = run_instances.arguments(
            plan,
            option,
            interfaces=interfaces,
            user_data=user_data,
            client_token=self._token(option, self._generation),
        )
        template = plan.template
        if template is not None and (ignored := template.ignored(arguments)):
            logger.warning("The VM's own settings replace %s of %s", ", ".join(ignored), template)
        return arguments

    def _next_generation(self, outcome: Outcome) -> int:
        """The generation after one whose client token can't be used.

        Raises:
            CloudError: Its instance is alive, with other arguments, and has this VM's interfaces.
        """
        logger.info("The client token belongs to an earlier launch: %s", outcome.message)
        by_token = self._find_by_token()
        tokens = {each: self._token(self._option, each) for each in range(MAX_GENERATIONS)}
        used = {each: by_token[token] for each, token in tokens.items() if token in by_token}
        earlier = used.get(self._generation)
        if earlier is not None and not earlier.is_ending:
            text = f"Instance '{earlier.vm_cid}' was created for this agent with other arguments"
            if any(nic.vm_cid == earlier.vm_cid for nic in self._created):
                hint = "and has its network interfaces: delete it if the Director does not know it"
                raise CloudError(f"{text}, {hint}")
            logger.warning("%s; it stays", text)
        return launch_outcomes.next_generation(self._generation, used)

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
        run_all(
            lambda: instances.discard(self._cloud.ec2, instance.vm_cid),
            lambda: attempt(settings, lambda: self._cloud.registry.delete(instance.vm_cid)),
        )
