"""What the stories after BOSH's acceptance tests share: a Director without VMs, and networks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.hypervisor import Hypervisor
from testbed.world import World
from tests.e2e import agents
from tests.e2e.bats.contents import Contents
from tests.e2e.bats.director import BLOBS, Director, Instance


@pytest.fixture(autouse=True)
def forked(fast_clock: None) -> None:
    """Spare the stories the executable's start, and its waits."""
    del fast_clock


@pytest.fixture(scope="session")
def env(folder: Path) -> dict[str, Any]:
    """Return the environment of each VM: an agent without it does not serve."""
    place = folder / "certificates"
    place.mkdir()
    return agents.environment(place, BLOBS)


@pytest.fixture
def director(fake_aws: FakeAws, world: World, hypervisor: Hypervisor, env: dict[str, Any]) -> Director:
    """Return a Director whose deployment has no instances yet."""
    hypervisor.settle()  # the machines of the test before have ended
    return Director(fake_aws, world, hypervisor, env, Contents(world, hypervisor))


@pytest.fixture
def network(world: World) -> Callable[..., dict[str, Any]]:
    """Return a function that writes a manual network as the Director does; the first one has the defaults."""

    def write(ip: str, subnet: int = 0, **more: Any) -> dict[str, Any]:
        number = ip.split(".")[2]
        return {
            "type": "manual",
            "ip": ip,
            "prefix": "32",
            "netmask": "255.255.255.0",
            "gateway": f"10.0.{number}.1",
            "dns": ["10.0.0.2"],
            "default": ["dns", "gateway"],
            "cloud_properties": {"security_groups": ["bosh"], "subnet": world.subnet_ids[subnet]},
            **more,
        }

    return write


@pytest.fixture
def batlight(network: Callable[..., dict[str, Any]]) -> Instance:
    """Return the instance batlight/0, which is not deployed yet, with one manual network."""
    return Instance({"default": network("10.0.1.28")})
