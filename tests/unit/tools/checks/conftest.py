"""What the tests of `cpi check` share: a check of files, offline."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from bosh_aws_cpi.config import cpi_config
from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.config.loading import load
from bosh_aws_cpi.tools.check import findings, read_files
from bosh_aws_cpi.tools.checks.lookups import Account
from bosh_aws_cpi.tools.findings import sort_distinct
from testbed.executable import config


class Found(NamedTuple):
    """A finding, and its text as people read it."""

    severity: str
    path: str
    text: str
    source: str
    line: int | None


Check = Callable[..., list[Found]]


@pytest.fixture
def aws() -> AwsConfig:
    """Return the least configuration."""
    return cpi_config.parse(config("http://localhost"), {}, {}).aws


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Return a function that checks files: one or more cloud configs, and perhaps a manifest."""

    def run(
        whole: Any, manifest: Any = None, more: Sequence[str] = (), cpi: str = "", **aws: Any
    ) -> list[Found]:
        def written(name: str, content: Any) -> str:
            text = content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False)
            (tmp_path / name).write_text(text)
            return str(tmp_path / name)

        document = config("http://localhost", **aws)
        settings = written("cpi.json", json.dumps(document))
        names = [written(f"config-{number}.yml", each) for number, each in enumerate((whole, *more))]
        deployed = written("manifest.yml", manifest) if manifest else None
        given, loaded = document["cloud"]["properties"]["aws"], load(settings, {})
        files, wrong = read_files(names, deployed, cpi, loaded.aws, given)
        return [
            Found(
                each.severity.value,
                each.place.path if each.place else "",
                str(each),
                each.source,
                each.place.line if each.place else None,
            )
            for each in sort_distinct([*wrong, *findings(files, loaded, Account(files.aws, is_offline=True))])
        ]

    return run
