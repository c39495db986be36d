"""AMIs: their names, their snapshots, their copies, their end."""

from datetime import UTC, datetime, timedelta

from acceptance.lab import Lab, said_to
from acceptance.patience import NotYet, until
from acceptance.trials.trial import Seen, Trials
from bosh_aws_cpi.aws.sdk.errors import IMAGE_MISSING

TRIALS = Trials()


@TRIALS.of("image-name")
def image_name(lab: Lab) -> Seen:
    """Register two AMIs under one name."""
    name = f"cpi-{lab.token()}"
    lab.create_image(Name=name)
    said = said_to(lab.ec2.register_image, **lab.image_arguments(Name=name))
    return Seen(said.code == "InvalidAMIName.Duplicate", said.text)


@TRIALS.of("image-snapshot")
def image_snapshot(lab: Lab) -> Seen:
    """Delete the snapshot of an AMI."""
    (snapshot_id,) = lab.snapshots_of(lab.image_id)
    said = said_to(lab.ec2.delete_snapshot, SnapshotId=snapshot_id)
    return Seen(said.code == "InvalidSnapshot.InUse", said.text)


@TRIALS.of("image-disabled")
def image_disabled(lab: Lab) -> Seen:
    """Disable an AMI; look for it with and without IncludeDisabled, launch it, deregister it."""
    image_id = lab.create_image()
    lab.ec2.disable_image(ImageId=image_id)
    lab.wait_for_image("disabled", image_id)
    filters = [{"Name": "image-id", "Values": [image_id]}]
    shown = lab.ec2.describe_images(Owners=["self"], Filters=filters)["Images"]
    launched = said_to(lab.ec2.run_instances, **lab.launch_arguments(ImageId=image_id))
    deregistered = said_to(lab.ec2.deregister_image, ImageId=image_id)
    agrees = not shown and launched.code in IMAGE_MISSING and not deregistered.code
    return Seen(
        agrees,
        f"{len(shown)} shown without IncludeDisabled; launched: {launched.text}; "
        f"deregistered: {deregistered.text}",
    )


@TRIALS.of("image-deregistered")
def image_deregistered(lab: Lab) -> Seen:
    """Deregister an AMI with its snapshots, and once more; look for resources that are left."""
    image_id = lab.create_image()
    (snapshot_id,) = lab.snapshots_of(image_id)
    answer = lab.ec2.deregister_image(ImageId=image_id, DeleteAssociatedSnapshots=True)
    results = {each["SnapshotId"]: each["ReturnCode"] for each in answer.get("DeleteSnapshotResults", [])}

    def gone() -> str:
        said = said_to(lab.ec2.describe_images, ImageIds=[image_id], IncludeDisabled=True)
        if said.code in IMAGE_MISSING:
            return said.code
        states = [image["State"] for image in said.answer["Images"]] if not said.code else [said.code]
        if states and states != ["deregistered"]:
            raise NotYet(states[0])
        return states[0] if states else "no longer shown"

    left = until(gone)
    again = said_to(lab.ec2.deregister_image, ImageId=image_id)
    agrees = results == {snapshot_id: "success"} and again.code in IMAGE_MISSING
    return Seen(agrees, f"snapshots: {results}; AMI: {left}; again: {again.text}")


@TRIALS.of("image-settings")
def image_settings(lab: Lab) -> Seen:
    """Register an AMI with IMDSv2 and a NitroTPM, deprecate it, and ask for times that are out of range."""
    image_id = lab.create_image(ImdsSupport="v2.0", TpmSupport="v2.0", BootMode="uefi")
    now = datetime.now(UTC)
    wrong = [now - timedelta(days=1), now + timedelta(days=3700)]
    refused = [said_to(lab.ec2.enable_image_deprecation, ImageId=image_id, DeprecateAt=at) for at in wrong]
    at = now.replace(microsecond=0) + timedelta(days=30)
    lab.ec2.enable_image_deprecation(ImageId=image_id, DeprecateAt=at)
    (shown,) = lab.ec2.describe_images(ImageIds=[image_id])["Images"]
    options = [shown.get(name) for name in ("ImdsSupport", "TpmSupport")]
    time = datetime.fromisoformat(shown.get("DeprecationTime", "0001-01-01T00:00:00Z"))
    agrees = (
        options == ["v2.0", "v2.0"]
        and abs(time - at) <= timedelta(minutes=1)
        and all(said.code for said in refused)
    )
    codes = ", ".join(said.code or "accepted" for said in refused)
    return Seen(agrees, f"{options}; {at} is shown as {time}; out of range: {codes}")


@TRIALS.of("copy-name")
def copy_name(lab: Lab) -> Seen:
    """Copy an AMI twice under one name."""
    arguments = {
        "Name": f"cpi-{lab.token()}",
        "SourceImageId": lab.image_id,
        "SourceRegion": lab.account.region,
        "TagSpecifications": lab.tagged("image", "snapshot"),
    }
    first = lab.ec2.copy_image(**arguments)["ImageId"]
    said = said_to(lab.ec2.copy_image, **arguments)
    agrees = not said.code and said.answer["ImageId"] != first
    return Seen(agrees, said.text)


@TRIALS.of("copy-origin")
def copy_origin(lab: Lab) -> Seen:
    """Copy an AMI, and look at what EC2 shows of its source and its snapshot."""
    source, region = lab.image_id, lab.account.region
    copied = {"Name": f"cpi-{lab.token()}", "SourceImageId": source, "SourceRegion": region}
    copy_id = lab.ec2.copy_image(**copied, TagSpecifications=lab.tagged("image", "snapshot"))["ImageId"]
    lab.wait_for_image("available", copy_id)
    shown = lab.ec2.describe_images(ImageIds=[copy_id, source])["Images"]
    origins = {each["ImageId"]: (each.get("SourceImageId"), each.get("SourceImageRegion")) for each in shown}
    (made,) = lab.ec2.describe_snapshots(SnapshotIds=lab.snapshots_of(source))["Snapshots"]
    (copy,) = lab.ec2.describe_snapshots(SnapshotIds=lab.snapshots_of(copy_id))["Snapshots"]
    start = f"Copied for DestinationAmi {copy_id} from SourceAmi {source} "
    agrees = (
        origins == {copy_id: (source, region), source: (None, None)}
        and made["VolumeId"] == copy["VolumeId"] == "vol-ffffffff"
        and copy["Description"].startswith(start)
    )
    said = f"{origins}; {copy['VolumeId']}, {copy['Description']!r}; source's snapshot: {made['VolumeId']}"
    return Seen(agrees, said)


@TRIALS.of("token-copy")
def token_copy(lab: Lab) -> Seen:
    """Copy an AMI twice with one client token and tags for its snapshots, and look at the result."""
    own = {"Key": "bosh_call", "Value": lab.token()}
    tags = lab.tagged("image", "snapshot")
    for each in tags:
        each["Tags"] = [*each["Tags"], own]
    arguments = {
        "Name": f"cpi-{lab.token()}",
        "SourceImageId": lab.image_id,
        "SourceRegion": lab.account.region,
        "ClientToken": lab.token(),
        "TagSpecifications": tags,
    }
    first, second = (lab.ec2.copy_image(**arguments)["ImageId"] for _ in range(2))
    lab.wait_for_image("available", first)
    snapshots = lab.snapshots_of(first)
    found = lab.ec2.describe_snapshots(SnapshotIds=snapshots)["Snapshots"]
    bare = [each["SnapshotId"] for each in found if own not in each.get("Tags", [])]
    agrees = first == second and len(snapshots) == 1 and not bare
    same = "the first one" if first == second else "another one"
    return Seen(agrees, f"again: {same}; snapshots without their tags: {', '.join(bare) or 'none'}")
