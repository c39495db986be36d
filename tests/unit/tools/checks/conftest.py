"""What the tests of `cpi check` share: a check of files, offline."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from bosh_aws_cpi.config import cpi_config
from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.config.loading import load
from bosh_aws_cpi.tools.checks.offline import Files
from bosh_aws_cpi.tools.findings import ordered
from testbed.executable import config


@pytest.fixture
def aws() -> AwsConfig:
    """Return the least configuration."""
    return cpi_config.parse(config("http://localhost"), {}, {}).aws


@pytest.fixture
def check(tmp_path: Path) -> Callable[..., list[tuple[str, str, str]]]:
    """Return a function that checks files, and returns the severity, path and text of each finding."""

    def run(whole: Any, manifest: Any = None, **aws: Any) -> list[tuple[str, str, str]]:
        settings, path, deployed = (tmp_path / name for name in ("cpi.json", "config.yml", "manifest.yml"))
        document = config("http://localhost", **aws)
        settings.write_text(json.dumps(document))
        for file, content in ((path, whole), (deployed, manifest)):
            file.write_text(content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False))
        given = document["cloud"]["properties"]["aws"]
        named = str(deployed) if manifest else None
        files = Files.read([str(path)], named, load(str(settings), {}).aws, given=given)
        return [
            (each.severity.value, each.place.path if each.place else "", str(each))
            for each in ordered(files.findings())
        ]

    return run
