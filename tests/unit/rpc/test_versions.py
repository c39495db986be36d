"""What the contract versions differ in."""

import inspect
from importlib import import_module
from typing import Any

import pytest

from bosh_aws_cpi.cpi.vms.create.create_vm import CreatedVm
from bosh_aws_cpi.rpc.methods import METHODS, bind, shape


@pytest.mark.parametrize("target", [row.target for row in METHODS.values() if row.target])
def test_targets(target: str) -> None:
    """Each row leads to a function that takes the cloud and the row's arguments."""
    module, name = target.split(":")
    function = getattr(import_module(f"bosh_aws_cpi.cpi.{module}"), name)
    (row,) = (row for row in METHODS.values() if row.target == target)
    assert len(inspect.signature(function).parameters) == 1 + len(row.arguments)


@pytest.mark.parametrize(
    ("method", "given", "contract", "expected"),
    [
        ("create_vm", ["a", "s", {}, {}], 1, ["a", "s", {}, {}, [], None]),
        ("create_vm", ["a", "s", {}, {}, ["vol-1"]], 2, ["a", "s", {}, {}, ["vol-1"], None]),
        ("create_vm", ["a", "s", None, None, None, None], 3, ["a", "s", {}, {}, [], None]),
        ("create_disk", [1, {}], 2, [1, {}, None]),
        ("create_disk", [1, None, None], 2, [1, {}, None]),
        ("create_stemcell", ["", None], 3, ["", {}, None]),
        ("create_stemcell", ["/image", {}, {"tags": {}}], 3, ["/image", {}, {"tags": {}}]),
        ("set_vm_metadata", ["i-1", None], 2, ["i-1", {}]),
        ("set_disk_metadata", ["vol-1", None], 2, ["vol-1", {}]),
        ("configure_networks", ["i-1", None], 1, ["i-1", {}]),
    ],
)
def test_defaults(method: str, given: list[Any], contract: int, expected: list[Any]) -> None:
    """Omitted and null arguments have their defaults."""
    assert bind(method, given, contract) == expected


def test_defaults_are_fresh() -> None:
    """Two calls don't share a default."""
    first, second = (bind("create_vm", ["a", "s", None, None], 2) for _ in range(2))
    assert all(one is not other for one, other in zip(first[2:5], second[2:5], strict=True))


@pytest.mark.parametrize(
    ("method", "result", "shapes"),
    [
        ("create_vm", CreatedVm("i-1", {"n": {}}), ["i-1", ["i-1", {"n": {}}], ["i-1", {"n": {}}]]),
        ("attach_disk", "/dev/sdf", [None, "/dev/sdf", "/dev/sdf"]),
        ("create_disk", "vol-1", ["vol-1"] * 3),
        ("has_vm", False, [False] * 3),
        ("delete_vm", None, [None] * 3),
        ("get_disks", [], [[]] * 3),
    ],
)
def test_shapes(method: str, result: object, shapes: list[Any]) -> None:
    """create_vm and attach_disk return more from contract 2 on; other results are the same in all."""
    assert [shape(method, contract, result) for contract in (1, 2, 3)] == shapes
