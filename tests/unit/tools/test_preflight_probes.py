"""What preflight asks about each action."""

import re
from functools import cache
from typing import Any

import botocore.session
import pytest
from botocore.validate import validate_parameters

from bosh_aws_cpi.aws.sdk.permissions import ACTIONS
from bosh_aws_cpi.tools.preflight import FIRST_CALLS, NOT_CHECKABLE, SDK_SERVICES, probes

CALLER = "arn:aws-cn:sts::123456789012:assumed-role/cpi/session"
PROBES = probes("cn-north-1", "cn-north-1b", CALLER)
WITHOUT_DRY_RUN = {
    "ec2:AssignIpv6Addresses",
    "ec2:AssignPrivateIpAddresses",
    "ec2:DescribeHosts",
    "ec2:ModifySubnetAttribute",
}
ID = re.compile(r"[a-z]+-0{17}")
RESOURCES = re.compile(r"\b(?:i|vol|snap|ami|eni|subnet|rtb|eipalloc|vpc|acl|aclassoc)-[0-9a-f]+")


@cache
def model_of(service: str) -> Any:
    """Read a service's API model, which takes long."""
    return botocore.session.Session().get_service_model(service)


def test_every_action_has_a_probe_or_a_reason() -> None:
    """Each action is in one group: it has a probe, or a reason, or the first calls check it."""
    assert sorted([*PROBES, *NOT_CHECKABLE, *FIRST_CALLS]) == sorted(ACTIONS)


@pytest.mark.parametrize("action", sorted(PROBES))
def test_probe(action: str) -> None:
    """A probe is a complete call of its action, and names nothing that could exist."""
    probe = PROBES[action]
    operation = model_of(probe.service).operation_model(probe.operation)
    prefix, _, name = action.partition(":")
    assert (name, operation.service_model.signing_name) == (probe.operation, prefix)
    assert probe.service in SDK_SERVICES[prefix]
    validate_parameters(dict(probe.parameters), operation.input_shape)
    assert [found for found in RESOURCES.findall(str(probe.parameters)) if not ID.fullmatch(found)] == []
    has_dry_run = "DryRun" in operation.input_shape.members
    assert has_dry_run is (prefix == "ec2" and action not in WITHOUT_DRY_RUN)


def test_a_probe_names_something() -> None:
    """The probe of a call that changes something has an id that can't exist."""
    changes = {
        action for action in PROBES if not action.partition(":")[2].startswith(("Describe", "Get", "List"))
    }
    harmful = {action for action in changes if "0" * 16 not in str(PROBES[action].parameters)}
    assert harmful == set(), "their rows in aws/sdk/permissions.py lack an id that can't exist, or a reason"


def test_target_groups() -> None:
    """A probe's target group is in the caller's account, in the configured region and its partition."""
    arn = PROBES["elasticloadbalancing:RegisterTargets"].parameters["TargetGroupArn"]
    where = "arn:aws-cn:elasticloadbalancing:cn-north-1:123456789012:targetgroup/"
    assert arn.startswith(where)


@pytest.mark.parametrize("caller", ["", "root", "arn:aws:iam"])
def test_without_account(caller: str) -> None:
    """If the caller's ARN has no account, no target group has a probe."""
    assert PROBES.keys() - probes("cn-north-1", "cn-north-1b", caller).keys() == {
        "elasticloadbalancing:DeregisterTargets",
        "elasticloadbalancing:DescribeTargetGroupAttributes",
        "elasticloadbalancing:DescribeTargetHealth",
        "elasticloadbalancing:RegisterTargets",
    }
