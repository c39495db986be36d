"""AWS clients for operators' commands, which call operations and services that no method calls."""

from typing import TYPE_CHECKING

from bosh_aws_cpi.aws.sdk import data
from bosh_aws_cpi.aws.sdk.clients import Clients

if TYPE_CHECKING:
    from bosh_aws_cpi.call_statistics import CallStatistics
    from bosh_aws_cpi.config.aws_config import AwsConfig


class CommandClients(Clients):
    """AWS clients for one command; arguments and errors are those of `Clients`."""

    def __init__(self, config: "AwsConfig", statistics: "CallStatistics") -> None:
        super().__init__(config, statistics)
        self._session.register_component("data_loader", data.loader(for_commands=True))
