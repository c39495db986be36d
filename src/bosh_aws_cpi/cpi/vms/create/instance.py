"""Launches a VM's instance: carries out what `launch_outcomes` decides, until an instance runs."""

import time
from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Final

from bosh_aws_cpi.aws import instances, launches, network_interfaces
from bosh_aws_cpi.aws.launches import TokenSpent
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.errors import FAILURES, is_profile_unknown, run_all
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.identity import client_token
from bosh_aws_cpi.cpi.undo import Undo, attempt
from bosh_aws_cpi.cpi.vms.create import launch_outcomes
from bosh_aws_cpi.cpi.vms.create.interfaces import AddressTaken, nic_error, retry_until_free
from bosh_aws_cpi.cpi.vms.create.launch_outcomes import Outcome
from bosh_aws_cpi.cpi.vms.create.spread import launch_in_group
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

    def run(self) -> tuple[Instance, LaunchOption]:
        """Launch until an instance runs; returns it, and the launch option that it came from.

        The client token of a launch is made of the launch option and a generation. EC2 answers a used token
        with the earlier launch, so a further launch of the same option needs the next generation.

        Raises:
            CloudError: EC2 refused the launch, or its interface's address belongs to somebody else.
            VMCreationFailed: EC2 has no capacity or no free address for any launch option, or the
                instance was terminated.
        """
        options, generation = self._find_start()
        relaunches = launch_outcomes.MAX_RELAUNCHES
        refusals: list[tuple[LaunchOption, Outcome]] = []
        while generation < MAX_GENERATIONS:
            option, *others = options
            outcome = self._launch(option, generation)
            if isinstance(outcome, Instance):
                return outcome, option
            allowed = [other for other in others if outcome.rule.allows(option, other)]
            step = launch_outcomes.next_step(outcome, option, has_others=bool(allowed), relaunches=relaunches)
            if step == "fail":
                raise outcome.error
            if outcome.instance is not None:
                self._wait_for_interfaces()
            if step == "next token":
                generation = self._next_generation(option, generation, outcome)
            elif step == "relaunch":
                logger.warning("Relaunching: %s", outcome.error.message)
                generation, relaunches = generation + 1, relaunches - 1
            else:
                logger.warning("EC2 can't launch %s: %s", option, outcome.message)
                refusals.append((option, outcome))
                if step == "fail with all refusals":
                    raise launch_outcomes.failure(refusals, self._plan.limits)
                options, generation = allowed, 0
        message = f"{MAX_GENERATIONS} instances were already launched for this VM: use another agent id"
        raise VMCreationFailed(message)

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

    def _launch(self, option: LaunchOption, generation: int) -> Instance | Outcome:
        """Launch once; returns the running instance, or the outcome of the launch."""
        try:
            launched = self._launch_once_free(option, generation)
        except AddressTaken as error:
            raise nic_error(self._plan.nic_plan_of(option), error) from error
        except TokenSpent as error:
            return Outcome(launch_outcomes.TOKEN_RULE, str(error), VMCreationFailed(str(error)))
        except VMCreationFailed as error:  # EC2 does not accept the placement group
            return Outcome(launch_outcomes.GROUP_RULE, error.message, error)
        except FAILURES as error:
            if (outcome := launch_outcomes.outcome_of_error(error)) is None:
                raise
            return outcome
        is_new, nic_count = self._is_new(launched), len(self._plan.nic_plans)
        seen = launches.wait_until_running(self._cloud.ec2, launched.vm_cid, nic_count, is_new=is_new)
        if seen is None:
            instances.discard(self._cloud.ec2, launched.vm_cid)
            message = f"EC2 does not show instance '{launched.vm_cid}'"
            return Outcome(launch_outcomes.TOKEN_RULE, message, VMCreationFailed(message))
        if not seen.is_ending:
            return seen
        outcome = launch_outcomes.outcome_of_end(seen)
        return outcome if self._is_new(seen) else outcome.replace(rule=launch_outcomes.TOKEN_RULE)

    def _launch_once_free(self, option: LaunchOption, generation: int) -> Instance:
        """Retry RunInstances until the address is free, and EC2 knows the profile and the placement group."""
        (logger.warning if option.skips_placement_group else logger.info)("Launching %s", option)
        run = partial(self._run_instances, option, generation, self._arguments(option, generation))
        launch = partial(self._undo.create, run, self._discard)
        what = "EC2 to know the instance profile"
        create = partial(timing.retry_on_codes, timing.PROFILE_SEEN, what, is_profile_unknown, launch)
        if not self._created:
            nic_plan = self._plan.nic_plan_of(option)
            agent_id = self._plan.settings_input.agent_id
            create = partial(
                retry_until_free, self._cloud, agent_id, nic_plan.subnet_id, nic_plan.addresses, create
            )
        group = self._plan.spec.spread
        if group is None or option.skips_placement_group:
            return create()
        return launch_in_group(self._cloud, group, create)

    def _run_instances(self, option: LaunchOption, generation: int, arguments: Json) -> Instance:
        """Call RunInstances; if it fails, cancel the spot request that it may leave open."""
        ec2, token = self._cloud.ec2, self._token(option, generation)
        try:
            return launches.run(ec2, arguments, lambda: self._find_by_token().get(token), self._is_new)
        except FAILURES as error:
            outcome = launch_outcomes.outcome_of_error(error)
            if option.is_spot and outcome is not None and outcome.rule.error != "AWS's":
                of_vm = tag_plan.of_origin(*self._plan.identity)
                what = f"open spot requests with the tag {tag_plan.AGENT_TAG}={self._plan.identity[1]}"
                attempt(what, lambda: launches.cancel_open_requests(ec2, of_vm))
            raise

    def _is_new(self, instance: Instance) -> bool:
        """Whether this call launched the instance; EC2 may answer a client token with an earlier call's."""
        elapsed = time.monotonic() - self._began
        return instance.age is None or instance.age <= elapsed + _CLOCK_TOLERANCE

    def _arguments(self, option: LaunchOption, generation: int) -> Json:
        plan = self._plan
        if self._created:
            interfaces = nics.attached_specifications(
                plan.nic_plans, [nic.nic_id for nic in self._created], option.facts.single_cards
            )
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
            client_token=self._token(option, generation),
        )
        template = plan.spec.template
        if template is not None and (ignored := template.ignored(arguments)):
            logger.warning("The VM's own settings replace %s of %s", ", ".join(ignored), template)
        return arguments

    def _next_generation(self, option: LaunchOption, generation: int, outcome: Outcome) -> int:
        """The generation after one whose client token can't be used.

        Raises:
            CloudError: Its instance is alive, with other arguments, and has this VM's interfaces.
        """
        logger.info("The client token belongs to an earlier launch: %s", outcome.message)
        by_token = self._find_by_token()
        tokens = {each: self._token(option, each) for each in range(MAX_GENERATIONS)}
        used = {each: by_token[token] for each, token in tokens.items() if token in by_token}
        earlier = used.get(generation)
        if earlier is not None and not earlier.is_ending:
            text = f"Instance '{earlier.vm_cid}' was created for this agent with other arguments"
            if any(nic.vm_cid == earlier.vm_cid for nic in self._created):
                hint = "and has its network interfaces: delete it if the Director does not know it"
                raise CloudError(f"{text}, {hint}")
            logger.warning("%s; it stays", text)
        return launch_outcomes.next_generation(generation, used)

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
