"""AWS clients for operators' commands, which call operations and services that no method calls."""

from functools import cached_property
from typing import TYPE_CHECKING

from bosh_aws_cpi.aws.sdk import data
from bosh_aws_cpi.aws.sdk.attempts import Allowance
from bosh_aws_cpi.aws.sdk.clients import Clients
from bosh_aws_cpi.aws.sdk.timing import THROTTLED_COMMAND

if TYPE_CHECKING:
    from mypy_boto3_iam import IAMClient
    from mypy_boto3_kms import KMSClient
    from mypy_boto3_service_quotas import ServiceQuotasClient

    from bosh_aws_cpi.call_statistics import CallStatistics
    from bosh_aws_cpi.config.aws_config import AwsConfig


class CommandClients(Clients):
    """AWS clients for one command; errors are those of `Clients`.

    All calls together pause for throttling as long as `THROTTLED_COMMAND` says.

    Args:
        statistics: Counts the calls that the clients make.
    """

    def __init__(self, config: "AwsConfig", statistics: "CallStatistics") -> None:
        super().__init__(config, statistics, Allowance(THROTTLED_COMMAND.seconds))
        self._session.register_component("data_loader", data.loader(for_commands=True))

    @cached_property
    def iam(self) -> "IAMClient":
        """The IAM client."""
        client: IAMClient = self._create(self._session, "iam")
        return client

    @cached_property
    def kms(self) -> "KMSClient":
        """The KMS client."""
        client: KMSClient = self._create(self._session, "kms")
        return client

    @cached_property
    def service_quotas(self) -> "ServiceQuotasClient":
        """The client for Service Quotas."""
        client: ServiceQuotasClient = self._create(self._session, "service-quotas")
        return client
