"""The command line of `cpi preflight`, and when it says "ready"."""

import re

import pytest

from bosh_aws_cpi.aws.sdk.permissions import BASELINE, FEATURES
from bosh_aws_cpi.tools import preflight
from bosh_aws_cpi.tools.preflight import Results, Verdict

NEEDED = len(FEATURES[BASELINE].actions)
SHARED = ["HeavyStemcells", "HeavyStemcellsByVolume", "Snapshots"]
"""Features that have actions in common."""
OF_SHARED = len({action for name in (BASELINE, *SHARED) for action in FEATURES[name].actions})
SERVICES = ("ec2", "elb", "elbv2", "ebs", "sts", "iam", "service-quotas")


def found(problems: dict[str, str], **states: Verdict) -> Results:
    """Return results in which all actions are allowed except these, named without their prefix."""
    verdicts = {
        action: states.get(action.partition(":")[2], Verdict("allowed"))
        for feature in FEATURES.values()
        for action in feature.actions
    }
    endpoints = dict.fromkeys(SERVICES, "https://example.test")
    return Results(
        "1", "arn:aws:iam::1:user/cpi", "us-east-1", ("us-east-1a",), endpoints, problems, verdicts
    )


MISSING, UNTOLD = Verdict("missing"), Verdict("not checkable", "why")
NO_VERDICT = Verdict("no verdict", "why")


@pytest.mark.parametrize(
    ("problems", "states", "chosen", "words"),
    [
        ({}, {}, [], "Ready for Baseline: nothing is missing"),
        ({}, {"ModifyVolume": MISSING}, ["Routes"], "Ready for Baseline, Routes: nothing is missing"),
        ({}, {"ModifyVolume": MISSING}, ["ResizeUpdate"], "NOT READY .* missing: ec2:ModifyVolume"),
        ({}, {"RunInstances": UNTOLD, "AttachVolume": UNTOLD}, [], f"Ready .* 2 of the {NEEDED} needed"),
        ({}, {"RegisterImage": UNTOLD, "CreateSnapshot": UNTOLD}, SHARED, f"Ready .* 2 of the {OF_SHARED} "),
        ({}, {"RunInstances": NO_VERDICT}, [], f"NOT READY .* ec2:RunInstances; .* 1 of the {NEEDED} needed"),
        ({}, {"ModifyVolume": NO_VERDICT}, [], "Ready for Baseline: nothing is missing"),
        ({"elb": "p"}, {}, ["Encryption"], "Ready for Baseline, Encryption: nothing is missing"),
        ({"elb": "p"}, {}, ["LoadBalancers"], "NOT READY .* LoadBalancers: endpoints that fail: elb"),
    ],
)
def test_ready(problems: dict[str, str], states: dict[str, Verdict], chosen: list[str], words: str) -> None:
    """The report says "ready" if no needed permission is missing and the needed endpoints answer."""
    report = preflight.document(found(problems, **states), chosen, None)
    assert re.match(words, preflight.lines(report)[-1])
    assert report["is_ready"] is words.startswith("Ready")


@pytest.mark.parametrize(
    ("arguments", "status"), [(["--help"], 0), (["cpi.json", "--feature", "Snapshot"], 2)]
)
def test_features(capsys: pytest.CaptureFixture[str], arguments: list[str], status: int) -> None:
    """The help lists all features, and so does the refusal of an unknown one."""
    with pytest.raises(SystemExit) as ended:
        preflight.main(arguments)
    printed = capsys.readouterr()
    assert ended.value.code == status
    assert all(name in printed.out + printed.err for name in FEATURES)


@pytest.mark.parametrize(
    ("arguments", "near"),
    [
        (["loadbalancers"], "--feature LoadBalancers"),
        (["--feature", "Snapshot"], "Snapshots"),
        (["--featur"], "--feature"),
    ],
)
def test_near_argument(capsys: pytest.CaptureFixture[str], arguments: list[str], near: str) -> None:
    """A mistyped argument is refused with what may be meant, as it is to be given."""
    with pytest.raises(SystemExit):
        preflight.main(["cpi.json", *arguments])
    assert capsys.readouterr().err.endswith(f"(did you mean {near}?)\n")
