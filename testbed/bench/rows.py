"""The rows of the benchmark: a request for each method, and a world to answer it in.

A row's name is the method's and, after hyphens, what production adds: `has_vm-tls`, `create_vm-tls-role`.
"""

from collections.abc import Callable
from typing import Any

from bosh_aws_cpi.plan.tag_plan import AGENT_TAG
from testbed.cloud import FakeAws
from testbed.world import World

INSTANCE_TYPE = "m5.large"
DISK_MIB = 1024

TLS, ROLE = "tls", "role"
"""HTTPS with the usual certificate authorities, and a role that each process assumes."""

Row = Callable[["FakeAws"], list[Any]]
"""Creates the world again, and returns the method's arguments in it."""


def info(fake_aws: FakeAws) -> list[Any]:
    """Call info, which needs no AWS."""
    fake_aws.reset()
    return []


def has_vm(fake_aws: FakeAws) -> list[Any]:
    """Ask for a VM that is there."""
    return [_vm(_world(fake_aws))]


def create_disk(fake_aws: FakeAws) -> list[Any]:
    """Create a disk for a VM."""
    return [DISK_MIB, {}, _vm(_world(fake_aws))]


def attach_disk(fake_aws: FakeAws) -> list[Any]:
    """Attach a disk to a VM."""
    world = _world(fake_aws)
    volume = world.ec2.create_volume(AvailabilityZone=world.zone, Size=1, VolumeType="gp3")
    return [_vm(world), volume["VolumeId"]]


def create_vm(fake_aws: FakeAws) -> list[Any]:
    """Create a VM with one network."""
    world = _world(fake_aws)
    properties = {"instance_type": INSTANCE_TYPE, "availability_zone": world.zone}
    network = {"type": "manual", "ip": "10.0.1.10", "cloud_properties": {"subnet": world.subnet_id}}
    return ["agent-1", f"{world.image_id} light", properties, {"private": network}, [], {}]


def delete_vm(fake_aws: FakeAws) -> list[Any]:
    """End a VM."""
    return [_vm(_world(fake_aws))]


PIP, RELEASE = "pip", "release"
"""The executable as pip installs it, and as the BOSH package does."""

MOST: dict[str, dict[str, float]] = {
    "info": {PIP: 3.07, RELEASE: 3.89},
    "has_vm": {PIP: 0.59, RELEASE: 0.42},
    "create_disk": {PIP: 0.85, RELEASE: 0.62},
    "attach_disk": {PIP: 0.62, RELEASE: 0.45},
    "create_vm": {PIP: 0.93, RELEASE: 0.67},
    "delete_vm": {PIP: 0.61, RELEASE: 0.44},
    "has_vm-tls": {PIP: 0.65, RELEASE: 0.38},
    "has_vm-role": {PIP: 0.71, RELEASE: 0.44},
    "create_vm-tls-role": {PIP: 1.05, RELEASE: 0.56},
}
"""How many of the yardstick's instructions a row may take, by the form; docs/performance.md has the rule."""

ROWS: dict[str, Row] = {
    **{each.__name__: each for each in (info, has_vm, create_disk, attach_disk, create_vm, delete_vm)},
    f"has_vm-{TLS}": has_vm,
    f"has_vm-{ROLE}": has_vm,
    f"create_vm-{TLS}-{ROLE}": create_vm,
}
"""By the row's name, in the order of the tables."""


def method_of(row: str) -> str:
    """Return the method that a row calls."""
    return row.partition("-")[0]


def added(row: str) -> list[str]:
    """Return what a row adds to the method's call: `TLS`, `ROLE`, both or nothing."""
    return row.split("-")[1:]


def _world(fake_aws: FakeAws) -> World:
    fake_aws.reset()
    return fake_aws.lay()


def _vm(world: World) -> str:
    answer = world.ec2.run_instances(
        ImageId=world.image_id,
        InstanceType=INSTANCE_TYPE,
        MinCount=1,
        MaxCount=1,
        SubnetId=world.subnet_id,
        TagSpecifications=[
            {"ResourceType": "instance", "Tags": [{"Key": AGENT_TAG, "Value": "agent-1"}]},
        ],
    )
    vm_cid: str = answer["Instances"][0]["InstanceId"]
    return vm_cid
