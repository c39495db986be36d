"""What EC2 answers about a volume, an instance and an AMI."""

from typing import Any

DISK, OTHER_DISK = "vol-0123456789abcdef0", "vol-0fedcba9876543210"
VM, OTHER_VM = "i-0123456789abcdef0", "i-0fedcba9876543210"
AMI = "ami-0123456789abcdef0"
OF_DISK = {"VolumeIds": [DISK]}
OF_VM = {"InstanceIds": [VM]}
DISK_AGAIN = {"Filters": [{"Name": "volume-id", "Values": [DISK]}]}
VM_AGAIN = {"Filters": [{"Name": "instance-id", "Values": [VM]}]}
OF_AMI = {"ImageIds": [AMI], "IncludeDeprecated": True, "IncludeDisabled": True}


def tagged(**tags: str) -> list[dict[str, str]]:
    """Write tags as EC2 does."""
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def volume(state: str = "available", *held: tuple[str, str], name: str = "/dev/sdf", **more: Any) -> Any:
    """Describe a volume, with the instance and the state of each attachment."""
    attachments = [{"InstanceId": vm, "State": how, "Device": name} for vm, how in held]
    disk = {"Size": 1, "VolumeType": "gp3", "Encrypted": False, "AvailabilityZone": "z"}
    return {"VolumeId": DISK, "State": state, "Attachments": attachments, **disk, **more}


def volumes(*states: str, holder: str = VM) -> list[dict[str, Any]]:
    """Answer with the volume in one state of its attachment after the other; empty: it has none."""
    held = [[(holder, state)] if state else [] for state in states]
    return [{"Volumes": [volume("in-use", *each)]} for each in held]


def instance(state: str = "running", **more: Any) -> Any:
    """Describe an instance."""
    return {"InstanceId": VM, "State": {"Name": state}, "InstanceType": "m5.large", **more}


def instances(*states: str, **more: Any) -> list[dict[str, Any]]:
    """Answer with the instance in one state after the other."""
    return [{"Reservations": [{"Instances": [instance(state, **more)]}]} for state in states]


def image(state: str = "available", *snapshot_ids: str, **more: Any) -> Any:
    """Describe an AMI with these snapshots."""
    devices = [
        {"DeviceName": f"/dev/sd{letter}", "Ebs": {"SnapshotId": snapshot_id}}
        for letter, snapshot_id in zip("abc", snapshot_ids, strict=False)
    ]
    return {"ImageId": AMI, "State": state, "BlockDeviceMappings": devices, **more}
