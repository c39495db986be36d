"""RunInstances' arguments."""

from typing import Any

import pytest

from bosh_aws_cpi.model import InstanceTypeFacts
from bosh_aws_cpi.plan import run_instances
from bosh_aws_cpi.plan.block_devices import BlockDevices
from bosh_aws_cpi.plan.launch_options import LaunchOption
from bosh_aws_cpi.plan.run_instances import InstanceSpec
from bosh_aws_cpi.properties.vm import VmProperties

INLINE = {"DeviceIndex": 0, "SubnetId": "subnet-1"}
ATTACHED = {"DeviceIndex": 0, "NetworkInterfaceId": "eni-1"}


@pytest.mark.parametrize(
    ("interface", "kinds"),
    [(INLINE, ["instance", "volume", "network-interface"]), (ATTACHED, ["instance", "volume"])],
    ids=["made here", "made before"],
)
def test_tags(interface: dict[str, Any], kinds: list[str]) -> None:
    """Instance and volumes are tagged at creation, and the interface if the launch creates it."""
    properties = VmProperties.model_validate({"instance_type": "m5.large", "availability_zone": "z"})
    facts, tags = InstanceTypeFacts("m5.large", ebs_needs_nvme_path=True), {"a": "1", "b": ""}
    given = run_instances.arguments(
        InstanceSpec("ami-1", properties, None, None, {}, tags, None, None),
        LaunchOption(facts, BlockDevices([], None), zone="z"),
        interfaces=(interface,),
        user_data="{}",
        client_token="token",
    )
    listed = [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": ""}]
    assert given["TagSpecifications"] == [{"ResourceType": kind, "Tags": listed} for kind in kinds]
