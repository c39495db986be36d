"""How the time in which `cpi sweep` judges grows with the number of resources.

The resources are made up: the stand-in for AWS would take minutes to create thousands.
"""

import gc
import time
from datetime import UTC, datetime

from bosh_aws_cpi.aws.inventory import Kind, Resource
from bosh_aws_cpi.plan.tags import CALL_TAG, DIRECTOR_TAG, REPLACED_BY_TAG, REPLACES_TAG, STEMCELL_TAG
from bosh_aws_cpi.tools.strays import Inventory
from testbed.executable import DIRECTOR_UUID

SIZES = (500, 5_000)
"""How many volumes there are, and AMIs; there are twice as many snapshots."""
REPEATS = 3
MOST_GROWTH = 3.0
"""How many times longer each of the most volumes may be judged than each of the fewest. At equal work it is
1 to 1.6, as more memory is slower; if each volume were compared with each, it would be 10."""
CREATED = datetime(2026, 1, 1, tzinfo=UTC)


def sweeping() -> dict[int, float]:
    """Return the milliseconds of CPU in which all resources are judged, by the number of volumes."""
    return {size: min(_judged(size) for _ in range(REPEATS)) for size in SIZES}


def told(swept: dict[int, float]) -> str:
    """Write the figures as a line."""
    (few, _), (many, milliseconds) = swept.items()
    return (
        f"cpi sweep judges {many:,} volumes and as many AMIs in {milliseconds:.0f} ms of CPU, each in "
        f"{_growth(swept):.1f} times the time of each of {few:,}, {MOST_GROWTH} at most."
    )


def beyond(swept: dict[int, float]) -> list[str]:
    """List the limit if it is exceeded."""
    times = _growth(swept)
    exceeded = f"sweep: each of many volumes is judged {times:.1f} times as long, {MOST_GROWTH} at most"
    return [exceeded] if times > MOST_GROWTH else []


def _growth(swept: dict[int, float]) -> float:
    (few, before), (many, after) = swept.items()
    return (after / many) / (before / few)


def _judged(size: int) -> float:
    there = Inventory(DIRECTOR_UUID, made_up(size))
    gc.disable()  # the executable collects rarely, too
    began = time.process_time()
    there.strays()
    taken = time.process_time() - began
    gc.enable()
    return round(taken * 1000, 2)


def made_up(size: int) -> list[Resource]:
    """Make volumes, half of them copies of the other half, snapshots, and an AMI of each."""
    found = []
    for number in range(size):
        link = {REPLACES_TAG if number % 2 else REPLACED_BY_TAG: f"vol-{number ^ 1}"}
        found += [
            _resource("volume", f"vol-{number}", link),
            _resource("snapshot", f"snap-{number}", {STEMCELL_TAG: "stemcell"}),
            _resource("snapshot", f"snap-of-disk-{number}", {CALL_TAG: f"call-{number}"}),
            _resource("AMI", f"ami-{number}", {STEMCELL_TAG: "stemcell"}, (f"snap-{number}",)),
        ]
    return found


def _resource(
    kind: Kind, resource_id: str, tags: dict[str, str], snapshot_ids: tuple[str, ...] = ()
) -> Resource:
    own = {DIRECTOR_TAG: DIRECTOR_UUID, **tags}
    return Resource(kind, resource_id, "available", own, CREATED, snapshot_ids=snapshot_ids)
