"""Calls the executable's methods as a Director does: `python -m acceptance.lifecycle`.

VMs, disks, snapshots and stemcells are created, used and deleted. At the end the CPI must have left nothing.
"""

import argparse
import sys

from acceptance.account import Account
from acceptance.leftovers import kinds_of
from acceptance.life import Life, Wrong
from acceptance.network import Network
from acceptance.patience import NotYet, until
from acceptance.program import DIRECTOR_TAG, RUN_TAG, Outcome, parser, run
from testbed.demo_stage import main_status

STILL_SHOWN = 120.0
"""Seconds for which EC2 may show deleted resources."""


def left_by(account: Account, director_uuid: str) -> list[str]:
    """List a director's resources that the CPI has not deleted; EC2 may show deleted ones for a while."""
    kinds = kinds_of(account)

    def look() -> list[str]:
        found = [f"{kind.name} {each}" for kind in kinds for each in kind.find(DIRECTOR_TAG, director_uuid)]
        if found:
            raise NotYet(", ".join(found))
        return found

    try:
        return until(look, STILL_SHOWN)
    except NotYet as left:
        return [str(left)]


def lifecycle(account: Account, network: Network, tags: dict[str, str], given: argparse.Namespace) -> Outcome:
    """Make all calls, and look for resources that the CPI has left behind."""
    life = Life(account, network, tags, given.report)
    problem = ""
    try:
        life.live()
        if left := left_by(account, tags[RUN_TAG]):
            problem = f"The CPI has left {', '.join(left)}"
    except Wrong as wrong:
        problem = str(wrong)
    calls = [{"method": method, "seconds": round(seconds, 1)} for method, seconds in life.calls]
    done = f"{len(calls)} calls"
    return Outcome(
        is_good=not problem,
        summary=f"{done}: {problem}" if problem else f"{done}, all as it should be",
        document={"calls": calls},
    )


def main() -> int:
    """Make all calls; the exit status is 1 if a result is wrong or something is left behind."""
    return run(parser("acceptance.lifecycle", str(__doc__)).parse_args(), lifecycle)


if __name__ == "__main__":
    sys.exit(main_status(main))
