"""What the two programs share: the command line, the account, the network, and the end of all of it."""

from __future__ import annotations

import argparse
import json
import sys
import uuid
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from acceptance import network
from acceptance.account import Account, Unusable, real, simulated
from acceptance.leftovers import remove_all
from testbed.cloud import FakeAws, lay
from testbed.demo_text import BOLD, RED, paint

if TYPE_CHECKING:
    from collections.abc import Callable

RUN_TAG = "bosh_aws_acceptance"
DIRECTOR_TAG = "bosh_director_uuid"
"""What the executable makes carries the run's id as its director's."""
GOOD, BAD, UNUSABLE = 0, 1, 2
"""Exit statuses: all as it should be; something is not; nothing could be found out."""


@dataclass(frozen=True)
class Outcome:
    """What a run came to.

    Attributes:
        is_good: Whether all was as it should be.
        summary: The same in one line.
        document: The same for `--json`.
    """

    is_good: bool
    summary: str
    document: dict[str, Any] = field(default_factory=dict)


def parser(program: str, description: str) -> argparse.ArgumentParser:
    """Return what reads the command line; a program may add to it."""
    options = argparse.ArgumentParser(
        prog=f"python -m {program}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    where = options.add_mutually_exclusive_group()
    where.add_argument("--simulated", action="store_true", help="in the stand-in for AWS, which is started")
    where.add_argument("--endpoint", metavar="URL", help="of all services, in place of AWS's own")
    options.add_argument("--region", help="in place of AWS_REGION")
    options.add_argument("--image", metavar="AMI", help="to launch; by default the newest Amazon Linux 2023")
    options.add_argument("--remove", metavar="RUN", help="only remove what the run of this id has left")
    options.add_argument("--json", action="store_true", help="the outcome as JSON, on standard output")
    return options


def run(given: argparse.Namespace, work: Callable[..., Outcome]) -> int:
    """Work in an account, and remove whatever was made there; returns the exit status.

    Args:
        given: The command line. Its `report` becomes where a person reads.
        work: Is given the account, the network, the tags and the command line.
    """
    given.report = sys.stderr if given.json else sys.stdout
    with ExitStack() as stack:
        try:
            account = _account(given, stack)
            print(f"In {account.region}: {account.whose()}", file=given.report, flush=True)
        except Unusable as error:
            print(f"Nothing was made. {error}", file=sys.stderr)
            return UNUSABLE
        return _run_in(account, given, work)


def _account(given: argparse.Namespace, stack: ExitStack) -> Account:
    if not given.simulated:
        return real(given.region, given.endpoint, given.image)
    fake_aws = stack.enter_context(FakeAws())
    world = lay(fake_aws)
    return simulated(fake_aws, world.image_id)


def _run_in(account: Account, given: argparse.Namespace, work: Callable[..., Outcome]) -> int:
    run_id = given.remove or str(uuid.uuid4())
    tags = {RUN_TAG: run_id}
    print(f"All that is made is tagged {RUN_TAG}={run_id}", file=given.report, flush=True)
    outcome = Outcome(is_good=True, summary="nothing was tried")
    status = GOOD
    try:
        if not given.remove:
            outcome = work(account, network.lay(account, tags), tags, given)
            status = GOOD if outcome.is_good else BAD
    except (Unusable, ClientError, BotoCoreError) as error:
        outcome = Outcome(is_good=False, summary=f"It could not go on: {error}")
        status = UNUSABLE
    finally:
        print("Removing what was made", file=given.report, flush=True)
        left = remove_all(account, {**tags, DIRECTOR_TAG: run_id})
        _report(outcome, left, run_id, given)
    return BAD if left and status == GOOD else status


def _report(outcome: Outcome, left: dict[str, str], run_id: str, given: argparse.Namespace) -> None:
    is_good = outcome.is_good and not left
    print(paint(outcome.summary, BOLD if is_good else RED), file=given.report)
    if left:
        print(paint("Left behind:", RED), file=given.report)
        for what, why in left.items():
            print(f"  {what}: {why}", file=given.report)
        print(f"Remove it by hand, or with --remove {run_id}", file=given.report)
    else:
        print("Left behind: nothing", file=given.report)
    if given.json:
        document = {"run": run_id, "is_good": is_good, "summary": outcome.summary, "left": left}
        print(json.dumps({**document, **outcome.document}, indent=2))
