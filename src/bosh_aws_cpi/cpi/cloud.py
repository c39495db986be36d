"""What every verb is given: configuration, contract version, and lazily the rest."""

from functools import cached_property
from typing import TYPE_CHECKING

from bosh_aws_cpi import config as configuration
from bosh_aws_cpi.cpi.registry import DisabledRegistry, NoRegistry, Registry
from bosh_aws_cpi.tally import Tally

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

    from bosh_aws_cpi.aws.clients import Clients
    from bosh_aws_cpi.config import CpiConfig

STEMCELL_WITHOUT_REGISTRY = 2
"""From this stemcell api_version on the agent takes all its settings from user_data."""


class Cloud:
    """One call's view of the cloud.

    Args:
        config: The call's configuration.
        contract: The contract version that the caller speaks: 1, 2 or 3.
    """

    def __init__(self, config: "CpiConfig", contract: int) -> None:
        self.config = config
        self.contract = contract
        self.tally = Tally()

    @cached_property
    def stemcell(self) -> int:
        """The api_version of the stemcell that the call is about; V1 knows none but 1.

        Raises:
            CPIAPIVersionNotSupported: It is null or no positive integer.
        """
        return 1 if self.contract == 1 else configuration.stemcell_api_version(self.config.stemcell)

    @cached_property
    def registry(self) -> Registry:
        """Where agent settings go: the registry for old stemcells, else nowhere.

        Raises:
            CPIAPIVersionNotSupported: The stemcell's api_version is no version.
        """
        if self.stemcell >= STEMCELL_WITHOUT_REGISTRY:
            return NoRegistry()
        if self.config.registry is None:
            return DisabledRegistry()
        from bosh_aws_cpi.cpi.http_registry import HttpRegistry  # noqa: PLC0415 - loads requests

        return HttpRegistry(self.config.registry)

    @cached_property
    def clients(self) -> "Clients":
        """The AWS clients, made one by one as they are asked for."""
        from bosh_aws_cpi.aws.clients import Clients  # noqa: PLC0415 - loads botocore

        return Clients(self.config.aws, self.tally)

    @property
    def ec2(self) -> "EC2Client":
        """The EC2 client."""
        return self.clients.ec2
