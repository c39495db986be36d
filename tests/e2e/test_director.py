"""The job as it is on a Director's VM, started as the Director starts it."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import ACCESS_KEY_ID, SECRET_ACCESS_KEY, Answer, Cpi
from testbed.world import World
from tests.e2e import job
from tests.e2e.conftest import Installation

pytestmark = pytest.mark.timeout(3600)


@pytest.fixture
def cpi(installation: Installation) -> Cpi:
    """Return the installed executable; it has its configuration from the job's template."""
    return job.on(installation.vcap)


def checked(answer: Answer) -> dict[str, Any]:
    """Return a response that has the Director's schema."""
    document = answer.document
    assert answer.returncode == 0, answer.stderr
    assert document.keys() == {"result", "error", "log"}
    assert isinstance(document["log"], str)
    assert ACCESS_KEY_ID not in answer.stderr + str(document)
    assert SECRET_ACCESS_KEY not in answer.stderr + str(document)
    if document["error"] is not None:
        assert {key: type(value) for key, value in document["error"].items()} == {
            "type": str,
            "message": str,
            "ok_to_retry": bool,
        }
    return document


def test_info_without_version(cpi: Cpi) -> None:
    """`info`, which carries no version, announces contract 3 and both kinds of stemcells."""
    document = checked(cpi.call("info", api_version=None))
    assert document["error"] is None
    assert document["result"]["api_version"] == 3
    assert set(document["result"]["stemcell_formats"]) == {"aws-light", "aws-raw"}


def test_commands(installation: Installation, fake_aws: FakeAws) -> None:
    """An operator's commands run from the job, with its configuration and all that Python needs for them."""
    swept = job.on(installation.vcap, "sweep --director somebody --json").raw(b"")
    assert (swept.returncode, swept.document["strays"]) == (0, [])
    assert "DescribeVolumes" in fake_aws.actions()
    checked_before = job.on(installation.vcap, "preflight --json").raw(b"")
    assert (checked_before.returncode, checked_before.document["is_ready"]) == (0, True)


def test_error_has_its_schema(cpi: Cpi, world: World) -> None:
    """An error has a type that the Director knows, and its log lines name the request."""
    del world
    missing = "vol-00000000000000000"
    answer = cpi.call(
        "attach_disk", "i-00000000000000000", missing, stemcell=3, context={"request_id": "cpi-123456"}
    )
    document = checked(answer)
    assert document["result"] is None
    assert document["error"]["type"].startswith("Bosh::Clouds::")
    assert "[req_id cpi-123456]" in answer.stderr
