"""What the log shows of a call's parameters."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from bosh_aws_cpi.aws.wiretap import masked
from bosh_aws_cpi.redact import MASK

RUN: dict[str, Any] = {
    "ImageId": "ami-1",
    "UserData": "hunter2",
    "MetadataOptions": {"HttpTokens": "required"},
    "TagSpecifications": [
        {
            "ResourceType": "instance",
            "Tags": [{"Key": "a", "Value": "hunter2"}, {"Key": "b", "Value": "hunter2"}],
        },
        {"ResourceType": "volume", "Tags": []},
    ],
}


def test_masked() -> None:
    """User data and the values of tags are masked, everything else is shown."""
    assert masked(RUN) == {
        "ImageId": "ami-1",
        "UserData": MASK,
        "MetadataOptions": {"HttpTokens": "required"},
        "TagSpecifications": [
            {"ResourceType": "instance", "Tags": [{"Key": "a", "Value": MASK}, {"Key": "b", "Value": MASK}]},
            {"ResourceType": "volume", "Tags": []},
        ],
    }


def test_parameters_stay() -> None:
    """What is sent is not what is shown: the call's own parameters stay as they are."""
    before = copy.deepcopy(RUN)
    masked(RUN)
    assert before == RUN


def test_masked_tags() -> None:
    """So are the values of tags that are given by themselves, as CreateTags and StartSnapshot take them."""
    tags = [{"Key": "a", "Value": "hunter2"}, {"Key": "b", "Value": "hunter2"}]
    shown = masked({"Resources": ["i-1"], "Tags": tags})
    assert shown == {"Resources": ["i-1"], "Tags": [{"Key": key, "Value": MASK} for key in ("a", "b")]}
    assert {tag["Value"] for tag in tags} == {"hunter2"}


@pytest.mark.parametrize(("block", "said"), [(b"", "0 bytes"), (b"hunter2", "7 bytes")])
def test_masked_block(block: bytes, said: str) -> None:
    """Of a block of an image only its size is shown: half a MiB would fill the log."""
    assert masked({"BlockIndex": 5, "BlockData": block}) == {"BlockIndex": 5, "BlockData": said}


@pytest.mark.parametrize("params", [{}, {"Resources": ["i-1"], "Filters": [{"Name": "n", "Values": ["b"]}]}])
def test_nothing_to_mask(params: dict[str, Any]) -> None:
    """A call without any of these is shown as it is."""
    assert masked(params) == params
