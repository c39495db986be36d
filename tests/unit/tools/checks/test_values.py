"""Cloud properties with a fixed set of words, and limits."""

from collections.abc import Collection
from typing import Any, get_args

import botocore
import botocore.session
import pytest

from bosh_aws_cpi.plan.ebs import AS_OF
from bosh_aws_cpi.properties.disk import DiskProperties
from bosh_aws_cpi.properties.stemcell import HeavyStemcellProperties
from bosh_aws_cpi.properties.types import Properties
from bosh_aws_cpi.properties.vm import CapacityReservation, MetadataOptions, State
from bosh_aws_cpi.tools.checks import property_values
from bosh_aws_cpi.tools.checks.bosh_models import BoshCloudConfig
from bosh_aws_cpi.tools.checks.bosh_rules import hashes_in
from bosh_aws_cpi.tools.checks.documents import Document
from bosh_aws_cpi.tools.findings import Finding, Severity


def found(*, is_offline: bool = True, **sections: Any) -> list[Finding]:
    """Check a cloud config with some sections."""
    hashes = hashes_in(((Document("cloud-config.yml", sections).root, BoshCloudConfig),))
    return list(property_values.findings(hashes, "us-east-1", is_offline=is_offline))


def of_vm(**properties: Any) -> list[Finding]:
    """Check a VM type's cloud properties."""
    return found(vm_types=[{"name": "web", "cloud_properties": properties}])


@pytest.mark.parametrize(
    ("size", "kind", "is_found"),
    [
        (65_536 * 1024, {}, False),
        (16_384 * 1024 + 1, {"type": "gp2"}, True),
        (16_384 * 1024 + 1, {"type": "((type))"}, False),
        (16_384 * 1024 + 1, {"type": 2}, False),
        (10**12, {"type": "((type))"}, True),
        ("((size))", {}, False),
    ],
)
def test_sizes(size: Any, kind: dict[str, Any], *, is_found: bool) -> None:
    """A size over the limit of the volume type is an error with the limit's month, for each kind of disk."""
    disks = found(disk_types=[{"name": "data", "disk_size": size, "cloud_properties": kind}])
    of_vms = of_vm(ephemeral_disk={"size": size, **kind}, root_disk={"size": size, **kind})
    assert [len(disks), len(of_vms)] == [is_found, 2 * is_found]
    for each in (*disks, *of_vms):
        assert (each.severity, f"EBS's limit of {AS_OF}" in each.what) == (Severity.ERROR, True)


@pytest.mark.parametrize(
    ("zone", "offline", "online"),
    [
        ("us-east-1a", "", ""),
        ("us-east-1-bos-1a", "", ""),
        ("use1-az1", "is not a zone's name", ""),
        ("eu-west-1a", "is not in us-east-1", "is not in us-east-1"),
    ],
)
def test_zones(zone: str, offline: str, online: str) -> None:
    """A zone of another region is an error; whether another text is a zone, AWS says if it is asked."""
    for is_offline, words in ((True, offline), (False, online)):
        azs = [{"name": "z1", "cloud_properties": {"availability_zone": zone}}]
        whats = [(each.severity, words in each.what) for each in found(is_offline=is_offline, azs=azs)]
        assert whats == ([(Severity.ERROR, True)] if words else [])


@pytest.mark.parametrize(("number", "is_found"), [(511, True), (512, False)])
def test_mib(number: int, *, is_found: bool) -> None:
    """A size for which EBS has no volume, or EC2 no VM, was probably meant in GiB."""
    sizes = {"cpu": 1, "ram": number - 384, "ephemeral_disk_size": number}
    groups = found(compilation={"vm_resources": sizes}, disk_types=[{"name": "a", "disk_size": number}])
    assert [each.severity for each in groups] == [Severity.WARNING] * 3 * is_found


def test_silent() -> None:
    """Known words, variables, and values of wrong types, which are reported elsewhere, have no finding."""
    options = {"http_tokens": "required", "http_endpoint": "enabled", "http_protocol_ipv6": "((state))"}
    whole: dict[str, Any] = {
        "tenancy": "default",
        "key_name": "",
        "metadata_options": options,
        "credit_specification": {"cpu_credits": "standard"},
        "capacity_reservation": {"preference": "capacity-reservations-only"},
        "ephemeral_disk": {"type": ["gp3"], "size": 10_240},
        "root_disk": {"size": True},
    }
    assert of_vm(**whole) == []
    sizes = {"cpu": 1, "ram": 10**9, "ephemeral_disk_size": 1024}  # no disk has such a size
    assert found(compilation={"vm_resources": sizes}) == []
    assert found(vm_types=[{"name": "web", "cloud_properties": "((whole))"}]) == []


def words(model: type[Properties], key: str) -> Collection[str]:
    """Return the known words of a property."""
    return property_values.words_of(model.model_fields[key], key)


def test_near() -> None:
    """Of what there is in AWS, only a name that is very alike is proposed."""
    names = {"bosh-web", "default"}
    assert property_values.near_existing("bosh-wed", names) == "Did you mean bosh-web?"
    assert property_values.near_existing("bosh-a", names) == "Create it, or correct its name"


KNOWN: dict[str, Collection[str]] = {
    "VolumeType": words(DiskProperties, "type"),
    "ArchitectureValues": words(HeavyStemcellProperties, "architecture"),
    "BootModeValues": get_args(get_args(HeavyStemcellProperties.model_fields["boot_mode"].annotation)[0]),
    "HttpTokensState": words(MetadataOptions, "http_tokens"),
    "CapacityReservationPreference": words(CapacityReservation, "preference"),
    "InstanceMetadataEndpointState": words(MetadataOptions, "http_endpoint"),
    "InstanceMetadataProtocolState": words(MetadataOptions, "http_protocol_ipv6"),
    "InstanceMetadataTagsState": words(MetadataOptions, "instance_metadata_tags"),
    "AmdSevSnpSpecification": get_args(State),
    "NestedVirtualizationSpecification": get_args(State),
}


def test_model() -> None:
    """The words are those of EC2's API model, and a finding says its month: look it up for a newer SDK."""
    assert (botocore.__version__.rpartition(".")[0], AS_OF) == ("1.44", "2026-11")
    model: Any = botocore.session.get_session().get_service_model("ec2")
    assert {shape: set(model.shape_for(shape).enum) for shape in KNOWN} == {
        shape: set(words) for shape, words in KNOWN.items()
    }
