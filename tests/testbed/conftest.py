"""What the tests of the test bed share, beyond the server and the world that all tests share."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from botocore.exceptions import ClientError

from testbed.world import World


@pytest.fixture
def ec2(world: World) -> Any:
    """Return a client for the laid world."""
    return world.ec2


@pytest.fixture
def run(world: World) -> Callable[..., dict[str, Any]]:
    """Return a function that launches one instance and describes it."""

    def launch(**parameters: Any) -> dict[str, Any]:
        if "NetworkInterfaces" not in parameters:
            parameters.setdefault("SubnetId", world.subnet_id)
        parameters.setdefault("ImageId", world.image_id)
        answer = world.ec2.run_instances(MinCount=1, MaxCount=1, InstanceType="m5.large", **parameters)
        return world.instance(answer["Instances"][0]["InstanceId"])

    return launch


@pytest.fixture
def refused() -> Callable[[str, str], AbstractContextManager[None]]:
    """Return a context manager that expects an error code and part of its message."""

    @contextmanager
    def expect(code: str, message: str = "") -> Iterator[None]:
        with pytest.raises(ClientError) as caught:
            yield
        error = caught.value.response["Error"]
        assert error["Code"] == code
        assert message in error["Message"]

    return expect
