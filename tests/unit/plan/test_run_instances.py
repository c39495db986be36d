"""RunInstances' arguments."""

from typing import Any

import pytest

from bosh_aws_cpi.model import InstanceTypeFacts
from bosh_aws_cpi.plan import run_instances
from bosh_aws_cpi.plan.block_devices import BlockDevices
from bosh_aws_cpi.plan.launch_options import LaunchOption
from bosh_aws_cpi.plan.run_instances import InstanceSpec
from bosh_aws_cpi.properties.vm import VmProperties

DEVICE = {"DeviceName": "/dev/xvda", "Ebs": {"VolumeType": "gp3"}}
INLINE = {"DeviceIndex": 0, "SubnetId": "subnet-1"}
ATTACHED = {"DeviceIndex": 0, "NetworkInterfaceId": "eni-1"}
BARE = {
    "ClientToken": "token",
    "ImageId": "ami-1",
    "InstanceType": "m5.large",
    "UserData": "{}",
    "BlockDeviceMappings": [DEVICE],
    "NetworkInterfaces": [INLINE],
    "Placement": {"AvailabilityZone": "z"},
}
FIXED = InstanceTypeFacts("m5.large", ebs_needs_nvme_path=True)


def arguments(
    *,
    interfaces: tuple[dict[str, Any], ...] = (INLINE,),
    tags: dict[str, str] | None = None,
    **given: Any,
) -> dict[str, Any]:
    """The arguments for an on-demand VM with these properties, which is launched as FIXED."""
    properties = VmProperties.parse(
        {"instance_type": "ignored here", "availability_zone": "ignored here", **given}
    )
    return run_instances.arguments(
        InstanceSpec("ami-1", properties, None, None, zone="z", metadata_options={}, tags=tags or {}),
        LaunchOption(FIXED, BlockDevices((DEVICE,), None)),
        interfaces=interfaces,
        user_data="{}",
        client_token="token",
    )


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"tenancy": None},
        {"tenancy": "default"},
        {"tenancy": "host"},
        {"spot_bid_price": 0.25},
        {"capacity_reservation": {"id": "cr-1"}},
        {"capacity_reservation": {"resource_group_arn": "arn"}},
        {"cpu_options": {}},
        {"cpu_options": {"zzz": 5}},
        {"credit_specification": "unlimited"},
    ],
    ids=repr,
)
def test_nothing_is_sent(given: dict[str, Any]) -> None:
    """What is not given is not sent, nor what the type, the market or the launch option has no use for."""
    assert arguments(**given) == BARE


@pytest.mark.parametrize(
    ("interface", "kinds"),
    [(INLINE, ["instance", "volume", "network-interface"]), (ATTACHED, ["instance", "volume"])],
    ids=["made here", "made before"],
)
def test_tags(interface: dict[str, Any], kinds: list[str]) -> None:
    """Instance and volumes are tagged at creation, and the interface if the launch creates it."""
    given = arguments(interfaces=(interface,), tags={"a": "1", "b": ""})
    listed = [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": ""}]
    assert given["TagSpecifications"] == [{"ResourceType": kind, "Tags": listed} for kind in kinds]
