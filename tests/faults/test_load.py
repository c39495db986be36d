"""Many calls at once, throttled as EC2 throttles."""

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi, config
from testbed.world import World

VMS = 8
SLOW = 0.1
"""Buckets that refill a tenth as fast as EC2's: even few VMs that a slow machine starts find them empty."""


@pytest.mark.faults
@pytest.mark.usefixtures("warm")
def test_load(fake_aws: FakeAws, world: World) -> None:
    """Every call succeeds, however often it is throttled, and in the end nothing is left."""
    fake_aws.throttle(SLOW)
    cpi = Cpi(config(fake_aws.endpoint, max_retries=8))
    logs: list[str] = []

    def called(method: str, arguments: list[list[Any]]) -> list[Any]:
        with ThreadPoolExecutor(VMS) as pool:
            answers = list(pool.map(lambda each: cpi.call(method, *each, stemcell=2), arguments))
        logs.extend(answer.stderr for answer in answers)
        return [answer.ok() for answer in answers]

    properties = {"instance_type": "m5.large", "availability_zone": world.zone}
    subnet = {"subnet": world.subnet_id}
    networks = [
        {"default": {"type": "manual", "ip": f"10.0.1.{10 + number}", "cloud_properties": subnet}}
        for number in range(VMS)
    ]
    stemcell = f"{world.image_id} light"
    agents = [[f"agent-{n}", stemcell, properties, network] for n, network in enumerate(networks)]
    vms = [vm_cid for vm_cid, _ in called("create_vm", agents)]
    launches = fake_aws.buckets()["RunInstances"]
    assert launches["allowed"] == VMS
    assert launches["throttled"] == sum(int(n) for log in logs for n in re.findall(r"(\d+) retr", log)) > 0
    disks = called("create_disk", [[1024, {}, vm_cid] for vm_cid in vms])
    pairs = [list(pair) for pair in zip(vms, disks, strict=True)]
    called("attach_disk", pairs)
    called("detach_disk", pairs)
    called("delete_disk", [[disk_cid] for disk_cid in disks])
    called("delete_vm", [[vm_cid] for vm_cid in vms])
    assert world.state() == world.empty
