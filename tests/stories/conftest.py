"""What the stories share: short ways to ask for a VM, and to read what AWS was told."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from testbed.executable import Cpi, config

if TYPE_CHECKING:
    from collections.abc import Callable

    from testbed.cloud import FakeAws
    from testbed.executable import Answer
    from testbed.world import World


@pytest.fixture
def cpi_with(server: FakeAws) -> Callable[..., Cpi]:
    """Return a function that makes an executable with other configuration."""

    def make(**aws: Any) -> Cpi:
        return Cpi(config(server.endpoint, **aws))

    return make


@pytest.fixture
def network(world: World) -> Callable[..., dict[str, Any]]:
    """Return a function that writes a network: manual with an address, else dynamic."""

    def write(ip: str | None = None, subnet: int = 0, groups: list[str] | None = None, **keys: Any) -> Any:
        properties: dict[str, Any] = {"subnet": world.subnet_ids[subnet]}
        if groups is not None:
            properties["security_groups"] = groups
        kind: dict[str, Any] = {"type": "manual", "ip": ip} if ip else {"type": "dynamic"}
        return {**kind, "cloud_properties": properties, **keys}

    return write


@pytest.fixture
def create_vm(cpi: Cpi, world: World, network: Callable[..., dict[str, Any]]) -> Callable[..., Answer]:
    """Return a function that asks for a VM without registry; what is not said is ordinary."""

    def create(
        properties: dict[str, Any] | None = None,
        networks: dict[str, Any] | None = None,
        disks: list[str] | None = None,
        env: dict[str, Any] | None = None,
        executable: Cpi | None = None,
        **more: Any,
    ) -> Answer:
        whole = {"instance_type": "t3.micro", "availability_zone": world.zone, **(properties or {})}
        arguments = (
            more.get("agent_id", "agent-1"),
            more.get("stemcell_cid", f"{world.image_id} light"),
            whole,
            {"private": network("10.0.1.10")} if networks is None else networks,
            disks or [],
            env,
        )
        return (executable or cpi).call("create_vm", *arguments, stemcell=2)

    return create


@pytest.fixture
def sent(fake_aws: FakeAws) -> Callable[[str], list[dict[str, str]]]:
    """Return a function that lists the parameters of all calls of one action."""

    def parameters(action: str) -> list[dict[str, str]]:
        return [call["parameters"] for call in fake_aws.calls() if call["action"] == action]

    return parameters


@pytest.fixture
def below() -> Callable[[dict[str, str], str], dict[str, str]]:
    """Return a function that takes the parameters below a prefix, under what is left of their names."""

    def select(parameters: dict[str, str], prefix: str) -> dict[str, str]:
        pattern = re.compile(rf"{re.escape(prefix)}\.(.+)")
        found = {pattern.fullmatch(name): value for name, value in parameters.items()}
        return {match[1]: value for match, value in found.items() if match}

    return select


@pytest.fixture
def inline(
    sent: Callable[[str], list[dict[str, str]]], below: Callable[[dict[str, str], str], dict[str, str]]
) -> Callable[[], dict[str, str]]:
    """Return a function that reads the one interface that the launch made; others there must not be."""

    def read() -> dict[str, str]:
        assert sent("CreateNetworkInterface") == []
        (parameters,) = sent("RunInstances")
        assert below(parameters, "NetworkInterface.2") == {}
        return below(parameters, "NetworkInterface.1")

    return read


@pytest.fixture
def failure() -> Callable[..., dict[str, Any]]:
    """Return a function that writes an error as it goes over the wire."""

    def write(kind: str, message: str, *, ok_to_retry: bool = False) -> dict[str, Any]:
        return {"type": f"Bosh::Clouds::{kind}", "message": message, "ok_to_retry": ok_to_retry}

    return write


@pytest.fixture
def tags_of(world: World) -> Callable[[str], dict[str, str]]:
    """Return a function that reads the tags of anything."""

    def read(resource_id: str) -> dict[str, str]:
        filters = [{"Name": "resource-id", "Values": [resource_id]}]
        found = world.ec2.describe_tags(Filters=filters)["Tags"]
        return {tag["Key"]: tag["Value"] for tag in found}

    return read


@pytest.fixture
def vm(world: World, fake_aws: FakeAws) -> Callable[..., str]:
    """Return a function that has an instance run without the executable."""

    def run(instance_type: str = "t3.micro", **parameters: Any) -> str:
        parameters.setdefault("SubnetId", world.subnet_id)
        answer = world.ec2.run_instances(
            ImageId=world.image_id, InstanceType=instance_type, MinCount=1, MaxCount=1, **parameters
        )
        fake_aws.forget_calls()
        return str(answer["Instances"][0]["InstanceId"])

    return run


@pytest.fixture
def disk(world: World, fake_aws: FakeAws) -> Callable[..., str]:
    """Return a function that has a volume there without the executable."""

    def make(zone: str = world.zone, size: int = 1) -> str:
        answer = world.ec2.create_volume(AvailabilityZone=zone, Size=size, VolumeType="gp3")
        fake_aws.forget_calls()
        return str(answer["VolumeId"])

    return make
