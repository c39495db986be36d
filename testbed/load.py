"""Load: many calls of the CPI at once, throttled as EC2 throttles: `python -m testbed.load`.

Each method in turn is called for all VMs at the same time, with one process per VM. The buckets set a
minimum time for a method; it is printed beside the actual time.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from testbed.cloud import ROOT
from testbed.demo_stage import main_status, staged
from testbed.demo_text import BOLD, RED, masked, paint
from testbed.executable import Cpi, config

if TYPE_CHECKING:
    from collections.abc import Iterator

    from testbed.cloud import FakeAws
    from testbed.world import World

FIRST_ADDRESS = 10
MOST_VMS = 100
"""EC2 launches this number of VMs in 47 seconds, well within the time limit of one call."""
DISK_MIB = 1024


@dataclass(frozen=True)
class Phase:
    """The results of the simultaneous calls of one method.

    Attributes:
        method: Its name.
        results: The results of the calls that succeeded.
        problems: The errors of the others.
        calls: How many calls EC2 let through, by action.
        throttled: How many calls EC2 throttled, by action.
        retries: How often the SDK repeated calls to AWS, as the log says.
        most_retries: The same for the process with the most retries.
        seconds: The time that it took.
        least: The minimum time, in seconds, that the buckets allow.
        slowest: The action whose bucket sets this minimum; empty if none does.
    """

    method: str
    results: list[Any]
    problems: list[str]
    calls: dict[str, int]
    throttled: dict[str, int]
    retries: int
    most_retries: int
    seconds: float
    least: float
    slowest: str


class Load:
    """Many VMs with a disk each, from their creation to their deletion.

    Attributes:
        cpi: The executable: one for all calls, so that they share its home, and with it the facts
            of instance types that it keeps there.
    """

    def __init__(self, fake_aws: FakeAws, world: World, vms: int, speed: float = 1.0) -> None:
        """Configure the executable.

        Args:
            fake_aws: The stand-in for AWS.
            world: What is laid in it.
            vms: How many.
            speed: How many times faster than EC2's the buckets refill.
        """
        self.cpi = Cpi(config(fake_aws.endpoint, max_retries=default_retries()))
        self._fake_aws = fake_aws
        self._world = world
        self._vms = vms
        self._speed = speed

    def run(self) -> Iterator[Phase]:
        """Fill the buckets, and call one method after the other for all VMs."""
        self._fake_aws.throttle(self._speed)
        properties = {"instance_type": "m5.large", "availability_zone": self._world.zone}
        stemcell = f"{self._world.image_id} light"
        networks = [self._network(number) for number in range(self._vms)]
        yield (
            made := self._phase(
                "create_vm",
                [[f"agent-{n}", stemcell, properties, network] for n, network in enumerate(networks)],
            )
        )
        vms = [vm_cid for vm_cid, _ in made.results]
        yield (disks := self._phase("create_disk", [[DISK_MIB, {}, vm_cid] for vm_cid in vms]))
        pairs = [list(pair) for pair in zip(vms, disks.results, strict=False)]
        yield self._phase("attach_disk", pairs)
        yield self._phase("detach_disk", pairs)
        yield self._phase("delete_disk", [[disk_cid] for disk_cid in disks.results])
        yield self._phase("delete_vm", [[vm_cid] for vm_cid in vms])

    def _network(self, number: int) -> dict[str, Any]:
        address = f"10.0.1.{FIRST_ADDRESS + number}"
        properties = {"subnet": self._world.subnet_id}
        return {"default": {"type": "manual", "ip": address, "cloud_properties": properties}}

    def _phase(self, method: str, arguments: list[list[Any]]) -> Phase:
        """Call a method with each list of arguments, all at once."""
        before = self._fake_aws.buckets()
        begin = time.monotonic()
        with ThreadPoolExecutor(max_workers=MOST_VMS) as pool:
            outcomes = list(pool.map(lambda each: self._call(method, each), arguments))
        seconds = time.monotonic() - begin
        after = self._fake_aws.buckets()
        least, slowest = least_seconds(before, after, self._speed)
        return Phase(
            method=method,
            results=[result for result, problem, _ in outcomes if not problem],
            problems=[problem for _, problem, _ in outcomes if problem],
            calls=risen("allowed", before, after),
            throttled=risen("throttled", before, after),
            retries=sum(retries for _, _, retries in outcomes),
            most_retries=max((retries for _, _, retries in outcomes), default=0),
            seconds=seconds,
            least=least,
            slowest=slowest,
        )

    def _call(self, method: str, arguments: list[Any]) -> tuple[Any, str, int]:
        """Call a method; return its result, its problem, and how often a call was repeated."""
        try:
            answer = self.cpi.call(method, *arguments, stemcell=2)
            result = answer.ok()
        except Exception as problem:  # noqa: BLE001 - no answer, one that is no response, or an error
            return None, masked(str(problem)), 0
        return result, "", sum(map(int, re.findall(r"(\d+) retr", answer.stderr)))


Figures = dict[str, dict[str, Any]]
"""The result of `FakeAws.buckets`."""


def risen(name: str, before: Figures, after: Figures) -> dict[str, int]:
    """Return by how much a figure has risen, for the buckets where it has."""
    rises = {each: int(now[name] - before.get(each, {name: 0})[name]) for each, now in after.items()}
    return {action: rise for action, rise in rises.items() if rise}


def least_seconds(before: Figures, after: Figures, speed: float) -> tuple[float, str]:
    """Return the time that the buckets need for the calls, and the slowest bucket.

    The calls first use the tokens that were left, and the others wait for the refill.
    """
    waits: dict[str, float] = {}
    for action, calls in risen("allowed", before, after).items():
        limit = after[action]
        tokens = before.get(action, {"tokens": limit["burst"]})["tokens"]
        waits[action] = (calls - tokens) / (limit["rate"] * speed)
    slowest = max(waits, key=lambda action: waits[action], default="")
    return (waits[slowest], slowest) if slowest and waits[slowest] > 0 else (0.0, "")


def default_retries() -> int:
    """Read how often the SDK repeats a call by default, in the description of the job."""
    spec = yaml.safe_load((ROOT / "jobs/aws_cpi/spec").read_text())
    retries: int = spec["properties"]["aws.max_retries"]["default"]
    return retries


def report(phase: Phase) -> str:
    """Write the outcome of a phase."""
    bound = f"{phase.least:.1f} s at least, for {phase.slowest}" if phase.slowest else "no bucket ran dry"
    lines = [
        paint(f"{phase.method}: {len(phase.results)} succeeded, {len(phase.problems)} failed", BOLD),
        f"  time       {phase.seconds:.1f} s ({bound})",
        f"  calls      {_counted(phase.calls)}",
        f"  throttled  {_counted(phase.throttled)}",
        f"  retries    {phase.retries}, in one process {phase.most_retries} at most",
    ]
    problems = Counter(phase.problems)
    return "\n".join([*lines, *(paint(f"  {n} x {problem}", RED) for problem, n in problems.items())])


def _counted(numbers: dict[str, int]) -> str:
    total = sum(numbers.values())
    parts = [f"{action} {number}" for action, number in sorted(numbers.items())]
    return f"{total} ({', '.join(parts)})" if parts else "0"


def main() -> int:
    """Run the load; the exit status is 1 if a call failed or something is left."""
    parser = argparse.ArgumentParser(prog="python -m testbed.load", description=__doc__)
    parser.add_argument("--vms", type=int, default=50, choices=range(1, MOST_VMS + 1), metavar="N")
    vms = parser.parse_args().vms
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    with staged() as stage:
        print(f"{vms} calls of each method at once, through EC2's token buckets:")
        failures = 0
        for phase in Load(stage.fake_aws, stage.world, vms).run():
            print(report(phase))
            failures += len(phase.problems)
        left = {kind: ids for kind, ids in stage.world.state().items() if ids}
    print(paint(f"{failures} failures, left behind: {left or 'nothing'}", RED if failures or left else BOLD))
    return 1 if failures or left else 0


if __name__ == "__main__":
    sys.exit(main_status(main))
