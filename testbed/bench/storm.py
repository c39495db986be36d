"""Many executables at once, throttled as EC2 throttles: `python -m testbed.bench.storm`.

Starts real processes over `testbed.bench.light_ec2`, and tells what each VM costs of the account's requests.
docs/performance.md says how to read it.
"""

import argparse
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

from testbed.bench import simulated, table
from testbed.bench.__main__ import PAGE, machine
from testbed.bench.light_ec2 import IMAGE, SUBNET, TRANSITIONS, ZONE, LightEc2
from testbed.buckets import limits_of
from testbed.executable import Cpi, config

CHANGES = {
    "create_vm": ("RunInstances", "pending"),
    "create_disk": ("CreateVolume", "creating"),
    "attach_disk": ("AttachVolume", "attaching"),
    "detach_disk": ("DetachVolume", "detaching"),
    "delete_disk": ("DeleteVolume", "deleting"),
    "delete_vm": ("TerminateInstances", "shutting-down"),
}
"""By method, in the order of a life: the call that changes something, and the state that is waited for."""
LIVES = {"create_vm": ["create_vm"], "delete_vm": ["delete_vm"], "life": [*CHANGES]}
VMS = {32: 64, 100: 100}
"""How many VMs, by the number of callers at once; a Director has up to 32 workers."""
ROWS = {f"{life}-{callers}": (life, callers) for life in LIVES for callers in VMS}
PATIENCE = 1200.0
"""Seconds for one call, longer than a throttled launch may take."""


@dataclass(frozen=True)
class Figures:
    """What a storm took.

    Attributes:
        seconds: From the first call to the last answer.
        cpu: Seconds of CPU, of all executables.
        calls: How many calls EC2 has answered, and throttled, by action.
        failures: What calls failed with.
    """

    seconds: float
    cpu: float
    calls: Mapping[str, tuple[int, int]]
    failures: Sequence[str]


def storm(ec2: LightEc2, methods: Sequence[str], vms: int, callers: int) -> Figures:
    """Have so many callers at once lead the lives of so many VMs."""
    cpi = Cpi(config(ec2.endpoint, max_retries=8), patience=PATIENCE)
    known = ["" if "create_vm" in methods else ec2.add_instance() for _ in range(vms)]
    ec2.buckets.fill(ec2.speed)
    cpu, began = _cpu(), time.monotonic()
    with ThreadPoolExecutor(callers) as pool:
        lives = [pool.submit(_live, cpi, methods, vm_cid, number) for number, vm_cid in enumerate(known)]
        failures = [str(life.exception()) for life in as_completed(lives) if life.exception()]
    seconds = time.monotonic() - began
    calls = {name: (each["allowed"], each["throttled"]) for name, each in ec2.buckets.figures().items()}
    return Figures(seconds, _cpu() - cpu, calls, failures)


def _live(cpi: Cpi, methods: Sequence[str], vm_cid: str, number: int) -> None:
    """Make the calls of one VM's life; an error ends it."""
    properties = {"instance_type": "m5.large", "availability_zone": ZONE}
    address = {"type": "manual", "ip": f"10.0.1.{10 + number}", "cloud_properties": {"subnet": SUBNET}}
    disk_cid = ""
    for method in methods:
        arguments: dict[str, list[Any]] = {
            "create_vm": [f"agent-{number}", f"{IMAGE} light", properties, {"default": address}],
            "create_disk": [1024, {}, vm_cid],
            "delete_disk": [disk_cid],
            "delete_vm": [vm_cid],
        }
        result = cpi.call(method, *arguments.get(method, [vm_cid, disk_cid]), stemcell=2).ok()
        if method == "create_vm":
            vm_cid = result[0]
        if method == "create_disk":
            disk_cid = result


def _cpu() -> float:
    """The CPU of all processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def least(methods: Sequence[str], vms: int, callers: int) -> tuple[float, str]:
    """Return the seconds that lives take at least on an average day, and what sets them.

    Either the last VM waits for its token of some action, or each caller leads one life after the other.
    """
    alone = sum(sum(TRANSITIONS[CHANGES[method][1]][:2]) / 2 for method in methods)
    limits = {"callers": vms / callers * alone}
    for method in methods:
        ((action, (burst, rate)),) = limits_of("ec2", CHANGES[method][0], {}).items()
        limits[action] = max(vms - burst, 0) / rate + alone
    name = max(limits, key=lambda each: limits[each])
    return limits[name], name


def summary(rows: Mapping[str, Figures]) -> str:
    """Write how long each row took, and what is left of its calls."""
    head = ["Row", "VMs", "Callers", "Seconds", "At least", "Set by", "Of it", "CPU seconds", "Failures"]
    lines = []
    for name, row in rows.items():
        life, callers = ROWS[name]
        limit, what = least(LIVES[life], VMS[callers], callers)
        cells = [f"{row.seconds:.0f}", f"{limit:.0f}", what, f"{row.seconds / limit:.2f}", f"{row.cpu:.0f}"]
        lines.append([name, str(VMS[callers]), str(callers), *cells, str(len(row.failures))])
    return table.aligned(head, lines)


def per_vm(rows: Mapping[str, Figures]) -> str:
    """Write how often EC2 answered each action for a VM and, after a plus sign, how often it throttled it.

    Actions that every VM takes once, without being throttled, are left out.
    """
    actions = dict.fromkeys(action for row in rows.values() for action in row.calls)
    lines = [
        [action, *(_per_vm(row.calls.get(action), VMS[ROWS[name][1]]) for name, row in rows.items())]
        for action in actions
    ]
    return table.aligned(["Per VM", *rows], [line for line in lines if not {*line[1:]} <= {"", "1.0 + 0.0"}])


def _per_vm(calls: tuple[int, int] | None, vms: int) -> str:
    return f"{calls[0] / vms:.1f} + {calls[1] / vms:.1f}" if calls else ""


def main() -> int:
    """Raise the storms and tell; exit status 1 if a call failed."""
    parser = argparse.ArgumentParser(prog="python -m testbed.bench.storm", description=__doc__)
    parser.add_argument(
        "--rows",
        nargs="*",
        choices=[*ROWS],
        default=[*ROWS],
        metavar="ROW",
        help=f"these alone, or only the simulation, and write nothing; of {', '.join(ROWS)}",
    )
    chosen = parser.parse_args().rows
    rows = {}
    for name in chosen:
        print(f"storm: {name}", file=sys.stderr, flush=True)
        life, callers = ROWS[name]
        with LightEc2() as ec2:
            rows[name] = storm(ec2, LIVES[life], VMS[callers], callers)
    failures = [f"{name} failed: {each}" for name, row in rows.items() for each in row.failures]
    tables = [summary(rows), per_vm(rows)] if rows else []
    text = "\n\n".join([f"{machine()}.", *tables, simulated.figures()])
    print(text)
    if set(chosen) == set(ROWS):
        PAGE.write_text(table.replace(PAGE.read_text(), text, "make storm"))
    for each in failures:
        print(f"storm: {each}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
