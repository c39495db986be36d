"""The trials' surroundings: the account, its network, and resources that several trials share."""

import uuid
from base64 import b64encode
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Any, NamedTuple

from botocore.exceptions import ClientError

from acceptance.account import Account
from acceptance.network import INSTANCE_TYPE, Network, tagged
from acceptance.patience import NotYet, until

BLOCK = bytes(range(256)) * 2048
"""A block of the size that the EBS direct APIs require: 512 KiB."""
DIGEST = sha256(BLOCK).digest()
FINAL = frozenset({"terminated", "failed", "error", "invalid", "deregistered", "deleted"})
"""Final states."""


class Ended(Exception):
    """The awaited state can't be reached any more; the message is the current state."""


class Said(NamedTuple):
    """AWS's answer to a call.

    Attributes:
        code: The error code; empty for a success.
        message: The error message.
        answer: The answer of a successful call.
        error: The exception.
    """

    code: str
    message: str
    answer: Any
    error: ClientError | None

    @property
    def text(self) -> str:
        """The answer in one line."""
        return f"{self.code}: {self.message}" if self.code else "success"


def said_to(call: Callable[..., Any], **arguments: Any) -> Said:
    """Make a call that may be refused."""
    try:
        return Said("", "", call(**arguments), None)
    except ClientError as error:
        detail = error.response["Error"]
        return Said(detail["Code"], detail.get("Message", ""), None, error)


class Lab:
    """The resources of the trials. All of them have the run's tag, by which they are deleted at the end.

    Attributes:
        account: The account.
        network: The VPC in it.
        tags: The tags of all resources.
    """

    def __init__(self, account: Account, network: Network, tags: dict[str, str]) -> None:
        self.account = account
        self.network = network
        self.tags = tags
        self.ec2 = account.ec2
        self.ebs = account.ebs
        self._shared: dict[str, str | Exception] = {}

    def tagged(self, *kinds: str) -> list[dict[str, Any]]:
        """Write the `TagSpecifications` of a creating call."""
        return tagged(self.tags, *kinds)

    @staticmethod
    def token() -> str:
        """Create a client token."""
        return uuid.uuid4().hex

    # Volumes

    def create_volume(self, **arguments: Any) -> str:
        """Create a volume of 1 GiB, and wait until it is available."""
        volume_id: str = self.ec2.create_volume(**self.volume_arguments(**arguments))["VolumeId"]
        return self.wait_for_volume("available", volume_id)

    def volume_arguments(self, **arguments: Any) -> dict[str, Any]:
        """The required arguments of CreateVolume, and these."""
        least = {"AvailabilityZone": self.network.zone, "Size": 1, "VolumeType": "gp3"}
        return {**least, "TagSpecifications": self.tagged("volume"), **arguments}

    def wait_for_volume(self, state: str, volume_id: str) -> str:
        """Wait until a volume is in a state."""
        _wait_for(state, lambda: self.describe_volume(volume_id)["State"])
        return volume_id

    def attach(self, volume_id: str, device: str) -> Said:
        """Attach a volume to the shared instance, and wait until it is attached."""
        said = said_to(self.ec2.attach_volume, VolumeId=volume_id, InstanceId=self.instance_id, Device=device)
        if not said.code:
            _wait_for("attached", lambda: self.describe_volume(volume_id)["Attachments"][0]["State"])
        return said

    def detach(self, volume_id: str) -> None:
        """Detach a volume, and wait until it is available."""
        self.ec2.detach_volume(VolumeId=volume_id)
        self.wait_for_volume("available", volume_id)

    def copy_volume(self, source_id: str, **arguments: Any) -> str:
        """Copy a volume."""
        (copy,) = self.ec2.copy_volumes(**self.copy_arguments(source_id, **arguments))["Volumes"]
        volume_id: str = copy["VolumeId"]
        return volume_id

    def copy_arguments(self, source_id: str, **arguments: Any) -> dict[str, Any]:
        """The arguments of CopyVolumes for a copy of type gp3, and these."""
        tags = self.tagged("volume")
        return {"SourceVolumeId": source_id, "VolumeType": "gp3", "TagSpecifications": tags, **arguments}

    def describe_volume(self, volume_id: str) -> Any:
        """Describe a volume."""
        return self.ec2.describe_volumes(VolumeIds=[volume_id])["Volumes"][0]

    @property
    def spare_volume_id(self) -> str:
        """The shared volume, which is attached to nothing."""
        return self._share("volume", self.create_volume)

    # Interfaces and instances

    def create_interface(self, **arguments: Any) -> str:
        """Create a network interface."""
        answer = self.ec2.create_network_interface(**self.interface_arguments(**arguments))
        interface_id: str = answer["NetworkInterface"]["NetworkInterfaceId"]
        return interface_id

    def interface_arguments(self, **arguments: Any) -> dict[str, Any]:
        """The required arguments of CreateNetworkInterface, and these."""
        least = {"SubnetId": self.network.subnet_ids[0], "Groups": [self.network.group_id]}
        return {**least, "TagSpecifications": self.tagged("network-interface"), **arguments}

    def launch(self, **arguments: Any) -> Any:
        """Launch an instance; returns RunInstances' description of it."""
        return self.ec2.run_instances(**self.launch_arguments(**arguments))["Instances"][0]

    def launch_arguments(self, **arguments: Any) -> dict[str, Any]:
        """The required arguments of RunInstances, and these."""
        return {
            "ImageId": self.network.image_id,
            "InstanceType": INSTANCE_TYPE,
            "MinCount": 1,
            "MaxCount": 1,
            "NetworkInterfaces": [self.launch_interface()],
            "TagSpecifications": self.tagged("instance", "volume", "network-interface"),
            **arguments,
        }

    def launch_interface(self, **keys: Any) -> dict[str, Any]:
        """The interface that RunInstances is to create, and these keys of it."""
        least = {"DeviceIndex": 0, "SubnetId": self.network.subnet_ids[0], "Groups": [self.network.group_id]}
        return {**least, **keys}

    @property
    def instance_id(self) -> str:
        """The shared instance, which runs until the end."""
        return self._share("instance", lambda: self.wait_for_instance("running", self.launch()["InstanceId"]))

    @property
    def interface_id(self) -> str:
        """The interface of the shared instance."""
        instance = self.describe_instance(self.instance_id)
        interface_id: str = instance["NetworkInterfaces"][0]["NetworkInterfaceId"]
        return interface_id

    def describe_instance(self, instance_id: str) -> Any:
        """Describe an instance."""
        return self.ec2.describe_instances(InstanceIds=[instance_id])["Reservations"][0]["Instances"][0]

    def wait_for_instance(self, state: str, instance_id: str) -> str:
        """Wait until an instance is in a state."""
        _wait_for(state, lambda: self.describe_instance(instance_id)["State"]["Name"])
        return instance_id

    def terminate(self, instance_id: str) -> None:
        """Terminate an instance without waiting for its end."""
        self.ec2.terminate_instances(InstanceIds=[instance_id])

    # Snapshots and AMIs

    def start_snapshot(self, **arguments: Any) -> Any:
        """Start a snapshot of the EBS direct APIs; returns the answer."""
        tags = [{"Key": key, "Value": value} for key, value in self.tags.items()]
        return self.ebs.start_snapshot(**{"VolumeSize": 1, "Tags": tags, "Timeout": 60, **arguments})

    def put_block(self, snapshot_id: str, **arguments: Any) -> Said:
        """Write block 0 of a snapshot, which EBS may not know at first."""
        block = {
            "SnapshotId": snapshot_id,
            "BlockIndex": 0,
            "BlockData": BLOCK,
            "DataLength": len(BLOCK),
            "Checksum": b64encode(DIGEST).decode(),
            "ChecksumAlgorithm": "SHA256",
            **arguments,
        }

        def attempt() -> Said:
            said = said_to(self.ebs.put_snapshot_block, **block)
            if said.code == "ResourceNotFoundException":
                raise NotYet(said.text)
            return said

        return until(attempt)

    def create_snapshot(self, **arguments: Any) -> str:
        """Create a snapshot of one block, with StartSnapshot's arguments, and wait until it is completed."""
        snapshot_id: str = self.start_snapshot(**arguments)["SnapshotId"]
        self.put_block(snapshot_id)
        self.ebs.complete_snapshot(SnapshotId=snapshot_id, ChangedBlocksCount=1)
        describe = self.ec2.describe_snapshots
        _wait_for("completed", lambda: describe(SnapshotIds=[snapshot_id])["Snapshots"][0]["State"])
        return snapshot_id

    @property
    def image_id(self) -> str:
        """The shared AMI, which can't boot."""
        return self._share("AMI", self.create_image)

    def create_image(self, **arguments: Any) -> str:
        """Register an AMI with a new snapshot, and wait until it is available."""
        answer = self.ec2.register_image(**self.image_arguments(**arguments))
        return self.wait_for_image("available", answer["ImageId"])

    def image_arguments(self, **arguments: Any) -> dict[str, Any]:
        """The required arguments of RegisterImage, with a new snapshot, and these."""
        return {
            "Name": f"cpi-{self.token()}",
            "Architecture": "x86_64",
            "VirtualizationType": "hvm",
            "RootDeviceName": "/dev/xvda",
            "EnaSupport": True,
            "BlockDeviceMappings": [
                {"DeviceName": "/dev/xvda", "Ebs": {"SnapshotId": self.create_snapshot()}}
            ],
            "TagSpecifications": self.tagged("image"),
            **arguments,
        }

    def wait_for_image(self, state: str, image_id: str) -> str:
        """Wait until an AMI is in a state."""
        describe = self.ec2.describe_images
        _wait_for(state, lambda: describe(ImageIds=[image_id], IncludeDisabled=True)["Images"][0]["State"])
        return image_id

    def snapshots_of(self, image_id: str) -> list[str]:
        """List the snapshots behind an AMI."""
        (image,) = self.ec2.describe_images(ImageIds=[image_id], IncludeDisabled=True)["Images"]
        ids: Iterable[str | None] = (d.get("Ebs", {}).get("SnapshotId") for d in image["BlockDeviceMappings"])
        return [each for each in ids if each]

    def _share(self, what: str, create: Callable[[], str]) -> str:
        """Create a shared resource; if that fails, each trial that uses it fails with that error."""
        if what not in self._shared:
            try:
                self._shared[what] = create()
            except Exception as error:  # noqa: BLE001 - every error is reported by each trial
                self._shared[what] = error
        shared = self._shared[what]
        if isinstance(shared, Exception):
            raise shared
        return shared


def _wait_for(state: str, look: Callable[[], str]) -> None:
    """Wait for a state; "not found" is retried too (eventual consistency).

    Raises:
        Ended: AWS shows a final state.
        NotYet: The time is over.
    """

    def probe() -> None:
        try:
            seen = look()
        except ClientError as error:
            if not error.response["Error"]["Code"].endswith("NotFound"):
                raise
            seen = "not found yet"
        except IndexError:
            seen = "not found yet"
        if seen == state:
            return
        if seen in FINAL:
            raise Ended(f"{seen} instead of {state}")
        raise NotYet(f"{seen} instead of {state}")

    until(probe)
