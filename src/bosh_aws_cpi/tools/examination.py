"""preflight's calls to AWS: they show the keys' owner, the services that answer and the permitted actions."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from botocore import xform_name
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws.sdk.command_clients import CommandClients
from bosh_aws_cpi.aws.sdk.error_codes import (
    IMAGE_MISSING,
    INSTANCE_MISSING,
    NIC_MISSING,
    SNAPSHOT_MISSING,
    UNAUTHORIZED,
    VOLUME_MISSING,
)
from bosh_aws_cpi.aws.sdk.errors import code_of, described
from bosh_aws_cpi.aws.sdk.permissions import FEATURES
from bosh_aws_cpi.call_statistics import CallStatistics
from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.asking import RETRIES, Asker, NoAnswer, of_aws, other_keys, speaks_of_keys
from bosh_aws_cpi.tools.probes import NOT_CHECKABLE, SERVICES, Probe, probes

if TYPE_CHECKING:
    from mypy_boto3_ec2.type_defs import AvailabilityZoneTypeDef

Result = TypeVar("Result", bound=Mapping[str, Any])
State = Literal["allowed", "missing", "not checkable", "no verdict"]
"""Not checkable: no call can show it. No verdict: a call could, but AWS gave an unexpected answer."""

_DRY_RUN: Final = "DryRunOperation"
_ABOUT_AN_ID: Final = INSTANCE_MISSING | VOLUME_MISSING | IMAGE_MISSING | SNAPSHOT_MISSING | NIC_MISSING
_NO_SUCH_ID: Final = ("NotFound", "Malformed")
"""Suffixes of the other codes for an id that does not exist."""
_DESCRIBE_TYPES: Final = "ec2:DescribeInstanceTypes"


class Verdict(Record):
    """Whether an action is allowed; if not, with the reason."""

    state: State
    why: str = ""


_ALLOWED: Final = Verdict("allowed")
_FAILS: Final = Verdict("not checkable", "its endpoint fails")


class Examined(Record):
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


def examine(config: AwsConfig) -> Examined:
    """Call AWS once for each action that can be checked; nothing is created or changed.

    Args:
        config: The ``aws`` section.

    Raises:
        CloudError: There are no keys, AWS does not accept them, the role can't be assumed, or EC2 fails to
            list the zones for a reason other than a missing permission.
    """
    return _Examination(config).results()


class _Examination:
    """The calls, one after the other; a service that fails to answer once is not called again."""

    def __init__(self, config: AwsConfig) -> None:
        self._config = config
        self._clients = CommandClients(config.replaced(max_retries=RETRIES), CallStatistics())
        self._problems: dict[str, str] = {}
        self._asker = Asker(config)

    def results(self) -> Examined:
        region = self._config.region
        account, caller = self._identity()
        zones, zones_verdict = self._zones()
        known = {"ec2:DescribeAvailabilityZones": zones_verdict, "sts:AssumeRole": self._role()}
        found = probes(region, zones[0] if zones else f"{region}a", caller)
        actions = sorted({action for feature in FEATURES.values() for action in feature.actions})
        verdicts = {
            action: known.get(action) or self._verdict(action, found.get(action)) for action in actions
        }
        services = [service for names in SERVICES.values() for service in names]
        endpoints = {service: self._client(service).meta.endpoint_url for service in services}
        return Examined(account, caller, region, tuple(zones), endpoints, self._problems, verdicts)

    def _identity(self) -> tuple[str, str]:
        """Account and ARN; empty when STS does not answer."""
        answer, _ = self._ask("sts", self._clients.sts.get_caller_identity)
        return (answer["Account"], answer["Arn"]) if answer else ("", "")

    def _zones(self) -> tuple[list[str], Verdict]:
        """The zones. This call is not a dry run, because its answer is needed."""
        answer, verdict = self._ask("ec2", self._clients.ec2.describe_availability_zones)
        if verdict.state not in {"allowed", "missing"} and "ec2" not in self._problems:
            raise CloudError(f"EC2 does not list the zones of region '{self._config.region}': {verdict.why}")
        found: list[AvailabilityZoneTypeDef] = answer["AvailabilityZones"] if answer else []
        return sorted(zone["ZoneName"] for zone in found if zone["State"] == "available"), verdict

    def _role(self) -> Verdict:
        """Allowed if a role is set: otherwise the first call would have failed."""
        return _ALLOWED if self._config.role_arn else Verdict("not checkable", "no aws.role_arn is set")

    def _verdict(self, action: str, probe: Probe | None) -> Verdict:
        if action == _DESCRIBE_TYPES and not self._config.enable_describe_instance_types:
            return Verdict("not checkable", "not needed: aws.enable_describe_instance_types is false")
        if action in NOT_CHECKABLE:
            return Verdict("not checkable", NOT_CHECKABLE[action])
        if probe is None:
            return Verdict("not checkable", "STS does not name the account")
        if probe.service in self._problems:
            return _FAILS
        _, verdict = self._ask(probe.service, lambda: self._call(probe), probe.permitted)
        return verdict

    def _client(self, service: str) -> Any:  # noqa: ANN401 - one of several types
        return getattr(self._clients, service.replace("-", "_"))

    def _call(self, probe: Probe) -> Any:  # noqa: ANN401 - each operation has its own answer
        client = self._client(probe.service)
        members = client.meta.service_model.operation_model(probe.operation).input_shape.members
        dry_run = {"DryRun": True} if "DryRun" in members else {}
        return getattr(client, xform_name(probe.operation))(**probe.parameters, **dry_run)

    def _ask(
        self, service: str, call: Callable[[], Result], permitted: frozenset[str] = frozenset()
    ) -> tuple[Result | None, Verdict]:
        """Call once; return AWS's answer, unless it is an error, and the verdict."""
        answer = self._asker.attempt(service, lambda: of_aws(call()))
        if not isinstance(answer, NoAnswer):
            return answer, _ALLOWED
        error, problem = answer.error, answer.problem
        if not problem:
            if not isinstance(error, ClientError):
                return None, Verdict("no verdict", described(error))
            if service == "ec2" or not speaks_of_keys(error):
                return None, judged(error, permitted)
            problem = other_keys(service, error)
        self._problems[service] = problem
        return None, _FAILS


def judged(error: ClientError, permitted: frozenset[str]) -> Verdict:
    """The verdict for an error.

    EC2 does not promise to check the permission before it looks up an id, so its "not found" proves
    nothing.

    Args:
        error: AWS's error.
        permitted: The codes that the service answers only after it has checked the permission.
    """
    code = code_of(error)
    if code == _DRY_RUN or code in permitted:
        return _ALLOWED
    if code in UNAUTHORIZED:
        return Verdict("missing", code)
    if code in _ABOUT_AN_ID or code.endswith(_NO_SUCH_ID):
        return Verdict("not checkable", f"answered with {code}, which proves nothing")
    return Verdict("no verdict", f"answered with {code}")
