"""The command line of `cpi preflight`, and when it says "ready"."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bosh_aws_cpi.aws.sdk.permissions import BASELINE, FEATURES
from bosh_aws_cpi.tools import preflight
from bosh_aws_cpi.tools.preflight import NOT_CHECKABLE, Examined, Verdict

NEEDED = len(FEATURES[BASELINE].actions)
SERVICES = ("ec2", "elb", "elbv2", "ebs", "sts", "iam", "service-quotas")
HOSTS = {service: f"{service}.us-east-1" for service in SERVICES} | {
    **dict.fromkeys(("elb", "elbv2"), "elasticloadbalancing.us-east-1"),
    "iam": "iam",
    "service-quotas": "servicequotas.us-east-1",
}


def found(problems: dict[str, str], **states: Verdict) -> Examined:
    """Return results in which all actions are allowed except these, named without their prefix."""
    verdicts = {
        action: states.get(action.partition(":")[2], Verdict("allowed"))
        for feature in FEATURES.values()
        for action in feature.actions
    }
    endpoints = dict.fromkeys(SERVICES, "https://example.test")
    return Examined(
        "1", "arn:aws:iam::1:user/cpi", "us-east-1", ("us-east-1a",), endpoints, problems, verdicts
    )


@pytest.mark.parametrize(
    ("problems", "states", "chosen", "ending"),
    [
        ({}, {}, [], "Ready for Baseline: nothing is missing"),
        (
            {},
            {"ModifyVolume": Verdict("missing")},
            ["Routes"],
            "Ready for Baseline, Routes: nothing is missing",
        ),
        (
            {},
            {"ModifyVolume": Verdict("missing"), "RunInstances": Verdict("not checkable", "why")},
            ["ResizeUpdate"],
            (
                "NOT READY for Baseline, ResizeUpdate: missing: ec2:ModifyVolume; "
                f"not verified: 1 of the {NEEDED + 2} needed actions"
            ),
        ),
        (
            {},
            {
                "RunInstances": Verdict("not checkable", "why"),
                "AttachVolume": Verdict("not checkable", "why"),
            },
            [],
            f"Ready for Baseline: not verified: 2 of the {NEEDED} needed actions",
        ),
        (
            {},
            {"RunInstances": Verdict("no verdict", "why")},
            [],
            (
                "NOT READY for Baseline: no verdict: ec2:RunInstances; "
                f"not verified: 1 of the {NEEDED} needed actions"
            ),
        ),
        (
            {},
            {"ModifyVolume": Verdict("no verdict", "why")},
            [],
            "Ready for Baseline: nothing is missing",
        ),
        ({"elb": "p"}, {}, ["Encryption"], "Ready for Baseline, Encryption: nothing is missing"),
        (
            {"elb": "p"},
            {},
            ["LoadBalancers"],
            "NOT READY for Baseline, LoadBalancers: endpoints that fail: elb",
        ),
        ({"sts": "p"}, {}, ["Roles"], "NOT READY for Baseline, Roles: endpoints that fail: sts"),
    ],
)
def test_ready(problems: dict[str, str], states: dict[str, Verdict], chosen: list[str], ending: str) -> None:
    """The report says "ready" if no needed permission is missing and the needed endpoints answer."""
    report = preflight.document(found(problems, **states), chosen, None)
    assert preflight.lines(report)[-1] == ending
    assert report["is_ready"] is ending.startswith("Ready")


def test_actions_are_grouped_by_reason() -> None:
    """Actions that could not be checked for the same reason share a line."""
    verdict = Verdict("not checkable", "because")
    report = preflight.document(found({}, CreateRoute=verdict, DeleteRoute=verdict), [], "arn:role")
    lines = [line.strip() for line in preflight.lines(report)]
    assert "not checkable: ec2:CreateRoute, ec2:DeleteRoute: because" in lines
    assert any(line.split() == ["Role", "arn:role", "was", "assumed"] for line in lines)


def test_unknown_feature(capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown feature is refused with the list of all features."""
    with pytest.raises(SystemExit) as ended:
        preflight.main(["cpi.json", "--feature", "Snapshot"])
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert "Snapshot" in said
    assert all(name in said for name in FEATURES)


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    """The help explains the exit status and names the features."""
    with pytest.raises(SystemExit) as ended:
        preflight.main(["--help"])
    said = capsys.readouterr().out
    assert ended.value.code == 0
    assert "The exit status depends on Baseline and the features that --feature names" in said
    assert all(name in said for name in FEATURES)


def test_no_verdict() -> None:
    """An action without a verdict is listed as such, with AWS's answer."""
    report = preflight.document(found({}, RunInstances=Verdict("no verdict", "why")), [], None)
    lines = [" ".join(line.split()) for line in preflight.lines(report)]
    assert lines[lines.index("* Baseline NO VERDICT") + 1] == "no verdict: ec2:RunInstances: why"
    assert (report["unverified"], report["features"][0]["no_verdict"]) == (1, {"ec2:RunInstances": "why"})


@pytest.mark.usefixtures("signals")
@pytest.mark.parametrize("text", [None, json.dumps({"cloud": {"properties": {"aws": {"region": "x"}}}})])
def test_bad_configuration(tmp_path: Path, capfd: pytest.CaptureFixture[str], text: str | None) -> None:
    """A configuration that can't be used ends the command with its error, before AWS is asked."""
    path = tmp_path / "cpi.json"
    if text:
        path.write_text(text)
    assert preflight.main([str(path)]) == 2
    said = capfd.readouterr()
    assert said.out == ""
    assert ("aws:max_retries" if text else str(path)) in said.err


def test_example_of_the_documentation() -> None:
    """The example in docs/preflight.md is what the command prints; an ellipsis stands for any lines."""
    nic = "answered with InvalidNetworkInterfaceID.NotFound, which proves nothing"
    subnet = "answered with InvalidSubnetID.NotFound, which proves nothing"
    untold = {
        action.partition(":")[2]: Verdict("not checkable", why) for action, why in NOT_CHECKABLE.items()
    }
    findings = found(
        {},
        **untold,
        AssignIpv6Addresses=Verdict("not checkable", nic),
        AssignPrivateIpAddresses=Verdict("not checkable", nic),
        AssumeRole=Verdict("not checkable", "no aws.role_arn is set"),
        ModifySubnetAttribute=Verdict("not checkable", subnet),
        ModifyVolume=Verdict("missing", "UnauthorizedOperation"),
        RegisterTargets=Verdict("missing", "AccessDenied"),
    ).replaced(
        account="123456789012",
        caller="arn:aws:iam::123456789012:user/bosh",
        zones=("us-east-1a", "us-east-1b"),
        endpoints={service: f"https://{HOSTS[service]}.amazonaws.com" for service in SERVICES},
    )
    shown = preflight.lines(preflight.document(findings, ["ResizeUpdate"], None))
    page = (Path(__file__).parents[3] / "docs/preflight.md").read_text()
    (example,) = re.findall(r"^```\n(Credentials .+?)```", page, re.MULTILINE | re.DOTALL)
    pattern = re.escape(example).replace(re.escape("…\n"), r"(?:.*\n)*")
    text = "\n".join(shown)
    assert re.fullmatch(pattern, f"{text}\n"), text
