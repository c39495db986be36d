"""RunInstances creates everything as requested, or nothing."""

from typing import Any

from testbed.cloud import FakeAws

KEY = "arn:aws:kms:us-east-1:123456789012:key/k"
TAGS = [{"Key": "deployment", "Value": "cf"}]


def volumes_of(ec2: Any, instance: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Describe an instance's volumes by device name."""
    ids = {m["DeviceName"]: m["Ebs"]["VolumeId"] for m in instance["BlockDeviceMappings"]}
    found = {v["VolumeId"]: v for v in ec2.describe_volumes()["Volumes"]}
    return {device: found[volume_id] for device, volume_id in ids.items()}


def test_root_without_size(ec2: Any, run: Any) -> None:
    """Without a size in the request the root device has its snapshot's size."""
    root = {"DeviceName": "/dev/xvda", "Ebs": {"VolumeType": "gp3", "DeleteOnTermination": True}}
    volume = volumes_of(ec2, run(BlockDeviceMappings=[root]))["/dev/xvda"]
    assert (volume["Size"], volume["VolumeType"]) == (5, "gp3")
    assert volume["SnapshotId"].startswith("snap-")


def test_image_without_snapshot(ec2: Any, run: Any) -> None:
    """A root device without a size and a snapshot gets 8 GiB."""
    image = ec2.register_image(
        Name="bare", RootDeviceName="/dev/sda1", BlockDeviceMappings=[{"DeviceName": "/dev/sda1", "Ebs": {}}]
    )["ImageId"]
    assert volumes_of(ec2, run(ImageId=image))["/dev/sda1"]["Size"] == 8


def test_volume_properties(ec2: Any, run: Any) -> None:
    """Iops, throughput, encryption, key and tags of a launch's volumes are kept."""
    ebs = {
        "VolumeSize": 10,
        "VolumeType": "gp3",
        "Iops": 4000,
        "Throughput": 250,
        "Encrypted": True,
        "KmsKeyId": KEY,
        "DeleteOnTermination": True,
    }
    instance = run(
        BlockDeviceMappings=[{"DeviceName": "/dev/sdb", "Ebs": ebs}],
        TagSpecifications=[{"ResourceType": "volume", "Tags": TAGS}],
    )
    volumes = volumes_of(ec2, instance)
    kept = {key: volumes["/dev/sdb"][key] for key in ("VolumeType", "Iops", "Throughput", "KmsKeyId")}
    assert kept == {"VolumeType": "gp3", "Iops": 4000, "Throughput": 250, "KmsKeyId": KEY}
    assert volumes["/dev/sdb"]["Encrypted"] is True
    assert [volume["Tags"] for volume in volumes.values()] == [TAGS, TAGS]


def test_instance_store(ec2: Any, run: Any) -> None:
    """A device with a virtual name is accepted, and creates no volume."""
    instance = run(BlockDeviceMappings=[{"DeviceName": "/dev/sdc", "VirtualName": "ephemeral1"}])
    assert list(volumes_of(ec2, instance)) == ["/dev/xvda"]


def test_interface_made_by_launch(ec2: Any, world: Any, run: Any) -> None:
    """An interface of the request is created exactly as described."""
    spec = {
        "DeviceIndex": 0,
        "SubnetId": world.subnet_ids[2],
        "Groups": [world.groups["web"]],
        "PrivateIpAddress": "10.0.3.9",
        "AssociatePublicIpAddress": True,
        "DeleteOnTermination": False,
    }
    instance = run(
        NetworkInterfaces=[spec],
        TagSpecifications=[{"ResourceType": "network-interface", "Tags": TAGS}],
    )
    (interface,) = instance["NetworkInterfaces"]
    assert interface["PrivateIpAddress"] == instance["PrivateIpAddress"] == "10.0.3.9"
    assert interface["SubnetId"] == instance["SubnetId"] == world.subnet_ids[2]
    assert interface["Groups"] == instance["SecurityGroups"]
    assert interface["Groups"] == [{"GroupId": world.groups["web"], "GroupName": "web"}]
    assert interface["Attachment"]["DeleteOnTermination"] is False
    assert instance["PublicIpAddress"]
    assert instance["Placement"]["AvailabilityZone"] == world.other_zone
    found = ec2.describe_network_interfaces(NetworkInterfaceIds=[interface["NetworkInterfaceId"]])
    assert found["NetworkInterfaces"][0]["TagSet"] == TAGS


def test_addresses_of_an_interface_made_by_launch(world: Any, run: Any) -> None:
    """A new interface has all IPv4 and IPv6 addresses of the request."""
    spec = {
        "DeviceIndex": 0,
        "SubnetId": world.subnet_id,
        "PrivateIpAddresses": [
            {"PrivateIpAddress": "10.0.1.9", "Primary": True},
            {"PrivateIpAddress": "10.0.1.10", "Primary": False},
        ],
        "Ipv6Addresses": [{"Ipv6Address": "2600::5"}],
    }
    (interface,) = run(NetworkInterfaces=[spec])["NetworkInterfaces"]
    addresses = {each["PrivateIpAddress"]: each["Primary"] for each in interface["PrivateIpAddresses"]}
    assert addresses == {"10.0.1.9": True, "10.0.1.10": False}
    assert [each["Ipv6Address"] for each in interface["Ipv6Addresses"]] == ["2600::5"]


def test_no_public_address(world: Any, run: Any, ec2: Any) -> None:
    """AssociatePublicIpAddress=false overrides a subnet that gives out public addresses."""
    ec2.modify_subnet_attribute(SubnetId=world.subnet_id, MapPublicIpOnLaunch={"Value": True})
    spec = {"DeviceIndex": 0, "SubnetId": world.subnet_id, "AssociatePublicIpAddress": False}
    assert "PublicIpAddress" not in run(NetworkInterfaces=[spec])


def premade(ec2: Any, subnet_id: str, group: str, **more: Any) -> dict[str, Any]:
    """Create an interface before the launch."""
    interface: dict[str, Any] = ec2.create_network_interface(SubnetId=subnet_id, Groups=[group], **more)[
        "NetworkInterface"
    ]
    return interface


def test_interfaces_made_ahead(ec2: Any, world: Any, run: Any, refused: Any) -> None:
    """Existing interfaces are attached unchanged, and are in use then."""
    first = premade(ec2, world.subnet_ids[2], world.groups["web"], PrivateIpAddress="10.0.3.7")
    second = premade(ec2, world.subnet_ids[2], world.groups["bosh"])
    specs = [
        {"DeviceIndex": 0, "NetworkInterfaceId": first["NetworkInterfaceId"]},
        {"DeviceIndex": 1, "NetworkInterfaceId": second["NetworkInterfaceId"]},
    ]
    instance = run(NetworkInterfaces=specs)
    shown = {i["Attachment"]["DeviceIndex"]: i for i in instance["NetworkInterfaces"]}
    assert shown[0]["MacAddress"] == first["MacAddress"]
    assert [shown[i]["Groups"][0]["GroupName"] for i in (0, 1)] == ["web", "bosh"]
    assert len(shown[1]["Groups"]) == 1
    assert shown[0]["Attachment"]["DeleteOnTermination"] is False
    assert instance["SubnetId"] == world.subnet_ids[2]
    assert instance["Placement"]["AvailabilityZone"] == world.other_zone
    assert instance["PrivateIpAddress"] == "10.0.3.7"
    with refused("InvalidNetworkInterface.InUse", first["NetworkInterfaceId"]):
        run(NetworkInterfaces=specs[:1])
    with refused("InvalidParameterValue", "currently in use"):
        ec2.delete_network_interface(NetworkInterfaceId=first["NetworkInterfaceId"])


def test_failed_launch_frees_interfaces(ec2: Any, world: Any, run: Any, refused: Any) -> None:
    """After a failed launch an existing interface is available again."""
    eni = premade(ec2, world.subnet_id, world.groups["bosh"])["NetworkInterfaceId"]
    with refused("InvalidBlockDeviceMapping"):
        run(
            NetworkInterfaces=[{"DeviceIndex": 0, "NetworkInterfaceId": eni}],
            BlockDeviceMappings=[{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 1}}],
        )
    found = ec2.describe_network_interfaces(NetworkInterfaceIds=[eni])["NetworkInterfaces"][0]
    assert found["Status"] == "available"
    assert run(NetworkInterfaces=[{"DeviceIndex": 0, "NetworkInterfaceId": eni}])


def test_delete_on_termination_of_attachment(ec2: Any, world: Any, run: Any, refused: Any) -> None:
    """ModifyNetworkInterfaceAttribute changes DeleteOnTermination of an attachment."""
    eni = premade(ec2, world.subnet_id, world.groups["bosh"])["NetworkInterfaceId"]
    instance = run(NetworkInterfaces=[{"DeviceIndex": 0, "NetworkInterfaceId": eni}])
    attachment = instance["NetworkInterfaces"][0]["Attachment"]["AttachmentId"]
    ec2.modify_network_interface_attribute(
        NetworkInterfaceId=eni, Attachment={"AttachmentId": attachment, "DeleteOnTermination": True}
    )
    again = world.instance(instance["InstanceId"])
    assert again["NetworkInterfaces"][0]["Attachment"]["DeleteOnTermination"] is True
    with refused("InvalidAttachmentID.NotFound"):
        ec2.modify_network_interface_attribute(
            NetworkInterfaceId=eni, Attachment={"AttachmentId": "eni-attach-1", "DeleteOnTermination": True}
        )


def test_wrapped_user_data(fake_aws: FakeAws, world: Any) -> None:
    """User data may be Base64 with line breaks."""
    ec2 = fake_aws.new_client("ec2")
    parameters = {"ImageId": world.image_id, "SubnetId": world.subnet_id, "MinCount": 1, "MaxCount": 1}

    def wrap(params: dict[str, Any], **_: Any) -> None:
        params["body"]["UserData"] = "eyJhIj\nogMX0="

    ec2.meta.events.register("before-call.ec2.RunInstances", wrap)
    instance = ec2.run_instances(**parameters)["Instances"][0]["InstanceId"]
    found = ec2.describe_instance_attribute(InstanceId=instance, Attribute="userData")
    assert "".join(found["UserData"]["Value"].split()) == "eyJhIjogMX0="
