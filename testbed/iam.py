"""IAM's judgement of a call by docs/iam-policy-restricted.json.

A simplification (IAM user guide, "Policy evaluation logic"): statements that allow, with the condition
operators StringEquals and Null. Each id in a call's parameters is judged as a resource, and so is what the
call creates, and its tags; the exceptions below are those of the Service Authorization Reference. What AWS
does on the caller's behalf, with KMS keys and service-linked roles, is not judged.
"""

import functools
import json
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from moto.ec2.models import ec2_backends
from moto.iam.models import iam_backends

from bosh_aws_cpi.aws.sdk.permissions import NEEDS_NO_PERMISSION
from bosh_aws_cpi.plan.tag_plan import DIRECTOR_TAG
from testbed.protocols import Call
from testbed.tag_policy import created_tags

ACCOUNT = "123456789012"
Context = dict[str, str]
Document = Mapping[str, Any]

RESTRICTED = Path(__file__).parents[1] / "docs/iam-policy-restricted.json"

_PREFIXES = {
    "acl": "network-acl",
    "ami": "image",
    "cr": "capacity-reservation",
    "eipalloc": "elastic-ip",
    "eni": "network-interface",
    "i": "instance",
    "lt": "launch-template",
    "pg": "placement-group",
    "rtb": "route-table",
    "sg": "security-group",
    "sir": "spot-instances-request",
    "snap": "snapshot",
    "subnet": "subnet",
    "vol": "volume",
    "vpc": "vpc",
}
_ID = re.compile(rf"({'|'.join(_PREFIXES)})-\w*")
_NAME_OF_ID = re.compile(r"[Ii]d(\.\d+)?$")
_WITHOUT_ACCOUNT = {"image", "snapshot"}
_READS = re.compile("Describe|Get|List")
_ONLY = {
    "CreateRoute": {"route-table"},
    "DeregisterInstancesFromLoadBalancer": set[str](),
    "DeregisterTargets": set[str](),
    "RegisterInstancesWithLoadBalancer": set[str](),
    "RegisterTargets": set[str](),
    "ReplaceRoute": {"route-table"},
    "DescribeInstanceAttribute": {"instance"},
    "DescribeVpcAttribute": {"vpc"},
    "GetConsoleOutput": {"instance"},
}
"""The types of existing resources that are judged, where a call names others as well; reads have none."""
_NAMES = {
    "CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationResourceGroupArn": "{}",
    "GroupName": "arn:aws:ec2:{region}:{account}:placement-group/{}",
    "KeyName": "arn:aws:ec2:{region}:{account}:key-pair/{}",
    "KeyId": "arn:aws:kms:{region}:{account}:key/{}",
    "LoadBalancerName": "arn:aws:elasticloadbalancing:{region}:{account}:loadbalancer/{}",
    "Placement.GroupName": "arn:aws:ec2:{region}:{account}:placement-group/{}",
    "RoleArn": "{}",
    "TargetGroupArn": "{}",
}
"""The ARN of what a parameter names."""


@functools.cache
def _restricted(names: frozenset[tuple[str, str]]) -> Document:
    text = RESTRICTED.read_text(encoding="utf-8")
    for placeholder, value in names:
        text = text.replace(placeholder, value)
    document: Document = json.loads(text)
    return document


def denial(names: Mapping[str, str], call: Call, region: str) -> str:
    """What the restricted policy does not allow of a call, as IAM would say it; empty if it allows all."""
    return _denial(names, call, _authorizations(call, region))


def denial_to_owner(call: Call, region: str) -> str:
    """What the restricted policy does not allow of a call whose existing resources are all the Director's.

    The Director's UUID is whatever the call writes; a tag that it does not write is missing. A dry run, as of
    `cpi preflight`, has no tags, and is not judged.
    """
    if "DryRun" in call.parameters:
        return ""
    authorizations = (
        (action, resource, {key: "*" if key.endswith(f"/{DIRECTOR_TAG}") else each[key] for key in each})
        for action, resource, each in _authorizations(call, region, {DIRECTOR_TAG: "*"})
    )
    names = dict.fromkeys(("ACCOUNT_ID", "CPI_ROLE", "DIRECTOR_UUID", "KEY_ID", "VM_ROLE"), "*")
    return _denial({"REGION": region, **names}, call, authorizations)


def _denial(names: Mapping[str, str], call: Call, authorizations: Iterator[tuple[str, str, Context]]) -> str:
    policy = _restricted(frozenset(names.items()))
    is_free = f"{call.service}:{call.action}" in NEEDS_NO_PERMISSION
    for action, resource, context in () if is_free else authorizations:
        if not any(_allows(each, action, resource, context) for each in policy["Statement"]):
            return f"You are not authorized to perform: {action} on resource: {resource}, {sorted(context)}"
    return ""


def _allows(statement: Document, action: str, resource: str, context: Context) -> bool:
    if statement["Effect"] != "Allow":
        message = "only statements that allow are simulated"
        raise NotImplementedError(message)
    actions = _listed(statement["Action"])
    resources = _listed(statement.get("Resource") or statement["NotResource"])
    return (
        any(fnmatchcase(action, each) for each in actions)
        and any(fnmatchcase(resource, each) for each in resources) is ("Resource" in statement)
        and all(_OPERATORS[name](keys, context) for name, keys in statement.get("Condition", {}).items())
    )


def _equal(keys: Mapping[str, Any], context: Context) -> bool:
    return all(context.get(key) in _listed(wanted) for key, wanted in keys.items())


def _null(keys: Mapping[str, str], context: Context) -> bool:
    return all((key not in context) is (wanted == "true") for key, wanted in keys.items())


_OPERATORS = {"StringEquals": _equal, "Null": _null}


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _authorizations(
    call: Call, region: str, own: Mapping[str, str] | None = None
) -> Iterator[tuple[str, str, Context]]:
    """What IAM judges, one after the other: an action, an ARN and the context of the request.

    Args:
        call: The call.
        region: Where it is made.
        own: The tags of all resources that exist; those that they have, without it.
    """
    action = f"{call.service}:{call.action}"
    in_region = {"aws:RequestedRegion": region}
    found = [*_existing(call, region)]
    created = created_tags(call.action, call.parameters)
    for kind, tags in created.items():
        arn = _arn(kind, "*", region)
        yield action, arn, {**in_region, **_tagged("aws:RequestTag", tags)}
        if tags:
            context = {**in_region, **_tagged("aws:RequestTag", tags)}
            origin = {} if call.service == "ebs" else {"ec2:CreateAction": call.action}  # see the policy
            yield "ec2:CreateTags", arn, {**context, **origin}
    for arn, theirs in found:
        yield action, arn, {**in_region, **_tagged("aws:ResourceTag", own or theirs)}
    if not created and not found:
        yield action, "*", {**in_region, **_tagged("aws:ResourceTag", own or {})}
    if call.action == "AssumeRole" and "Tags.member.1.Key" in call.parameters:
        yield "sts:TagSession", call.parameters["RoleArn"], in_region
    if profile := call.parameters.get("IamInstanceProfile.Name"):
        for each in iam_backends[ACCOUNT]["aws"].instance_profiles.values():
            for role in each.roles if each.name == profile else ():
                yield "iam:PassRole", role.arn, {**in_region, "iam:PassedToService": "ec2.amazonaws.com"}


def _tagged(key: str, tags: Mapping[str, str]) -> Context:
    return {f"{key}/{name}": value for name, value in tags.items()}


def _existing(call: Call, region: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The ARNs and tags of the resources that exist; ids without a resource have no tags."""
    types = _ONLY.get(call.action, set[str]() if _READS.match(call.action) else {*_PREFIXES.values()})
    known: Mapping[str, Mapping[str, str]] = ec2_backends[ACCOUNT][region].tags
    for each in dict.fromkeys(_ids(call)):
        kind = _PREFIXES[each.partition("-")[0]]
        if kind in types:
            yield _arn(kind, each, region), known.get(each, {})
    is_named = call.action == "DescribeKey" or not _READS.match(call.action)
    if is_named and call.action != "CreatePlacementGroup":
        for name in _NAMES.keys() & call.parameters.keys():
            value = call.parameters[name]
            form = "{}" if value.startswith("arn:") else _NAMES[name]
            yield form.format(value, region=region, account=ACCOUNT), _tags_of_group(value, region)


def _ids(call: Call) -> Iterator[str]:
    """The ids in a call's parameters, and of the subnet whose network ACL is replaced."""
    for name, value in call.parameters.items():
        if _NAME_OF_ID.search(name) and _ID.fullmatch(value):
            yield value
    association = call.parameters.get("AssociationId", "")
    for backend in ec2_backends[ACCOUNT].values():
        for acl in backend.network_acls.values():
            associations = vars(acl)["_associations"]
            if association in associations:
                yield associations[association].subnet_id


def _tags_of_group(name: str, region: str) -> Mapping[str, str]:
    """The tags of a placement group, which moto keeps by its id."""
    backend: Any = ec2_backends[ACCOUNT][region]
    group = vars(backend).get("testbed_placement_groups", {}).get(name)
    tags: Mapping[str, str] = backend.tags.get(group["GroupId"], {}) if group else {}
    return tags


def _arn(kind: str, identifier: str, region: str) -> str:
    account = "" if kind in _WITHOUT_ACCOUNT else ACCOUNT
    return f"arn:aws:ec2:{region}:{account}:{kind}/{identifier}"
