"""The job as it is on a Director's VM, started as the Director starts it."""

import pytest

from testbed.cloud import FakeAws
from tests.e2e import job
from tests.e2e.conftest import Installation

pytestmark = pytest.mark.timeout(3600)


def test_info(installation: Installation) -> None:
    """`info`, which carries no version, announces contract 3 and both kinds of stemcells."""
    announced = job.on(installation.vcap).call("info", api_version=None).ok()
    assert announced["api_version"] == 3
    assert set(announced["stemcell_formats"]) == {"aws-light", "aws-raw"}


def test_commands(installation: Installation, fake_aws: FakeAws) -> None:
    """An operator's commands run from the job, with its configuration and all that Python needs for them."""
    swept = job.on(installation.vcap, "sweep --director somebody --json").raw(b"")
    assert (swept.returncode, swept.document["strays"]) == (0, [])
    assert "DescribeVolumes" in fake_aws.actions()
    checked_before = job.on(installation.vcap, "preflight --json").raw(b"")
    assert (checked_before.returncode, checked_before.document["is_ready"]) == (0, True)
