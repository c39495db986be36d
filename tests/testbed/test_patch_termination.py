"""The end of an instance: its volumes, interfaces and addresses."""

from typing import Any


def test_volumes(ec2: Any, world: Any, run: Any) -> None:
    """Volumes of the launch are deleted by default; the other volumes become available."""
    ephemeral = {"DeviceName": "/dev/sdb", "Ebs": {"VolumeSize": 1, "DeleteOnTermination": True}}
    kept = {"DeviceName": "/dev/sdc", "Ebs": {"VolumeSize": 1, "DeleteOnTermination": False}}
    instance = run(BlockDeviceMappings=[ephemeral, kept])
    disk = ec2.create_volume(AvailabilityZone=world.zone, Size=1)["VolumeId"]
    ec2.attach_volume(VolumeId=disk, InstanceId=instance["InstanceId"], Device="/dev/sdf")
    survivor = next(
        m["Ebs"]["VolumeId"] for m in instance["BlockDeviceMappings"] if m["DeviceName"] == "/dev/sdc"
    )
    ec2.terminate_instances(InstanceIds=[instance["InstanceId"]])
    assert world.state()["volumes"] == sorted([disk, survivor])
    assert {v["State"] for v in ec2.describe_volumes()["Volumes"]} == {"available"}
    assert world.instance(instance["InstanceId"])["BlockDeviceMappings"] == []


def test_interfaces(ec2: Any, world: Any, run: Any) -> None:
    """An existing interface becomes available; one that the launch created is deleted."""
    eni = ec2.create_network_interface(SubnetId=world.subnet_id)["NetworkInterface"]["NetworkInterfaceId"]
    specs = [
        {"DeviceIndex": 0, "NetworkInterfaceId": eni},
        {"DeviceIndex": 1, "SubnetId": world.subnet_id},
    ]
    instance_id = run(NetworkInterfaces=specs)["InstanceId"]
    ec2.terminate_instances(InstanceIds=[instance_id])
    assert world.state()["interfaces"] == [eni]
    found = ec2.describe_network_interfaces(NetworkInterfaceIds=[eni])["NetworkInterfaces"][0]
    assert found["Status"] == "available"
    assert "Attachment" not in found
    instance = world.instance(instance_id)
    assert instance["State"]["Name"] == "terminated"
    assert instance["NetworkInterfaces"] == []
    assert "SubnetId" not in instance
    assert instance["PrivateDnsName"] == ""
    address = {"Name": "private-ip-address", "Values": ["10.0.1.4"]}
    assert ec2.describe_instances(Filters=[address])["Reservations"] == []


def test_elastic_address(ec2: Any, run: Any) -> None:
    """An elastic address shows its instance, and is free after the instance's end."""
    allocation = ec2.allocate_address(Domain="vpc")["AllocationId"]
    instance = run()
    eni = instance["NetworkInterfaces"][0]["NetworkInterfaceId"]
    ec2.associate_address(AllocationId=allocation, NetworkInterfaceId=eni)
    address = ec2.describe_addresses()["Addresses"][0]
    assert address["InstanceId"] == instance["InstanceId"]
    ec2.terminate_instances(InstanceIds=[instance["InstanceId"]])
    address = ec2.describe_addresses()["Addresses"][0]
    assert "AssociationId" not in address
    assert not address.get("NetworkInterfaceId")
