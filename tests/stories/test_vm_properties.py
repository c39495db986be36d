"""create_vm: hosts, processors and capacity, what passes the interfaces, and what is unknown."""

import json
from typing import Any

import pytest

from bosh_aws_cpi.properties.vm import VmProperties
from testbed.cloud import FakeAws
from testbed.world import World
from tests.stories.story import Story

HOST = "h-0123456789abcdef0"
HOSTS = "arn:aws:resource-groups:us-east-1:123456789012:group/hosts"
CONSTANT = {
    *("Action", "BlockDeviceMapping", "ClientToken", "IamInstanceProfile", "ImageId", "InstanceType"),
    *("KeyName", "MaxCount", "MetadataOptions", "MinCount", "NetworkInterface", "TagSpecification"),
    *("UserData", "Version"),
}
"""The parameters of every launch."""
RESERVED = "CapacityReservationSpecification.CapacityReservation"
IGNORED = "Unknown properties are ignored: "


@pytest.mark.parametrize(
    ("properties", "expected", "warning"),
    [
        pytest.param(
            {
                "dedicated_host": {"id": HOST},
                "cpu_options": {"core_count": 1, "threads_per_core": 2},
                "ebs_optimized": True,
            },
            {
                "Placement.Tenancy": "host",
                "Placement.HostId": HOST,
                "CpuOptions.CoreCount": "1",
                "CpuOptions.ThreadsPerCore": "2",
                "EbsOptimized": "true",
            },
            "",
            id="host",
        ),
        pytest.param(
            {
                "dedicated_host": {"resource_group_arn": HOSTS, "id": None},
                "capacity_reservation": {"preference": "none"},
                "cpu_options": {"core_count": 1, "threads_per_core": 1},
                "credit_specification": {"cpu_credits": "standard"},
            },
            {
                "Placement.Tenancy": "host",
                "Placement.HostResourceGroupArn": HOSTS,
                f"{RESERVED}Preference": "none",
                "CpuOptions.CoreCount": "1",
                "CpuOptions.ThreadsPerCore": "1",
                "CreditSpecification.CpuCredits": "standard",
            },
            "",
            id="hosts",
        ),
        pytest.param(
            {
                "capacity_reservation": {"resource_group_arn": HOSTS},
                "credit_specification": "unlimited",
                "ebs_optimized": False,
                "instance_type": "m5.large",
            },
            {f"{RESERVED}Target.CapacityReservationResourceGroupArn": HOSTS, "EbsOptimized": "false"},
            "Ignored: credit_specification, which type m5.large does not accept",
            id="reservations",
        ),
        pytest.param(
            {"instance_type": "c6a.large", "cpu_options": {"amd_sev_snp": "enabled"}},
            {"CpuOptions.AmdSevSnp": "enabled"},
            "",
            id="encrypted-memory",
        ),
        pytest.param(
            {
                "instance_type": "m8i.xlarge",
                "cpu_options": {"nested_virtualization": "enabled"},
                "enclave": True,
                "bandwidth_weighting": "vpc-1",
                "placement_group": "apart",
                "placement_partition": 3,
            },
            {
                "CpuOptions.NestedVirtualization": "enabled",
                "EnclaveOptions.Enabled": "true",
                "NetworkPerformanceOptions.BandwidthWeighting": "vpc-1",
                "Placement.GroupName": "apart",
                "Placement.PartitionNumber": "3",
            },
            "",
            id="new-types",
        ),
        pytest.param(
            {
                "bandwidth_weighting": "default",
                "credit_specification": "unlimited",
                "instance_type_fallbacks": ["m5.large"],
            },
            {"CreditSpecification.CpuCredits": "unlimited"},
            "",
            id="no-host-but-a-fallback-without-credits",
        ),
        pytest.param(
            {"hibernation": True, "root_disk": {"size": 20480, "encrypted": True}},
            {"HibernationOptions.Configured": "true"},
            "",
            id="hibernation",
        ),
    ],
)
def test_options(
    story: Story, world: World, properties: dict[str, Any], expected: dict[str, str], warning: str
) -> None:
    """Each option goes to EC2 as it is given, and nothing that is not; credits are for burstable types."""
    host = {"InstanceType": "t3.micro", "AvailabilityZone": world.zone, "Quantity": 1}
    (host_id,) = world.ec2.allocate_hosts(**host)["HostIds"]
    world.ec2.create_placement_group(GroupName="apart", Strategy="partition", PartitionCount=7)
    answer = story.create_vm(json.loads(json.dumps(properties).replace(HOST, host_id)))
    answer.ok()
    (parameters,) = story.parameters_of("RunInstances")
    given = {name: value for name, value in parameters.items() if name.partition(".")[0] not in CONSTANT}
    shown = {name: value.replace(host_id, HOST) for name, value in given.items()}
    assert shown == {"Placement.AvailabilityZone": world.zone, **expected}
    assert story.warnings(answer) == ([warning] if warning else [])


NOTHING = {
    "spread": False,
    "ephemeral_disk": {"use_instance_storage": False},
    "root_disk": {"encrypted": False, "kms_key_arn": None, "volume_initialization_rate": None},
}
NEEDED = {"instance_type", "availability_zone", "metadata_options", "ephemeral_disk", "root_disk"}
DEFAULTS = {name: each.default for name, each in VmProperties.model_fields.items() if name not in NEEDED}
AT_REST = {
    "null": dict.fromkeys(DEFAULTS),
    "default": {name: [] if each == () else each for name, each in DEFAULTS.items()} | NOTHING,
}


@pytest.mark.parametrize("properties", AT_REST.values(), ids=AT_REST.keys())
def test_properties_at_rest(
    story: Story, fake_aws: FakeAws, world: World, properties: dict[str, Any]
) -> None:
    """Properties that ask for nothing change nothing, also when they are null, and cost no call."""
    story.create_vm().ok()
    (plain,), asked = story.parameters_of("RunInstances"), set(fake_aws.actions())
    world.ec2.terminate_instances(InstanceIds=world.state()["instances"])
    fake_aws.forget_calls()
    answer = story.create_vm(properties, agent_id="agent-2")
    answer.ok()
    assert set(fake_aws.actions()) == asked
    (parameters,) = story.parameters_of("RunInstances")
    assert {name for name in parameters if parameters[name] != plain.get(name)} <= {
        "ClientToken",
        "UserData",
        *(f"TagSpecification.{number}.Tag.2.Value" for number in (1, 2, 3)),
    }
    assert parameters.keys() == plain.keys()
    assert story.warnings(answer) == []


@pytest.mark.parametrize("is_several", [False, True], ids=["one-network", "two-networks"])
def test_traffic(story: Story, world: World, *, is_several: bool) -> None:
    """A public address is the first interface's; with several, the check comes off each by itself."""
    networks = {"one": story.network("10.0.1.10")}
    if is_several:
        networks["two"] = story.network("10.0.2.10", 1)
    vm_cid = story.create_vm({"auto_assign_public_ip": True, "source_dest_check": False}, networks).ok()[0]
    nics = sorted(
        world.instance(vm_cid)["NetworkInterfaces"], key=lambda nic: nic["Attachment"]["DeviceIndex"]
    )
    assert ["Association" in nic for nic in nics] == [True, False][: len(networks)]
    assert [nic["SourceDestCheck"] for nic in nics] == [False] * len(networks)
    ids = [nic["NetworkInterfaceId"] for nic in nics]
    changes = story.parameters_of("ModifyNetworkInterfaceAttribute")
    unchecked = [call["NetworkInterfaceId"] for call in changes if "SourceDestCheck.Value" in call]
    published = [call["NetworkInterfaceId"] for call in changes if "AssociatePublicIpAddress" in call]
    assert unchecked == (ids if is_several else [])
    assert published == (ids[:1] if is_several else [])
    assert len(story.parameters_of("ModifyInstanceAttribute")) == (0 if is_several else 1)


def test_unknown_properties(story: Story) -> None:
    """Each unknown property is logged once, with its path and the nearest name, and is no error.

    So is a boolean in quotes, which is true, whatever it says.
    """
    properties = {
        "elb": ["one"],
        "source_dest_check": "false",
        "ephemeral_disk": {"use_instance_store": None},
    }
    networks = {"one": story.network("10.0.1.10", netmaks="255.0.0.0")}
    networks["one"]["cloud_properties"]["subnets"] = "x"
    answer = story.create_vm(properties, networks)
    answer.ok()
    quoted, *ignored = story.warnings(answer)
    assert quoted == "source_dest_check 'false' is given as a string, which counts as true"
    named = [each for line in ignored for each in line.removeprefix(IGNORED).split(", ")]
    assert sorted(named) == [
        "cloud_properties.elb (did you mean elbs?)",
        "networks.one.cloud_properties.subnets (did you mean subnet?)",
        "networks.one.netmaks (did you mean netmask?)",
    ]
