"""One launch of a VM's instance: RunInstances, and the wait until the instance runs."""

import time
from collections.abc import Callable, Sequence
from typing import Final

from bosh_aws_cpi.aws import instances, launches
from bosh_aws_cpi.aws.launches import GroupFailed, NeverSeen, NoCapacity, SubnetFull, TokenSpent, Unanswered
from bosh_aws_cpi.aws.sdk.cleanup import in_turn
from bosh_aws_cpi.aws.sdk.error_codes import RESERVATION_CLOSED
from bosh_aws_cpi.aws.sdk.errors import described, has_code
from bosh_aws_cpi.aws.sdk.translation import explained
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.undo import Undo, attempt
from bosh_aws_cpi.cpi.vms.create.addresses import AddressTaken, claiming
from bosh_aws_cpi.cpi.vms.create.client_tokens import ClientTokens
from bosh_aws_cpi.cpi.vms.create.interfaces import nic_failed
from bosh_aws_cpi.cpi.vms.create.launch_plan import LaunchPlan
from bosh_aws_cpi.errors import VMCreationFailed
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger, redact
from bosh_aws_cpi.model import Instance, Nic
from bosh_aws_cpi.plan import agent_settings, nics, run_instances
from bosh_aws_cpi.plan.launch_options import LaunchOption

_CLOCK_TOLERANCE: Final = 2.0
"""Seconds: AWS reports the times of a launch and of an answer in whole seconds."""


class Launcher:
    """Launches a VM in the way of one launch option.

    Args:
        cloud: The call's cloud.
        plan: The VM.
        created: The interfaces that already exist; none when RunInstances creates the only one.
        undo: Collects the step that discards each instance.
        tokens: The client tokens of the launches.
    """

    def __init__(
        self, cloud: Cloud, plan: LaunchPlan, created: Sequence[Nic], undo: Undo, tokens: ClientTokens
    ) -> None:
        self._cloud = cloud
        self._plan = plan
        self._created = created
        self._undo = undo
        self._tokens = tokens
        self._began = time.monotonic()

    def run(self, option: LaunchOption, generation: int, *, has_more: bool) -> Instance:
        """One launch, until its instance runs.

        Raises:
            Ended: EC2 ended the instance.
            NoCapacity: EC2 has no capacity for it; or, if it is not on demand, AWS is at fault, or the
                reservation takes no VMs now. For spot, any refusal.
            SubnetFull: The option's subnet has no free address.
            TokenSpent: The client token belongs to an earlier instance, which is gone.
            GroupFailed: The spread placement group is full, or EC2 does not accept it in time.
            CloudError: EC2 refuses it, or the wait timed out.
        """
        launched = self._launch(option, generation, has_more=has_more)
        is_new = self.is_new(launched)
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
        logger.info("Launching %s", option)

        def create() -> Instance:
            return self._undo.create(
                lambda: launches.run(
                    cloud.ec2,
                    arguments,
                    lambda: self._tokens.launched(option, generation),
                    self.is_new,
                ),
                lambda created: _discard(cloud, created.vm_cid),
            )

        nic_plan = self._plan.nic_plan_of(option)

        def claim() -> Instance:
            if self._created:
                return create()
            agent_id = self._plan.settings_input.agent_id
            return claiming(cloud, agent_id, nic_plan.subnet_id, nic_plan.addresses, create)

        try:
            return self._spread(claim)
        except AddressTaken as error:
            raise nic_failed(nic_plan, error) from error
        except cloud.ec2.exceptions.ClientError as error:
            # On demand costs more than a reservation: only one that takes no VMs now is a reason for it.
            is_closed = not option.is_on_demand and has_code(error, RESERVATION_CLOSED)
            if option.is_spot or (has_more and is_closed):
                raise NoCapacity(described(error), explained(error)) from error
            raise
        except VMCreationFailed as error:
            is_known = isinstance(error, NoCapacity | SubnetFull | Unanswered | GroupFailed)
            # Otherwise AWS is at fault, or throttles the call.
            if has_more and not is_known and not option.is_on_demand:
                raise NoCapacity(error.message, ok_to_retry=True) from error
            raise

    def _spread(self, launch: Callable[[], Instance]) -> Instance:
        """Launch into the spread placement group, if the VM has one."""
        group = self._plan.launch_spec.spread
        if group is None:
            return launch()
        from bosh_aws_cpi.cpi.vms.create.spread import spreading  # noqa: PLC0415 - few VMs have a group

        return spreading(self._cloud, group, launch)

    def is_new(self, instance: Instance) -> bool:
        """Whether this call launched the instance; EC2 may answer a client token with an earlier call's."""
        elapsed = time.monotonic() - self._began
        return instance.age is None or instance.age <= elapsed + _CLOCK_TOLERANCE

    def _arguments(self, option: LaunchOption, token: str) -> Json:
        plan = self._plan
        if self._created:
            interfaces = [nics.attached_specification(n, nic.nic_id) for n, nic in enumerate(self._created)]
        else:
            is_public = plan.launch_spec.properties.auto_assign_public_ip
            nic_plan = plan.nic_plan_of(option)
            interfaces = [nics.inline_specification(nic_plan, plan.group_ids, is_public=is_public)]
        is_registry_used = self._cloud.registry.is_used
        macs = plan.mac_addresses(self._created)
        user_data = agent_settings.user_data(
            plan.settings_input, option.devices, macs, is_registry_used=is_registry_used
        )
        redact.learn({"user_data": user_data})  # AWS's error may repeat the call's parameters
        return run_instances.arguments(
            plan.launch_spec,
            option,
            interfaces=interfaces,
            user_data=user_data,
            client_token=token,
        )


def _discard(cloud: Cloud, vm_cid: str) -> None:
    """Discard the instance and its settings: the registry may have saved them even if its answer was lost."""
    settings = f"the settings of '{vm_cid}' in the registry"
    in_turn(
        lambda: instances.discard(cloud.ec2, vm_cid),
        lambda: attempt(settings, lambda: cloud.registry.delete(vm_cid)),
    )
