"""Contract versions and stemcell versions: which one a request selects, and who minds."""

from typing import Any

import pytest

from testbed.executable import ABSENT, Cpi, config
from tests.contract.recorded import INFO
from tests.protocols import Checked

pytestmark = pytest.mark.usefixtures("warm")

AMI = "ami-0a light"
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


@pytest.mark.parametrize(("stemcell", "shown"), [(None, ""), (0, "0"), ("2", "2"), (True, "true")], ids=name)
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


def test_stemcell_not_needed(offline: Cpi, result: Checked) -> None:
    """The other methods do not mind what the stemcell's version is."""
    assert result(offline.call("delete_stemcell", AMI, stemcell=None)) is None


@pytest.mark.parametrize("vm", [ABSENT, "x", {"stemcell": {}}], ids=name)
def test_stemcell_absent(offline: Cpi, late: Checked, vm: Any) -> None:
    """Without a stemcell's version it is 1."""
    context = {} if vm is ABSENT else {"vm": vm}
    expected = (
        "Cannot create VM without registry with CPI v2 and stemcell api version 1. Registry not configured."
    )
    answer = offline.call("create_vm", *CREATE_VM, context=context)
    assert late(answer) == ("Bosh::Clouds::CloudError", expected)


def test_info(offline: Cpi, result: Checked) -> None:
    """Info answers the same whatever version asks, and without AWS."""
    for version in (None, 3):
        answer = offline.call("info", api_version=version)
        assert result(answer) == INFO
        assert "AWS call" not in answer.stderr


def test_announced_version(result: Checked, early: Checked) -> None:
    """Info announces what the configuration says; a request may ask for a higher version."""
    document = config("http://127.0.0.1:1")
    document["cloud"]["properties"]["debug"] = {"cpi": {"api_version": 1}}
    cpi = Cpi(document)
    assert result(cpi.call("info")) == {**INFO, "api_version": 1}
    assert "takes 2 to 3 arguments" in early(cpi.call("create_stemcell", api_version=3))[1]
