"""The arguments of each method, and what the contract versions differ in."""

import inspect
from importlib import import_module
from typing import Any

import pytest

from bosh_aws_cpi.errors import InvalidCall
from bosh_aws_cpi.rpc import methods
from bosh_aws_cpi.rpc.methods import METHODS, bind, shape

DISK = "vol-0a"
SAMPLES = {
    **dict.fromkeys((methods.CID, methods.OPTIONAL_CID, methods.PATH), DISK),
    methods.HASH: {},
    methods.OPTIONAL_HASH: {},
    methods.CIDS: [],
    methods.DISK_SIZE: 1024,
}
"""A right value of each kind of argument."""


def arguments_of(method: str) -> list[Any]:
    """Give a method's arguments in V2."""
    row = METHODS[method]
    kinds = [kind for _, kind in row.arguments][: None if row.last_since <= 2 else -1]
    return [SAMPLES[kind] for kind in kinds]


OTHERS: tuple[Any, ...] = ("text", 5, 1.5, True, [5], {})


def refusal(method: str, arguments: list[Any], contract: int = 2) -> str:
    """Bind what must be refused, and return the details of the message."""
    with pytest.raises(InvalidCall) as refused:
        bind(method, arguments, contract)
    return refused.value.message.removeprefix("Arguments are not correct, details: '").removesuffix("'")


@pytest.mark.parametrize("method", METHODS)
def test_arguments(method: str) -> None:
    """A method with more or fewer arguments, or one of another type, is refused; its own are taken."""
    full, row = arguments_of(method), METHODS[method]
    optional = row.optional - (row.last_since > 2)
    assert bind(method, full, 2)[: len(full)] == full
    least = len(full) - optional
    numbers = f"{least} to {len(full)}" if optional else f"{least}"
    for given in ([*full, {}], *([full[: least - 1]] if least else [])):
        noun = "argument" if numbers == "1" else "arguments"
        assert refusal(method, given) == f"{method} takes {numbers} {noun}, got {len(given)}"
    for position, (right, (name, kind)) in enumerate(zip(full, METHODS[method].arguments, strict=False)):
        for wrong in (each for each in OTHERS if type(each) is not type(right)):
            said = refusal(method, [*full[:position], wrong, *full[position + 1 :]])
            assert said.startswith(kind.complaint or f"{method}: {name} must be ")


@pytest.mark.parametrize(
    ("method", "position", "value", "said"),
    [
        ("create_stemcell", 0, None, "create_stemcell: image_path must be a String, got null"),
        ("create_vm", 2, [], "create_vm: cloud_properties must be a Hash, got Array"),
        ("create_vm", 4, [DISK, 5], "create_vm: disk_cids must be an Array of Strings, got Array"),
        ("create_vm", 5, "env", "create_vm: environment must be a Hash or null, got String"),
        ("has_vm", 0, "", "has_vm: vm_cid must be a String that is not empty, got String"),
        ("delete_disk", 0, None, "delete_disk: disk_cid must be a String that is not empty, got null"),
        ("create_disk", 0, None, "disk size needs to be an integer"),
        (
            "create_disk",
            2,
            "",
            "create_disk: vm_cid must be a String that is not empty, or null, got String",
        ),
    ],
)
def test_wrong_kind(method: str, position: int, value: Any, said: str) -> None:
    """An argument of a wrong kind is refused by its name and kind."""
    arguments = arguments_of(method)
    arguments[position] = value
    assert refusal(method, arguments) == said


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
        ("create_vm", ["a", "s", None, None, None, None], 3, ["a", "s", {}, {}, [], None]),
        ("create_disk", [1, None], 2, [1, {}, None]),
        ("create_disk", [1, {}, None], 2, [1, {}, None]),
        ("create_stemcell", ["", None], 3, ["", {}, None]),
        ("create_stemcell", ["/image", {}, {"tags": {}}], 3, ["/image", {}, {"tags": {}}]),
        ("set_disk_metadata", ["vol-1", None], 2, ["vol-1", {}]),
    ],
)
def test_defaults(method: str, given: list[Any], contract: int, expected: list[Any]) -> None:
    """Omitted and null arguments have their defaults."""
    assert bind(method, given, contract) == expected


def test_env_of_a_stemcell() -> None:
    """The third argument of create_stemcell is a hash or null, and belongs to V3 alone."""
    for contract in (1, 2):
        said = refusal("create_stemcell", ["image", {}, {"tags": {}}], contract)
        assert said == "create_stemcell takes 2 arguments, got 3"
    said = refusal("create_stemcell", ["image", {}, 5], 3)
    assert said == "create_stemcell: env must be a Hash or null, got Integer"


def test_defaults_are_fresh() -> None:
    """Two calls don't share a default."""
    first, second = (bind("create_vm", ["a", "s", None, None], 2) for _ in range(2))
    assert all(one is not other for one, other in zip(first[2:5], second[2:5], strict=True))


@pytest.mark.parametrize(
    ("method", "result", "shapes"),
    [
        ("create_vm", ("i-1", {"n": {}}), ["i-1", *[("i-1", {"n": {}})] * 2]),
        ("attach_disk", "/dev/sdf", [None, "/dev/sdf", "/dev/sdf"]),
        ("create_disk", "vol-1", ["vol-1"] * 3),
        ("delete_vm", None, [None] * 3),
    ],
)
def test_shapes(method: str, result: object, shapes: list[Any]) -> None:
    """create_vm and attach_disk return more from contract 2 on; other results are the same in all."""
    assert [shape(method, contract, result) for contract in (1, 2, 3)] == shapes
