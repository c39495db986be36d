"""Creates all AWS clients, with endpoints, CA bundle, retries and logging; `credentials` loads the keys."""

import os
import re
import ssl
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from botocore.config import Config
from botocore.exceptions import BotoCoreError
from botocore.session import Session

from bosh_aws_cpi import VERSION, connections
from bosh_aws_cpi.aws.sdk import attempts, credentials, data
from bosh_aws_cpi.aws.sdk.errors import CERTIFICATES, is_timeout
from bosh_aws_cpi.aws.sdk.timing import ANSWERED, ANSWERED_COMMAND, THROTTLED_COMMAND
from bosh_aws_cpi.call_statistics import CallStatistics
from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.errors import CloudError, wrong_variable
from bosh_aws_cpi.records import EMPTY

if TYPE_CHECKING:
    from mypy_boto3_ebs import EBSClient
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_elb import ElasticLoadBalancingClient
    from mypy_boto3_elbv2 import ElasticLoadBalancingv2Client
    from mypy_boto3_iam import IAMClient
    from mypy_boto3_kms import KMSClient
    from mypy_boto3_service_quotas import ServiceQuotasClient
    from mypy_boto3_sts import STSClient

CONNECT_TIMEOUT = 10
"""In seconds; with the SDK's default of 60, a wrong endpoint would look like a hang."""
MAX_CONNECTIONS = 16
"""The maximum number of connections to one service, one per thread."""
_CA_KEY = "aws.connection_options.ca_cert"
_CA_VARIABLES = ("BOSH_CA_CERT_FILE", "AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE")
"""The SDK itself reads the last two, and waits for ever if a variable names a pipe."""
_METADATA_ENDPOINT = "AWS_EC2_METADATA_SERVICE_ENDPOINT"
_PROXY = r"((https?:)?//)?([^/?#[\]]*@)?([\w.-]+|\[[\da-fA-F:]+\])(:\d{1,5})?([/?#][^@]*)?"
METADATA_HOSTS = ("169.254.169.254", "169.254.170.2", "[fd00:ec2::254]", "fd00:ec2::254")


_ENDPOINT_NAMES = {
    "elb": "ELASTIC_LOAD_BALANCING",
    "elbv2": "ELASTIC_LOAD_BALANCING_V2",
    "service-quotas": "SERVICE_QUOTAS",
}
"""The ends of the SDK's variables AWS_ENDPOINT_URL_…, where they differ from botocore's service names."""


def _client(service: str) -> Any:  # noqa: ANN401 - the annotation of the attribute is its type
    """An attribute for the client of a service; the client is created when it is first used."""

    def create(self: "Clients") -> Any:  # noqa: ANN401 - the same
        return self._create(self._session, service)

    return cached_property(create)


class Clients:
    """AWS clients for one call, each created when it is first used.

    The shared files in ``~/.aws`` are not read: the CPI must behave the same on the Director as on an
    operator's laptop, which may have such files for other purposes.

    Args:
        statistics: Counts the calls that the clients make.
        allowance: Limits the pauses for throttling; None to limit them for each call alone.
        caller: The ids of the request's caller by name, for the User-Agent, which CloudTrail shows, and for
            the name of a role's session; empty for a command.

    Raises:
        CloudError: A variable of the environment is wrong, or ``connection_options.ca_cert`` holds no
            certificates.
    """

    ec2: "EC2Client" = _client("ec2")
    elb: "ElasticLoadBalancingClient" = _client("elb")
    """For classic load balancers."""
    elbv2: "ElasticLoadBalancingv2Client" = _client("elbv2")
    """For target groups."""
    ebs: "EBSClient" = _client("ebs")
    """For the EBS direct APIs; several threads use this client."""
    sts: "STSClient" = _client("sts")
    """Uses the role's credentials, if a role is assumed."""

    def __init__(
        self,
        config: AwsConfig,
        statistics: CallStatistics,
        allowance: attempts.Allowance | None = None,
        caller: Mapping[str, str] = EMPTY,
    ) -> None:
        self._config = config
        self._statistics = statistics
        self._allowance = allowance
        self._user_agent = " ".join([f"bosh-aws-cpi/{VERSION}", *map("/".join, caller.items())])
        check_proxies()
        bypass_proxies_for_metadata()
        connections.install()
        self._verify, self._certificates = _ca_bundle(config.ca_cert)
        self._session = credentials.session(config, statistics, self._create, caller.get("director"))

    def _create(
        self,
        session: Session,
        service: str,
        config: Config | None = None,
        **keys: Any,  # noqa: ANN401 - the SDK's
    ) -> Any:  # noqa: ANN401 - typed by its users
        try:
            client = session.create_client(
                service,
                region_name=self._config.region,
                endpoint_url=self._config.endpoints.get(service),
                verify=self._verify,
                config=self._client_config(service).merge(config or Config()),
                **keys,
            )
        except ValueError as error:
            if isinstance(error, BotoCoreError):
                raise
            # The endpoints of the configuration are valid.
            raise CloudError(f"{error}: correct the environment's AWS_ENDPOINT_URL variables") from None
        attempts.install_retries(client, self._config.max_retries, self._statistics, self._allowance)
        client.meta.events.register("after-call-error", self._name_certificates)
        return client

    def _name_certificates(self, **event: Any) -> None:  # noqa: ANN401 - botocore's events are keywords
        """Attach the name of the CA certificates to a call's error; certificate errors show it."""
        setattr(event["exception"], CERTIFICATES, self._certificates)

    def _client_config(self, service: str) -> Config:
        return Config(
            retries={"mode": "standard", "total_max_attempts": 1},  # `attempts` decides
            connect_timeout=CONNECT_TIMEOUT,
            read_timeout=ANSWERED.seconds,
            user_agent_extra=self._user_agent,
            max_pool_connections=MAX_CONNECTIONS,
            use_dualstack_endpoint=self._config.dualstack and not self._has_endpoint(service),
            # None lets AWS_USE_FIPS_ENDPOINT decide.
            use_fips_endpoint=(self._config.fips and not self._has_endpoint(service)) or None,
        )

    def _has_endpoint(self, service: str) -> bool:
        """Whether an endpoint is configured for a service.

        The SDK refuses an endpoint together with dual-stack or FIPS.
        """
        given = self._config.endpoints.get(service) or os.environ.get("AWS_ENDPOINT_URL")
        name = _ENDPOINT_NAMES.get(service, service.upper())
        return bool(given or os.environ.get(f"AWS_ENDPOINT_URL_{name}"))


class CommandClients(Clients):
    """AWS clients for operators' commands, which also call operations and services that no method calls.

    The pauses for throttling of all calls together are limited by `THROTTLED_COMMAND`. A call that is not
    answered within `ANSWERED_COMMAND` is not repeated.
    """

    iam: "IAMClient" = _client("iam")
    kms: "KMSClient" = _client("kms")
    service_quotas: "ServiceQuotasClient" = _client("service-quotas")

    def __init__(self, config: AwsConfig, statistics: CallStatistics) -> None:
        super().__init__(config, statistics, attempts.Allowance(THROTTLED_COMMAND.seconds))
        self._session.register_component("data_loader", data.loader(for_commands=True))

    def _create(self, *arguments: Any, **keys: Any) -> Any:  # noqa: ANN401 - those of the base class
        client = super()._create(*arguments, **keys)
        attempts.end_at(client, is_timeout)
        return client

    def _client_config(self, service: str) -> Config:
        return super()._client_config(service).merge(Config(read_timeout=ANSWERED_COMMAND.seconds))


def _ca_bundle(own: str | None) -> tuple[str | None, str]:
    """The path of the CA bundle, and its name in messages; None and "" for the SDK's default bundle."""
    if own:
        return path_of(own), f"the CA certificates of {_CA_KEY}"
    for variable in _CA_VARIABLES:
        if path := os.environ.get(variable):
            if not os.path.isdir(path):  # noqa: PTH112 - pathlib's may raise
                connections.check_file(variable, path)
            return path, f"{variable} '{path}'"
    return None, ""


def path_of(certificates: str) -> str:
    """Return a name that the SDK takes for the path of a file with these CA certificates.

    Args:
        certificates: The certificates in PEM format.

    Raises:
        CloudError: ``certificates`` holds no certificates.
    """
    # Python accepts ASCII only; bundles have comments between the certificates.
    text = certificates.encode("ascii", "ignore").decode()
    try:
        ssl.create_default_context(cadata=text)
    except (ssl.SSLError, ValueError) as error:
        raise CloudError(f"{_CA_KEY} holds no CA certificates in PEM format: {error}") from None
    return connections.name_of(text)


def check_proxies() -> None:
    """Refuse a proxy's URL in which a library could mistake the password for another part, and show it.

    Raises:
        CloudError: A proxy's URL is not valid, or has a special character that is not encoded.
    """
    for scheme, url in getproxies().items():
        if scheme in {"http", "https"} and not re.fullmatch(_PROXY, url):
            name = f"(env.{scheme}_proxy of the job)"
            what = "is not a proxy's URL. Give http://HOST:PORT, with user and password percent-encoded"
            raise wrong_variable(f"{scheme}_proxy", f"{name} {what}")


def bypass_proxies_for_metadata() -> None:
    """Exclude instance metadata from proxies: a proxy would return the metadata of its own machine."""
    try:
        override = urlsplit(os.environ.get(_METADATA_ENDPOINT, "")).hostname
    except ValueError:
        raise wrong_variable(_METADATA_ENDPOINT, "is not a URL") from None
    hosts = [*METADATA_HOSTS, *filter(None, [override])]
    known = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    if known.strip() == "*":
        return
    merged = ",".join(dict.fromkeys([*filter(None, known.split(",")), *hosts]))
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = merged
