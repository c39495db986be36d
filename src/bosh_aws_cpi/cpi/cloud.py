"""The object that every method gets: configuration, contract version, and lazily created clients."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from bosh_aws_cpi.config import cpi_config
from bosh_aws_cpi.config.cpi_config import CpiConfig
from bosh_aws_cpi.cpi.agent_registry import DisabledRegistry, NoRegistry, Registry

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

    from bosh_aws_cpi.aws.sdk.clients import Clients
    from bosh_aws_cpi.call_statistics import CallStatistics
    from bosh_aws_cpi.cpi.undo import Undo

STEMCELL_WITHOUT_REGISTRY = 2
"""From this stemcell api_version on, the agent reads all its settings from user_data."""


class Cloud:
    """One call's view of the cloud.

    Args:
        api_version: The contract version that the caller uses: 1, 2 or 3.
    """

    def __init__(self, config: CpiConfig, api_version: int) -> None:
        self.config = config
        self.api_version = api_version

    @cached_property
    def statistics(self) -> CallStatistics:
        """The counts of the AWS calls."""
        from bosh_aws_cpi.call_statistics import CallStatistics  # noqa: PLC0415 - loads threading

        return CallStatistics()

    @property
    def has_only_read(self) -> bool:
        """Whether the call has neither changed anything at AWS yet, nor begun to."""
        return self.statistics.has_only_reads and "undo" not in vars(self)

    def summary(self) -> str:
        """The counts as the end of a sentence; empty when AWS was not called."""
        return self.statistics.summary() if "statistics" in vars(self) else ""

    @cached_property
    def stemcell_api_version(self) -> int:
        """The stemcell's api_version, checked when it is first needed; always 1 in contract V1."""
        return 1 if self.api_version == 1 else cpi_config.stemcell_api_version(self.config.stemcell)

    @cached_property
    def registry_of_existing_vm(self) -> Registry:
        """The registry of an existing VM, whose stemcell may be missing in the context.

        The Director's ``POST /dynamic_disks/provide`` calls attach_disk without the stemcell's api_version
        (recorded in tests/data/recorded/87-director-dynamic-disks.jsonl). Without a registry in the
        configuration, create_vm accepts only stemcells that need none.
        """
        return self.registry if self.is_stemcell_known or self.config.registry else NoRegistry()

    @property
    def is_stemcell_known(self) -> bool:
        """Whether the request determines the stemcell's api_version; otherwise the CPI assumes 1."""
        return self.api_version == 1 or self.config.is_stemcell_given

    @cached_property
    def registry(self) -> Registry:
        """The registry for the agent settings of old stemcells; newer ones need none."""
        if self.stemcell_api_version >= STEMCELL_WITHOUT_REGISTRY:
            return NoRegistry()
        if self.config.registry is None:
            return DisabledRegistry()
        from bosh_aws_cpi.cpi.http_registry import HttpRegistry  # noqa: PLC0415 - loads requests

        return HttpRegistry(self.config.registry)

    @cached_property
    def undo(self) -> Undo:
        """The undo steps of the call."""
        from bosh_aws_cpi.cpi.undo import Undo  # noqa: PLC0415 - loads botocore

        return Undo()

    def discard_created(self) -> None:
        """Discard the resources that the call created, because nobody received their ids."""
        if "undo" in vars(self):
            self.undo.run("its response could not be written")

    @cached_property
    def clients(self) -> Clients:
        """The AWS clients, each created when it is first used."""
        from bosh_aws_cpi.aws.sdk.clients import Clients  # noqa: PLC0415 - loads botocore
        from bosh_aws_cpi.call_statistics import caller  # noqa: PLC0415 - the same loads it

        ids = caller(self.config.director_uuid, self.config.request_id)
        return Clients(self.config.aws, self.statistics, caller=ids)

    @property
    def ec2(self) -> EC2Client:
        """The EC2 client."""
        return self.clients.ec2
