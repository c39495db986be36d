"""Tests the CPI's assumptions about AWS: `python -m acceptance.aws_check`.

It tries each assumption of docs/aws-assumptions.md that can be tried, with separate calls, in a VPC that it
creates and deletes at the end.
"""

import argparse
import sys
from collections import Counter
from dataclasses import asdict, dataclass

from acceptance import assumptions
from acceptance.account import Account
from acceptance.assumptions import Assumption
from acceptance.lab import Lab
from acceptance.network import Network
from acceptance.program import Outcome, parser, run
from acceptance.trials import trials
from acceptance.trials.trial import Trial
from testbed.demo_stage import main_status
from testbed.demo_text import BOLD, GREEN, RED, YELLOW, paint

AGREES, DIFFERS, UNTRIED = "agrees", "differs", "could not be tried"
COLOURS = {AGREES: GREEN, DIFFERS: RED, UNTRIED: YELLOW}
SEVERAL = {AGREES: "agree", DIFFERS: "differ", UNTRIED: UNTRIED}


@dataclass(frozen=True)
class Finding:
    """The verdict of a trial."""

    assumption: str
    verdict: str
    seen: str


def tried(trial: Trial, lab: Lab) -> Finding:
    """Try one assumption; an error during the trial gives no verdict."""
    try:
        seen = trial.run(lab)
    except Exception as error:  # noqa: BLE001 - an answer that no trial expects
        return Finding(trial.name, UNTRIED, f"{type(error).__name__}: {error}")
    return Finding(trial.name, AGREES if seen.agrees else DIFFERS, seen.text)


def told(assumption: Assumption, finding: Finding) -> str:
    """Write a finding for a person."""
    verdict = paint(finding.verdict, COLOURS[finding.verdict])
    head = f"{paint(finding.assumption, BOLD)}: {verdict}"
    return f"{head}\n  assumed  {assumption.text}\n  seen     {finding.seen}"


def check(account: Account, network: Network, tags: dict[str, str], given: argparse.Namespace) -> Outcome:
    """Try all assumptions, or those that were asked for."""
    known = assumptions.read()
    lab = Lab(account, network, tags)
    findings = []
    for name, trial in trials().items():
        if given.only and name not in given.only:
            continue
        finding = tried(trial, lab)
        findings.append(finding)
        print(told(known[name], finding), file=given.report, flush=True)
    counts = Counter(finding.verdict for finding in findings)
    summary = ", ".join(f"{counts[verdict]} {several}" for verdict, several in SEVERAL.items())
    return Outcome(
        is_good=counts[AGREES] == len(findings),
        summary=f"{len(findings)} assumptions: {summary}",
        document={"assumptions": [{**asdict(known[each.assumption]), **asdict(each)} for each in findings]},
    )


def main() -> int:
    """Check; the exit status is 1 if something differs, could not be tried or is left behind."""
    options = parser("acceptance.aws_check", str(__doc__))
    options.add_argument(
        "--only", nargs="+", choices=sorted(trials()), metavar="ID", help="try these assumptions alone"
    )
    return run(options.parse_args(), check)


if __name__ == "__main__":
    sys.exit(main_status(main))
