"""The number and the kinds of every method's arguments."""

from collections.abc import Callable
from typing import Any

import pytest

from testbed.executable import Answer, Cpi
from tests.listing import check_methods_listed

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
    "create_network": ([{}], 0),
    "delete_network": (["subnet-0a"], 0),
}
"""Each implemented method's arguments in V2, and how many of them are optional."""

TOO_FEW = {name: full[: len(full) - optional - 1] for name, (full, optional) in ARGUMENTS.items() if full}
TOO_MANY = {name: [*full, {}] for name, (full, _) in ARGUMENTS.items()}
WRONG_KINDS: list[tuple[str, int, Any, str]] = [
    ("calculate_vm_cloud_properties", 0, [1], "desired_instance_size must be a Hash, got Array"),
    ("create_stemcell", 0, 5, "image_path must be a String, got Integer"),
    ("create_stemcell", 1, "light", "cloud_properties must be a Hash, got String"),
    ("delete_stemcell", 0, None, "stemcell_cid must be a String that is not empty, got null"),
    ("create_vm", 0, 7, "agent_id must be a String that is not empty, got Integer"),
    ("create_vm", 1, {}, "stemcell_cid must be a String that is not empty, got Hash"),
    ("create_vm", 2, [], "cloud_properties must be a Hash, got Array"),
    ("create_vm", 3, "default", "networks must be a Hash, got String"),
    ("create_vm", 4, DISK, "disk_cids must be an Array of Strings, got String"),
    ("create_vm", 4, [DISK, 5], "disk_cids must be an Array of Strings, got Array"),
    ("create_vm", 5, "env", "environment must be a Hash or null, got String"),
    ("delete_vm", 0, None, "vm_cid must be a String that is not empty, got null"),
    ("has_vm", 0, [VM], "vm_cid must be a String that is not empty, got Array"),
    ("reboot_vm", 0, 5, "vm_cid must be a String that is not empty, got Integer"),
    ("set_vm_metadata", 0, False, "vm_cid must be a String that is not empty, got Boolean"),
    ("set_vm_metadata", 1, "a=b", "metadata must be a Hash, got String"),
    ("get_disks", 0, {}, "vm_cid must be a String that is not empty, got Hash"),
    ("create_disk", 1, "gp3", "cloud_properties must be a Hash, got String"),
    ("create_disk", 2, {}, "vm_cid must be a String that is not empty, or null, got Hash"),
    ("delete_disk", 0, 1.5, "disk_cid must be a String that is not empty, got Float"),
    ("has_disk", 0, None, "disk_cid must be a String that is not empty, got null"),
    ("attach_disk", 0, None, "vm_cid must be a String that is not empty, got null"),
    ("attach_disk", 1, 5, "disk_cid must be a String that is not empty, got Integer"),
    ("detach_disk", 1, [DISK], "disk_cid must be a String that is not empty, got Array"),
    ("set_disk_metadata", 1, [["a", "b"]], "metadata must be a Hash, got Array"),
    ("resize_disk", 0, 1024, "disk_cid must be a String that is not empty, got Integer"),
    ("update_disk", 2, "gp3", "cloud_properties must be a Hash, got String"),
    ("snapshot_disk", 1, "a=b", "metadata must be a Hash, got String"),
    ("delete_snapshot", 0, {}, "snapshot_cid must be a String that is not empty, got Hash"),
    ("configure_networks", 1, VM, "networks must be a Hash, got String"),
    ("has_vm", 0, "", "vm_cid must be a String that is not empty, got String"),
    ("create_network", 0, "manual", "network must be a Hash, got String"),
    ("delete_network", 0, 7, "subnet_id must be a String that is not empty, got Integer"),
]
NOT_CORRECT = "Arguments are not correct, details: '"


def complaint(problem: tuple[str, str]) -> str:
    """Check that an error is about arguments, and return its details."""
    kind, message = problem
    assert kind == "InvalidCall"
    assert message.startswith(NOT_CORRECT)
    assert message.endswith("'")
    return message.removeprefix(NOT_CORRECT)[:-1]


def numbers(method: str) -> str:
    """Return the number of arguments that a method takes in V2, as the message gives it."""
    full, optional = ARGUMENTS[method]
    return f"{len(full) - optional} to {len(full)}" if optional else str(len(full))


def test_each_method_is_listed() -> None:
    """The table has every implemented method."""
    check_methods_listed(ARGUMENTS, "add it to ARGUMENTS of this file")


@pytest.mark.parametrize("method", TOO_FEW)
def test_too_few(offline: Cpi, early: Checked, method: str) -> None:
    """A call with too few arguments is refused before the method runs, with the numbers."""
    given = TOO_FEW[method]
    details = complaint(early(offline.call(method, *given, stemcell=2)))
    assert details == f"{method} takes {numbers(method)} arguments, got {len(given)}"


@pytest.mark.parametrize("method", TOO_MANY)
def test_too_many(offline: Cpi, early: Checked, method: str) -> None:
    """A call with too many arguments is refused before the method runs, with the numbers."""
    given = TOO_MANY[method]
    details = complaint(early(offline.call(method, *given, stemcell=2)))
    assert details == f"{method} takes {numbers(method)} arguments, got {len(given)}"


@pytest.mark.parametrize(("method", "position", "value", "said"), WRONG_KINDS)
def test_wrong_kind(offline: Cpi, early: Checked, method: str, position: int, value: Any, said: str) -> None:
    """An argument of a wrong kind is refused before the method runs, by its name and kind."""
    arguments = list(ARGUMENTS[method][0])
    arguments[position] = value
    assert complaint(early(offline.call(method, *arguments, stemcell=2))) == f"{method}: {said}"


@pytest.mark.parametrize("size", ["1024", True, 1024.0, None])
def test_disk_size(offline: Cpi, early: Checked, size: Any) -> None:
    """A disk's size must be an integer; a boolean is refused."""
    assert complaint(early(offline.call("create_disk", size, {}))) == "disk size needs to be an integer"


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
    assert complaint(early(answer)) == "create_stemcell takes 2 arguments, got 3"


def test_create_stemcell_env_of_a_wrong_kind(offline: Cpi, early: Checked) -> None:
    """The third argument of create_stemcell is a hash or null."""
    answer = offline.call("create_stemcell", "image", {}, 5, api_version=3)
    assert complaint(early(answer)) == "create_stemcell: env must be a Hash or null, got Integer"
