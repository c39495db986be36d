"""What is left of an instance, which addresses are free, and what accounts share: as in EC2."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.traffic import Traffic

OTHER = "222222222222"


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


def test_free_addresses(ec2: Any, world: Any, run: Any) -> None:
    """DescribeSubnets counts the addresses that neither AWS nor an instance or interface has."""
    made = ec2.create_subnet(VpcId=world.vpc_id, CidrBlock="10.0.9.0/28", AvailabilityZone=world.zone)
    subnet_id = made["Subnet"]["SubnetId"]

    def free() -> int:
        answer = ec2.describe_subnets(SubnetIds=[subnet_id])
        return int(answer["Subnets"][0]["AvailableIpAddressCount"])

    assert free() == 11
    run(SubnetId=subnet_id)
    eni = ec2.create_network_interface(SubnetId=subnet_id)["NetworkInterface"]["NetworkInterfaceId"]
    assert free() == 9
    ec2.assign_private_ip_addresses(NetworkInterfaceId=eni, SecondaryPrivateIpAddressCount=9)
    assert free() == 0


def test_elastic_address_stays(fake_aws: FakeAws, ec2: Any, run: Any, world: Any) -> None:
    """An elastic address stays with an interface that existed before the launch, even a public one."""
    traffic = Traffic.lay(fake_aws, world)
    nic = ec2.create_network_interface(SubnetId=world.subnet_id)["NetworkInterface"]["NetworkInterfaceId"]
    ec2.modify_network_interface_attribute(NetworkInterfaceId=nic, AssociatePublicIpAddress=True)
    vm = run(NetworkInterfaces=[{"DeviceIndex": 0, "NetworkInterfaceId": nic}])["InstanceId"]
    ec2.associate_address(AllocationId=traffic.allocation_id, NetworkInterfaceId=nic)
    assert world.instance(vm)["PublicIpAddress"] == traffic.public_ip
    ec2.terminate_instances(InstanceIds=[vm])
    assert traffic.state()["associations"] == [nic]
    (found,) = ec2.describe_network_interfaces(NetworkInterfaceIds=[nic])["NetworkInterfaces"]
    assert found["Association"]["PublicIp"] == traffic.public_ip


def test_shared(fake_aws: FakeAws, ec2: Any, world: Any, refused: Any) -> None:
    """An account sees and launches another one's image while that is shared, and can't change it."""
    theirs = fake_aws.client("ec2", account=OTHER)
    with refused("InvalidAMIID.NotFound", world.image_id):
        theirs.describe_images(ImageIds=[world.image_id])
    added = {"ImageId": world.image_id, "LaunchPermission": {"Add": [{"UserId": OTHER}]}}
    ec2.modify_image_attribute(**added)
    (image,) = theirs.describe_images(ImageIds=[world.image_id])["Images"]
    assert image["OwnerId"] == "123456789012"
    with refused("AuthFailure"):
        theirs.modify_image_attribute(**added)
    vpc_id = theirs.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnet_id = theirs.create_subnet(VpcId=vpc_id, CidrBlock="10.0.1.0/24")["Subnet"]["SubnetId"]
    launch = {"ImageId": world.image_id, "InstanceType": "t3.micro", "MinCount": 1, "MaxCount": 1}
    assert theirs.run_instances(**launch, SubnetId=subnet_id)["Instances"]
    ec2.deregister_image(ImageId=world.image_id)
    with refused("InvalidAMIID.NotFound", world.image_id):
        theirs.run_instances(**launch, SubnetId=subnet_id)


@pytest.mark.parametrize("key", [None, "arn:aws:kms:us-east-1:123456789012:key/k"])
def test_encrypted(ec2: Any, world: Any, refused: Any, key: str | None) -> None:
    """What the default key encrypts is not shared."""
    source = {"SourceImageId": world.image_id, "SourceRegion": "us-east-1", "Encrypted": True}
    image_id = ec2.copy_image(Name="copy", **source, **({"KmsKeyId": key} if key else {}))["ImageId"]
    arguments = {"ImageId": image_id, "LaunchPermission": {"Add": [{"UserId": OTHER}]}}
    if key:
        ec2.modify_image_attribute(**arguments)
        return
    with refused("InvalidParameter", "encrypted with the AWS Managed CMK"):
        ec2.modify_image_attribute(**arguments)


def test_failed_launch_frees_interfaces(ec2: Any, world: Any, run: Any, refused: Any) -> None:
    """After a failed launch an existing interface is available again."""
    eni = ec2.create_network_interface(SubnetId=world.subnet_id)["NetworkInterface"]["NetworkInterfaceId"]
    with refused("InvalidBlockDeviceMapping"):
        run(
            NetworkInterfaces=[{"DeviceIndex": 0, "NetworkInterfaceId": eni}],
            BlockDeviceMappings=[{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 1}}],
        )
    found = ec2.describe_network_interfaces(NetworkInterfaceIds=[eni])["NetworkInterfaces"][0]
    assert found["Status"] == "available"
    assert run(NetworkInterfaces=[{"DeviceIndex": 0, "NetworkInterfaceId": eni}])
