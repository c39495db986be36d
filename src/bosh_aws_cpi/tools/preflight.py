"""`cpi preflight CONFIG`: checks a configuration's credentials, endpoints and permissions; read-only.

The report is one document, as JSON or as text; the exit status follows from it.
"""

import argparse
from collections import defaultdict
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final

from bosh_aws_cpi.aws.sdk.permissions import BASELINE, FEATURES
from bosh_aws_cpi.config.loading import load
from bosh_aws_cpi.log import redact
from bosh_aws_cpi.tools import command
from bosh_aws_cpi.tools.probes import SERVICES
from bosh_aws_cpi.tools.terminal import MAGENTA, RED, YELLOW, Line

if TYPE_CHECKING:
    from bosh_aws_cpi.tools.examination import Examined

Document = dict[str, Any]
_WIDTH: Final = max(map(len, FEATURES)) + 4
_COLOURS: Final = {"MISSING": RED, "NO VERDICT": YELLOW, "not checkable": MAGENTA}
"""Those of a feature's state."""
_DESCRIPTION: Final = """\
Check whether the CPI can use AWS: credentials, region, endpoints and each permission in docs/iam-policy.json.
Nothing is created or changed."""
_EPILOG: Final = f"""\
All features are checked and shown.
The exit status depends on {BASELINE} and the features that --feature names:
0: no permission is missing, and the endpoints answer; the report counts the permissions that can't be checked
1: a permission is missing or could not be determined, or an endpoint fails
2: the check failed: bad arguments, a bad configuration, or keys that AWS does not accept"""


def main(arguments: list[str]) -> int:
    """Check, and print a report."""
    return command.run(_parser(), arguments, _check)


def _parser() -> argparse.ArgumentParser:
    parser = command.parser("preflight", _DESCRIPTION, _EPILOG)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument(
        "--feature",
        metavar="NAME",
        action="append",
        default=[],
        choices=list(FEATURES),
        help=f"a feature that you need; may be repeated; one of {', '.join(FEATURES)}",
    )
    return parser


def _check(given: argparse.Namespace) -> int:
    from bosh_aws_cpi.tools.examination import examine  # noqa: PLC0415 - --help needs no SDK

    config = load(given.config, {}).aws
    report = document(examine(config), given.feature, config.role_arn)
    shown = (line.replaced(redact(line)) for line in lines(report))
    command.show(report, shown, as_json=given.json)
    return status(report)


def document(examined: "Examined", chosen: Collection[str], role_arn: str | None) -> Document:
    """The report as a JSON document.

    Args:
        examined: The results of the calls to AWS.
        chosen: The features that are needed in addition to Baseline.
        role_arn: The configured role.

    Returns:
        ``is_ready`` is true when the needed features lack no permission and AWS answers for the services
        that they call; ``unverified`` counts the needed actions that are not known to be allowed.
    """
    features = [_feature(name, examined, is_needed=name == BASELINE or name in chosen) for name in FEATURES]
    needed = [each for each in features if each["is_needed"]]
    asked = {service for each in needed for service in _services(each["name"])}
    endpoints = [
        {
            "service": service,
            "url": url,
            "is_needed": service in asked,
            "problem": examined.problems.get(service),
        }
        for service, url in examined.endpoints.items()
    ]
    wrong = [each for each in needed if each["missing"] or each["no_verdict"]]
    return {
        "is_ready": not wrong and not any(each["is_needed"] and each["problem"] for each in endpoints),
        "unverified": len(_together(needed, "not_checkable") | _together(needed, "no_verdict")),
        "credentials": {
            "account": examined.account or None,
            "arn": examined.caller or None,
            "role_arn": role_arn,
        },
        "region": {"name": examined.region, "zones": list(examined.zones)},
        "endpoints": endpoints,
        "features": features,
    }


def _feature(name: str, examined: "Examined", *, is_needed: bool) -> Document:
    verdicts = {action: examined.verdicts[action] for action in FEATURES[name].actions}
    by_state: dict[str, list[str]] = defaultdict(list)
    for action, verdict in verdicts.items():
        by_state[verdict.state].append(action)
    return {
        "name": name,
        "is_needed": is_needed,
        "allowed": by_state["allowed"],
        "missing": by_state["missing"],
        "no_verdict": {action: verdicts[action].why for action in by_state["no verdict"]},
        "not_checkable": {action: verdicts[action].why for action in by_state["not checkable"]},
    }


def _together(features: list[Document], key: str) -> set[str]:
    """The actions of several features under this key, without duplicates."""
    return {action for each in features for action in each[key]}


def _services(name: str) -> set[str]:
    prefixes = {action.partition(":")[0] for action in FEATURES[name].actions}
    return {service for prefix in prefixes for service in SERVICES.get(prefix, ())}


def status(report: Document) -> int:
    """The exit status."""
    return 0 if report["is_ready"] else 1


def lines(report: Document) -> list[Line]:
    """The report for a person."""
    return [*_opening(report), Line(""), *_features(report), Line(""), _summary(report)]


def _opening(report: Document) -> list[Line]:
    credentials, region = report["credentials"], report["region"]
    who = "unknown: STS did not name the account"
    if credentials["arn"]:
        who = f"account {credentials['account']}, {credentials['arn']}"
    shown = [("Credentials", who)]
    if credentials["role_arn"]:
        shown.append(("Role", f"{credentials['role_arn']} was assumed"))
    shown.append(("Region", f"{region['name']}: {', '.join(region['zones']) or 'its zones are unknown'}"))
    return [*(_entry(*each) for each in shown), *map(_endpoint, report["endpoints"])]


def _entry(name: str, text: str, word: str = "", colour: str = "") -> Line:
    return Line(f"{name:<{_WIDTH}}{text}", word, colour, at=_WIDTH, under=_WIDTH)


def _endpoint(each: Document) -> Line:
    name = f"Endpoint {each['service']}"
    if not each["problem"]:
        return _entry(name, f"{each['url']} answers")
    idle = "" if each["is_needed"] else " (no needed feature calls it)"
    return _entry(name, f"{each['url']} FAILS{idle}: {each['problem']}", "FAILS", RED)


def _features(report: Document) -> list[Line]:
    shown = [Line("Permissions (* is needed)")]
    for each in report["features"]:
        mark = "* " if each["is_needed"] else "  "
        state = _state(each)
        shown.append(_entry(f"{mark}{each['name']}", state, state, _COLOURS.get(state, "")))
        if each["missing"]:
            shown.append(_detail("missing", ", ".join(each["missing"])))
        shown += [
            _detail(key.replace("_", " "), f"{', '.join(actions)}: {why}")
            for key in ("no_verdict", "not_checkable")
            for why, actions in _by_reason(each[key]).items()
        ]
    return shown


def _detail(head: str, text: str) -> Line:
    label = f"      {head}: "
    return Line(f"{label}{text}", under=len(label))


def _state(each: Document) -> str:
    if each["missing"]:
        return "MISSING"
    if each["no_verdict"]:
        return "NO VERDICT"
    if each["not_checkable"]:
        return "ok, as far as it can be checked" if each["allowed"] else "not checkable"
    return "ok"


def _by_reason(actions: dict[str, str]) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for action, why in actions.items():
        reasons.setdefault(why, []).append(action)
    return reasons


def _summary(report: Document) -> Line:
    needed = [each for each in report["features"] if each["is_needed"]]
    names = ", ".join(each["name"] for each in needed)
    failing = [each["service"] for each in report["endpoints"] if each["is_needed"] and each["problem"]]
    wrong = {
        "missing": sorted(_together(needed, "missing")),
        "no verdict": sorted(_together(needed, "no_verdict")),
        "endpoints that fail": failing,
    }
    parts = [f"{what}: {', '.join(which)}" for what, which in wrong.items() if which]
    if report["unverified"]:
        count = len({action for each in needed for action in FEATURES[each["name"]].actions})
        parts.append(f"not verified: {report['unverified']} of the {count} needed actions")
    verdict = "Ready" if report["is_ready"] else "NOT READY"
    text = f"{verdict} for {names}: {'; '.join(parts) or 'nothing is missing'}"
    return Line(text, verdict, "" if report["is_ready"] else RED)
