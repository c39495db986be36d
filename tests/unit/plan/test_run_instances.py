"""RunInstances' arguments."""

from __future__ import annotations

from typing import Any

import pytest

from bosh_aws_cpi.model import BlockDevices, InstanceTypeFacts
from bosh_aws_cpi.plan import run_instances
from bosh_aws_cpi.plan.launch_options import LaunchOption
from bosh_aws_cpi.plan.run_instances import InstanceSpec
from bosh_aws_cpi.properties.vm import VmProperties

NO_DEFAULTS = (None, None)
DEFAULTS = ("bosh", "profile")
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
BURSTABLE = InstanceTypeFacts("t3.micro", ebs_needs_nvme_path=True, is_burstable=True)


def made(
    given: dict[str, Any],
    facts: InstanceTypeFacts = FIXED,
    defaults: tuple[str | None, str | None] = NO_DEFAULTS,
    interfaces: tuple[dict[str, Any], ...] = (INLINE,),
    way: dict[str, Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """Make the arguments for a VM with these properties, launched as this type."""
    values: dict[str, Any] = {"metadata_options": {}, "tags": {}, **spec}
    properties = VmProperties.parse(
        {"instance_type": "ignored here", "availability_zone": "ignored here", **given}
    )
    return run_instances.arguments(
        InstanceSpec("ami-1", properties, *defaults, zone="z", **values),
        LaunchOption(facts, BlockDevices((DEVICE,), None), **(way or {})),
        interfaces=interfaces,
        user_data="{}",
        client_token="token",
    )


def arguments(**given: Any) -> dict[str, Any]:
    """Make the arguments for a VM with these properties."""
    return made(given)


def test_least_arguments() -> None:
    """Options that are not given are not sent, not even as null; the client token always is."""
    assert arguments() == BARE


def test_defaults() -> None:
    """Key and profile come from the configuration when the VM names none."""
    assert made({}, defaults=DEFAULTS) == {
        **BARE,
        "KeyName": "bosh",
        "IamInstanceProfile": {"Name": "profile"},
    }


def test_own_properties() -> None:
    """The VM's own properties win over the defaults."""
    own = {"key_name": "mine", "iam_instance_profile": "other"}
    given = made({**own, "placement_group": "group", "tenancy": "dedicated"}, defaults=DEFAULTS)
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
    given = made({}, interfaces=(interface,), tags={"a": "1", "b": ""})
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
    assert made({}, metadata_options=options)["MetadataOptions"] == {
        "HttpTokens": "required",
        "HttpPutResponseHopLimit": 2,
        "HttpEndpoint": "enabled",
        "InstanceMetadataTags": "enabled",
        "HttpProtocolIpv6": "enabled",
    }


@pytest.mark.parametrize(("price", "expected"), [(0.25, "0.25"), ("0.030", "0.030"), (1, "1")])
def test_spot(price: object, expected: str) -> None:
    """A spot VM is bought once, at the price given as a string, and ends when EC2 wants it back."""
    assert made({"spot_bid_price": price}, way={"market": "spot"})["InstanceMarketOptions"] == {
        "MarketType": "spot",
        "SpotOptions": {
            "MaxPrice": expected,
            "SpotInstanceType": "one-time",
            "InstanceInterruptionBehavior": "terminate",
        },
    }


def test_spot_on_demand() -> None:
    """The same VM launched on demand says nothing of the price."""
    assert arguments(spot_bid_price=0.25) == BARE


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"id": "cr-1"}, {"CapacityReservationTarget": {"CapacityReservationId": "cr-1"}}),
        (
            {"resource_group_arn": "arn"},
            {"CapacityReservationTarget": {"CapacityReservationResourceGroupArn": "arn"}},
        ),
        ({"preference": "none"}, {"CapacityReservationPreference": "none"}),
    ],
)
def test_capacity_reservation(given: dict[str, str], expected: dict[str, Any]) -> None:
    """A reserved launch names the reservation or the group; a preference applies to each launch."""
    sent = made({"capacity_reservation": given}, way={"is_reserved": "preference" not in given})
    assert sent == {**BARE, "CapacityReservationSpecification": expected}


@pytest.mark.parametrize("given", [{"id": "cr-1"}, {"resource_group_arn": "arn"}])
def test_outside_of_the_reservation(given: dict[str, str]) -> None:
    """A launch that is not reserved names no reservation."""
    assert arguments(capacity_reservation=given) == BARE


@pytest.mark.parametrize(
    ("given", "expected"),
    [({"id": "h-1"}, {"HostId": "h-1"}), ({"resource_group_arn": "arn"}, {"HostResourceGroupArn": "arn"})],
)
def test_dedicated_host(given: dict[str, str], expected: dict[str, str]) -> None:
    """A dedicated host, or a group of them, comes with the tenancy that EC2 wants for it."""
    placement = arguments(dedicated_host=given)["Placement"]
    assert placement == {"AvailabilityZone": "z", "Tenancy": "host", **expected}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"core_count": 2, "threads_per_core": 1}, {"CoreCount": 2, "ThreadsPerCore": 1}),
        ({"amd_sev_snp": "enabled"}, {"AmdSevSnp": "enabled"}),
        ({"nested_virtualization": "enabled"}, {"NestedVirtualization": "enabled"}),
        ({"threads_per_core": 1, "zzz": 5}, {"ThreadsPerCore": 1}),
    ],
)
def test_cpu_options(given: dict[str, Any], expected: dict[str, Any]) -> None:
    """CPU options are spelled as EC2 does; unknown ones are not sent."""
    assert arguments(cpu_options=given) == {**BARE, "CpuOptions": expected}


def test_no_cpu_options() -> None:
    """CPU options that say nothing are not sent."""
    assert arguments(cpu_options={}) == BARE


def test_credit_specification() -> None:
    """Only a burstable type is told how it pays for its CPU: EC2 refuses it for others."""
    given = {"credit_specification": "unlimited"}
    assert made(given, BURSTABLE)["CreditSpecification"] == {"CpuCredits": "unlimited"}
    assert made(given) == BARE


@pytest.mark.parametrize(
    ("given", "expected"), [(None, {}), (True, {"EbsOptimized": True}), (False, {"EbsOptimized": False})]
)
def test_ebs_optimized(given: object, expected: dict[str, bool]) -> None:
    """EBS optimisation is sent as it is given, false too; left out, it is EC2's choice."""
    assert arguments(ebs_optimized=given) == {**BARE, **expected}


def test_type_of_the_offer() -> None:
    """The type is the launch option's: a fallback is launched with all else unchanged."""
    assert made({}, BURSTABLE) == {**BARE, "InstanceType": "t3.micro"}
