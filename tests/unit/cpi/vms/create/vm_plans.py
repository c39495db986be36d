"""A planned VM, for tests of its creation."""

from bosh_aws_cpi.cpi.vms.create.traffic import Traffic
from bosh_aws_cpi.cpi.vms.create.vm_plan import VmPlan
from bosh_aws_cpi.model import InstanceTypeFacts, NicPlan
from bosh_aws_cpi.plan.agent_settings import AgentSettingsInput
from bosh_aws_cpi.plan.block_devices import BlockDevices
from bosh_aws_cpi.plan.launch_options import LaunchOption, Market
from bosh_aws_cpi.plan.run_instances import InstanceSpec
from bosh_aws_cpi.properties.vm import VmProperties
from tests.unit.conftest import DIRECTOR

AGENT = "agent-1"
FIXED = NicPlan("a", ["a"], "subnet-1", "manual", "10.0.0.5")
DYNAMIC = NicPlan("b", ["b"], "subnet-1", "dynamic")


def option(name: str = "m5.large", market: Market = "on-demand") -> LaunchOption:
    """Return a launch option."""
    facts = InstanceTypeFacts(name, ebs_needs_nvme_path=True)
    return LaunchOption(facts, BlockDevices([], None), market)


def plan(*nic_plans: NicPlan, options: tuple[LaunchOption, ...] = ()) -> VmPlan:
    """Plan a VM with these interfaces, which may be launched in these ways."""
    given = {"instance_type": "m5.large", "availability_zone": "z", "spot_bid_price": 0.1}
    return VmPlan(
        spec=InstanceSpec("ami-1", VmProperties.model_validate(given), None, None, {}, {}, "z"),
        settings_input=AgentSettingsInput(AGENT, {"a": {}, "b": {}}, None, {}, None, "/dev/xvda"),
        options=options,
        nic_plans=nic_plans,
        creates_nics_first=len(nic_plans) > 1,
        group_ids=["sg-1"],
        traffic=Traffic(),
        director_uuid=DIRECTOR,
    )
