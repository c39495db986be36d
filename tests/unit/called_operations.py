"""Which operations of AWS the program calls, read from its source."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import botocore.session
from botocore import xform_name
from botocore.model import ServiceModel

from bosh_aws_cpi.aws.sdk.data_cut import COMMAND_SERVICES, SERVICES

ALL_SERVICES = [*SERVICES, *COMMAND_SERVICES]
ROOT = Path(__file__).parents[2] / "src/bosh_aws_cpi"


@cache
def calls() -> dict[str, str]:
    """Each operation by its Python name, "run_instances", with the place of one call: "aws/launches.py:12".

    A method of that name counts, and a string, which a paginator is asked for by.
    """
    known = {name for service in ALL_SERVICES for name in operation_names(service)}
    return {
        name: f"{path.relative_to(ROOT)}:{line}"
        for path in ROOT.rglob("*.py")
        for name, line in _names(ast.parse(path.read_text()))
        if name in known
    }


def actions(name: str) -> set[str]:
    """What IAM calls the operation of a Python name; services may share the name."""
    found = ((_model(service).signing_name, operation_names(service).get(name)) for service in ALL_SERVICES)
    return {f"{signing_name}:{operation}" for signing_name, operation in found if operation}


@cache
def operation_names(service: str) -> dict[str, str]:
    """All operations that AWS has for a service, by their Python names, whether they are called or not."""
    return {xform_name(name): name for name in _model(service).operation_names}


@cache
def _model(service: str) -> ServiceModel:
    return botocore.session.Session().get_service_model(service)


def _names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.attr, node.lineno
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value, node.lineno
