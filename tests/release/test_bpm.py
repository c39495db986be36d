"""The job's bin/cpi where a Director with `use_bpm_for_workers` starts it: in bpm's container."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from testbed.bpm import Container
from testbed.cloud import FakeAws
from testbed.executable import Cpi, config
from testbed.imds import Imds
from testbed.job import JobCpi, Render
from testbed.registry import Registry
from testbed.world import World
from tests.faults.scenario import Scenario
from tests.faults.scenarios import WITHOUT_AWS
from tests.faults.stage import Stage
from tests.listing import check_methods_listed
from tests.release.playing import ONE_OF_EACH_METHOD, play
from tests.stories.stemcell_images import PROPERTIES, packed

UnderBpm = Callable[[Mapping[str, Any]], JobCpi]

NO_ROOT = (
    "The program stemcell-copy must run as root, but this process can't become root, without sudo or in "
    "bpm's containers: set director.use_bpm_for_workers to false, or use the EBS direct APIs "
    "(aws.stemcell_upload: ebs_direct), or the light stemcell of the same version"
)
DENIED = {"code": "AccessDeniedException", "message": "You may not.", "status": 403}
VM = "i-0123456789abcdef0"
DISK = "vol-0123456789abcdef0"
ROLE_ARN = "arn:aws:iam::123456789012:role/cpi"
RUN = "sys/run/aws_cpi"
ROLES = f"{RUN}/roles"
SIZE = {"cpu": 1, "ram": 512, "ephemeral_disk_size": 1024}


@pytest.fixture
def under_bpm(container: Container, render: Render) -> UnderBpm:
    """Return a function that has the job rendered for a cpi.json, and run in the container."""
    return lambda document: JobCpi(container, render, document)


@pytest.fixture
def stage(
    fake_aws: FakeAws,
    world: World,
    registry: Registry,
    container: Container,
    under_bpm: UnderBpm,
) -> Stage:
    """Return a laid world, with the executable in the container."""
    return Stage(fake_aws, world, registry, container.tmp, under_bpm)


def with_added(container: Container, environment: Mapping[str, str]) -> Container:
    """Return the container with more variables."""
    return replace(container, environment={**container.environment, **environment})


def test_each_method_is_called() -> None:
    """Each method is called in the container."""
    called = {each.method for each in ONE_OF_EACH_METHOD} | WITHOUT_AWS
    check_methods_listed(called, "add a scenario to tests/faults/scenarios_*.py")


@pytest.mark.parametrize("scenario", ONE_OF_EACH_METHOD, ids=lambda scenario: scenario.method)
def test_method(stage: Stage, container: Container, scenario: Scenario) -> None:
    """Each request takes the same calls and changes the same as elsewhere, and writes no file."""
    play(stage, scenario)
    assert container.written == []


@pytest.mark.parametrize(
    ("method", "arguments"), [("info", []), ("ping", []), ("calculate_vm_cloud_properties", [SIZE])]
)
def test_method_without_aws(
    fake_aws: FakeAws, under_bpm: UnderBpm, method: str, arguments: list[Any]
) -> None:
    """A request that takes no AWS call is answered as elsewhere, and warns of nothing."""
    document = config(fake_aws.endpoint)
    answer = under_bpm(document).call(method, *arguments)
    assert answer.ok() == Cpi(document).call(method, *arguments).ok()
    assert " WARNING: " not in answer.stderr


def test_current_vm(container: Container, fake_aws: FakeAws, render: Render) -> None:
    """The VM's own id comes from instance metadata."""
    with Imds(VM) as imds:
        answer = JobCpi(with_added(container, imds.environment), render, config(fake_aws.endpoint)).call(
            "current_vm_id"
        )
    assert answer.ok() == VM
    assert " WARNING: " not in answer.stderr


def test_no_upload_through_a_volume(
    fake_aws: FakeAws, world: World, container: Container, render: Render
) -> None:
    """An upload through a volume is refused before anything is created, also where AWS permits no other."""
    fake_aws.rule(action="StartSnapshot", error=DENIED)
    heavy = container.tmp / "image"
    heavy.write_bytes(packed())
    with Imds(VM) as imds:
        cpi = JobCpi(with_added(container, imds.environment), render, config(fake_aws.endpoint))
        answer = cpi.call("create_stemcell", str(heavy), dict(PROPERTIES))
    error = answer.error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
    assert error["message"].startswith("StartSnapshot failed with AccessDeniedException: You may not. (")
    assert error["message"].endswith(f"The upload through a volume also failed: {NO_ROOT}")
    assert "CreateVolume" not in fake_aws.actions()
    assert world.state() == world.empty


@pytest.mark.parametrize("volumes", [(), (RUN,)], ids=["as the Director has it", "with the volume"])
def test_role(fake_aws: FakeAws, container: Container, render: Render, volumes: tuple[str, ...]) -> None:
    """A role is assumed once if the Director gives its workers the folder for that, else in each call."""
    given = replace(container, volumes=volumes)
    (given.vcap / ROLES).mkdir(
        mode=0o700, parents=True, exist_ok=True
    )  # by cpi_ctl, after the worker's start
    cpi = JobCpi(given, render, config(fake_aws.endpoint, role_arn=ROLE_ARN))
    for _ in range(2):
        answer = cpi.call("has_disk", DISK)
        assert answer.ok() is False
        assert " WARNING: " not in answer.stderr
    assert fake_aws.actions().count("AssumeRole") == (1 if volumes else 2)
    assert [path.stat().st_mode & 0o777 for path in container.vcap.glob(f"{ROLES}/*")] == [0o600] * len(
        volumes
    )
