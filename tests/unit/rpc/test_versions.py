"""What the contract versions differ in."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import pytest

from bosh_aws_cpi.cpi.vms.create.create_vm import CreatedVm
from bosh_aws_cpi.errors import InvalidCall
from bosh_aws_cpi.rpc.methods import METHODS, bind, shape
from tests.listing import check_methods_listed

CONTRACTS = pytest.mark.parametrize("contract", [1, 2, 3])
LIMITS: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("info", "ping", "current_vm_id"), (0, 0)),
    **dict.fromkeys(("calculate_vm_cloud_properties", "delete_stemcell"), (1, 1)),
    "create_stemcell": (2, 2),
    "create_vm": (4, 6),
    **dict.fromkeys(("delete_vm", "has_vm", "reboot_vm", "get_disks"), (1, 1)),
    "set_vm_metadata": (2, 2),
    "create_disk": (2, 3),
    **dict.fromkeys(("delete_disk", "has_disk"), (1, 1)),
    **dict.fromkeys(("attach_disk", "detach_disk", "set_disk_metadata", "configure_networks"), (2, 2)),
    **dict.fromkeys(("resize_disk", "snapshot_disk"), (2, 2)),
    "update_disk": (3, 3),
    "delete_snapshot": (1, 1),
    **dict.fromkeys(("create_network", "delete_network"), (1, 1)),
}
WHOLE: dict[str, list[Any]] = {
    "info": [],
    "ping": [],
    "current_vm_id": [],
    "calculate_vm_cloud_properties": [{"cpu": 1}],
    "create_stemcell": ["/image", {"ami": {}}],
    "delete_stemcell": ["ami-1 light"],
    "create_vm": ["agent", "ami-1", {"a": 1}, {"n": {}}, ["vol-1"], {"bosh": {}}],
    "delete_vm": ["i-1"],
    "has_vm": ["i-1"],
    "reboot_vm": ["i-1"],
    "set_vm_metadata": ["i-1", {"a": 1}],
    "get_disks": ["i-1"],
    "create_disk": [1024, {"type": "gp2"}, "i-1"],
    "delete_disk": ["vol-1"],
    "has_disk": ["vol-1"],
    "attach_disk": ["i-1", "vol-1"],
    "detach_disk": ["i-1", "vol-1"],
    "set_disk_metadata": ["vol-1", {"a": 1}],
    "resize_disk": ["vol-1", 2048],
    "update_disk": ["vol-1", 2048, {"type": "gp3"}],
    "snapshot_disk": ["vol-1", {"a": 1}],
    "delete_snapshot": ["snap-1"],
    "configure_networks": ["i-1", {"n": {}}],
    "create_network": [{"type": "manual"}],
    "delete_network": ["subnet-1"],
}


def complaint(method: str, arguments: list[Any], contract: int = 2) -> str:
    """Return what is said of arguments that are refused."""
    with pytest.raises(InvalidCall) as caught:
        bind(method, arguments, contract)
    begin, _, rest = caught.value.message.partition("'")
    assert begin == "Arguments are not correct, details: "
    assert rest.endswith("'")
    return rest.removesuffix("'")


def test_each_method_is_tried_here() -> None:
    """Each method that is implemented has its arguments in the tables of this file."""
    for table in (LIMITS, WHOLE):
        check_methods_listed(table, "add it to LIMITS and WHOLE of this file")


@pytest.mark.parametrize("target", [row.target for row in METHODS.values() if row.target])
def test_targets(target: str) -> None:
    """Each row leads to a function that takes the cloud and the row's arguments."""
    module, name = target.split(":")
    function = getattr(import_module(f"bosh_aws_cpi.cpi.{module}"), name)
    (row,) = (row for row in METHODS.values() if row.target == target)
    assert len(inspect.signature(function).parameters) == 1 + len(row.arguments)


@CONTRACTS
@pytest.mark.parametrize("method", WHOLE)
def test_whole_arguments(method: str, contract: int) -> None:
    """All arguments are passed on as they are, in every contract."""
    late = [None] if method == "create_stemcell" and contract == 3 else []
    assert bind(method, WHOLE[method], contract) == [*WHOLE[method], *late]


@CONTRACTS
@pytest.mark.parametrize("method", WHOLE)
def test_number_of_arguments(method: str, contract: int) -> None:
    """Too few and too many arguments are refused with the numbers."""
    least, most = LIMITS[method]
    most += method == "create_stemcell" and contract == 3
    expected = str(least) if least == most else f"{least} to {most}"
    for count in {least - 1, most + 1} - {-1}:
        given = [*WHOLE[method], {}, {}, {}][:count]
        assert complaint(method, given, contract) == f"{method} takes {expected} arguments, got {count}"


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
    """What is left out, and what is null, has its default."""
    assert bind(method, given, contract) == expected


def test_defaults_are_fresh() -> None:
    """Two calls don't share a default."""
    first, second = (bind("create_vm", ["a", "s", None, None], 2) for _ in range(2))
    assert all(one is not other for one, other in zip(first[2:5], second[2:5], strict=True))


@pytest.mark.parametrize(
    ("method", "given", "said"),
    [
        ("has_vm", [None], "has_vm: vm_cid must be a String that is not empty, got null"),
        ("has_vm", [""], "has_vm: vm_cid must be a String that is not empty, got String"),
        ("has_vm", [5], "has_vm: vm_cid must be a String that is not empty, got Integer"),
        ("delete_disk", [["v"]], "delete_disk: disk_cid must be a String that is not empty, got Array"),
        (
            "delete_stemcell",
            [{}],
            "delete_stemcell: stemcell_cid must be a String that is not empty, got Hash",
        ),
        ("create_stemcell", [None, {}], "create_stemcell: image_path must be a String, got null"),
        ("create_stemcell", ["p", []], "create_stemcell: cloud_properties must be a Hash, got Array"),
        (
            "create_vm",
            ["a", "s", "x", {}],
            "create_vm: cloud_properties must be a Hash, got String",
        ),
        ("create_vm", ["a", "s", {}, []], "create_vm: networks must be a Hash, got Array"),
        (
            "create_vm",
            ["a", "s", {}, {}, "v"],
            "create_vm: disk_cids must be an Array of Strings, got String",
        ),
        ("create_vm", ["a", "s", {}, {}, [1]], "create_vm: disk_cids must be an Array of Strings, got Array"),
        (
            "create_vm",
            ["a", "s", {}, {}, [], 1],
            "create_vm: environment must be a Hash or null, got Integer",
        ),
        ("create_disk", ["1024", {}], "disk size needs to be an integer"),
        ("create_disk", [True, {}], "disk size needs to be an integer"),
        ("create_disk", [1024.0, {}], "disk size needs to be an integer"),
        ("create_disk", [None, {}], "disk size needs to be an integer"),
        (
            "create_disk",
            [1024, {}, 5],
            "create_disk: vm_cid must be a String that is not empty, or null, got Integer",
        ),
        ("set_vm_metadata", ["i", "x"], "set_vm_metadata: metadata must be a Hash, got String"),
        (
            "calculate_vm_cloud_properties",
            [[1]],
            "calculate_vm_cloud_properties: desired_instance_size must be a Hash, got Array",
        ),
    ],
)
def test_kinds_of_arguments(method: str, given: list[Any], said: str) -> None:
    """An argument of a wrong kind is refused by its name and its type."""
    assert complaint(method, given) == said


@pytest.mark.parametrize("contract", [1, 2])
def test_stemcell_tags_before_their_contract(contract: int) -> None:
    """create_stemcell takes env from contract 3 on only."""
    said = complaint("create_stemcell", ["p", {}, {}], contract)
    assert said == "create_stemcell takes 2 arguments, got 3"
    assert complaint("create_stemcell", ["p", {}, 5], 3).endswith("env must be a Hash or null, got Integer")


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
    """create_vm and attach_disk answer more from contract 2 on; the others answer alike in all."""
    assert [shape(method, contract, result) for contract in (1, 2, 3)] == shapes
