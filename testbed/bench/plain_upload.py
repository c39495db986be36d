"""The yardstick for heavy stemcells: `plain_upload.py CONFIG_PATH`, a request of create_stemcell on stdin.

An image becomes an AMI by the EBS direct APIs, one block after the other. Blocks of zeros are left out
here too: writing them would take time for nothing.
"""

import base64
import hashlib
import json
import sys
import tarfile
import time
from typing import Any

import boto3

BLOCK = 524_288
"""Bytes; EBS takes no other."""


def upload(ebs: Any, path: str) -> str:
    """Write the image in an archive into a snapshot."""
    snapshot_id: str = ebs.start_snapshot(VolumeSize=1)["SnapshotId"]
    digests = []
    with tarfile.open(path, "r:gz") as archive:
        image: Any = archive.extractfile("root.img")
        index = 0
        while block := image.read(BLOCK):
            if any(block):
                digests.append(hashlib.sha256(block).digest())
                ebs.put_snapshot_block(
                    SnapshotId=snapshot_id,
                    BlockIndex=index,
                    BlockData=block,
                    DataLength=len(block),
                    Checksum=base64.b64encode(digests[-1]).decode(),
                    ChecksumAlgorithm="SHA256",
                )
            index += 1
    ebs.complete_snapshot(SnapshotId=snapshot_id, ChangedBlocksCount=len(digests))
    return snapshot_id


def register(ec2: Any, snapshot_id: str) -> str:
    """Register an AMI of a snapshot."""
    while ec2.describe_snapshots(SnapshotIds=[snapshot_id])["Snapshots"][0]["State"] != "completed":
        time.sleep(1)
    mappings = [{"DeviceName": "/dev/xvda", "Ebs": {"SnapshotId": snapshot_id}}]
    answer = ec2.register_image(
        Name=f"stemcell {snapshot_id}",
        Architecture="x86_64",
        VirtualizationType="hvm",
        RootDeviceName="/dev/xvda",
        BlockDeviceMappings=mappings,
    )
    image_id: str = answer["ImageId"]
    while ec2.describe_images(ImageIds=[image_id])["Images"][0]["State"] != "available":
        time.sleep(1)
    return image_id


def main() -> None:
    """Upload the request's image, and print the AMI's id."""
    with open(sys.argv[1]) as file:  # noqa: PTH123 - as plain as can be
        aws = json.load(file)["cloud"]["properties"]["aws"]
    path = json.load(sys.stdin)["arguments"][0]
    session = boto3.Session(aws["access_key_id"], aws["secret_access_key"], region_name=aws["region"])
    snapshot_id = upload(session.client("ebs", endpoint_url=aws["ebs_endpoint"]), path)
    image_id = register(session.client("ec2", endpoint_url=aws["ec2_endpoint"]), snapshot_id)
    print(json.dumps({"result": image_id, "error": None}))


if __name__ == "__main__":
    main()
