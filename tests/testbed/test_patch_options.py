"""DescribeInstances shows the options of a launch; client tokens make a repeated request harmless."""

from typing import Any

import pytest

HOSTS = "arn:aws:resource-groups:us-east-1:123456789012:group/hosts"
KEY = "arn:aws:kms:us-east-1:123456789012:key/k"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({}, {"CapacityReservationSpecification": {"CapacityReservationPreference": "open"}}),
        ({"EbsOptimized": True}, {"EbsOptimized": True}),
        ({"CpuOptions": {"CoreCount": 2, "ThreadsPerCore": 1}}, None),
        ({"CapacityReservationSpecification": {"CapacityReservationPreference": "none"}}, None),
    ],
)
def test_options(run: Any, given: dict[str, Any], shown: dict[str, Any] | None) -> None:
    """The options of a launch are shown as requested."""
    instance = run(**given)
    expected = given if shown is None else shown
    assert {key: instance.get(key) for key in expected} == expected


def test_hosts(run: Any) -> None:
    """A group of dedicated hosts is shown."""
    assert run(Placement={"HostResourceGroupArn": HOSTS})["Placement"]["HostResourceGroupArn"] == HOSTS


@pytest.mark.parametrize(
    ("given", "expected"),
    [({"CreditSpecification": {"CpuCredits": "standard"}}, "standard"), ({}, "unlimited")],
)
def test_credits(ec2: Any, run: Any, given: dict[str, Any], expected: str) -> None:
    """An instance has the requested credits, or the default of its type."""
    instance_id = run(**given)["InstanceId"]
    answer = ec2.describe_instance_credit_specifications(InstanceIds=[instance_id])
    assert [entry["CpuCredits"] for entry in answer["InstanceCreditSpecifications"]] == [expected]


def test_encrypted_root(ec2: Any, run: Any) -> None:
    """A root volume is encrypted with the key in the request, though its image is not encrypted."""
    root = {"DeviceName": "/dev/xvda", "Ebs": {"VolumeType": "gp3", "Encrypted": True, "KmsKeyId": KEY}}
    (mapping,) = run(BlockDeviceMappings=[root])["BlockDeviceMappings"]
    (volume,) = ec2.describe_volumes(VolumeIds=[mapping["Ebs"]["VolumeId"]])["Volumes"]
    assert (volume["Encrypted"], volume["KmsKeyId"], volume["Size"]) == (True, KEY, 5)


def test_filters(ec2: Any, run: Any) -> None:
    """Instances are found by client token, tag and state."""
    tags = [{"ResourceType": "instance", "Tags": [{"Key": "bosh_agent_id", "Value": "a"}]}]
    instance = run(ClientToken="t", TagSpecifications=tags)
    run()
    assert instance["ClientToken"] == "t"

    def found(**filters: str) -> list[str]:
        written = [{"Name": name.replace("__", "-"), "Values": [value]} for name, value in filters.items()]
        reservations = ec2.describe_instances(Filters=written)["Reservations"]
        return [i["InstanceId"] for reservation in reservations for i in reservation["Instances"]]

    by_tag = {"tag:bosh_agent_id": "a"}
    assert found(client__token="t") == found(**by_tag) == [instance["InstanceId"]]
    assert found(client__token="t", instance__state__name="running", **by_tag) == [instance["InstanceId"]]
    assert found(client__token="x") == found(client__token="t", instance__state__name="stopped") == []


def test_types(ec2: Any, refused: Any) -> None:
    """Several instance types are described at once; the error names an unknown one."""
    answer = ec2.describe_instance_types(InstanceTypes=["m5.large", "i3.large"])
    assert {found["InstanceType"] for found in answer["InstanceTypes"]} == {"m5.large", "i3.large"}
    message = "The following supplied instance types do not exist: [x9.huge]"
    with refused("InvalidInstanceType", message):
        ec2.describe_instance_types(InstanceTypes=["m5.large", "x9.huge"])


def test_token_of_an_instance(ec2: Any, run: Any, refused: Any, world: Any) -> None:
    """A repeated launch returns the instance as it is now, and is refused once that is terminated."""
    first = run(ClientToken="t")
    ec2.stop_instances(InstanceIds=[first["InstanceId"]])
    parameters = {"ImageId": world.image_id, "SubnetId": world.subnet_id, "InstanceType": "m5.large"}
    (again,) = ec2.run_instances(MinCount=1, MaxCount=1, ClientToken="t", **parameters)["Instances"]
    assert (again["InstanceId"], again["State"]["Name"]) == (first["InstanceId"], "stopped")
    ec2.terminate_instances(InstanceIds=[first["InstanceId"]])
    with refused("IdempotentParameterMismatch"):
        run(ClientToken="t", EbsOptimized=True)
    message = "The specified instance has terminated; retry with another client token"
    with refused("IdempotentInstanceTerminated", message):
        run(ClientToken="t")
    assert world.state() == world.empty


def test_token_of_a_deleted_interface(ec2: Any, world: Any, refused: Any) -> None:
    """A repeated request returns the first interface, even if that was deleted."""
    ids = []
    for _ in range(2):
        answer = ec2.create_network_interface(SubnetId=world.subnet_id, ClientToken="t")
        ids.append(answer["NetworkInterface"]["NetworkInterfaceId"])
        if len(ids) == 1:
            ec2.delete_network_interface(NetworkInterfaceId=ids[0])
    assert ids[0] == ids[1]
    with refused("InvalidNetworkInterfaceID.NotFound", ids[0]):
        ec2.describe_network_interfaces(NetworkInterfaceIds=ids[:1])


def test_token_of_a_refused_call(run: Any, refused: Any) -> None:
    """After a refused call its token can be used with other parameters."""
    with refused("InvalidKeyPair.NotFound"):
        run(ClientToken="t", KeyName="unknown")
    assert run(ClientToken="t")["ClientToken"] == "t"
