"""Reads cloud properties with the models of the methods."""

from collections.abc import Callable
from typing import TypeVar

from pydantic import ValidationError

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.properties.types import Properties
from bosh_aws_cpi.tools.checks.documents import Node

Model = TypeVar("Model", bound=Properties)


def read_known(model: type[Model], given: Node | Json | None) -> Model | None:
    """What is known of a hash of properties; None if one is wrong, which `keys_of` reports.

    Args:
        model: The model that reads them.
        given: The hash; None if there is none, and so no property.
    """
    try:
        return model.model_validate(given.known() if isinstance(given, Node) else given or {})
    except ValidationError:
        return None


def said(check: Callable[[], object]) -> str | None:
    """The message of a check that fails; None when it passes."""
    try:
        check()
    except CloudError as error:
        return error.message
    return None


def properties_of(entry: Node) -> dict[str, Node]:
    """An entry's cloud properties that are not null; empty when they are a variable, or no hash."""
    node = entry.get("cloud_properties")
    nodes = node.entries() if node is not None and not is_open(entry) else []
    return {str(each.route[-1]): each for each in nodes if each.value is not None}


def is_open(entry: Node) -> bool:
    """Whether an entry's cloud properties may hold anything: they or a key are a variable, or no hash."""
    node = entry.get("cloud_properties")
    return node is not None and (node.is_unknown or not isinstance(node.value, dict))
