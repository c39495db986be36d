"""The region to copy from."""

import pytest

from bosh_aws_cpi.cpi.stemcells.create import nearest_region


@pytest.mark.parametrize(
    ("regions", "region", "expected"),
    [
        (["us-west-2", "eu-west-1", "us-east-1"], "us-east-2", "us-east-1"),
        (["us-west-2", "eu-west-1"], "ap-south-1", "eu-west-1"),
        (["cn-north-1", "us-west-2"], "cn-northwest-1", "cn-north-1"),
        (["us-east-1", "us-gov-west-1"], "us-gov-east-1", "us-gov-west-1"),
        (["us-iso-east-1", "us-isob-east-1"], "us-isob-west-1", "us-isob-east-1"),
        (["eusc-de-east-1", "eu-west-1"], "eu-north-1", "eu-west-1"),
        (["cn-north-1", "us-gov-west-1"], "us-east-1", None),
        ([], "us-east-1", None),
    ],
)
def test_nearest(regions: list[str], region: str, expected: str | None) -> None:
    """The region is of the same partition, and of the same continent if one is; always the same one."""
    assert nearest_region(regions, region) == expected
    assert nearest_region(reversed(regions), region) == expected
