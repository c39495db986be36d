"""Asking AWS what preflight reports: whose keys they are, which services answer, what is permitted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from botocore import xform_name
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws.sdk.clients import Clients
from bosh_aws_cpi.aws.sdk.errors import (
    IMAGE_MISSING,
    INSTANCE_MISSING,
    NIC_MISSING,
    SNAPSHOT_MISSING,
    UNAUTHORIZED,
    VOLUME_MISSING,
    code_of,
)
from bosh_aws_cpi.aws.sdk.permissions import FEATURES
from bosh_aws_cpi.call_statistics import CallStatistics
from bosh_aws_cpi.config.cpi_config import AwsConfig
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.tools.probes import NOT_CHECKABLE, SERVICES, Probe, probes
from bosh_aws_cpi.tools.unreachable import (
    OUT_OF_REACH,
    is_answer_of_aws,
    is_error_of_aws,
    other_keys,
    reason,
    refused_keys,
    refused_role,
    speaks_of_keys,
    strange,
)

if TYPE_CHECKING:
    from mypy_boto3_ec2.type_defs import AvailabilityZoneTypeDef

Result = TypeVar("Result", bound=Mapping[str, Any])
State = Literal["allowed", "missing", "not checkable", "no verdict"]
"""The third can't be known; the last should be, but AWS has answered with something else."""

_REPETITIONS: Final = 1
"""Of the SDK: enough for throttling, and what is out of reach is not waited for again and again."""
_DRY_RUN: Final = "DryRunOperation"
_ABOUT_AN_ID: Final = INSTANCE_MISSING | VOLUME_MISSING | IMAGE_MISSING | SNAPSHOT_MISSING | NIC_MISSING
_NO_SUCH_ID: Final = ("NotFound", "Malformed")
"""How all other codes end that are about an id which can't exist."""
_DESCRIBE_TYPES: Final = "ec2:DescribeInstanceTypes"


@dataclass(frozen=True)
class Verdict:
    """What is known about one action; why, unless it is allowed."""

    state: State
    why: str = ""


_ALLOWED: Final = Verdict("allowed")
_FAILS: Final = Verdict("not checkable", "its endpoint fails")


@dataclass(frozen=True)
class Findings:
    """All that AWS was asked.

    Attributes:
        account: The account's id; empty when it is not known.
        caller: The ARN of whose keys they are; empty when it is not known.
        region: The configured one.
        zones: Its availability zones that are available.
        endpoints: Where each service is asked, by the SDK's name of it.
        problems: What is wrong with a service's endpoint; nothing for those that answer.
        verdicts: By the action's name in IAM.
    """

    account: str
    caller: str
    region: str
    zones: tuple[str, ...]
    endpoints: Mapping[str, str]
    problems: Mapping[str, str]
    verdicts: Mapping[str, Verdict]


def examine(config: AwsConfig) -> Findings:
    """Ask AWS, one call for each action that can be asked about; nothing is made or changed.

    Args:
        config: The ``aws`` section.

    Raises:
        CloudError: There are no keys, AWS does not take them, the role can't be assumed, or EC2 does not
            tell the zones for another reason than a missing permission.
    """
    return _Examination(config).findings()


class _Examination:
    """The calls, one after the other; a service that does not answer once is not asked again."""

    def __init__(self, config: AwsConfig) -> None:
        self._config = config
        self._clients = Clients(config._replace(max_retries=_REPETITIONS), CallStatistics())
        self._problems: dict[str, str] = {}
        self._are_keys_taken = False

    def findings(self) -> Findings:
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
        return Findings(account, caller, region, tuple(zones), endpoints, self._problems, verdicts)

    def _identity(self) -> tuple[str, str]:
        """Account and ARN; empty when STS does not say. Without a role nothing else needs STS."""
        answer, _ = self._ask("sts", self._clients.sts.get_caller_identity)
        if self._config.role_arn and (problem := self._problems.get("sts")):
            raise CloudError(f"STS, which aws.role_arn '{self._config.role_arn}' needs, fails: {problem}")
        return (answer["Account"], answer["Arn"]) if answer else ("", "")

    def _zones(self) -> tuple[list[str], Verdict]:
        """This call is not a dry run: its answer is of use."""
        answer, verdict = self._ask("ec2", self._clients.ec2.describe_availability_zones)
        if verdict.state not in {"allowed", "missing"} and "ec2" not in self._problems:
            raise CloudError(f"EC2 does not tell the zones of region '{self._config.region}': {verdict.why}")
        found: list[AvailabilityZoneTypeDef] = answer["AvailabilityZones"] if answer else []
        return sorted(zone["ZoneName"] for zone in found if zone["State"] == "available"), verdict

    def _role(self) -> Verdict:
        """The first call would have failed without the permission."""
        return _ALLOWED if self._config.role_arn else Verdict("not checkable", "no aws.role_arn is set")

    def _verdict(self, action: str, probe: Probe | None) -> Verdict:
        if action == _DESCRIBE_TYPES and not self._config.enable_describe_instance_types:
            return Verdict("not checkable", "not needed: aws.enable_describe_instance_types is false")
        if action in NOT_CHECKABLE:
            return Verdict("not checkable", NOT_CHECKABLE[action])
        if probe is None:
            return Verdict("not checkable", "STS does not say which account it is")
        if probe.service in self._problems:
            return _FAILS
        _, verdict = self._ask(probe.service, lambda: self._call(probe), probe.permitted)
        return verdict

    def _client(self, service: str) -> Any:  # noqa: ANN401 - one of several types
        return getattr(self._clients, service)

    def _call(self, probe: Probe) -> Any:  # noqa: ANN401 - each operation answers its own
        client = self._client(probe.service)
        members = client.meta.service_model.operation_model(probe.operation).input_shape.members
        dry_run = {"DryRun": True} if "DryRun" in members else {}
        return getattr(client, xform_name(probe.operation))(**probe.parameters, **dry_run)

    def _ask(
        self, service: str, call: Callable[[], Result], permitted: frozenset[str] = frozenset()
    ) -> tuple[Result | None, Verdict]:
        """Ask once; what AWS answered, if it is no error, and what follows from it."""
        try:
            answer = call()
        except ClientError as error:
            return None, self._refused(service, error, permitted)
        except OUT_OF_REACH as error:
            return None, self._failed(service, reason(service, error))
        if not is_answer_of_aws(answer):
            return None, self._failed(service, strange(service))
        self._are_keys_taken = True
        return answer, _ALLOWED

    def _refused(self, service: str, error: ClientError, permitted: frozenset[str]) -> Verdict:
        """What follows from an error: once the keys were taken, no call's answer speaks against them."""
        if not is_error_of_aws(error):
            return self._failed(service, strange(service))
        if role := refused_role(self._config, error):
            raise role from error
        if speaks_of_keys(error):
            if not self._are_keys_taken:
                raise refused_keys(self._config, error) from error
            if service != "ec2":
                return self._failed(service, other_keys(service, error))
        else:
            self._are_keys_taken = True
        return judged(error, permitted)

    def _failed(self, service: str, problem: str) -> Verdict:
        self._problems[service] = problem
        return _FAILS


def judged(error: ClientError, permitted: frozenset[str]) -> Verdict:
    """What an error says about the permission.

    EC2 does not promise to look at the permission before it looks for what an id names, so its "not found"
    settles nothing.

    Args:
        error: What AWS answered.
        permitted: The codes that this service only answers to who is permitted.
    """
    code = code_of(error)
    if code == _DRY_RUN or code in permitted:
        return _ALLOWED
    if code in UNAUTHORIZED:
        return Verdict("missing", code)
    if code in _ABOUT_AN_ID or code.endswith(_NO_SUCH_ID):
        return Verdict("not checkable", f"answered with {code}, neither yes nor no")
    return Verdict("no verdict", f"answered with {code}")
