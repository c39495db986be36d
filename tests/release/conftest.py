"""What the tests of the job share: its spec, and its templates as BOSH renders them."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from testbed.bench.forms import release_form
from testbed.bpm import Container, lay_packages
from testbed.cloud import ROOT
from testbed.executable import ABSENT
from testbed.job import DIRECTORS

JOB = ROOT / "jobs" / "aws_cpi"
REQUIRED = {"aws.region": "us-east-1", "aws.default_security_groups": ["bosh"]}


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the folder of the release."""
    return ROOT


@pytest.fixture(scope="session")
def job_spec() -> dict[str, Any]:
    """Return the job's spec."""
    spec: dict[str, Any] = yaml.safe_load((JOB / "spec").read_text())
    return spec


@pytest.fixture(scope="session")
def ruby() -> Iterator[subprocess.Popen[bytes]]:
    """Run the renderer, in the locale that knows no character beyond ASCII."""
    found = shutil.which("ruby")
    if found is None:
        pytest.fail("The job's templates are rendered with ruby, which is not installed (package: ruby)")
    with subprocess.Popen(
        [found, str(Path(__file__).with_name("render.rb")), str(JOB)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "LC_ALL": "C"},
    ) as process:
        yield process
        process.communicate()


@pytest.fixture(scope="session")
def rendering(
    ruby: subprocess.Popen[bytes], job_spec: dict[str, Any]
) -> Callable[[str, Mapping[str, object]], dict[str, str]]:
    """Return a function that has a file of the job rendered, from properties by their dotted names.

    Those that are required are there unless they are `ABSENT`.
    """
    sources = {"monit": "monit"}
    sources.update({file: f"templates/{source}" for source, file in job_spec["templates"].items()})

    def rendered(file: str, properties: Mapping[str, object]) -> dict[str, str]:
        request = {"template": sources[file], "properties": nested({**REQUIRED, **properties}), "spec": {}}
        assert ruby.stdin is not None
        assert ruby.stdout is not None
        ruby.stdin.write(json.dumps(request).encode() + b"\n")
        ruby.stdin.flush()
        answer: dict[str, str] = json.loads(ruby.stdout.readline())
        return answer

    return rendered


def nested(properties: Mapping[str, object]) -> dict[str, Any]:
    """Turn properties with dotted names into the mappings of a manifest."""
    manifest: dict[str, Any] = {}
    for name, value in properties.items():
        *parents, last = name.split(".")
        place = manifest
        for parent in parents:
            place = place.setdefault(parent, {})
        if value is not ABSENT:
            place[last] = value
    return manifest


@pytest.fixture
def render(
    rendering: Callable[[str, Mapping[str, object]], dict[str, str]],
) -> Callable[[str, Mapping[str, object]], str]:
    """Return a function that renders a file of the job, and hands out its text."""

    def text(file: str, properties: Mapping[str, object]) -> str:
        answer = rendering(file, properties)
        assert "error" not in answer, answer["error"]
        return answer["text"]

    return text


@pytest.fixture
def refusal(
    rendering: Callable[[str, Mapping[str, object]], dict[str, str]],
) -> Callable[[str, Mapping[str, object]], str]:
    """Return a function that renders a file of the job, which must fail, and hands out the message."""

    def message(file: str, properties: Mapping[str, object]) -> str:
        answer = rendering(file, properties)
        assert "text" not in answer, "it renders"
        return answer["error"]

    return message


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    """Install the release's packages, with this interpreter in place of the release's."""
    folder = tmp_path_factory.mktemp("bpm")
    lib = Path(release_form(folder).program)
    lay_packages(folder / "packages", lib, root / "src/bosh_release/stemcell-copy")
    Container(folder / "vcap", folder / "packages", DIRECTORS).check()
    return folder / "packages"


@pytest.fixture
def container(packages: Path, tmp_path: Path) -> Container:
    """Return a worker's container."""
    return Container(tmp_path / "vcap", packages, DIRECTORS)
