"""Cloud properties as manifests give them."""

from typing import Any

import botocore.session
import pytest

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import Encryption
from bosh_aws_cpi.properties.disk import DiskProperties
from bosh_aws_cpi.properties.network import ConnectionTracking
from bosh_aws_cpi.properties.stemcell import StemcellProperties
from bosh_aws_cpi.properties.types import SentWhole, camel_keys, read_properties
from bosh_aws_cpi.properties.vm import CpuOptions, CreditSpecification, MetadataOptions, VmProperties
from tests.unit.conftest import ProgramLog

LEAST: dict[str, Any] = {"instance_type": "m5.large", "availability_zone": "us-east-1a"}
DEFAULT = Encryption(encrypted=True, kms_key_arn="default-key")
OWN_KEY = "cloud_properties.kms_key_arn"
ROUTE = {"table_id": "rtb-1", "destination": "10.0.0.0/8"}
TRUTHS = pytest.mark.parametrize("value", [True, 0, 1, "", "false", "true", [], {}, 0.0], ids=repr)


def vm(**given: Any) -> VmProperties:
    """Read a VM's properties: the least ones, and what is given."""
    return read_properties(VmProperties, {**LEAST, **given}, "cloud_properties")


@TRUTHS
def test_truth(value: object) -> None:
    """Everything but null and false is true, also 0, the empty string and the word false."""
    assert vm(ephemeral_disk={"use_root_disk": value}).ephemeral_disk.use_root_disk is True
    assert DiskProperties.parse({"encrypted": value}).encryption(Encryption()).encrypted is True
    assert vm(source_dest_check=value).source_dest_check is True


@pytest.mark.parametrize("value", [False, None])
def test_untruth(value: object) -> None:
    """Null and false are false."""
    assert vm(ephemeral_disk={"use_root_disk": value}).ephemeral_disk.use_root_disk is False
    assert vm(auto_assign_public_ip=value).auto_assign_public_ip is False
    assert DiskProperties.parse({"encrypted": value}).encryption(DEFAULT).encrypted is False


@pytest.mark.parametrize(
    ("value", "shown"),
    [("false", "encrypted 'false'"), ("", "encrypted ''"), ("hunter2", "encrypted"), (0, ""), (False, "")],
    ids=repr,
)
def test_truth_as_string(program_log: ProgramLog, value: object, shown: str) -> None:
    """A boolean given as a string is warned about; a longer one may be a secret, and is not shown."""
    DiskProperties.parse({"encrypted": value})
    said = [("WARNING", f"{shown} is given as a string, which counts as true")] if shown else []
    assert [(record.level, record.text) for record in program_log.records] == said


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, DEFAULT),
        ({"encrypted": True}, DEFAULT.replace(is_chosen=True)),
        *(
            ({"encrypted": value}, DEFAULT.replace(encrypted=False, is_chosen=True))
            for value in (None, False)
        ),
        ({"kms_key_arn": None}, Encryption(encrypted=True, kms_key_arn=None, key_source=OWN_KEY)),
        ({"kms_key_arn": "own"}, Encryption(encrypted=True, kms_key_arn="own", key_source=OWN_KEY)),
    ],
)
def test_encryption(given: dict[str, Any], expected: Encryption) -> None:
    """A property that is there wins over the configured default, also when it is null or false."""
    assert DiskProperties.parse(given).encryption(DEFAULT) == expected
    assert StemcellProperties.parse(given).encryption(DEFAULT) == expected
    assert vm(ephemeral_disk=given).ephemeral_disk.encryption(DEFAULT) == expected


def test_unused_key() -> None:
    """A default key is unused without encryption, unless the resource or its kind's default chose that."""
    aws = Encryption(kms_key_arn="key", key_source="aws.kms_key_arn")
    silent, plain = DiskProperties.parse({}), DiskProperties.parse({"encrypted": False})
    assert silent.encryption(aws).unused_key == "aws.kms_key_arn"
    assert plain.encryption(aws).unused_key == ""
    assert silent.encryption(plain.encryption(aws)).unused_key == ""
    assert silent.encryption(aws.replace(encrypted=True)).unused_key == ""


def test_nulls() -> None:
    """For everything else a null is as good as absent."""
    names = [*VmProperties.model_fields]
    nulls = dict.fromkeys(name for name in names if name not in LEAST)
    assert vm(**nulls) == vm()
    inner = {"size": None, "type": None, "iops": None, "throughput": None}
    assert vm(root_disk=inner, ephemeral_disk=inner) == vm(root_disk={}, ephemeral_disk={})
    assert DiskProperties.parse({"type": None, "iops": None}) == DiskProperties.parse({})


def test_missing_properties() -> None:
    """All required properties that are missing are named at once."""
    (found,) = VmProperties.model_validate({}).problems()
    assert "cloud_properties.instance_type, cloud_properties.availability_zone. See docs/" in found.text


def test_several_wrong_types() -> None:
    """All that is wrong is said at once; what pydantic says of the values is not kept beside it."""
    with pytest.raises(CloudError) as caught:
        DiskProperties.parse({"type": 1, "iops": "x"})
    parts = caught.value.message.split("; ")
    assert len(parts) == 2
    assert parts[0].startswith("Invalid properties: cloud_properties.type: ")
    assert parts[1].startswith("cloud_properties.iops: ")
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"intance_type": 1}, ["cloud_properties.intance_type (did you mean instance_type?)"]),
        ({"zzz": 1}, ["cloud_properties.zzz"]),
        (
            {"advertised_routes": [{"table_id": "t", "destination": "10.0.0.0/8"}, {**ROUTE, "tabel": 1}]},
            ["cloud_properties.advertised_routes.1.tabel (did you mean table_id?)"],
        ),
        (
            {"iops": 1, "table_id": "rtb-1"},
            [
                "cloud_properties.iops (did you mean ephemeral_disk.iops or root_disk.iops?)",
                "cloud_properties.table_id",
            ],
        ),
        (
            {"keyname": 1, "lb_target_groups": [{"name": "web", "prot": 1}]},
            [
                "cloud_properties.keyname (did you mean key_name?)",
                "cloud_properties.lb_target_groups.0.prot (did you mean port?)",
            ],
        ),
    ],
)
def test_unknown_keys(program_log: ProgramLog, given: dict[str, Any], expected: list[str]) -> None:
    """Unknown keys are no error; they are warned about once, with the nearest name that is known."""
    vm(**given)
    (record,) = program_log.records
    assert record.level == "WARNING"
    assert record.text == f"Unknown properties are ignored: {', '.join(expected)}"


@pytest.mark.parametrize("key", ["encryptd", "kms_key_id"])
def test_mistyped_encryption(key: str) -> None:
    """A disk or a stemcell whose key of encryption is mistyped is refused; null, or another key, is not."""
    for kind in (DiskProperties, StemcellProperties):
        with pytest.raises(CloudError, match=rf"{key}: is unknown: did you mean (encrypted|kms_key_arn)\?"):
            kind.parse({key: "x"})
        kind.parse({key: None, "created": 1, "key_pair": "a"})


MODELS: dict[type[SentWhole], str] = {
    CpuOptions: "CpuOptionsRequest",
    CreditSpecification: "CreditSpecificationRequest",
    ConnectionTracking: "ConnectionTrackingSpecificationRequest",
    MetadataOptions: "InstanceMetadataOptionsRequest",
}


def test_keys_of_ec2() -> None:
    """A hash that EC2 gets whole knows all of EC2's keys, because it refuses others."""
    ec2: Any = botocore.session.get_session().get_service_model("ec2")
    assert {*MODELS} == {*SentWhole.__subclasses__()}
    for model, shape in MODELS.items():
        assert camel_keys(model.model_fields).keys() == ec2.shape_for(shape).members.keys()


def test_known_keys(program_log: ProgramLog) -> None:
    """What is known is not warned about, nor what a light stemcell carries beside."""
    vm(root_disk={"size": 1}, metadata_options={"zzz": 1}, tags={"zzz": 1})
    heavy = ("architecture", "container_format", "disk", "disk_format", "hypervisor", "infrastructure")
    more = ("os_distro", "os_type", "root_device_name", "boot_mode", "kernel_id", "virtualization_type")
    light = {"name": "n", "version": 1.3, "ami": {"us-east-1": "ami-1"}}
    StemcellProperties.parse({**light, **dict.fromkeys((*heavy, *more), "x")})
    assert program_log.records == []


def test_stemcell() -> None:
    """A stemcell's version may be a number, its AMIs are by region."""
    properties = StemcellProperties.parse({"name": "n", "version": 1.3, "ami": {"us-east-1": "ami-1"}})
    assert (properties.name, properties.version) == ("n", "1.3")
    assert properties.ami == {"us-east-1": "ami-1"}
    with pytest.raises(CloudError, match=r"cloud_properties\.ami\.us-east-1: .*, got Integer"):
        StemcellProperties.parse({"ami": {"us-east-1": 5}})


@pytest.mark.parametrize(
    ("defaults", "own", "merged"),
    [
        ({"http_tokens": "optional"}, {"http_tokens": "required"}, {"http_tokens": "required"}),
        ({"http_tokens": "optional"}, {"http_tokens": None}, {}),
        (
            {"http_protocol_ipv6": "disabled"},
            {"http_protocol_ipv_6": "enabled"},
            {"http_protocol_ipv6": "enabled"},
        ),
        (
            {"http_put_response_hop_limit": 2},
            {"http_endpoint": "enabled"},
            {"http_put_response_hop_limit": 2, "http_endpoint": "enabled"},
        ),
    ],
)
def test_metadata_options(defaults: dict[str, Any], own: dict[str, Any], merged: dict[str, Any]) -> None:
    """A VM's metadata options win over the defaults, in either spelling."""
    assert MetadataOptions.parse(defaults, own) == merged
