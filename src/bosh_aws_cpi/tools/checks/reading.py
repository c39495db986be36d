"""Reads cloud properties with the models of the methods, and turns what is wrong with them into findings."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from pydantic import ValidationError

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.properties.types import Problem, Properties, Route, mistakes
from bosh_aws_cpi.tools.checks.bosh.levels import belonging, elsewhere
from bosh_aws_cpi.tools.checks.bosh.rules import QUOTED, rewritten
from bosh_aws_cpi.tools.checks.documents import Document, Node
from bosh_aws_cpi.tools.checks.words import FOREIGN
from bosh_aws_cpi.tools.findings import Finding, Place, Severity

Model = TypeVar("Model", bound=Properties)
At = Callable[..., Node]


def read(model: type[Model], values: Json, at: At) -> tuple[Model | None, list[Finding]]:
    """Read properties as the methods do; returns them unless one is wrong, and the findings.

    Args:
        model: What they are.
        values: Those that are known.
        at: Finds the place of a property.
    """
    try:
        properties = model.model_validate(values)
    except ValidationError as error:
        return None, [_mistake(at(*route), text) for route, text in mistakes(error)]
    return properties, [*_unknown(properties, at), *_doubtful(values, properties, at, ())]


def _mistake(node: Node, text: str) -> Finding:
    return Finding(Severity.ERROR, text, rewritten(node, text), node.place)


def read_known(model: type[Model], node: Node | None) -> Model | None:
    """What is known of a hash of properties; None if one is wrong, which `read` reports.

    Args:
        model: What they are.
        node: The hash; None if there is none, and so no property.
    """
    try:
        return model.model_validate(node.known() if node is not None else {})
    except ValidationError:
        return None


def _unknown(properties: Properties, at: At) -> Iterator[Finding]:
    for route, near in properties.unknown():
        node, key = at(*route), str(route[-1])
        foreign = FOREIGN.get(key, "") if len(route) == 1 else ""
        own = foreign if foreign.partition(".")[0] in type(properties).model_fields else near
        own = own if own and (own == foreign or "." in own) else None
        remedy = f"Did you mean {own}?" if own else elsewhere(node) or belonging(node)
        remedy = remedy or (f"Did you mean {near}?" if near else "Remove it")
        yield Finding(Severity.WARNING, f"'{key}' is unknown and ignored", remedy, node.place)


def _doubtful(values: Json, properties: Properties, at: At, route: Route) -> Iterator[Finding]:
    """Texts in place of booleans: any text counts as true."""
    for key, value in values.items():
        read_as = getattr(properties, key, None)
        if isinstance(read_as, bool) and isinstance(value, str):
            what = f"'{value}' is a string, and any string counts as true"
            remedy = QUOTED if value in {"true", "false"} else "Write true or false"
            yield Finding(Severity.WARNING, what, remedy, at(*route, key).place)
        elif isinstance(read_as, Properties) and isinstance(value, dict):
            yield from _doubtful(value, read_as, at, (*route, key))


def of_configuration(model: type[Properties], values: Json, path: str) -> Iterator[Finding]:
    """What `read` finds in properties of cpi.json.

    Args:
        model: What they are.
        values: The properties.
        path: Their path there.
    """
    for found in read(model, values, Document("", values).root.at)[1]:
        yield found.replaced(
            place=Place(f"{path}.{found.place.path.replace('/', '.')}" if found.place else path)
        )


def said(check: Callable[[], object]) -> str | None:
    """The message of a check that fails; None when it passes."""
    try:
        check()
    except CloudError as error:
        return error.message
    return None


def blamed(problem: Problem, nodes: Mapping[str, Node], other: Node) -> Node:
    """Where the property is that is to blame for a problem.

    Args:
        problem: The problem.
        nodes: The properties, by key.
        other: Stands for a property that is absent.
    """
    key, *rest = problem.key.split(".")
    return nodes[key].at(*rest) if key in nodes else other


def properties_of(entry: Node) -> dict[str, Node]:
    """An entry's cloud properties that are not null; empty when they are a variable, or no hash."""
    node = entry.get("cloud_properties")
    nodes = node.entries() if node is not None and not is_open(entry) else []
    return {str(each.route[-1]): each for each in nodes if each.value is not None}


def is_open(entry: Node) -> bool:
    """Whether an entry's cloud properties may hold anything: they or a key are a variable, or no hash."""
    node = entry.get("cloud_properties")
    return node is not None and (node.is_unknown or not isinstance(node.value, dict))
