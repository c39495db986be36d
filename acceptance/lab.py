"""Where the trials are made: the account, its network, and things to try with, made when first needed."""

from __future__ import annotations

import functools
import uuid
from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from botocore.exceptions import ClientError

from acceptance.network import INSTANCE_TYPE, tagged
from acceptance.patience import NotYet, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from acceptance.account import Account
    from acceptance.network import Network

BLOCK = bytes(range(256)) * 2048
"""As long as the EBS direct APIs want it: 512 KiB."""
DIGEST = sha256(BLOCK).digest()


class Said(NamedTuple):
    """What AWS answered to a call.

    Attributes:
        code: The error code; empty for a success.
        message: The error's.
        answer: Of a success.
        error: The exception.
    """

    code: str
    message: str
    answer: Any
    error: ClientError | None

    @property
    def text(self) -> str:
        """The same in one line."""
        return f"{self.code}: {self.message}" if self.code else "success"


def said_to(call: Callable[..., Any], **arguments: Any) -> Said:
    """Make a call that may be refused."""
    try:
        return Said("", "", call(**arguments), None)
    except ClientError as error:
        detail = error.response["Error"]
        return Said(detail["Code"], detail.get("Message", ""), None, error)


class Lab:
    """The things to try with; all carry the run's tag, so that nobody need remember them.

    Attributes:
        account: The account.
        network: The VPC in it.
        tags: What everything is tagged with.
    """

    def __init__(self, account: Account, network: Network, tags: dict[str, str]) -> None:
        """Begin with the network alone."""
        self.account = account
        self.network = network
        self.tags = tags
        self.ec2 = account.ec2
        self.ebs = account.ebs

    def tagged(self, *kinds: str) -> list[dict[str, Any]]:
        """Write the `TagSpecifications` of a creating call."""
        return tagged(self.tags, *kinds)

    @staticmethod
    def token() -> str:
        """Make a client token."""
        return uuid.uuid4().hex

    # Volumes

    def volume(self, **arguments: Any) -> str:
        """Make a volume of 1 GiB, and wait until it is available."""
        volume_id: str = self.ec2.create_volume(**self.volume_arguments(**arguments))["VolumeId"]
        return self.volume_in("available", volume_id)

    def volume_arguments(self, **arguments: Any) -> dict[str, Any]:
        """The arguments of CreateVolume, over the least ones."""
        least = {"AvailabilityZone": self.network.zone, "Size": 1, "VolumeType": "gp3"}
        return {**least, "TagSpecifications": self.tagged("volume"), **arguments}

    def volume_in(self, state: str, volume_id: str) -> str:
        """Wait until a volume is in a state."""
        self._until(state, lambda: self.ec2.describe_volumes(VolumeIds=[volume_id])["Volumes"][0]["State"])
        return volume_id

    def attached(self, volume_id: str, device: str) -> Said:
        """Attach a volume to the instance, and wait until it is."""
        said = said_to(self.ec2.attach_volume, VolumeId=volume_id, InstanceId=self.instance_id, Device=device)
        if not said.code:
            self.volume_in("in-use", volume_id)
        return said

    def detached(self, volume_id: str) -> None:
        """Detach a volume, and wait until it is."""
        self.ec2.detach_volume(VolumeId=volume_id)
        self.volume_in("available", volume_id)

    @functools.cached_property
    def spare_volume_id(self) -> str:
        """A volume that is attached to nothing."""
        return self.volume()

    # Interfaces and instances

    def interface_arguments(self, **arguments: Any) -> dict[str, Any]:
        """The arguments of CreateNetworkInterface, over the least ones."""
        least = {"SubnetId": self.network.subnet_ids[0], "Groups": [self.network.group_id]}
        return {**least, "TagSpecifications": self.tagged("network-interface"), **arguments}

    def launch_arguments(self, **arguments: Any) -> dict[str, Any]:
        """The arguments of RunInstances, over the least ones."""
        return {
            "ImageId": self.network.image_id,
            "InstanceType": INSTANCE_TYPE,
            "MinCount": 1,
            "MaxCount": 1,
            "NetworkInterfaces": [
                {
                    "DeviceIndex": 0,
                    "SubnetId": self.network.subnet_ids[0],
                    "Groups": [self.network.group_id],
                }
            ],
            "TagSpecifications": self.tagged("instance", "volume", "network-interface"),
            **arguments,
        }

    @functools.cached_property
    def instance_id(self) -> str:
        """An instance that runs, and stays until the end."""
        answer = self.ec2.run_instances(**self.launch_arguments())
        return self.instance_in("running", answer["Instances"][0]["InstanceId"])

    def instance(self, instance_id: str) -> Any:
        """Describe an instance."""
        return self.ec2.describe_instances(InstanceIds=[instance_id])["Reservations"][0]["Instances"][0]

    def instance_in(self, state: str, instance_id: str) -> str:
        """Wait until an instance is in a state."""
        self._until(state, lambda: self.instance(instance_id)["State"]["Name"])
        return instance_id

    @property
    def interface_id(self) -> str:
        """The interface of the instance that runs."""
        interface_id: str = self.instance(self.instance_id)["NetworkInterfaces"][0]["NetworkInterfaceId"]
        return interface_id

    # Snapshots and AMIs

    def started_snapshot(self, **arguments: Any) -> Any:
        """Start a snapshot of the EBS direct APIs; returns the answer."""
        tags = [{"Key": key, "Value": value} for key, value in self.tags.items()]
        return self.ebs.start_snapshot(**{"VolumeSize": 1, "Tags": tags, "Timeout": 60, **arguments})

    def put(self, snapshot_id: str, **arguments: Any) -> Said:
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

    def snapshot(self) -> str:
        """Make a snapshot of one block, and wait until it is completed."""
        snapshot_id: str = self.started_snapshot()["SnapshotId"]
        self.put(snapshot_id)
        self.ebs.complete_snapshot(SnapshotId=snapshot_id, ChangedBlocksCount=1)
        describe = self.ec2.describe_snapshots
        self._until("completed", lambda: describe(SnapshotIds=[snapshot_id])["Snapshots"][0]["State"])
        return snapshot_id

    @functools.cached_property
    def image_id(self) -> str:
        """An AMI that can't boot, which is all that is needed of it."""
        return self.image(f"cpi-{self.token()}")

    def image(self, name: str) -> str:
        """Register an AMI of a snapshot of its own, and wait until it is available."""
        return self.image_in("available", self.ec2.register_image(**self.image_arguments(name))["ImageId"])

    def image_arguments(self, name: str) -> dict[str, Any]:
        """The arguments of RegisterImage, with a snapshot that is made for it."""
        return {
            "Name": name,
            "Architecture": "x86_64",
            "VirtualizationType": "hvm",
            "RootDeviceName": "/dev/xvda",
            "EnaSupport": True,
            "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"SnapshotId": self.snapshot()}}],
            "TagSpecifications": self.tagged("image"),
        }

    def image_in(self, state: str, image_id: str) -> str:
        """Wait until an AMI is in a state."""
        describe = self.ec2.describe_images
        self._until(state, lambda: describe(ImageIds=[image_id], IncludeDisabled=True)["Images"][0]["State"])
        return image_id

    def snapshots_of(self, image_id: str) -> list[str]:
        """List the snapshots behind an AMI."""
        (image,) = self.ec2.describe_images(ImageIds=[image_id], IncludeDisabled=True)["Images"]
        ids: Iterable[str | None] = (d.get("Ebs", {}).get("SnapshotId") for d in image["BlockDeviceMappings"])
        return [each for each in ids if each]

    @staticmethod
    def _until(state: str, look: Callable[[], str]) -> None:
        """Wait for a state; what is not to be seen yet is waited for, too."""

        def probe() -> None:
            try:
                seen = look()
            except ClientError as error:
                if not error.response["Error"]["Code"].endswith("NotFound"):
                    raise
                seen = "not to be seen"
            except IndexError:
                seen = "not to be seen"
            if seen != state:
                raise NotYet(f"{seen} and not {state}")

        until(probe)
