"""Cuts the SDK's data to the parts that the CPI reads. Pure; needs only the standard library.

botocore builds each client from a service's model, a JSON document that is mostly documentation, and adds
a method for each operation in it: 800 for EC2, of which the CPI calls 40. Every call of a method loads this
data, so what only operators' commands need is in a second, larger cut.
"""

from collections.abc import Collection
from typing import Any, Final

SERVICES: Final = {
    "ebs": "ebs",
    "ec2": "ec2",
    "elb": "elasticloadbalancing",
    "elbv2": "elasticloadbalancing",
    "sts": "sts",
}
"""The AWS services that the methods call: botocore's name, and the name in the list of endpoints."""
COMMAND_SERVICES: Final = {"iam": "iam", "kms": "kms", "service-quotas": "servicequotas"}
"""The services that only operators' commands call."""
FORMAT: Final = 4
"""Change it when the result of `cut` changes: copies in another format are not read."""


def cut(kind: str, document: Any, *, for_commands: bool = False) -> Any:  # noqa: ANN401 - any JSON value
    """Return a document with only the parts that the CPI reads.

    Args:
        kind: botocore's name for the document, "service-2" or "endpoints"; any other is returned unchanged.
        document: Its content, which is not modified.
        for_commands: Whether operators' commands read it, and not only the methods.
    """
    from bosh_aws_cpi.aws.sdk.permissions import operations  # noqa: PLC0415 - a copy needs no cut

    if kind == "service-2":
        return {**document, **_called_only(document, operations(for_commands=for_commands))}
    if kind == "endpoints":
        names = {*SERVICES.values(), *(COMMAND_SERVICES.values() if for_commands else ())}
        partitions = [
            {**each, "services": {name: own for name, own in each["services"].items() if name in names}}
            for each in document["partitions"]
        ]
        return {**document, "partitions": partitions}
    return document


def _called_only(document: dict[str, Any], called: Collection[str]) -> dict[str, Any]:
    """The operations of a service's model that are called, and the shapes that they need."""
    kept = {name: each for name, each in document["operations"].items() if name in called}
    shapes: dict[str, Any] = {}
    pending = references(kept)
    while pending:
        name = pending.pop()
        shapes[name] = document["shapes"][name]
        pending |= references(shapes[name]) - shapes.keys()
    return {"operations": without_documentation(kept), "shapes": without_documentation(shapes)}


def references(value: Any) -> set[str]:  # noqa: ANN401 - any JSON value
    """Return the names of the shapes that a part of a model refers to; a member may be named "shape"."""
    if isinstance(value, list):
        return {name for item in value for name in references(item)}
    if not isinstance(value, dict):
        return set()
    named = {item for key, item in value.items() if key == "shape" and isinstance(item, str)}
    return named.union(*map(references, value.values()))


def without_documentation(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value without its documentation; a member of that name is kept, because it is not a text."""
    if isinstance(value, list):
        return [without_documentation(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: without_documentation(item)
        for key, item in value.items()
        if key != "documentation" or not isinstance(item, str)
    }
