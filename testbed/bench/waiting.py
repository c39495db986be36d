"""How soon the executable notices an awaited state: a volume becomes available after some seconds.

The executable's clock is made to run faster (`testbed.warm`), so that a minute of waiting is over in some
seconds; what is measured on it is told in seconds of that clock. An answer of the stand-in takes as long
as it does, which is then like the tenth of a second or more that AWS takes.
"""

from __future__ import annotations

import json
import random
import time
from typing import TYPE_CHECKING

from testbed.bench.figures import Spread, spread
from testbed.bench.measuring import BenchError
from testbed.bench.rows import create_disk
from testbed.executable import config, finish, least_environment, request
from testbed.warm import Warm, fork

if TYPE_CHECKING:
    from pathlib import Path

    from testbed.cloud import FakeAws

SPEED = 10
"""How many times faster the executable's clock runs."""
AFTER = ((0, 5), (5, 10), (10, 15), (15, 20), (20, 60))
"""Seconds of waiting between which the change comes, by chance: at a fixed moment much would depend on how
far it is from the question that comes before it."""
AVAILABLE, CREATING = "<status>available</status>", "<status>creating</status>"
LOOK = 0.02
"""Seconds for which the stand-in is asked at once whether a call is held: an executable that got its answer
between two rules has ended, which is seen so much later."""


def waiting(fake_aws: FakeAws, folder: Path, samples: int) -> dict[str, Spread]:
    """Measure how long it takes to notice changes that come between `AFTER` seconds.

    Args:
        fake_aws: The stand-in.
        folder: Where the executable runs.
        samples: How often each is measured, in turn.
    """
    path = folder / "waiting.json"
    path.write_text(json.dumps(config(fake_aws.endpoint)))
    chance = random.Random(1)  # noqa: S311 - the same moments in each run
    found: dict[tuple[int, int], list[float]] = {between: [] for between in AFTER}
    with Warm(SPEED) as warm:
        for _ in range(samples):
            for between in AFTER:
                found[between].append(_noticed(fake_aws, warm, path, chance.uniform(*between)))
    return {f"{low} to {high}": spread(each) for (low, high), each in found.items()}


def _noticed(fake_aws: FakeAws, warm: Warm, config_path: Path, after: float) -> float:
    """Return the seconds between a change and the executable's end.

    Until the call that sees the change they are those of its clock, from then on everybody's.
    """
    arguments = create_disk(fake_aws)
    fake_aws.rule(action="DescribeVolumes", replace=[(AVAILABLE, CREATING)])
    fake_aws.rule(action="CreateVolume", hold=True)
    folder = config_path.parent
    process = fork(warm.path, [str(config_path)], least_environment(folder), folder)
    if process.stdin:
        process.stdin.write(request("create_disk", arguments, 2, 2, None))
        process.stdin.close()
        process.stdin = None
    fake_aws.wait_until_held()
    fake_aws.release()
    time.sleep(after / SPEED)
    fake_aws.clear_rules()
    changed = time.monotonic()
    fake_aws.rule(action="DescribeVolumes", hold=True)
    while not fake_aws.held_within(LOOK) and process.poll() is None:
        pass
    noticed = time.monotonic()
    fake_aws.clear_rules()
    answer = finish(process)
    if answer.error is not None:
        message = f"create_disk failed: {answer.error}"
        raise BenchError(message)
    return (noticed - changed) * SPEED + (time.monotonic() - noticed)
