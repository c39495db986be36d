"""create_vm: the root and the ephemeral disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from testbed.world import World
    from tests.protocols import CpiWith, CreateVm

ROOT = {"VolumeType": "gp3", "DeleteOnTermination": "true"}
EPHEMERAL = {"VolumeSize": "10", **ROOT}
KEY = "arn:aws:kms:us-east-1:123456789012:key/default"
OWN_KEY = "arn:aws:kms:us-east-1:123456789012:key/own"


@pytest.mark.parametrize(
    ("properties", "root", "ephemeral", "warning"),
    [
        pytest.param({}, ROOT, EPHEMERAL, "", id="defaults"),
        pytest.param(
            {"instance_type": "i3.large"}, ROOT, {**EPHEMERAL, "VolumeSize": "475"}, "", id="instance-store"
        ),
        pytest.param({"instance_type": "m5d.large"}, ROOT, EPHEMERAL, "", id="store-beyond-the-table"),
        pytest.param(
            {
                "root_disk": {"size": 8193, "iops": 4000, "throughput": 250},
                "ephemeral_disk": {"size": 10241, "type": "io1", "iops": 300},
            },
            {**ROOT, "VolumeSize": "9", "Iops": "4000", "Throughput": "250"},
            {**EPHEMERAL, "VolumeSize": "11", "VolumeType": "io1", "Iops": "300"},
            "",
            id="own",
        ),
        pytest.param(
            {
                "root_disk": {"type": "gp2", "iops": 1000, "throughput": 200},
                "ephemeral_disk": {"size": 6145, "iops": 3100, "throughput": 130},
            },
            {**ROOT, "VolumeType": "gp2"},
            {**EPHEMERAL, "VolumeSize": "7", "Iops": "3100", "Throughput": "130"},
            "root_disk.iops",
            id="gp2-has-no-iops",
        ),
        pytest.param(
            {"root_disk": {"type": "io2", "iops": 500, "throughput": 200}},
            {**ROOT, "VolumeType": "io2", "Iops": "500"},
            EPHEMERAL,
            "root_disk.throughput",
            id="io2-has-no-throughput",
        ),
        pytest.param(
            {"ephemeral_disk": {"use_root_disk": "false", "sizes": 1}},
            ROOT,
            None,
            "cloud_properties.ephemeral_disk.sizes",
            id="on-the-root-disk",
        ),
    ],
)
def test_devices(
    create_vm: CreateVm,
    devices: Callable[[], dict[str, dict[str, str]]],
    properties: dict[str, Any],
    root: dict[str, str],
    ephemeral: dict[str, str] | None,
    warning: str,
) -> None:
    """Sizes are rounded up to GiB, types have defaults, and what a type can't take is left out."""
    answer = create_vm(properties)
    answer.ok()
    expected = {"/dev/xvda": root} if ephemeral is None else {"/dev/xvda": root, "/dev/sdb": ephemeral}
    assert devices() == expected
    warnings = [line for line in answer.stderr.splitlines() if "WARN" in line]
    assert bool(warnings) is bool(warning)
    assert warning in "\n".join(warnings)


@pytest.mark.parametrize(
    ("defaults", "own", "expected"),
    [
        ({"encrypted": True, "kms_key_arn": KEY}, {}, {"Encrypted": "true", "KmsKeyId": KEY}),
        ({"encrypted": True, "kms_key_arn": KEY}, {"kms_key_arn": None}, {"Encrypted": "true"}),
        ({"encrypted": True, "kms_key_arn": KEY}, {"encrypted": None}, {}),
        ({"encrypted": True}, {"encrypted": False, "kms_key_arn": OWN_KEY}, {}),
        ({"kms_key_arn": KEY}, {"encrypted": True}, {"Encrypted": "true", "KmsKeyId": KEY}),
        ({}, {"encrypted": True, "kms_key_arn": OWN_KEY}, {"Encrypted": "true", "KmsKeyId": OWN_KEY}),
    ],
)
def test_encryption(
    create_vm: CreateVm,
    cpi_with: CpiWith,
    devices: Callable[[], dict[str, dict[str, str]]],
    world: World,
    defaults: dict[str, Any],
    own: dict[str, Any],
    expected: dict[str, str],
) -> None:
    """The ephemeral disk's own encryption wins over the default, also when it is null; the root has none."""
    vm_cid = create_vm({"ephemeral_disk": own}, executable=cpi_with(**defaults)).result[0]
    sent = {name: value for name, value in devices()["/dev/sdb"].items() if name not in EPHEMERAL}
    assert {"Encrypted": "false", **sent} == {"Encrypted": "false", **expected}
    assert devices()["/dev/xvda"] == ROOT
    attached = [{"Name": "attachment.instance-id", "Values": [vm_cid]}]
    volumes = world.ec2.describe_volumes(Filters=attached)["Volumes"]
    encrypted = {volume["Attachments"][0]["Device"]: volume["Encrypted"] for volume in volumes}
    assert encrypted == {"/dev/xvda": False, "/dev/sdb": bool(expected)}
