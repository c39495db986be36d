"""Contract versions and stemcell versions: which one a request selects, and who minds."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from testbed.executable import ABSENT, DIRECTOR_UUID, Answer, Cpi, config

Checked = Callable[[Answer], Any]

pytestmark = pytest.mark.usefixtures("warm")

NOWHERE = "http://127.0.0.1:1"
AMI = "ami-0a light"
NO_INTEGER = ("InvalidCall", "CPI api_version requested must be an Integer")
INFO = {"stemcell_formats": ["aws-raw", "aws-light"], "api_version": 3}
CREATE_VM = ["agent", AMI, {}, {}]
NEEDS_STEMCELL: list[tuple[str, list[Any], int]] = [
    ("create_vm", CREATE_VM, 3),
    ("delete_vm", ["i-0a"], 2),
    ("attach_disk", ["i-0a", "vol-0a"], 3),
    ("detach_disk", ["i-0a", "vol-0a"], 2),
]


def name(value: object) -> str:
    """Name a value in a test's id."""
    return "absent" if value is ABSENT else str(value)[:40]


def send(cpi: Cpi, method: str, version: Any, *arguments: Any) -> Answer:
    """Call a method in any version, also one that is none."""
    document: dict[str, Any] = {
        "method": method,
        "arguments": list(arguments),
        "context": {"director_uuid": DIRECTOR_UUID},
    }
    if version is not ABSENT:
        document["api_version"] = version
    return cpi.raw(json.dumps(document).encode())


@pytest.mark.parametrize(
    ("version", "contract"),
    [(ABSENT, 1), (-1, 1), (1, 1), (2, 2), (3, 3), (4, 3), (10**30, 3)],
    ids=name,
)
def test_contract(offline: Cpi, early: Checked, late: Checked, version: Any, contract: int) -> None:
    """An api_version selects the contract; absent or low is V1, high is V3."""
    limits = {1: "2", 2: "2", 3: "2 to 3"}[contract]
    assert f"takes {limits} arguments" in early(send(offline, "create_stemcell", version))[1]
    refusal = late(send(offline, "create_vm", version, *CREATE_VM))[1]
    assert f"without registry with CPI {'v1.' if contract == 1 else 'v2 and stemcell'}" in refusal


@pytest.mark.parametrize("version", [None, True, "2", 2.0], ids=name)
def test_no_contract(offline: Cpi, early: Checked, version: Any) -> None:
    """An api_version that is not an integer is refused, such as a boolean or 2.0."""
    assert early(send(offline, "info", version)) == NO_INTEGER


@pytest.mark.parametrize(
    ("stemcell", "shown"),
    [
        (None, ""),
        (0, "0"),
        ("2", "2"),
        (True, "true"),
        (2.0, "2.0"),
    ],
    ids=name,
)
def test_stemcell_not_supported(offline: Cpi, late: Checked, stemcell: Any, shown: str) -> None:
    """A stemcell version that is not a positive integer is refused, and quoted."""
    expected = f"Stemcell API version '{shown}' is not supported."
    answer = offline.call("create_vm", *CREATE_VM, stemcell=stemcell)
    assert late(answer) == ("Bosh::Clouds::CPIAPIVersionNotSupported", expected)


@pytest.mark.parametrize(("method", "arguments", "version"), NEEDS_STEMCELL)
def test_stemcell_needed(
    offline: Cpi, late: Checked, method: str, arguments: list[Any], version: int
) -> None:
    """The methods that may have to write to the registry need the stemcell's version, before AWS is asked."""
    answer = offline.call(method, *arguments, api_version=version, stemcell=None)
    expected = "Stemcell API version '' is not supported."
    assert late(answer) == ("Bosh::Clouds::CPIAPIVersionNotSupported", expected)


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("info", []),
        ("ping", []),
        ("delete_stemcell", [AMI]),
        ("calculate_vm_cloud_properties", [{"cpu": 1, "ram": 512, "ephemeral_disk_size": 1}]),
    ],
)
def test_stemcell_not_needed(offline: Cpi, result: Checked, method: str, arguments: list[Any]) -> None:
    """The other methods do not mind what the stemcell's version is."""
    unminded = result(offline.call(method, *arguments, stemcell=None))
    assert unminded == result(offline.call(method, *arguments, stemcell=2))


@pytest.mark.parametrize("vm", [ABSENT, None, "x", {"stemcell": {}}], ids=name)
def test_stemcell_absent(offline: Cpi, late: Checked, vm: Any) -> None:
    """Without a stemcell's version it is 1."""
    context = {} if vm is ABSENT else {"vm": vm}
    expected = (
        "Cannot create VM without registry with CPI v2 and stemcell api version 1. Registry not configured."
    )
    answer = offline.call("create_vm", *CREATE_VM, context=context)
    assert late(answer) == ("Bosh::Clouds::CloudError", expected)


@pytest.mark.parametrize("version", [None, 1, 2, 3])
def test_info(offline: Cpi, result: Checked, version: int | None) -> None:
    """Info answers the same whatever version asks, and without AWS."""
    answer = offline.call("info", api_version=version)
    assert result(answer) == INFO
    assert "AWS call" not in answer.stderr


@pytest.mark.parametrize(
    ("debug", "announced"),
    [
        (None, 3),
        ({"cpi": {"api_version": None}}, 3),
        ({"cpi": {"api_version": 1}}, 1),
        ({"cpi": {"api_version": 2}}, 2),
        ({"cpi": {"api_version": 99}}, 3),
    ],
    ids=name,
)
def test_announced_version(result: Checked, debug: Any, announced: int) -> None:
    """Info announces the lower of 3 and what the configuration says."""
    document = config(NOWHERE)
    document["cloud"]["properties"]["debug"] = debug
    assert result(Cpi(document).call("info")) == {**INFO, "api_version": announced}


def test_announced_version_limits_info_alone(early: Checked) -> None:
    """A request may ask for a higher version than what is announced."""
    document = config(NOWHERE)
    document["cloud"]["properties"]["debug"] = {"cpi": {"api_version": 1}}
    assert "takes 2 to 3 arguments" in early(Cpi(document).call("create_stemcell", api_version=3))[1]
