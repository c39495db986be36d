"""RunInstances' arguments."""

from __future__ import annotations

from typing import Any

import pytest

from bosh_aws_cpi.model import BlockDevices
from bosh_aws_cpi.plan import run_instances
from bosh_aws_cpi.properties import VmProperties

NO_DEFAULTS: dict[str, Any] = {"key_name": None, "iam_instance_profile": None, "metadata_options": {}}
DEFAULTS: dict[str, Any] = {
    "key_name": "bosh",
    "iam_instance_profile": "profile",
    "metadata_options": {"http_tokens": "optional", "http_put_response_hop_limit": 2},
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
    **given: Any,
) -> dict[str, Any]:
    """Make the arguments for a VM with these properties."""
    return run_instances.arguments(
        ami_id="ami-1",
        properties=VmProperties.parse(
            {"instance_type": "m5.large", "availability_zone": "ignored here", **given}
        ),
        defaults=defaults,
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
    """Key, profile and metadata options come from the configuration when the VM names none."""
    assert arguments(DEFAULTS) == {
        **BARE,
        "KeyName": "bosh",
        "IamInstanceProfile": {"Name": "profile"},
        "MetadataOptions": {"HttpTokens": "optional", "HttpPutResponseHopLimit": 2},
    }


def test_own_properties() -> None:
    """The VM's own properties win; its metadata options are merged over the defaults, one by one."""
    given = arguments(
        DEFAULTS,
        key_name="mine",
        iam_instance_profile="other",
        metadata_options={"http_tokens": "required"},
        placement_group="group",
        tenancy="dedicated",
    )
    assert given == {
        **BARE,
        "KeyName": "mine",
        "IamInstanceProfile": {"Name": "other"},
        "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 2},
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


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("http_tokens", "HttpTokens"),
        ("http_put_response_hop_limit", "HttpPutResponseHopLimit"),
        ("http_endpoint", "HttpEndpoint"),
        ("instance_metadata_tags", "InstanceMetadataTags"),
        ("http_protocol_ipv6", "HttpProtocolIpv6"),
        ("http_protocol_ipv_6", "HttpProtocolIpv6"),
        ("HttpTokens", "HttpTokens"),
    ],
)
def test_metadata_option_names(name: str, expected: str) -> None:
    """Metadata options are spelled as EC2 does, whichever spelling of IPv6 a manifest has."""
    assert run_instances.metadata_options({name: "x"}) == {expected: "x"}


def test_metadata_options_of_null() -> None:
    """A VM takes a default away by a null; with none left, no options are sent."""
    nothing = {"http_tokens": None, "http_put_response_hop_limit": None}
    assert "MetadataOptions" not in arguments(DEFAULTS, metadata_options=nothing)
    assert run_instances.metadata_options({"http_tokens": None, "http_endpoint": "enabled"}) == {
        "HttpEndpoint": "enabled"
    }
