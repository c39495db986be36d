"""Launches, and the end of instances."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from acceptance.lab import Lab, said_to
from acceptance.patience import NotYet, until
from acceptance.trials.trial import Seen, Trials
from bosh_aws_cpi.aws.errors import INSTANCE_MISSING, NIC_MISSING
from bosh_aws_cpi.aws.timing import INSTANCE_SEEN, NEW_SEEN

if TYPE_CHECKING:
    from collections.abc import Callable

TRIALS = Trials()
TOLERANCE = 10
"""Seconds between the clocks of AWS that are compared."""


@TRIALS.of("launch-time")
def launch_time(lab: Lab) -> Seen:
    """Compare an instance's LaunchTime with the time of the answer that tells of it."""
    answer = lab.ec2.run_instances(**lab.launch_arguments())
    (instance,) = answer["Instances"]
    answered = parsedate_to_datetime(answer["ResponseMetadata"]["HTTPHeaders"]["date"])
    age = (answered - instance["LaunchTime"]).total_seconds()
    lab.ec2.terminate_instances(InstanceIds=[instance["InstanceId"]])
    return Seen(abs(age) <= TOLERANCE, f"launched {age:.0f} seconds before the answer")


@TRIALS.of("new-things-seen")
def new_things_seen(lab: Lab) -> Seen:
    """Measure how long new things are not to be seen."""
    ec2 = lab.ec2
    seconds = {
        "volume": _unseen(
            lambda: ec2.create_volume(**lab.volume_arguments())["VolumeId"],
            lambda i: ec2.describe_volumes(VolumeIds=[i])["Volumes"],
        ),
        "network interface": _unseen(
            lambda: ec2.create_network_interface(**lab.interface_arguments())["NetworkInterface"][
                "NetworkInterfaceId"
            ],
            lambda i: ec2.describe_network_interfaces(NetworkInterfaceIds=[i])["NetworkInterfaces"],
        ),
        "snapshot": _unseen(
            lambda: lab.started_snapshot()["SnapshotId"],
            lambda i: ec2.describe_snapshots(SnapshotIds=[i])["Snapshots"],
        ),
        "instance": _unseen(
            lambda: ec2.run_instances(**lab.launch_arguments())["Instances"][0]["InstanceId"],
            lambda i: ec2.describe_instances(InstanceIds=[i])["Reservations"],
        ),
    }
    agrees = all(
        each <= (INSTANCE_SEEN if what == "instance" else NEW_SEEN).seconds for what, each in seconds.items()
    )
    return Seen(agrees, ", ".join(f"{what} {each:.1f} s" for what, each in seconds.items()))


def _unseen(make: Callable[[], str], look: Callable[[str], Any]) -> float:
    """Make something; return for how many seconds it is not to be seen."""
    identifier = make()
    begin = time.monotonic()

    def probe() -> None:
        said = said_to(look, i=identifier)
        if said.code.endswith("NotFound") or (not said.code and not said.answer):
            raise NotYet("not to be seen")

    until(probe)
    return time.monotonic() - begin


@TRIALS.of("launch-tags")
def launch_tags(lab: Lab) -> Seen:
    """Look at the tags of all that a launch has made."""
    instance = lab.instance(lab.instance_id)
    nic_id = instance["NetworkInterfaces"][0]["NetworkInterfaceId"]
    (nic,) = lab.ec2.describe_network_interfaces(NetworkInterfaceIds=[nic_id])["NetworkInterfaces"]
    ids = [device["Ebs"]["VolumeId"] for device in instance["BlockDeviceMappings"]]
    volumes = lab.ec2.describe_volumes(VolumeIds=ids)["Volumes"]
    things = {"instance": instance.get("Tags", []), "network interface": nic.get("TagSet", [])}
    things |= {f"volume {each['VolumeId']}": each.get("Tags", []) for each in volumes}
    wanted = lab.tags.items()
    bare = [
        what for what, tags in things.items() if not wanted <= {t["Key"]: t["Value"] for t in tags}.items()
    ]
    return Seen(not bare, f"without their tags: {', '.join(bare) or 'none'}")


@TRIALS.of("instance-terminated")
def instance_terminated(lab: Lab) -> Seen:
    """Terminate an instance twice; look at its reason, at itself and at its interface."""
    instance_id = lab.ec2.run_instances(**lab.launch_arguments())["Instances"][0]["InstanceId"]
    lab.instance_in("running", instance_id)
    nic_id = lab.instance(instance_id)["NetworkInterfaces"][0]["NetworkInterfaceId"]
    lab.ec2.terminate_instances(InstanceIds=[instance_id])
    lab.instance_in("terminated", instance_id)
    again = said_to(lab.ec2.terminate_instances, InstanceIds=[instance_id])
    reason = lab.instance(instance_id)["StateReason"]

    def without_interface() -> str:
        said = said_to(lab.ec2.describe_network_interfaces, NetworkInterfaceIds=[nic_id])
        if said.code not in NIC_MISSING:
            raise NotYet(said.text)
        return said.code

    gone = until(without_interface, 120)
    agrees = (
        (not again.code or again.code in INSTANCE_MISSING)
        and reason["Code"] == "Client.UserInitiatedShutdown"
        and reason["Message"].startswith("Client.UserInitiatedShutdown: ")
    )
    return Seen(agrees, f"again: {again.text}; {reason['Code']}, '{reason['Message']}'; interface {gone}")
