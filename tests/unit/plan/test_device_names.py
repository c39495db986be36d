"""Device names for attached disks, and where the guest finds them."""

from __future__ import annotations

import pytest

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import InstanceTypeFacts
from bosh_aws_cpi.plan.device_names import first_free, guest_path

ALL = [f"/dev/sd{letter}" for letter in "fghijklmnop"]


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        ([], "/dev/sdf"),
        (["/dev/xvda", "/dev/sdb"], "/dev/sdf"),
        (["/dev/sdf"], "/dev/sdg"),
        (["/dev/xvdf", "/dev/sdg"], "/dev/sdh"),
        (["/dev/sdg"], "/dev/sdf"),
        (ALL[:-1], "/dev/sdp"),
        ([name for name in ALL if name != "/dev/sdk"], "/dev/sdk"),
    ],
)
def test_first_free_name(taken: list[str], expected: str) -> None:
    """A disk takes the first free name from /dev/sdf to /dev/sdp; /dev/xvdf takes /dev/sdf too."""
    assert first_free(taken) == expected


@pytest.mark.parametrize("prefix", ["/dev/sd", "/dev/xvd"])
def test_no_free_name(prefix: str) -> None:
    """An instance with eleven disks takes no more."""
    with pytest.raises(CloudError) as caught:
        first_free([name.replace("/dev/sd", prefix) for name in ALL])
    assert caught.value.message == "Instance has too many disks attached"


@pytest.mark.parametrize(
    ("nvme", "expected"),
    [
        (True, "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0123abc"),
        (False, "/dev/sdf"),
    ],
)
def test_guest_path(*, nvme: bool, expected: str) -> None:
    """On Nitro the agent finds a disk by the volume's id without its hyphen, elsewhere by its name."""
    assert guest_path("/dev/sdf", "vol-0123abc", InstanceTypeFacts("t", ebs_needs_nvme_path=nvme)) == expected
