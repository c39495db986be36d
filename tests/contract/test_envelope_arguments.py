"""The number and the kinds of every method's arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from testbed.executable import Answer, Cpi

    Checked = Callable[[Answer], Any]

pytestmark = pytest.mark.usefixtures("warm")

VM, DISK, AMI = "i-0a", "vol-0a", "ami-0a light"
CREATE_VM = ["agent", AMI, {}, {}, [], {}]
ARGUMENTS: dict[str, tuple[list[Any], int]] = {
    "info": ([], 0),
    "ping": ([], 0),
    "current_vm_id": ([], 0),
    "calculate_vm_cloud_properties": ([{}], 0),
    "create_stemcell": (["image", {}], 0),
    "delete_stemcell": ([AMI], 0),
    "create_vm": (CREATE_VM, 2),
    "delete_vm": ([VM], 0),
    "has_vm": ([VM], 0),
    "reboot_vm": ([VM], 0),
    "set_vm_metadata": ([VM, {}], 0),
    "get_disks": ([VM], 0),
    "create_disk": ([1024, {}, VM], 1),
    "delete_disk": ([DISK], 0),
    "has_disk": ([DISK], 0),
    "attach_disk": ([VM, DISK], 0),
    "detach_disk": ([VM, DISK], 0),
    "set_disk_metadata": ([DISK, {}], 0),
    "resize_disk": ([DISK, 1024], 0),
    "update_disk": ([DISK, 1024, {}], 0),
    "snapshot_disk": ([DISK, {}], 0),
    "delete_snapshot": (["snap-0a"], 0),
    "configure_networks": ([VM, {}], 0),
}
"""Each implemented method's arguments in V2, and how many of them may be left out."""

TOO_FEW = {name: full[: len(full) - optional - 1] for name, (full, optional) in ARGUMENTS.items() if full}
TOO_MANY = {name: [*full, {}] for name, (full, _) in ARGUMENTS.items()}
WRONG_KINDS: list[tuple[str, int, Any]] = [
    ("calculate_vm_cloud_properties", 0, [1]),
    ("create_stemcell", 0, 5),
    ("create_stemcell", 1, "light"),
    ("delete_stemcell", 0, None),
    ("create_vm", 0, 7),
    ("create_vm", 1, {}),
    ("create_vm", 2, []),
    ("create_vm", 3, "default"),
    ("create_vm", 4, DISK),
    ("create_vm", 4, [DISK, 5]),
    ("create_vm", 5, "env"),
    ("delete_vm", 0, None),
    ("has_vm", 0, [VM]),
    ("reboot_vm", 0, 5),
    ("set_vm_metadata", 0, False),
    ("set_vm_metadata", 1, "a=b"),
    ("get_disks", 0, {}),
    ("create_disk", 1, "gp3"),
    ("create_disk", 2, {}),
    ("delete_disk", 0, 1.5),
    ("has_disk", 0, None),
    ("attach_disk", 0, None),
    ("attach_disk", 1, 5),
    ("detach_disk", 1, [DISK]),
    ("set_disk_metadata", 1, [["a", "b"]]),
    ("resize_disk", 0, 1024),
    ("update_disk", 2, "gp3"),
    ("snapshot_disk", 1, "a=b"),
    ("delete_snapshot", 0, {}),
    ("configure_networks", 1, VM),
]
NOT_CORRECT = "Arguments are not correct, details: '"


def complaint(problem: tuple[str, str]) -> str:
    """Check that an error is about arguments, and return its details."""
    kind, message = problem
    assert kind == "InvalidCall"
    assert message.startswith(NOT_CORRECT)
    assert message.endswith("'")
    return message.removeprefix(NOT_CORRECT)[:-1]


@pytest.mark.parametrize("method", TOO_FEW)
def test_too_few(offline: Cpi, early: Checked, method: str) -> None:
    """A call with an argument too few is refused before the method runs, and names the method."""
    details = complaint(early(offline.call(method, *TOO_FEW[method], stemcell=2)))
    assert method in details
    assert f"got {len(TOO_FEW[method])}" in details


@pytest.mark.parametrize("method", TOO_MANY)
def test_too_many(offline: Cpi, early: Checked, method: str) -> None:
    """A call with an argument too many is refused before the method runs, and names the method."""
    details = complaint(early(offline.call(method, *TOO_MANY[method], stemcell=2)))
    assert method in details
    assert f"got {len(TOO_MANY[method])}" in details


@pytest.mark.parametrize(("method", "position", "value"), WRONG_KINDS)
def test_wrong_kind(offline: Cpi, early: Checked, method: str, position: int, value: Any) -> None:
    """An argument of a wrong kind is refused before the method runs, and the method is named."""
    arguments = list(ARGUMENTS[method][0])
    arguments[position] = value
    assert method in complaint(early(offline.call(method, *arguments, stemcell=2)))


@pytest.mark.parametrize("size", ["1024", True, 1024.0, None])
def test_disk_size(offline: Cpi, early: Checked, size: Any) -> None:
    """A disk's size is an integer, and a boolean is none."""
    assert complaint(early(offline.call("create_disk", size, {}))) == "disk size needs to be an integer"


@pytest.mark.parametrize("count", [4, 5, 6])
def test_optional_arguments_of_create_vm(offline: Cpi, late: Checked, count: int) -> None:
    """create_vm takes four to six arguments: all three get as far as the question of the registry."""
    kind, message = late(offline.call("create_vm", *CREATE_VM[:count]))
    assert kind == "Bosh::Clouds::CloudError"
    assert "Registry not configured" in message


@pytest.mark.parametrize("rest", [[], [None]])
def test_optional_argument_of_create_disk(offline: Cpi, late: Checked, rest: list[None]) -> None:
    """create_disk's VM may be absent or null: both get as far as a size of nothing."""
    kind, message = late(offline.call("create_disk", 0, {}, *rest))
    assert kind == "Bosh::Clouds::CloudError"
    assert "size" in message


@pytest.mark.parametrize(("version", "rest"), [(1, []), (2, []), (3, []), (3, [{"tags": {}}])])
def test_create_stemcell(offline: Cpi, late: Checked, version: int, rest: list[Any]) -> None:
    """create_stemcell takes two arguments, and in V3 a third: all get as far as the properties."""
    answer = offline.call("create_stemcell", "image", {"ami": ["x"]}, *rest, api_version=version)
    kind, message = late(answer)
    assert kind == "Bosh::Clouds::CloudError"
    assert message.startswith("Invalid properties: cloud_properties.ami: ")


def test_create_stemcell_with_tags_in_v1(offline: Cpi, early: Checked) -> None:
    """In V1 create_stemcell has no third argument."""
    answer = offline.call("create_stemcell", "image", {}, {"tags": {}}, api_version=1)
    assert "create_stemcell" in complaint(early(answer))
