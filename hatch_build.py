"""Cuts the SDK's data to what the CPI reads, when pip builds the package, also an editable one."""

import sys
from pathlib import Path
from typing import Any

import botocore
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class DataCut(BuildHookInterface):  # type: ignore[type-arg]  # hatchling has no types for its configuration
    """The build hook; hatchling finds it by its base class."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's
        """Write the cuts into the package."""
        sys.path.insert(0, str(Path(self.root) / "src"))
        from bosh_aws_cpi.aws.sdk import data_cut  # noqa: PLC0415 - only now it can be found

        data_cut.write(Path(botocore.__file__).parent, botocore.__version__)
