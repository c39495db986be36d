"""The yardstick: a plain boto3 script for each method: `plain.py CONFIG_PATH`, the request on stdin.

Each function makes the calls to AWS that the executable makes for the method, in the ordinary way, and does
nothing else. There are no tricks that make it slow or fast, and no waiters, which would be slower.
"""

import json
import sys
import time
from typing import Any

import boto3


def has_vm(ec2: Any, vm_cid: str) -> bool:
    """Look whether there is an instance."""
    return bool(ec2.describe_instances(InstanceIds=[vm_cid])["Reservations"])


def create_disk(ec2: Any, size: int, properties: dict[str, Any], vm_cid: str) -> str:
    """Create a volume in an instance's zone."""
    instance = ec2.describe_instances(InstanceIds=[vm_cid])["Reservations"][0]["Instances"][0]
    volume_id: str = ec2.create_volume(
        AvailabilityZone=instance["Placement"]["AvailabilityZone"],
        Size=size // 1024,
        VolumeType=properties.get("type", "gp3"),
        TagSpecifications=[{"ResourceType": "volume", "Tags": [{"Key": "Name", "Value": "disk"}]}],
    )["VolumeId"]
    while ec2.describe_volumes(VolumeIds=[volume_id])["Volumes"][0]["State"] != "available":
        time.sleep(1)
    return volume_id


def attach_disk(ec2: Any, vm_cid: str, disk_cid: str) -> str:
    """Attach a volume under a name that is free."""
    instance = ec2.describe_instances(InstanceIds=[vm_cid])["Reservations"][0]["Instances"][0]
    taken = {mapping["DeviceName"] for mapping in instance["BlockDeviceMappings"]}
    device = next(name for letter in "fghijklmnop" if (name := f"/dev/sd{letter}") not in taken)
    ec2.attach_volume(InstanceId=vm_cid, VolumeId=disk_cid, Device=device)
    while ec2.describe_volumes(VolumeIds=[disk_cid])["Volumes"][0]["Attachments"][0]["State"] != "attached":
        time.sleep(1)
    return device


def create_vm(
    ec2: Any,
    agent_id: str,
    stemcell_cid: str,
    properties: dict[str, Any],
    networks: dict[str, Any],
    *_: Any,
) -> list[Any]:
    """Launch an instance with an address and an ephemeral disk."""
    image = ec2.describe_images(ImageIds=[stemcell_cid.split(maxsplit=1)[0]])["Images"][0]
    network = next(iter(networks.values()))
    subnet_id = network["cloud_properties"]["subnet"]
    subnet = ec2.describe_subnets(SubnetIds=[subnet_id])["Subnets"][0]
    filters = [{"Name": "vpc-id", "Values": [subnet["VpcId"]]}, {"Name": "group-name", "Values": ["bosh"]}]
    groups = ec2.describe_security_groups(Filters=filters)["SecurityGroups"]
    found = ec2.describe_instance_types(InstanceTypes=[properties["instance_type"]])["InstanceTypes"][0]
    instance_id: str = ec2.run_instances(
        ImageId=image["ImageId"],
        InstanceType=found["InstanceType"],
        MinCount=1,
        MaxCount=1,
        KeyName="bosh",
        Placement={"AvailabilityZone": subnet["AvailabilityZone"]},
        UserData=json.dumps({"agent_id": agent_id, "networks": networks}),
        BlockDeviceMappings=[
            {"DeviceName": "/dev/sdb", "Ebs": {"VolumeSize": 10, "DeleteOnTermination": True}},
        ],
        NetworkInterfaces=[
            {
                "DeviceIndex": 0,
                "SubnetId": subnet_id,
                "PrivateIpAddress": network["ip"],
                "Groups": [group["GroupId"] for group in groups],
            },
        ],
        TagSpecifications=[{"ResourceType": "instance", "Tags": [{"Key": "Name", "Value": agent_id}]}],
    )["Instances"][0]["InstanceId"]
    while _state(ec2, instance_id) != "running":
        time.sleep(1)
    return [instance_id, networks]


def delete_vm(ec2: Any, vm_cid: str) -> None:
    """Terminate an instance."""
    ec2.terminate_instances(InstanceIds=[vm_cid])
    while _state(ec2, vm_cid) != "terminated":
        time.sleep(1)


def _state(ec2: Any, instance_id: str) -> str:
    answer = ec2.describe_instances(InstanceIds=[instance_id])
    state: str = answer["Reservations"][0]["Instances"][0]["State"]["Name"]
    return state


METHODS = {each.__name__: each for each in (has_vm, create_disk, attach_disk, create_vm, delete_vm)}


def _assumed(aws: dict[str, Any], keys: dict[str, Any]) -> dict[str, Any]:
    sts = boto3.client("sts", region_name=aws["region"], endpoint_url=aws["sts_endpoint"], **keys)
    found = sts.assume_role(RoleArn=aws["role_arn"], RoleSessionName="bench")["Credentials"]
    return {
        "aws_access_key_id": found["AccessKeyId"],
        "aws_secret_access_key": found["SecretAccessKey"],
        "aws_session_token": found["SessionToken"],
    }


def main() -> None:
    """Carry out the request, and print an answer."""
    with open(sys.argv[1]) as file:  # noqa: PTH123 - as plain as can be
        aws = json.load(file)["cloud"]["properties"]["aws"]
    request = json.load(sys.stdin)
    keys: dict[str, Any] = {
        "aws_access_key_id": aws["access_key_id"],
        "aws_secret_access_key": aws["secret_access_key"],
    }
    if "role_arn" in aws:
        keys = _assumed(aws, keys)
    ec2 = boto3.client("ec2", region_name=aws["region"], endpoint_url=aws["ec2_endpoint"], **keys)
    print(json.dumps({"result": METHODS[request["method"]](ec2, *request["arguments"]), "error": None}))


if __name__ == "__main__":
    main()
