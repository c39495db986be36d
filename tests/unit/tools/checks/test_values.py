"""Cloud properties with a fixed set of words, and limits."""

from collections.abc import Collection
from typing import Any, get_args

import botocore.session
import pytest

from bosh_aws_cpi.plan.ebs import VOLUME_TYPES
from bosh_aws_cpi.properties.stemcell import HeavyStemcellProperties
from bosh_aws_cpi.properties.vm import State
from bosh_aws_cpi.tools.checks import property_values
from bosh_aws_cpi.tools.checks.bosh.models import BoshCloudConfig
from bosh_aws_cpi.tools.checks.bosh.rules import Level
from bosh_aws_cpi.tools.checks.documents import Document
from bosh_aws_cpi.tools.findings import Finding


def found(**sections: Any) -> list[Finding]:
    """Check a cloud config with some sections."""
    levels = Level(Document("cloud-config.yml", sections).root, BoshCloudConfig).within()
    return list(property_values.findings(levels, "us-east-1", is_offline=True))


def of_vm(**properties: Any) -> list[Finding]:
    """Check a VM type's cloud properties."""
    return found(vm_types=[{"name": "web", "cloud_properties": properties}])


@pytest.mark.parametrize(
    ("size", "kind", "is_found"),
    [
        (65_536 * 1024, {}, False),
        (16_384 * 1024 + 1, {"type": "gp2"}, True),
        (16_384 * 1024 + 1, {"type": "((type))"}, False),
        (10**12, {"type": "((type))"}, True),
        ("((size))", {}, False),
    ],
)
def test_sizes(size: Any, kind: dict[str, Any], *, is_found: bool) -> None:
    """A size over the limit of the volume type is a warning, for each kind of disk."""
    disks = found(disk_types=[{"name": "data", "disk_size": size, "cloud_properties": kind}])
    of_vms = of_vm(ephemeral_disk={"size": size, **kind}, root_disk={"size": size, **kind})
    assert [len(disks), len(of_vms)] == [is_found, 2 * is_found]


@pytest.mark.parametrize(("hops", "number"), [(64, 0), (65, 1), ("many", 0)])
def test_hops(hops: Any, number: int) -> None:
    """EC2 accepts at most 64 hops."""
    assert len(of_vm(metadata_options={"http_put_response_hop_limit": hops})) == number


def test_silent() -> None:
    """Known words, variables, and values of wrong types, which are reported elsewhere, have no finding."""
    options = {"http_tokens": "required", "http_endpoint": "enabled", "http_protocol_ipv6": "((state))"}
    whole: dict[str, Any] = {
        "tenancy": "default",
        "metadata_options": options,
        "credit_specification": {"cpu_credits": "standard"},
        "capacity_reservation": {"preference": "capacity-reservations-only"},
        "ephemeral_disk": {"type": ["gp3"], "size": 10_240},
        "root_disk": "none",
    }
    assert of_vm(**whole) == []
    assert found(vm_types=[{"name": "web", "cloud_properties": "((whole))"}]) == []


KNOWN: dict[str, Collection[str]] = {
    "VolumeType": VOLUME_TYPES,
    "BootModeValues": get_args(get_args(HeavyStemcellProperties.model_fields["boot_mode"].annotation)[0]),
    "HttpTokensState": property_values.WORDS["http_tokens"],
    "CapacityReservationPreference": property_values.WORDS["preference"],
    "InstanceMetadataEndpointState": property_values.STATES,
    "InstanceMetadataProtocolState": property_values.STATES,
    "InstanceMetadataTagsState": property_values.STATES,
    "AmdSevSnpSpecification": get_args(State),
    "NestedVirtualizationSpecification": get_args(State),
}


def test_model() -> None:
    """The words are those of EC2's API model."""
    model: Any = botocore.session.get_session().get_service_model("ec2")
    assert {shape: set(model.shape_for(shape).enum) for shape in KNOWN} == {
        shape: set(words) for shape, words in KNOWN.items()
    }
