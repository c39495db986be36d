"""The descriptions of the cloud properties: the texts below the fields of the models."""

import ast
import inspect
import itertools
import re
import sys
import textwrap
from functools import cache
from typing import NamedTuple

from bosh_aws_cpi.properties import disk, managed_network, network, stemcell, vm, vm_disks
from bosh_aws_cpi.properties.types import Encryptable, Properties

HASHES = {
    kind.__name__: kind
    for module in (vm, vm_disks, disk, stemcell, network, managed_network)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Properties) and kind.__module__ == module.__name__
}
"""All hashes of cloud properties that the program reads, by name."""


class PropertyText(NamedTuple):
    """The description of a property."""

    effect: str
    default: str
    """The default, when the text names it."""
    is_required: bool
    is_new: bool
    """Whether the Ruby release lacks the property."""


def names_of(model: type[Properties]) -> list[str]:
    """A model's properties in the order of the source; the common ones for encryption are at the end."""
    kinds = [kind for kind in reversed(model.__mro__) if issubclass(kind, Properties)]
    kinds.sort(key=lambda kind: kind is Encryptable and model is not Encryptable)
    return list(
        dict.fromkeys(name for kind in kinds for name in kind.__annotations__ if name in model.model_fields)
    )


def property_text(model: type[Properties], name: str) -> PropertyText:
    """The description of a property, which must have one."""
    text = next((found for kind in model.__mro__ if (found := _texts(kind).get(name))), "")
    parts = re.fullmatch(r"(\* )?(.*?)(?: ?Default: (.+)\.| ?(Required)\.)?", text)
    if parts is None or not parts[2]:
        sys.exit(
            f"{model.__module__}: {model.__name__}.{name} has no text below it that docs/cloud-properties.md "
            "could show"
        )
    return PropertyText(parts[2], parts[3] or "", is_required=bool(parts[4]), is_new=bool(parts[1]))


@cache
def _texts(kind: type) -> dict[str, str]:
    """The text below each attribute of a class."""
    if not issubclass(kind, Properties):
        return {}
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0].body
    return {
        attribute.target.id: " ".join(text.value.value.split())
        for attribute, text in itertools.pairwise(body)
        if isinstance(attribute, ast.AnnAssign) and isinstance(text, ast.Expr)
    }
