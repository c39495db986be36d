"""create_vm: the root and the ephemeral disk."""

from typing import Any

import pytest

from tests.stories.story import Story

ROOT = {"VolumeType": "gp3", "DeleteOnTermination": "true"}
EPHEMERAL = {"VolumeSize": "10", **ROOT}
KEY = "arn:aws:kms:us-east-1:123456789012:key/default"
OWN_KEY = "arn:aws:kms:us-east-1:123456789012:key/own"


@pytest.mark.parametrize(
    ("properties", "root", "ephemeral", "warning"),
    [
        pytest.param(
            {"instance_type": "i3.large"}, ROOT, {**EPHEMERAL, "VolumeSize": "475"}, "", id="instance-store"
        ),
        pytest.param(
            {
                "root_disk": {
                    "size": "8193",
                    "iops": "4000",
                    "throughput": 250.0,
                    "volume_initialization_rate": 300,
                },
                "ephemeral_disk": {"size": 10241.0, "type": "io1", "iops": 300},
            },
            {
                **ROOT,
                "VolumeSize": "9",
                "Iops": "4000",
                "Throughput": "250",
                "VolumeInitializationRate": "300",
            },
            {**EPHEMERAL, "VolumeSize": "11", "VolumeType": "io1", "Iops": "300"},
            "",
            id="own",
        ),
        pytest.param(
            {"root_disk": {"type": "gp2", "iops": 1000}},
            {**ROOT, "VolumeType": "gp2"},
            EPHEMERAL,
            "root_disk.iops",
            id="gp2-has-no-iops",
        ),
        pytest.param(
            {"ephemeral_disk": {"use_root_disk": "false"}},
            ROOT,
            None,
            "given as a string, which counts as true",
            id="on-the-root-disk",
        ),
    ],
)
def test_devices(
    story: Story,
    properties: dict[str, Any],
    root: dict[str, str],
    ephemeral: dict[str, str] | None,
    warning: str,
) -> None:
    """Sizes are rounded up to GiB, types have defaults, and what a type can't take is left out.

    A whole number may be in quotes, as variables give it, or a float.
    """
    answer = story.create_vm(properties)
    answer.ok()
    expected = {"/dev/xvda": root} if ephemeral is None else {"/dev/xvda": root, "/dev/sdb": ephemeral}
    assert story.devices() == expected
    warnings = [line for line in answer.stderr.splitlines() if "WARN" in line]
    assert bool(warnings) is bool(warning)
    assert warning in "\n".join(warnings)


@pytest.mark.parametrize(
    ("aws", "own", "expected"),
    [
        pytest.param(
            {
                "default_root_disk": {"size": 20480, "iops": 4000, "encrypted": True, "kms_key_arn": KEY},
                "default_ephemeral_disk": {"size": 30720, "throughput": 250, "iops": 3500, "encrypted": True},
            },
            {
                "root_disk": {"iops": 5000, "size": None, "kms_key_arn": None},
                "ephemeral_disk": {"size": 10240, "throughput": 130, "encrypted": False},
            },
            {
                "/dev/xvda": {**ROOT, "VolumeSize": "20", "Iops": "5000", "Encrypted": "true"},
                "/dev/sdb": {**EPHEMERAL, "Throughput": "130", "Iops": "3500"},
            },
            id="own-before-default",
        ),
        pytest.param(
            {"default_ephemeral_disk": {"iops": 3100, "kms_key_arn": OWN_KEY}, "default_root_disk": None}
            | {"encrypted": True, "kms_key_arn": KEY},
            {"instance_type": "i3.large"},
            {
                "/dev/xvda": ROOT,
                "/dev/sdb": {
                    **EPHEMERAL,
                    "VolumeSize": "475",
                    "Iops": "3100",
                    "Encrypted": "true",
                    "KmsKeyId": OWN_KEY,
                },
            },
            id="size-of-the-type",
        ),
    ],
)
def test_default_disks(
    story: Story, aws: dict[str, Any], own: dict[str, Any], expected: dict[str, dict[str, str]]
) -> None:
    """The configured disks are the defaults of every VM, key by key; a VM's own null counts for encryption.

    A VM with another type than the default one does not get the default iops and throughput.
    """
    answer = story.create_vm(own, executable=story.cpi_with(**aws))
    answer.ok()
    assert story.devices() == expected
    assert story.warnings(answer) == []


@pytest.mark.parametrize(
    ("default", "own", "size", "lines"),
    [({"size": 1024}, {}, "5", 1), ({"size": 1024}, {"size": 7168}, "7", 0)],
)
def test_default_below_the_stemcell(
    story: Story, default: dict[str, Any], own: dict[str, int], size: str, lines: int
) -> None:
    """A default root disk that is smaller than the stemcell's gets the stemcell's size; the log says so."""
    cpi = story.cpi_with(default_root_disk=default)
    properties = {"root_disk": own, "instance_type_fallbacks": ["m5.large"]}
    answer = story.create_vm(properties, executable=cpi)
    answer.ok()
    assert story.devices()["/dev/xvda"]["VolumeSize"] == size
    raised = "The root disk gets the stemcell's 5 GiB: aws.default_root_disk.size is less"
    assert answer.stderr.count(raised) == lines


def test_root_disk_below_the_stemcell(story: Story) -> None:
    """A VM's own root disk that is smaller than the stemcell's is refused before EC2 launches anything."""
    message = "root_disk.size is 1024 MiB, but the stemcell's disk has 5 GiB"
    answer = story.create_vm({"root_disk": {"size": 1024}})
    story.check_refusal(answer, message, "give at least 5120 MiB, or remove size")
    story.create_vm({"root_disk": {"size": 4097}}).ok()
