"""RunInstances' arguments."""

from __future__ import annotations

from typing import Any

import pytest

from bosh_aws_cpi.model import BlockDevices
from bosh_aws_cpi.plan import run_instances
from bosh_aws_cpi.properties import VmProperties

NO_DEFAULTS: dict[str, Any] = {"key_name": None, "iam_instance_profile": None}
DEFAULTS: dict[str, Any] = {
    "key_name": "bosh",
    "iam_instance_profile": "profile",
}
DEVICE = {"DeviceName": "/dev/xvda", "Ebs": {"VolumeType": "gp3"}}
INLINE = {"DeviceIndex": 0, "SubnetId": "subnet-1"}
ATTACHED = {"DeviceIndex": 0, "NetworkInterfaceId": "eni-1"}
BARE = {
    "ImageId": "ami-1",
    "InstanceType": "m5.large",
    "UserData": "{}",
    "BlockDeviceMappings": [DEVICE],
    "NetworkInterfaces": [INLINE],
    "Placement": {"AvailabilityZone": "z"},
}


def arguments(
    defaults: dict[str, Any] = NO_DEFAULTS,
    interfaces: tuple[dict[str, Any], ...] = (INLINE,),
    tags: dict[str, str] | None = None,
    metadata_options: dict[str, Any] | None = None,
    **given: Any,
) -> dict[str, Any]:
    """Make the arguments for a VM with these properties."""
    return run_instances.arguments(
        ami_id="ami-1",
        properties=VmProperties.parse(
            {"instance_type": "m5.large", "availability_zone": "ignored here", **given}
        ),
        defaults=defaults,
        metadata_options=metadata_options or {},
        devices=BlockDevices((DEVICE,), None),
        interfaces=interfaces,
        tags=tags or {},
        user_data="{}",
        zone="z",
    )


def test_least_arguments() -> None:
    """What is not asked for is not sent, not even as null."""
    assert arguments() == BARE


def test_defaults() -> None:
    """Key and profile come from the configuration when the VM names none."""
    assert arguments(DEFAULTS) == {
        **BARE,
        "KeyName": "bosh",
        "IamInstanceProfile": {"Name": "profile"},
    }


def test_own_properties() -> None:
    """The VM's own properties win over the defaults."""
    given = arguments(
        DEFAULTS,
        key_name="mine",
        iam_instance_profile="other",
        placement_group="group",
        tenancy="dedicated",
    )
    assert given == {
        **BARE,
        "KeyName": "mine",
        "IamInstanceProfile": {"Name": "other"},
        "Placement": {"AvailabilityZone": "z", "GroupName": "group", "Tenancy": "dedicated"},
    }


@pytest.mark.parametrize("tenancy", ["default", "host", None])
def test_other_tenancies(tenancy: str | None) -> None:
    """Only a dedicated tenancy has an effect."""
    assert arguments(tenancy=tenancy) == BARE


@pytest.mark.parametrize(
    ("interface", "kinds"),
    [(INLINE, ["instance", "volume", "network-interface"]), (ATTACHED, ["instance", "volume"])],
    ids=["made here", "made before"],
)
def test_tags(interface: dict[str, Any], kinds: list[str]) -> None:
    """Instance and volumes are tagged at creation, and an interface when it is made here."""
    given = arguments(interfaces=(interface,), tags={"a": "1", "b": ""})
    listed = [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": ""}]
    assert given["TagSpecifications"] == [{"ResourceType": kind, "Tags": listed} for kind in kinds]


def test_metadata_options() -> None:
    """Metadata options are spelled as EC2 does."""
    options = {
        "http_tokens": "required",
        "http_put_response_hop_limit": 2,
        "http_endpoint": "enabled",
        "instance_metadata_tags": "enabled",
        "http_protocol_ipv6": "enabled",
    }
    assert arguments(metadata_options=options)["MetadataOptions"] == {
        "HttpTokens": "required",
        "HttpPutResponseHopLimit": 2,
        "HttpEndpoint": "enabled",
        "InstanceMetadataTags": "enabled",
        "HttpProtocolIpv6": "enabled",
    }
