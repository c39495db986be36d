"""The job's bin/cpi where a Director with `use_bpm_for_workers` starts it: in bpm's container."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from testbed.bpm import Container
from testbed.cloud import FakeAws
from testbed.executable import Cpi, config
from testbed.imds import Imds
from testbed.job import DIRECTORS, JobCpi, Render
from testbed.registry import Registry
from testbed.tls import Authority, TlsRelay
from testbed.world import World
from tests.faults.scenario import Scenario
from tests.faults.scenarios import WITHOUT_AWS
from tests.faults.scenarios_vm import arguments, network
from tests.faults.stage import Stage
from tests.listing import check_methods_listed
from tests.release.playing import ONE_OF_EACH_METHOD, play
from tests.stories.stemcell_images import PROPERTIES, packed

UnderBpm = Callable[[Mapping[str, Any]], JobCpi]

WITHOUT_HOME = {name: value for name, value in DIRECTORS.items() if name != "HOME"}
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
    """Each request takes the same calls and changes the same as elsewhere, and warns of nothing else."""
    play(stage, scenario)
    assert [path for path in container.written if path.endswith(".log")] == []


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


def written(container: Container) -> list[str]:
    """Return what calls have written, but for the SDK's data."""
    return [path for path in container.written if "/sdk-" not in path]


@pytest.mark.parametrize(
    ("environment", "cache"),
    [
        (DIRECTORS, "data/director/.cache/bosh-aws-cpi"),
        (WITHOUT_HOME, "data/director/tmp/bosh-aws-cpi-1000"),
    ],
    ids=["environment of the Director", "no HOME"],
)
class TestCaches:
    """The caches, and a CPI config's certificates, in each environment that a Director may pass."""

    @pytest.fixture
    def container(
        self, packages: Path, tmp_path: Path, environment: Mapping[str, str], cache: str
    ) -> Container:
        """Return a container with that environment."""
        del cache
        return Container(tmp_path / "vcap", packages, environment)

    def test_instance_types(self, stage: Stage, container: Container, cache: str) -> None:
        """EC2 is asked once for an instance type; the SDK's data is cached, too."""
        cpi = stage.executable(config(stage.fake_aws.endpoint))
        for number in (10, 11):
            _, *others = arguments(stage, {"private": network(stage, f"10.0.1.{number}")}, [])
            answer = cpi.call("create_vm", f"agent-{number}", *others, stemcell=2)
            assert answer.ok()
            assert " WARNING: " not in answer.stderr
        assert stage.fake_aws.actions().count("DescribeInstanceTypes") == 1
        (path,) = written(container)
        assert path.startswith(f"{cache}/")
        assert path.endswith("-t3.micro.json")
        assert all(each.startswith(f"{cache}/") for each in container.written)

    def test_certificates(
        self, fake_aws: FakeAws, under_bpm: UnderBpm, container: Container, cache: str, tmp_path: Path
    ) -> None:
        """A CPI config's own certificates serve all calls, from one file."""
        authority = Authority(tmp_path, "one")
        text = authority.path.read_text()
        with TlsRelay(fake_aws.endpoint, authority) as front:
            document = config(fake_aws.endpoint, ec2_endpoint=front.address)
            for _ in range(2):
                context = {"connection_options": {"ca_cert": text}}
                answer = under_bpm(document).call("has_disk", DISK, context=context)
                assert answer.ok() is False
                assert " WARNING: " not in answer.stderr
        (path,) = written(container)
        assert path.startswith(f"{cache}/ca-")
        assert (container.vcap / path).read_text() == text


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
    assert written(container) == []
    assert [path.stat().st_mode & 0o777 for path in container.vcap.glob(f"{ROLES}/*")] == [0o600] * len(
        volumes
    )
