"""Every wait, through orders of states and times that no story can lay out."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from bosh_aws_cpi.aws import (
    attachments,
    images,
    instances,
    launches,
    network_interfaces,
    snapshots,
    subnets,
    volumes,
)
from bosh_aws_cpi.aws.network_interfaces import NicGone
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.errors import CloudError, VMCreationFailed, VMNotFound
from tests.unit.aws import looks
from tests.unit.aws.looks import AMI, DISK, DISK_AGAIN, OF_AMI, OF_DISK, OF_VM, OTHER_VM, VM, VM_AGAIN
from tests.unit.conftest import Clock, Stub

SNAPSHOT, NIC, SUBNET = "snap-1", "eni-1", "subnet-1"


class Wait(NamedTuple):
    """A wait.

    Attributes:
        begin: Waits, with a client of EC2.
        look: What the call that looks answers, by the resource's state.
        operation: That call.
        asked: Its parameters.
        unknown: The code of its refusal when EC2 does not know the resource.
        again: The parameters of the second look then, which does not show it either; None: there is none.
    """

    begin: Callable[[Any], object]
    look: Callable[[str], dict[str, Any]]
    operation: str
    asked: dict[str, Any]
    unknown: str
    again: dict[str, Any] | None = None

    def lay(self, ec2: Stub, states: str) -> None:
        """Lay out one look after the other: a state, "?" where EC2 does not know it, "-" for no entry."""
        special: dict[str, Any] = {"?": self.unknown, "lost": "lost", "fault": "fault Unavailable", "-": {}}
        for state in states.split():
            end = special[state] if state in special else self.look(state)
            empty = {name: [] for name in self.look("")} if end == {} else end
            ec2.lay(self.operation, empty, **self.asked)
            if state in {"?", "-"} and self.again:
                ec2.lay(self.operation, {name: [] for name in self.look("")}, **self.again)


def _attachment(state: str) -> dict[str, Any]:
    """Describe the volume: its attachment's state, "off", or "other" where another VM has it."""
    held = {"off": [], "other": [(OTHER_VM, "attached")]}.get(state, [(VM, state)])
    return {"Volumes": [looks.volume("in-use", *held)]}


def _nic(state: str) -> dict[str, Any]:
    """Describe an interface; of the one that is launched, the instance is alive."""
    owner = {"in-use": OTHER_VM, "launched": VM}.get(state)
    attachment = {"Attachment": {"InstanceId": owner}} if owner else {}
    status = "in-use" if owner else state
    return {"NetworkInterfaces": [{"NetworkInterfaceId": NIC, "Status": status, **attachment}]}


def _subnet(state: str) -> dict[str, Any]:
    """Describe a subnet; after a slash, the state of its IPv6 range."""
    own, _, ipv6 = state.partition("/")
    ranges = {"Ipv6CidrBlockAssociationSet": [{"Ipv6CidrBlockState": {"State": ipv6}}]} if ipv6 else {}
    return {"Subnets": [{"SubnetId": SUBNET, "State": own, **ranges}]}


def _volume(state: str) -> dict[str, Any]:
    return {"Volumes": [looks.volume(state)]}


def _image(state: str) -> dict[str, Any]:
    return {"Images": [looks.image(state, StateReason={"Message": "no key"})]}


def _snapshot(state: str) -> dict[str, Any]:
    return {"Snapshots": [{"SnapshotId": SNAPSHOT, "State": state, "StateMessage": "no key"}]}


def _instance(state: str) -> dict[str, Any]:
    return looks.instances(state)[0]


OF_VOLUME = ("describe_volumes", OF_DISK, "InvalidVolume.NotFound")
OF_INSTANCE = ("describe_instances", OF_VM, "InvalidInstanceID.NotFound")
OF_IMAGE = ("describe_images", OF_AMI, "InvalidAMIID.NotFound")
OF_SNAPSHOT = ("describe_snapshots", {"SnapshotIds": [SNAPSHOT]}, "InvalidSnapshot.NotFound")
OF_SUBNET = ("describe_subnets", {"SubnetIds": [SUBNET]}, "InvalidSubnetID.NotFound")
OF_NIC = (
    *("describe_network_interfaces", {"NetworkInterfaceIds": [NIC]}),
    "InvalidNetworkInterfaceID.NotFound",
)


def is_launched(vm_cid: str) -> bool:
    """Only the one VM is launched."""
    return vm_cid == VM


WAITS: dict[str, Wait] = {
    "volume": Wait(lambda ec2: volumes.wait_until_available(ec2, DISK), _volume, *OF_VOLUME),
    "deleted volume": Wait(lambda ec2: volumes.wait_until_deleted(ec2, DISK), _volume, *OF_VOLUME),
    "attachment": Wait(lambda ec2: attachments.wait_until_attached(ec2, DISK, VM), _attachment, *OF_VOLUME),
    "detachment": Wait(
        lambda ec2: attachments.wait_until_detached(ec2, DISK, VM), _attachment, *OF_VOLUME, DISK_AGAIN
    ),
    "instance": Wait(lambda ec2: launches.wait_until_running(ec2, VM), _instance, *OF_INSTANCE),
    "ended instance": Wait(
        lambda ec2: instances.wait_until_terminated(ec2, VM), _instance, *OF_INSTANCE, VM_AGAIN
    ),
    "reboot": Wait(lambda ec2: instances.reboot(ec2, VM), _instance, *OF_INSTANCE, VM_AGAIN),
    "image": Wait(lambda ec2: images.wait_until_available(ec2, AMI), _image, *OF_IMAGE),
    "snapshot": Wait(lambda ec2: snapshots.wait_until_completed(ec2, SNAPSHOT), _snapshot, *OF_SNAPSHOT),
    "subnet": Wait(lambda ec2: subnets.wait_until_available(ec2, SUBNET), _subnet, *OF_SUBNET),
    "interface": Wait(lambda ec2: network_interfaces.wait_until_usable(ec2, NIC, is_launched), _nic, *OF_NIC),
}


@pytest.mark.parametrize(
    ("name", "states"),
    [
        ("volume", "? ? creating lost fault available"),
        ("deleted volume", "available deleting ?"),
        ("deleted volume", "in-use deleted"),
        ("attachment", "off other attaching busy attached"),
        ("detachment", "attached detaching busy off"),
        ("detachment", "busy other"),
        ("detachment", "busy detached"),
        ("detachment", "busy ?"),
        ("image", "? - pending transient available"),
        ("snapshot", "? ? pending completed"),
        ("subnet", "? pending available/associating available/associated"),
        ("interface", "? ? pending available"),
        ("interface", "pending launched"),
        ("interface", "in-use in-use available"),
        ("instance", "? ? pending running"),
        ("instance", "pending ? fault lost ? running"),
        ("instance", "pending shutting-down"),
        ("instance", "terminated"),
        ("ended instance", "running shutting-down terminated"),
        ("ended instance", "shutting-down -"),
    ],
)
def test_reached(ec2: Stub, name: str, states: str) -> None:
    """A wait goes on while AWS does not know what is new, is on the way, or does not answer; then it ends."""
    wait = WAITS[name]
    wait.lay(ec2, states)
    wait.begin(ec2.client)


@pytest.mark.parametrize(
    ("name", "states", "error", "said"),
    [
        *(
            ("volume", f"creating {state}", volumes.VolumeNotCreated, "KMS key")
            for state in ("error", "deleting")
        ),
        ("volume", "? ? creating ?", volumes.VolumeNotCreated, "it is gone.*KMS key"),
        *(
            ("attachment", states, CloudError, "detached from instance .*is the VM terminating")
            for states in ("off attaching off", "busy other", "busy detached")
        ),
        *(
            ("image", f"pending {state}", images.AmiNotCreated, f"{state}: no key")
            for state in ("failed", "error", "invalid", "deregistered", "disabled")
        ),
        ("image", "? pending ?", images.AmiNotCreated, "is gone"),
        ("image", "pending -", images.AmiNotCreated, "is gone"),
        ("snapshot", "pending error", CloudError, "no key"),
        ("snapshot", "? pending ?", CloudError, "is gone"),
        ("subnet", "pending failed-insufficient-capacity", CloudError, "failed-insufficient-capacity"),
        ("subnet", "available/associating available/failing", CloudError, "failing"),
        ("interface", "in-use ?", NicGone, "is gone"),
        *(("reboot", states, VMNotFound, VM) for states in ("?", "terminated", "stopping terminated")),
    ],
)
def test_failed(ec2: Stub, name: str, states: str, error: type[Exception], said: str) -> None:
    """A wait for what will not come, or was seen and is gone, ends at once, with the reason."""
    wait = WAITS[name]
    wait.lay(ec2, states)
    with pytest.raises(error, match=said):
        wait.begin(ec2.client)


@pytest.mark.parametrize(
    ("name", "seconds", "error"),
    [
        ("volume", timing.NEW_SEEN.seconds, volumes.VolumeNotCreated),
        ("image", timing.NEW_SEEN.seconds, images.AmiNotCreated),
        ("snapshot", timing.NEW_SEEN.seconds, CloudError),
        ("subnet", timing.NEW_SEEN.seconds, CloudError),
        ("interface", timing.NIC_SEEN.seconds, NicGone),
        ("instance", timing.INSTANCE_RUNNING.seconds, VMCreationFailed),
    ],
)
def test_never_seen(ec2: Stub, clock: Clock, name: str, seconds: float, error: type[Exception]) -> None:
    """What AWS never shows counts as gone after a while; but this call's own instance exists."""
    wait = WAITS[name]
    ec2.keeps(wait.operation, wait.unknown)
    with pytest.raises(error):
        wait.begin(ec2.client)
    assert 0 <= clock.now - seconds <= 16


@pytest.mark.parametrize(
    ("name", "state", "policy"),
    [
        ("volume", "creating", timing.VOLUME_AVAILABLE),
        ("deleted volume", "deleting", timing.VOLUME_DELETED),
        ("attachment", "attaching", timing.VOLUME_ATTACHED),
        ("detachment", "busy", timing.VOLUME_DETACHED),
        ("image", "pending", timing.IMAGE_AVAILABLE),
        ("snapshot", "pending", timing.SNAPSHOT_COMPLETED),
        ("subnet", "pending", timing.SUBNET_AVAILABLE),
        ("interface", "in-use", timing.NIC_AVAILABLE),
        ("instance", "pending", timing.INSTANCE_RUNNING),
        ("ended instance", "running", timing.INSTANCE_TERMINATED),
        ("reboot", "stopping", timing.INSTANCE_STOPPED),
    ],
)
def test_time_out(ec2: Stub, clock: Clock, name: str, state: str, policy: timing.Policy) -> None:
    """A state that does not come in time is an error with the state seen last; the resource is not gone."""
    wait = WAITS[name]
    ec2.keeps(wait.operation, wait.look(state))
    with pytest.raises(CloudError, match=f"last seen: {state}") as caught:
        wait.begin(ec2.client)
    assert not isinstance(caught.value, NicGone | volumes.VolumeNotCreated | images.AmiNotCreated)
    assert 0 <= clock.now - policy.seconds <= timing.LONGEST_PAUSE + 1
    assert getattr(caught.value, "ok_to_retry", False) is (name == "instance")
