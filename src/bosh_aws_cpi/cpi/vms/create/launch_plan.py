"""A VM that was checked and planned and is to be made."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bosh_aws_cpi.cpi.vms.create.traffic import Traffic
from bosh_aws_cpi.model import NicPlan
from bosh_aws_cpi.plan.agent_settings import AgentSettingsInput
from bosh_aws_cpi.plan.launch_options import LaunchOption
from bosh_aws_cpi.plan.run_instances import LaunchSpec


@dataclass(frozen=True)
class LaunchPlan:
    """All that create_vm knows before it makes the first thing."""

    launch_spec: LaunchSpec
    facts: AgentSettingsInput
    options: Sequence[LaunchOption]
    """The ways in which it may be launched, in the order in which they are tried."""
    nic_plans: Sequence[NicPlan]
    nics_first: bool
    """Whether the interfaces are made before the instance; else there is one, made with it."""
    group_ids: Sequence[str]
    traffic: Traffic
    director_uuid: str | None

    @property
    def identity(self) -> tuple[str, str]:
        """What the same create_vm has in common with its repetition, and with no other."""
        return self.director_uuid or "", self.facts.agent_id

    def facts_for(self, option: LaunchOption) -> AgentSettingsInput:
        """What the agent's settings are made of, when this offer is launched."""
        return replace(self.facts, devices=option.devices)
