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


@pytest.mark.parametrize("params", [{}, {"Resources": ["i-1"], "Tags": [{"Key": "a", "Value": "b"}]}])
def test_nothing_to_mask(params: dict[str, Any]) -> None:
    """A call without either is shown as it is."""
    assert masked(params) == params
