"""Launches, and the end of instances."""

import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any

from acceptance.lab import Lab, said_to
from acceptance.patience import NotYet, until
from acceptance.trials.trial import Seen, Trials
from bosh_aws_cpi.aws.sdk.errors import INSTANCE_MISSING, NIC_MISSING, SHUTDOWN_NOT_SKIPPED
from bosh_aws_cpi.aws.sdk.timing import INSTANCE_SEEN, NEW_SEEN, NIC_SEEN

TRIALS = Trials()
SHOWN_WITHIN = {"instance": INSTANCE_SEEN, "network interface": NIC_SEEN}
INTERFACE_GONE = 120
"""Seconds."""
ROUNDED = 2
"""Seconds: LaunchTime and the Date header are whole seconds."""


@TRIALS.of("launch-time")
def launch_time(lab: Lab) -> Seen:
    """Compare an instance's LaunchTime with the time of the answer that contains it."""
    begin = time.monotonic()
    answer = lab.ec2.run_instances(**lab.launch_arguments())
    took = time.monotonic() - begin
    (instance,) = answer["Instances"]
    answered = parsedate_to_datetime(answer["ResponseMetadata"]["HTTPHeaders"]["date"])
    age = (answered - instance["LaunchTime"]).total_seconds()
    lab.terminate(instance["InstanceId"])
    text = f"launched {age:.0f} s before the answer to a call of {took:.1f} s"
    return Seen(-ROUNDED <= age <= took + ROUNDED, text)


@TRIALS.of("new-things-seen")
def new_things_seen(lab: Lab) -> Seen:
    """Measure how long EC2 does not show new resources."""
    ec2 = lab.ec2
    seconds = {
        "volume": _time_until_shown(
            lambda: ec2.create_volume(**lab.volume_arguments())["VolumeId"],
            lambda i: ec2.describe_volumes(VolumeIds=[i])["Volumes"],
        ),
        "network interface": _time_until_shown(
            lab.create_interface,
            lambda i: ec2.describe_network_interfaces(NetworkInterfaceIds=[i])["NetworkInterfaces"],
        ),
        "snapshot": _time_until_shown(
            lambda: lab.start_snapshot()["SnapshotId"],
            lambda i: ec2.describe_snapshots(SnapshotIds=[i])["Snapshots"],
        ),
        "instance": _time_until_shown(
            lambda: lab.launch()["InstanceId"],
            lambda i: ec2.describe_instances(InstanceIds=[i])["Reservations"],
            lab.terminate,
        ),
    }
    agrees = all(each <= SHOWN_WITHIN.get(what, NEW_SEEN).seconds for what, each in seconds.items())
    return Seen(agrees, ", ".join(f"{what} {each:.1f} s" for what, each in seconds.items()))


def _time_until_shown(
    create: Callable[[], str], look: Callable[[str], Any], end: Callable[[str], None] | None = None
) -> float:
    """Create a resource; return the seconds until EC2 shows it. An expensive one is then deleted."""
    identifier = create()
    begin = time.monotonic()

    def probe() -> None:
        said = said_to(look, i=identifier)
        if said.code.endswith("NotFound") or (not said.code and not said.answer):
            raise NotYet("not found yet")

    until(probe)
    seconds = time.monotonic() - begin
    if end is not None:
        end(identifier)
    return seconds


@TRIALS.of("launch-tags")
def launch_tags(lab: Lab) -> Seen:
    """Look at the tags of all resources that a launch has created."""
    instance = lab.describe_instance(lab.instance_id)
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


@TRIALS.of("root-mapping")
def root_mapping(lab: Lab) -> Seen:
    """Launch with a root device that names neither size nor snapshot, and look at its volume."""
    (image,) = lab.ec2.describe_images(ImageIds=[lab.network.image_id])["Images"]
    name = image["RootDeviceName"]
    device = {"DeviceName": name, "Ebs": {"VolumeType": "standard", "DeleteOnTermination": True}}
    instance_id = lab.launch(BlockDeviceMappings=[device])["InstanceId"]
    lab.wait_for_instance("running", instance_id)
    attached = [{"Name": "attachment.instance-id", "Values": [instance_id]}]
    (volume,) = lab.ec2.describe_volumes(Filters=attached)["Volumes"]
    lab.terminate(instance_id)
    (ebs,) = (each["Ebs"] for each in image["BlockDeviceMappings"] if each["DeviceName"] == name)
    seen = (volume["SnapshotId"], volume["Size"], volume["VolumeType"])
    wanted = (ebs["SnapshotId"], ebs["VolumeSize"], "standard")
    return Seen(seen == wanted, f"{seen}, believed: {wanted}")


@TRIALS.of("spot-request")
def spot_request(lab: Lab) -> Seen:
    """Launch on spot for less than it costs; cancel its open requests, and look whether more appear."""
    kinds = ("instance", "volume", "network-interface", "spot-instances-request")
    market = {"MarketType": "spot", "SpotOptions": {"MaxPrice": "0.002", "SpotInstanceType": "one-time"}}
    wanted = lab.launch_arguments(InstanceMarketOptions=market, TagSpecifications=lab.tagged(*kinds))
    said = said_to(lab.ec2.run_instances, **wanted)
    filters = [{"Name": f"tag:{key}", "Values": [value]} for key, value in lab.tags.items()]
    filters.append({"Name": "state", "Values": ["open"]})

    def look() -> list[str]:
        found = lab.ec2.describe_spot_instance_requests(Filters=filters)["SpotInstanceRequests"]
        return [each["SpotInstanceRequestId"] for each in found]

    if at_once := look():
        lab.ec2.cancel_spot_instance_requests(SpotInstanceRequestIds=at_once)
    shown_by = time.monotonic() + lab.account.settles

    def later() -> list[str]:
        if time.monotonic() < shown_by:
            raise NotYet("EC2 may show one later")
        return look()

    left = until(later)
    text = f"{said.text}; open at once: {len(at_once)}, and after their cancellation: {len(left)}"
    return Seen(said.code == "SpotMaxPriceTooLow" and not left, text)


@TRIALS.of("skip-os-shutdown")
def skip_os_shutdown(lab: Lab) -> Seen:
    """Terminate a running instance without its shutdown; if EC2 refuses, look at the instance."""
    instance_id = lab.launch()["InstanceId"]
    lab.wait_for_instance("running", instance_id)
    said = said_to(lab.ec2.terminate_instances, InstanceIds=[instance_id], SkipOsShutdown=True)
    if not said.code:
        return Seen(agrees=True, text=said.text)
    state = lab.describe_instance(instance_id)["State"]["Name"]
    lab.terminate(instance_id)
    return Seen(said.code in SHUTDOWN_NOT_SKIPPED and state == "running", f"{said.text}; then {state}")


@TRIALS.of("instance-terminated")
def instance_terminated(lab: Lab) -> Seen:
    """Terminate an instance twice; look at its reason, at itself and at its interface."""
    instance_id = lab.launch()["InstanceId"]
    lab.wait_for_instance("running", instance_id)
    nic_id = lab.describe_instance(instance_id)["NetworkInterfaces"][0]["NetworkInterfaceId"]
    lab.terminate(instance_id)
    lab.wait_for_instance("terminated", instance_id)
    again = said_to(lab.ec2.terminate_instances, InstanceIds=[instance_id])
    reason = lab.describe_instance(instance_id)["StateReason"]

    def without_interface() -> str:
        said = said_to(lab.ec2.describe_network_interfaces, NetworkInterfaceIds=[nic_id])
        if said.code not in NIC_MISSING:
            raise NotYet(said.text)
        return said.code

    try:
        gone = until(without_interface, INTERFACE_GONE)
    except NotYet:
        gone = f"still there after {INTERFACE_GONE} s"
    agrees = (
        gone in NIC_MISSING
        and (not again.code or again.code in INSTANCE_MISSING)
        and reason["Code"] == "Client.UserInitiatedShutdown"
        and reason["Message"].startswith("Client.UserInitiatedShutdown: ")
    )
    return Seen(agrees, f"again: {again.text}; {reason['Code']}, '{reason['Message']}'; interface {gone}")
