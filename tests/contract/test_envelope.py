"""Every check of a request in its order, and what is answered before a method runs."""

import json
import sys
from typing import Any

import pytest

from testbed.executable import ABSENT, DIRECTOR_UUID, Answer, Cpi, config
from tests.protocols import Checked

pytestmark = pytest.mark.usefixtures("warm")

NOT_IMPLEMENTED = "Bosh::Clouds::NotImplemented"
NO_PROPERTIES: dict[str, Any] = {"cloud": {}}
NO_RETRIES = config("http://127.0.0.1:1", max_retries=ABSENT)
GOOD = {
    "method": "delete_stemcell",
    "arguments": ["ami-1 light"],
    "api_version": 2,
    "context": {"director_uuid": DIRECTOR_UUID},
}
CHECKS: list[tuple[str, dict[str, Any], str, str]] = [
    ("method", {"method": 5}, "InvalidCall", "Method must be a String, got: '5'"),
    ("name", {"method": "sing"}, NOT_IMPLEMENTED, "Method is not known, got: 'sing'"),
    ("arguments", {"arguments": {}}, "InvalidCall", "Arguments must be an Array"),
    ("api_version", {"api_version": "2"}, "InvalidCall", "CPI api_version requested must be an Integer"),
    ("context", {"context": {}}, "InvalidCall", "Request should include context with director uuid"),
]
"""The checks of the request itself, in their order: name, what fails it, type, message."""


def send(cpi: Cpi, changes: dict[str, Any]) -> Answer:
    """Send the good request with changes; `ABSENT` takes a key out."""
    document = {key: value for key, value in {**GOOD, **changes}.items() if value is not ABSENT}
    return cpi.raw(json.dumps(document).encode())


def test_good(offline: Cpi, result: Checked) -> None:
    """The request that the tests spoil is a good one; a method without a return value answers null."""
    answer = send(offline, {})
    assert result(answer) is None
    assert json.loads(answer.stdout) == {"result": None, "error": None, "log": ""}


@pytest.mark.parametrize("first", range(len(CHECKS)), ids=[check for check, *_ in CHECKS])
def test_order(offline: Cpi, early: Checked, first: int) -> None:
    """A request that fails several checks is answered for the first of them."""
    changes: dict[str, Any] = {}
    for _, change, *_ in reversed(CHECKS[first:]):
        changes.update(change)
    offline.config_path.unlink()
    assert early(send(offline, changes)) == tuple(CHECKS[first][2:])


@pytest.mark.parametrize(
    ("document", "kind", "message"),
    [
        (
            NO_PROPERTIES,
            "Unknown",
            (
                "Could not find cloud properties in the configuration: '{}' has no hash cloud.properties, "
                "in which the section aws belongs"
            ),
        ),
        (
            NO_RETRIES,
            "InvalidCall",
            "Arguments are not correct, details: 'missing configuration parameters > aws:max_retries'",
        ),
    ],
    ids=["properties", "aws"],
)
def test_configuration_before_arguments(early: Checked, document: Any, kind: str, message: str) -> None:
    """The configuration is checked before the number of arguments."""
    cpi = Cpi(document)
    assert early(send(cpi, {"arguments": []})) == (kind, message.format(cpi.config_path))


@pytest.mark.parametrize("context", [{}, {"director_uuid": ""}])
def test_context_before_configuration(early: Checked, context: Any) -> None:
    """A context without a Director's id is answered before a configuration that does not validate.

    With an empty one, resources of other Directors without one would count as its own.
    """
    expected = ("InvalidCall", "Request should include context with director uuid")
    assert early(send(Cpi(NO_PROPERTIES), {"context": context})) == expected


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "delete_stemcell takes 1 argument, got 0"),
        ([""], "delete_stemcell: stemcell_cid must be a String that is not empty, got String"),
    ],
)
def test_wrong_arguments(offline: Cpi, early: Checked, arguments: list[Any], said: str) -> None:
    """Wrong arguments are refused before the method runs."""
    expected = ("InvalidCall", f"Arguments are not correct, details: '{said}'")
    assert early(send(offline, {"arguments": arguments})) == expected


def test_unknown_keys(offline: Cpi, result: Checked) -> None:
    """Unknown keys of the request are ignored."""
    assert result(send(offline, {"method": "ping", "arguments": [], "more": {"a": [1]}})) == "pong"


def test_configure_networks(offline: Cpi, late: Checked) -> None:
    """configure_networks is not supported: the Director then makes a new VM."""
    expected = ("Bosh::Clouds::NotSupported", "configure_networks is no longer supported")
    assert late(offline.call("configure_networks", "i-1", {})) == expected


def test_unforeseen(late: Checked) -> None:
    """An unexpected exception is answered as Unknown, with its own message."""
    code = (
        "import sys\n"
        "from bosh_aws_cpi.process import main\n"
        "from bosh_aws_cpi.cpi import info\n"
        "def fail(cloud):\n"
        "    raise RuntimeError('the sky is falling')\n"
        "info.ping = fail\n"
        "sys.exit(main())\n"
    )
    cpi = Cpi(config("http://127.0.0.1:1"), command=[sys.executable, "-c", code])
    assert late(cpi.call("ping")) == ("Unknown", "the sky is falling")
