"""`cpi preflight CONFIG`: checks a configuration's credentials, endpoints and permissions; read-only.

The report is one document, as JSON or as text; the exit status follows from it.
"""

import argparse
import re
from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from hashlib import sha256
from typing import Any, Final, Literal

from botocore import xform_name
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws.ebs_direct import BLOCK_SIZE
from bosh_aws_cpi.aws.sdk import errors
from bosh_aws_cpi.aws.sdk.clients import CommandClients
from bosh_aws_cpi.aws.sdk.errors import DRY_RUN_PASSED, Codes
from bosh_aws_cpi.aws.sdk.permissions import ACTIONS, BASELINE, FEATURES
from bosh_aws_cpi.aws.sdk.translation import explain
from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.config.loading import load
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import redact
from bosh_aws_cpi.records import EMPTY, Record
from bosh_aws_cpi.tools import command
from bosh_aws_cpi.tools.asking import RETRIES, Asker, NoAnswer, other_keys

_WIDTH: Final = max(map(len, FEATURES)) + 4
State = Literal["allowed", "missing", "not checkable", "no verdict"]
"""Not checkable: no call can show it. No verdict: a call could, but AWS gave an unexpected answer."""

_CALLER_ARN: Final = re.compile(r"arn:([\w-]+):[^:]*:[^:]*:(\d+):")
"""An ARN; its groups are partition and account."""
SDK_SERVICES: Final = {
    "ec2": ("ec2",),
    "elasticloadbalancing": ("elb", "elbv2"),
    "ebs": ("ebs",),
    "sts": ("sts",),
    "iam": ("iam",),
    "servicequotas": ("service-quotas",),
}
"""The SDK's names of the services that an action belongs to, by the action's prefix in IAM."""
NOT_CHECKABLE: Final = {action: row.unprobed for action, row in ACTIONS.items() if row.unprobed}
"""Actions that no harmless call can check, each with the reason."""
FIRST_CALLS: Final = frozenset({"ec2:DescribeAvailabilityZones", "sts:AssumeRole"})
"""Actions that preflight's first calls check."""
_PERMITTED: Final = {
    "elb": errors.BALANCER_MISSING | errors.NOT_IN_BALANCER,
    "elbv2": errors.TARGET_GROUP_MISSING | errors.TARGET_REFUSED,
    "ebs": errors.DIRECT_SNAPSHOT_MISSING,
}
"""The error codes of services that look up what a call names only after they have checked the permission."""
_DESCRIPTION: Final = """\
Check whether the CPI can use AWS: credentials, region, endpoints and each permission in docs/iam-policy.json.
Nothing is created or changed. All features are checked and shown.
The exit status depends on Baseline and the features that --feature names."""


class Probe(Record):
    """A call that changes nothing.

    Attributes:
        service: The SDK's name of the service.
        operation: The API's name for the call: "DescribeInstances".
        parameters: The call's parameters; DryRun is added if the operation has it.
        permitted: Error codes that AWS answers only after it has checked the permission.
    """

    service: str
    operation: str
    parameters: Mapping[str, Any] = EMPTY
    permitted: Codes = DRY_RUN_PASSED


class Verdict(Record):
    """Whether an action is allowed; if not, with the reason.

    A missing action has one only if another policy than that of the keys' user or role does not allow it.
    """

    state: State
    why: str = ""


_ALLOWED: Final = Verdict("allowed")
_FAILS: Final = Verdict("not checkable", "its endpoint fails")


class Results(Record):
    """The results of all calls.

    Attributes:
        account: The account's id; empty when it is not known.
        caller: The ARN of the keys' user or role; empty when it is not known.
        region: The configured region.
        zones: Its availability zones that are available.
        endpoints: Each service's endpoint, by the SDK's name of the service.
        problems: The problems with services' endpoints, by the SDK's name; services that answer have none.
        verdicts: The verdicts, by the action's name in IAM.
    """

    account: str
    caller: str
    region: str
    zones: tuple[str, ...]
    endpoints: Mapping[str, str]
    problems: Mapping[str, str]
    verdicts: Mapping[str, Verdict]


def main(arguments: list[str]) -> int:
    """Check, and print a report."""
    parser = command.parser(
        "preflight",
        _DESCRIPTION,
        "no permission is missing, and the endpoints answer; what can't be checked is counted",
        "a permission is missing or could not be determined, or an endpoint fails",
    )
    parser.add_argument(
        "--feature",
        metavar="NAME",
        action="append",
        default=[],
        choices=list(FEATURES),
        help=f"a feature that you need; may be repeated; one of {', '.join(FEATURES)}",
    )
    return command.run(parser, arguments, _check)


def _check(given: argparse.Namespace) -> int:
    config = load(given.config, {}).aws
    report = document(_Examination(config).results(), given.feature, config.role_arn)
    shown = command.show(report, map(redact, lines(report)), as_json=given.json)
    return shown or int(not report["is_ready"])


def document(results: Results, chosen: Collection[str], role_arn: str | None) -> Json:
    """The report as a JSON document.

    Args:
        results: The results of the calls to AWS.
        chosen: The features that are needed in addition to Baseline.
        role_arn: The configured role.

    Returns:
        ``is_ready`` is true when the needed features lack no permission and AWS answers for the services
        that they call; ``unverified`` counts the needed actions that are not known to be allowed.
    """
    needed = {BASELINE, *chosen}
    actions = {action for name in needed for action in FEATURES[name].actions}
    states = Counter(results.verdicts[action].state for action in actions)
    asked = {service for action in actions for service in SDK_SERVICES.get(action.partition(":")[0], ())}
    return {
        "is_ready": asked.isdisjoint(results.problems) and not (states["missing"] or states["no verdict"]),
        "unverified": states["not checkable"] + states["no verdict"],
        "credentials": {
            "account": results.account or None,
            "arn": results.caller or None,
            "role_arn": role_arn,
        },
        "region": {"name": results.region, "zones": list(results.zones)},
        "endpoints": [
            {"service": name, "url": url, "is_needed": name in asked, "problem": results.problems.get(name)}
            for name, url in results.endpoints.items()
        ],
        "features": [_feature(name, results, is_needed=name in needed) for name in FEATURES],
    }


def _feature(name: str, results: Results, *, is_needed: bool) -> Json:
    verdicts = {action: results.verdicts[action] for action in FEATURES[name].actions}

    def reasons(state: State) -> dict[str, str]:
        return {action: verdict.why for action, verdict in verdicts.items() if verdict.state == state}

    return {
        "name": name,
        "is_needed": is_needed,
        "allowed": list(reasons("allowed")),
        "missing": list(reasons("missing")),
        "denied": {action: why for action, why in reasons("missing").items() if why},
        "no_verdict": reasons("no verdict"),
        "not_checkable": reasons("not checkable"),
    }


def lines(report: Json) -> list[str]:
    """The report for a person."""
    credentials, region = report["credentials"], report["region"]
    who = f"account {credentials['account']}, {credentials['arn']}"
    shown = [_entry("Credentials", who if credentials["arn"] else "unknown: STS did not name the account")]
    if credentials["role_arn"]:
        shown.append(_entry("Role", f"{credentials['role_arn']} was assumed"))
    zones = ", ".join(region["zones"]) or "its zones are unknown"
    shown.append(_entry("Region", f"{region['name']}: {zones}"))
    for each in report["endpoints"]:
        answer = f"FAILS: {each['problem']}" if each["problem"] else "answers"
        shown.append(_entry(f"Endpoint {each['service']}", f"{each['url']} {answer}"))
    shown += ["", "Permissions (* is needed)"]
    for each in report["features"]:
        shown.append(_entry(f"{'*' if each['is_needed'] else ' '} {each['name']}", _state(each)))
        if each["missing"]:
            shown.append(f"      missing: {', '.join(each['missing'])}")
        for key in ("denied", "no_verdict", "not_checkable"):
            reasons: dict[str, list[str]] = defaultdict(list)
            for action, why in each[key].items():
                reasons[why].append(action)
            head = key.replace("_", " ")
            shown += [f"      {head}: {', '.join(actions)}: {why}" for why, actions in reasons.items()]
    return [*shown, "", _summary(report)]


def _entry(name: str, text: str) -> str:
    return f"{name:<{_WIDTH}}{text}"


def _state(each: Json) -> str:
    if each["missing"]:
        return "MISSING"
    if each["no_verdict"]:
        return "NO VERDICT"
    if each["not_checkable"]:
        return "ok, as far as it can be checked" if each["allowed"] else "not checkable"
    return "ok"


def _summary(report: Json) -> str:
    needed = [each for each in report["features"] if each["is_needed"]]
    failing = [each["service"] for each in report["endpoints"] if each["is_needed"] and each["problem"]]
    missing, no_verdict = (
        sorted({action for each in needed for action in each[key]}) for key in ("missing", "no_verdict")
    )
    wrong = {"missing": missing, "no verdict": no_verdict, "endpoints that fail": failing}
    parts = [f"{what}: {', '.join(which)}" for what, which in wrong.items() if which]
    if report["unverified"]:
        count = len({action for each in needed for action in FEATURES[each["name"]].actions})
        parts.append(f"not verified: {report['unverified']} of the {count} needed actions")
    verdict = "Ready" if report["is_ready"] else "NOT READY"
    names = ", ".join(each["name"] for each in needed)
    return f"{verdict} for {names}: {'; '.join(parts) or 'nothing is missing'}"


def probes(region: str, zone: str, caller: str) -> dict[str, Probe]:
    """A probe for each action that has one.

    Args:
        region: The configured region.
        zone: One of its availability zones.
        caller: The ARN of the keys' user or role. The ARNs of target groups need its partition and
            account, since another account's would be refused in any case; without these, target groups
            have no probe.

    Returns:
        The probes by the action's name in IAM, "ec2:RunInstances".
    """
    words = {"region": region, "zone": zone}
    if (match := _CALLER_ARN.match(caller)) is not None:
        words |= {"partition": match[1], "account": match[2]}
    return {
        action: _probe(action, _fill(row.probe, words))
        for action, row in ACTIONS.items()
        if action not in NOT_CHECKABLE
        and action not in FIRST_CALLS
        and ("account" in words or "{account}" not in str(row.probe))
    }


def _probe(action: str, parameters: Mapping[str, Any]) -> Probe:
    prefix, _, operation = action.partition(":")
    service, *others = SDK_SERVICES[prefix]
    if others and "Target" in operation:
        (service,) = others
    if operation == "PutSnapshotBlock":
        block = bytes(BLOCK_SIZE)
        digest = {"Checksum": b64encode(sha256(block).digest()).decode(), "ChecksumAlgorithm": "SHA256"}
        parameters = {**parameters, "BlockData": block, "DataLength": len(block), **digest}
    return Probe(service, operation, parameters, _PERMITTED.get(service, DRY_RUN_PASSED))


def _fill(value: Any, words: Mapping[str, str]) -> Any:  # noqa: ANN401 - parameters of a call
    if isinstance(value, Mapping):
        return {key: _fill(each, words) for key, each in value.items()}
    return value.format_map(words) if isinstance(value, str) else value


class _Examination:
    """Makes the calls one by one; a service that does not answer is not called again."""

    def __init__(self, config: AwsConfig) -> None:
        self._config = config
        self._clients = CommandClients(config.replace(max_retries=RETRIES), command.ToldStatistics())
        self._problems: dict[str, str] = {}
        self._asker = Asker(config)

    def results(self) -> Results:
        """Call AWS once for each action that can be checked; nothing is created or changed.

        Raises:
            CloudError: There are no keys, AWS does not accept them, the role can't be assumed, or EC2 fails
                to list the zones for a reason other than a missing permission.
        """
        config = self._config
        owner = self._asker.attempt("sts", self._owner)
        self._judge("sts", owner)
        account, caller = ("", "") if isinstance(owner, NoAnswer) else owner
        zones, zones_verdict = self._zones()
        untold = dict(NOT_CHECKABLE)
        if not config.role_arn:
            untold["sts:AssumeRole"] = "no aws.role_arn is set"
        if not config.enable_describe_instance_types:
            untold["ec2:DescribeInstanceTypes"] = "not needed: aws.enable_describe_instance_types is false"
        known = {
            "ec2:DescribeAvailabilityZones": zones_verdict,
            "sts:AssumeRole": _ALLOWED,  # otherwise the first call would have failed
            **{action: Verdict("not checkable", why) for action, why in untold.items()},
        }
        found = probes(config.region, zones[0] if zones else f"{config.region}a", caller)
        actions = sorted({action for feature in FEATURES.values() for action in feature.actions})
        verdicts = {action: known.get(action) or self._verdict(found.get(action)) for action in actions}
        services = [service for names in SDK_SERVICES.values() for service in names]
        endpoints = {service: self._client(service).meta.endpoint_url for service in services}
        return Results(account, caller, config.region, tuple(zones), endpoints, self._problems, verdicts)

    def _zones(self) -> tuple[list[str], Verdict]:
        """The zones. This call is not a dry run, because its answer is needed."""
        answer = self._asker.attempt("ec2", self._available_zones)
        verdict = self._judge("ec2", answer)
        if isinstance(answer, NoAnswer):
            if verdict.state != "missing" and "ec2" not in self._problems:
                region = self._config.region
                raise CloudError(f"EC2 does not list the zones of region '{region}': {explain(answer.error)}")
            return [], verdict
        return answer, verdict

    def _owner(self) -> tuple[str, str]:
        owner = self._clients.sts.get_caller_identity()
        return owner["Account"], owner["Arn"]

    def _available_zones(self) -> list[str]:
        zones = self._clients.ec2.describe_availability_zones()["AvailabilityZones"]
        return sorted(zone["ZoneName"] for zone in zones if zone["State"] == "available")

    def _verdict(self, probe: Probe | None) -> Verdict:
        if probe is None:
            return Verdict("not checkable", "STS does not name the account")
        if probe.service in self._problems:
            return _FAILS
        answer = self._asker.attempt(probe.service, lambda: self._call(probe))
        return self._judge(probe.service, answer, probe.permitted)

    def _client(self, service: str) -> Any:  # noqa: ANN401 - one of several types
        return getattr(self._clients, service.replace("-", "_"))

    def _call(self, probe: Probe) -> Any:  # noqa: ANN401 - each operation has its own answer
        client = self._client(probe.service)
        members = client.meta.service_model.operation_model(probe.operation).input_shape.members
        dry_run = {"DryRun": True} if "DryRun" in members else {}
        return getattr(client, xform_name(probe.operation))(**probe.parameters, **dry_run)

    def _judge(self, service: str, answer: object, permitted: Codes = DRY_RUN_PASSED) -> Verdict:
        """The verdict for what a call returned."""
        if not isinstance(answer, NoAnswer):
            return _ALLOWED
        error, problem = answer.error, answer.problem
        if not problem:
            if not isinstance(error, ClientError):
                return Verdict("no verdict", errors.describe_error(error))
            if service == "ec2" or not errors.KEYS_REFUSED(error):
                return verdict_of(error, permitted)
            problem = other_keys(service, error)
        self._problems[service] = problem
        return _FAILS


def verdict_of(error: ClientError, permitted: Codes) -> Verdict:
    """The verdict for an error.

    EC2 does not promise to check the permission before it looks up an id, so its "not found" proves
    nothing.

    Args:
        error: AWS's error.
        permitted: The codes that the service answers only after it has checked the permission.
    """
    code = errors.code_of(error)
    if permitted(error):
        return _ALLOWED
    if errors.UNAUTHORIZED(error):
        remedy = errors.policy_remedy(error)
        return Verdict("missing", "" if errors.OWN_POLICY in remedy else remedy)
    if code.endswith(("NotFound", "Malformed")) or (errors.VOLUME_MISSING | errors.IMAGE_MISSING)(error):
        return Verdict("not checkable", f"answered with {code}, which proves nothing")
    return Verdict("no verdict", f"answered with {code}: {errors.message_of(error)}")
