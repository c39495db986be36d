"""A VM that is checked and planned, but not created yet."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bosh_aws_cpi.model import Nic, NicPlan
from bosh_aws_cpi.plan import nics
from bosh_aws_cpi.plan.agent_settings import AgentSettingsInput
from bosh_aws_cpi.plan.launch_options import LaunchOption
from bosh_aws_cpi.plan.run_instances import LaunchSpec
from bosh_aws_cpi.records import Record

if TYPE_CHECKING:
    from bosh_aws_cpi.cpi.vms.create.traffic import Traffic


class LaunchPlan(Record):
    """The complete plan of a create_vm, before the first resource is created."""

    launch_spec: LaunchSpec
    settings_input: AgentSettingsInput
    options: Sequence[LaunchOption]
    """The ways in which it may be launched, in the order in which they are tried."""
    nic_plans: Sequence[NicPlan]
    creates_nics_first: bool
    """Whether the interfaces are created before the instance; otherwise RunInstances creates the only one."""
    group_ids: Sequence[str]
    traffic: "Traffic | None"
    """Routes, load balancers and an elastic IP, if the VM gets traffic from any."""
    director_uuid: str | None

    @property
    def identity(self) -> tuple[str, str]:
        """Director and agent: they are the same for a create_vm and its retry, and for no other call."""
        return self.director_uuid or "", self.settings_input.agent_id

    def nic_plan_of(self, option: LaunchOption) -> NicPlan:
        """The interface that RunInstances creates, in the launch option's subnet."""
        first = self.nic_plans[0]
        return first.replaced(subnet_id=option.subnet_id) if option.subnet_id else first

    def mac_addresses(self, created: Sequence[Nic]) -> Mapping[str, str]:
        """MAC address by network, for the interfaces that were created before the launch."""
        return nics.mac_addresses(self.nic_plans, [nic.mac_address for nic in created])
