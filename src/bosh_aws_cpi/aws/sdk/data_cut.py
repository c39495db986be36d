"""The SDK's data, cut to what the CPI reads of it. Pure, and with the standard library alone.

Each client is made from a service's model, a JSON document most of which is documentation. From each
operation in it botocore makes a method: 800 for EC2, of which the CPI calls 40.
"""

from typing import Any, Final

from bosh_aws_cpi.aws.sdk.permissions import operations

SERVICES: Final = {
    "ebs": "ebs",
    "ec2": "ec2",
    "elb": "elasticloadbalancing",
    "elbv2": "elasticloadbalancing",
    "sts": "sts",
}
"""The AWS services that the CPI calls, by botocore's name, with the name that their endpoints go by."""

FORMAT: Final = 1
"""To be changed with what `cut` leaves: copies of another format are not read."""
PARTS: Final = {"service-2": {"metadata", "operations", "shapes"}, "endpoints": {"partitions"}}
"""What a document that can be cut consists of, among other parts."""


def cut(kind: str, document: Any) -> Any:  # noqa: ANN401 - what JSON holds
    """Leave of a document what the CPI reads.

    Args:
        kind: What botocore calls it: one of `PARTS`, or another that is left as it is.
        document: Its content, which is not changed.
    """
    if kind == "service-2":
        return {**document, **_called_only(document)}
    if kind == "endpoints":
        return {**document, "partitions": [_own_services_only(each) for each in document["partitions"]]}
    return document


def _called_only(document: dict[str, Any]) -> dict[str, Any]:
    """The operations of a service's model that are called, and the shapes that they need."""
    called = operations()
    kept = {name: each for name, each in document["operations"].items() if name in called}
    shapes: dict[str, Any] = {}
    pending = references(kept)
    while pending:
        name = pending.pop()
        shapes[name] = document["shapes"][name]
        pending |= references(shapes[name]) - shapes.keys()
    return {"operations": without_documentation(kept), "shapes": without_documentation(shapes)}


def _own_services_only(partition: dict[str, Any]) -> dict[str, Any]:
    offered = partition["services"]
    return {**partition, "services": {name: offered[name] for name in offered if name in SERVICES.values()}}


def references(value: Any) -> set[str]:  # noqa: ANN401 - what JSON holds
    """Return the names of the shapes that a part of a model refers to; a member may be called shape."""
    if isinstance(value, list):
        return {name for item in value for name in references(item)}
    if not isinstance(value, dict):
        return set()
    named = {item for key, item in value.items() if key == "shape" and isinstance(item, str)}
    return named.union(*map(references, value.values()))


def without_documentation(value: Any) -> Any:  # noqa: ANN401 - what JSON holds
    """Return the value without its documentation; a member of that name is no text, and stays."""
    if isinstance(value, list):
        return [without_documentation(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: without_documentation(item)
        for key, item in value.items()
        if key != "documentation" or not isinstance(item, str)
    }
