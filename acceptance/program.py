"""Code that the two programs share: command line, account, network, and the deletion at the end."""

import argparse
import json
import re
import sys
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from acceptance import network
from acceptance.account import Account, Unusable, real, simulated
from acceptance.leftovers import delete_all
from acceptance.patience import NotYet
from testbed.cloud import FakeAws
from testbed.demo_text import BOLD, RED, paint

RUN_TAG = "bosh_aws_acceptance"
DIRECTOR_TAG = "bosh_director_uuid"
"""The executable's resources have the run's id as their director's."""
_RUN_ID = re.compile(r"acceptance-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""No director has such an id, so `--remove` can't delete resources of a director."""
GOOD, BAD, UNUSABLE = 0, 1, 2
"""Exit statuses: all is right; something is wrong; the run failed."""


@dataclass(frozen=True)
class Outcome:
    """How a run ended.

    Attributes:
        is_good: Whether all results were right.
        summary: The same in one line.
        document: The same for `--json`.
    """

    is_good: bool
    summary: str
    document: dict[str, Any] = field(default_factory=dict)


def parser(program: str, description: str) -> argparse.ArgumentParser:
    """Return the parser of the command line, to which a program may add options."""
    options = argparse.ArgumentParser(
        prog=f"python -m {program}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    where = options.add_mutually_exclusive_group()
    where.add_argument("--simulated", action="store_true", help="run on the simulated AWS, which is started")
    where.add_argument("--endpoint", metavar="URL", help="of all services, in place of AWS's own")
    options.add_argument("--region", help="in place of AWS_REGION")
    options.add_argument("--image", metavar="AMI", help="to launch; by default the newest Amazon Linux 2023")
    options.add_argument(
        "--remove", metavar="RUN", type=_run_id, help="only delete what the run of this id has left"
    )
    options.add_argument("--json", action="store_true", help="print the outcome as JSON on standard output")
    return options


def _run_id(given: str) -> str:
    if _RUN_ID.fullmatch(given) is None:
        raise argparse.ArgumentTypeError(f"'{given}' is no run's id, which begins with acceptance-")
    return given


def run(given: argparse.Namespace, work: Callable[..., Outcome]) -> int:
    """Work in an account, and delete everything that was created there; returns the exit status.

    Args:
        given: The command line. Its `report` is set to the stream for a person.
        work: Called with the account, the network, the tags and the command line.
    """
    given.report = sys.stderr if given.json else sys.stdout
    with ExitStack() as stack:
        try:
            account = _account(given, stack)
            print(f"In {account.region}: {account.whose()}", file=given.report, flush=True)
        except Unusable as error:
            print(f"Nothing was created. {error}", file=sys.stderr)
            return UNUSABLE
        if given.remove is None:
            return _run_in(account, given, work)
        return _delete(account, given)


def _account(given: argparse.Namespace, stack: ExitStack) -> Account:
    if not given.simulated:
        return real(given.region, given.endpoint, given.image)
    fake_aws = stack.enter_context(FakeAws())
    world = fake_aws.lay()
    return simulated(fake_aws, world.image_id)


def _run_in(account: Account, given: argparse.Namespace, work: Callable[..., Outcome]) -> int:
    run_id = f"acceptance-{uuid.uuid4()}"
    tags = {RUN_TAG: run_id}
    print(f"Run {run_id}: all that is created is tagged {RUN_TAG} with it", file=given.report, flush=True)
    outcome, status = Outcome(is_good=False, summary="The run was ended before it was done"), UNUSABLE
    try:
        outcome = work(account, network.create(account, tags), tags, given)
        status = GOOD if outcome.is_good else BAD
    except (Unusable, ClientError, BotoCoreError, NotYet) as error:
        outcome = Outcome(is_good=False, summary=f"The run stopped: {error}")
    finally:
        print("Deleting everything that this run created", file=given.report, flush=True)
        left = _finish(account, given, run_id, outcome)
    return BAD if left and status == GOOD else status


def _delete(account: Account, given: argparse.Namespace) -> int:
    print(f"Deleting what run {given.remove} left", file=given.report, flush=True)
    left = _finish(account, given, given.remove, Outcome(is_good=True, summary="Nothing was tried"))
    return BAD if left else GOOD


def _finish(account: Account, given: argparse.Namespace, run_id: str, outcome: Outcome) -> dict[str, str]:
    """Delete all resources of a run, and report; returns those that are left."""
    left = delete_all(account, {RUN_TAG: run_id, DIRECTOR_TAG: run_id})
    is_good = outcome.is_good and not left
    print(paint(outcome.summary, BOLD if is_good else RED), file=given.report)
    if left:
        print(paint("Left behind:", RED), file=given.report)
        for what, why in left.items():
            print(f"  {what}: {why}", file=given.report)
        print(f"Delete it by hand, or with --remove {run_id}", file=given.report)
    else:
        print("Left behind: nothing", file=given.report)
    if given.json:
        document = {"run": run_id, "is_good": is_good, "summary": outcome.summary, "left": left}
        print(json.dumps({**document, **outcome.document}, indent=2))
    return left
