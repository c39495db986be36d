"""What is asked for stemcells."""

import functools
from datetime import UTC, datetime
from typing import Any

from tests.faults.scenario import Change, Scenario
from tests.faults.stage import Stage
from tests.stories.stemcell_images import FULL_BLOCKS, PROPERTIES, packed, read_back

KEY = "arn:aws:kms:us-east-1:123456789012:key/own"
COPY_TAGS = f"bosh_call=…, bosh_director_uuid=director, bosh_kms_key={KEY}, bosh_source_ami=image]"
COPIED_SNAPSHOT = (
    "snapshot new: 5 GiB, encrypted True, completed, 'Copied for DestinationAmi made from SourceAmi image "
    f"for SourceSnapshot new. Task created on 1,234,567,890,123.' [{{ami}}{COPY_TAGS}"
)
HEAVY_TAGS = "bosh_director_uuid=director, bosh_stemcell=…, distro=noble, n=1]"
SETTINGS = ", deprecated, for 222222222222"
LAID = "image image: 'BOSH-light-stemcell' of new, available"
TITLE = f"{PROPERTIES['name']} {PROPERTIES['version']}"


@functools.cache
def image() -> bytes:
    """Return a small stemcell's image."""
    return packed()


def heavy(stage: Stage) -> list[Any]:
    """Write a heavy stemcell's image."""
    stage.painter.contents = lambda snapshot_id: (
        ", whole" if read_back(stage.fake_aws, snapshot_id) == FULL_BLOCKS else ", not the image"
    )
    path = stage.folder / "image"
    path.write_bytes(image())
    return [str(path), shared(PROPERTIES)]


def shared(properties: dict[str, Any]) -> dict[str, Any]:
    """Share a stemcell, and have it deprecated next year."""
    at = f"{datetime.now(UTC).year + 1}-01-31T00:00:00Z"
    return {**properties, "share_with": ["222222222222"], "deprecate_at": at}


def own_image(stage: Stage) -> list[Any]:
    """Have an AMI that is ours, and its snapshot."""
    snapshot_id = stage.snapshot()
    device = {"DeviceName": "/dev/xvda", "Ebs": {"SnapshotId": snapshot_id}}
    answer = stage.ec2.register_image(
        Name="own", RootDeviceName="/dev/xvda", VirtualizationType="hvm", BlockDeviceMappings=[device]
    )
    return [stage.painter.name(answer["ImageId"], "ours")]


HEAVY_SNAPSHOT, WITHOUT_AMI = (
    f"snapshot new: 3 GiB, completed, '{TITLE}' [{ami}{HEAVY_TAGS}, whole" for ami in ("bosh_ami=made, ", "")
)

STEMCELLS = (
    Scenario(
        name="create_stemcell that is light",
        calls=("DescribeImages", "CreateTags"),
        lay=lambda stage: [
            "/x/image",
            {"ami": {"us-east-1": stage.world.image_id}},
            {"tags": {"deployment": "cf"}},
        ],
        result='"image light"',
        success=Change([LAID], [f"{LAID} [deployment=cf]"]),
        is_in_place=True,
        version=3,
    ),
    Scenario(
        name="create_stemcell that is copied",
        calls=(
            "DescribeImages",
            "DescribeImages",
            "CopyImage",
            "DescribeImages",
            "DescribeImages",
            "CreateTags",
            "EnableImageDeprecation",
            "ModifyImageAttribute",
        ),
        states={"CopyImage": ["pending", "available"]},
        lay=lambda stage: [
            "/x/image",
            shared({"ami": {"us-east-1": stage.world.image_id}, "encrypted": True, "kms_key_arn": KEY}),
        ],
        result='"made"',
        success=Change(
            gains=[
                f"image made: 'Copied from SourceAMI image' of new, available [{COPY_TAGS}{SETTINGS}",
                COPIED_SNAPSHOT.format(ami="bosh_ami=made, "),
            ]
        ),
    ),
    Scenario(
        name="create_stemcell with its image",
        calls=(
            "DescribeSnapshots",
            "DescribeVolumes",
            "StartSnapshot",
            *("PutSnapshotBlock",) * 3,
            "CompleteSnapshot",
            *("DescribeSnapshots",) * 2,
            "RegisterImage",
            *("DescribeImages",) * 2,
            "CreateTags",
            "EnableImageDeprecation",
            "ModifyImageAttribute",
        ),
        states={"CompleteSnapshot": ["pending", "completed"], "RegisterImage": ["pending", "available"]},
        lay=heavy,
        result='"made"',
        success=Change(
            gains=[
                f"image made: 'BOSH-…' of new, available [Name={TITLE}, {HEAVY_TAGS}{SETTINGS}",
                HEAVY_SNAPSHOT,
            ]
        ),
    ),
    Scenario(
        name="delete_stemcell",
        calls=("DescribeImages", "DeregisterImage", "DescribeImages"),
        lay=own_image,
        success=Change(
            ["image ours: 'own' of snapshot, available", "snapshot snapshot: 1 GiB, completed, ''"]
        ),
        is_in_place=True,
    ),
)
