"""The defaults for the disks of VMs in cpi.json. Pure."""

from collections.abc import Iterator
from typing import Final

from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.plan.disk_defaults import DiskDefaults
from bosh_aws_cpi.tools.checks import words
from bosh_aws_cpi.tools.checks.reading import said
from bosh_aws_cpi.tools.findings import Finding, Severity

_ROOT: Final = "aws.default_root_disk"
_EPHEMERAL: Final = "aws.default_ephemeral_disk"


def findings(aws: AwsConfig) -> Iterator[Finding]:
    """Check the defaults."""
    if text := said(lambda: DiskDefaults.of(aws)):
        yield Finding(Severity.ERROR, text, f"Correct {_ROOT} or {_EPHEMERAL} in cpi.json")
        return
    yield from words.of_default_disk(aws.default_root_disk, _ROOT)
    yield from words.of_default_disk(aws.default_ephemeral_disk, _EPHEMERAL)
