"""preflight's probes: per action one call that changes nothing, and the answers that prove the permission."""

import re
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

from bosh_aws_cpi.aws.ebs_direct import BLOCK_SIZE
from bosh_aws_cpi.aws.sdk.permissions import ACTIONS
from bosh_aws_cpi.records import EMPTY, Record

_ARN: Final = re.compile(r"arn:([\w-]+):[^:]*:[^:]*:(\d+):")
"""Partition and account."""
SERVICES: Final = {
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
    "elb": frozenset({"LoadBalancerNotFound", "InvalidInstance"}),
    "elbv2": frozenset({"TargetGroupNotFound", "InvalidTarget"}),
    "ebs": frozenset({"ResourceNotFoundException"}),
}
"""The error codes of services that look up what a call names only after they have checked the permission."""


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
    permitted: frozenset[str] = frozenset()


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
    if (said := _ARN.match(caller)) is not None:
        words |= {"partition": said[1], "account": said[2]}
    return {
        action: _probe(action, _filled(row.probe, words))
        for action, row in ACTIONS.items()
        if action not in NOT_CHECKABLE
        and action not in FIRST_CALLS
        and ("account" in words or "{account}" not in str(row.probe))
    }


def _probe(action: str, parameters: Mapping[str, Any]) -> Probe:
    prefix, _, operation = action.partition(":")
    service, *others = SERVICES[prefix]
    if others and "Target" in operation:
        (service,) = others
    more = _block() if operation == "PutSnapshotBlock" else {}
    return Probe(service, operation, {**parameters, **more}, _PERMITTED.get(service, frozenset()))


def _filled(value: Any, words: Mapping[str, str]) -> Any:  # noqa: ANN401 - parameters of a call
    if isinstance(value, Mapping):
        return {key: _filled(each, words) for key, each in value.items()}
    return value.format_map(words) if isinstance(value, str) else value


def _block() -> dict[str, Any]:
    block = bytes(BLOCK_SIZE)
    digest = {"Checksum": b64encode(sha256(block).digest()).decode(), "ChecksumAlgorithm": "SHA256"}
    return {"BlockData": block, "DataLength": len(block), **digest}
