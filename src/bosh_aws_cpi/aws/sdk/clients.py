"""Creates all AWS clients: credentials, endpoints, CA bundle, retries, logging."""

import os
import uuid
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from botocore.config import Config
from botocore.credentials import (
    AssumeRoleCredentialFetcher,
    AssumeRoleWithWebIdentityProvider,
    CredentialProvider,
    CredentialResolver,
    Credentials,
    DeferredRefreshableCredentials,
)
from botocore.session import Session
from botocore.utils import FileWebIdentityTokenLoader

from bosh_aws_cpi.aws.sdk import attempts, call_hooks, data
from bosh_aws_cpi.call_statistics import CallStatistics
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.log import redact

if TYPE_CHECKING:
    from mypy_boto3_ebs import EBSClient
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_elb import ElasticLoadBalancingClient
    from mypy_boto3_elbv2 import ElasticLoadBalancingv2Client
    from mypy_boto3_sts import STSClient

    from bosh_aws_cpi.config.cpi_config import AwsConfig

CONNECT_TIMEOUT = 10
"""Seconds; the SDK's default of 60 would make a wrong endpoint look like a hang."""
MAX_CONNECTIONS = 16
"""Connections to one service at once, one per thread."""
METADATA_ATTEMPTS = 10
"""Attempts to get the instance profile's credentials."""
METADATA_HOSTS = ("169.254.169.254", "169.254.170.2", "[fd00:ec2::254]", "fd00:ec2::254")

# The SDK's sources of keys in files (~/.aws, ~/.boto, /etc/boto.cfg) and from programs that these files name.
_FILE_PROVIDERS = (
    "shared-credentials-file",
    "custom-process",
    "config-file",
    "ec2-credentials-file",
    "boto-config",
)


_ENDPOINT_NAMES = {"elb": "ELASTIC_LOAD_BALANCING", "elbv2": "ELASTIC_LOAD_BALANCING_V2"}
"""Names in the SDK's AWS_ENDPOINT_URL_… variables, where they differ from botocore's names."""


class Clients:
    """AWS clients for one call, each created when it is first used.

    The shared files in ``~/.aws`` are not read: a CPI must behave the same on the Director and on an
    operator's laptop, which may have them for other purposes.

    Args:
        config: The ``aws`` section.
        statistics: Counts the calls that the clients make.

    Raises:
        CloudError: ``BOSH_CA_CERT_FILE`` names a file that does not exist.
    """

    def __init__(self, config: "AwsConfig", statistics: CallStatistics) -> None:
        self._config = config
        self._statistics = statistics
        self._verify = _ca_bundle()
        bypass_proxies_for_metadata()
        self._session = self._with_role() if config.role_arn else self._with_source()

    @cached_property
    def ec2(self) -> "EC2Client":
        """The EC2 client."""
        client: EC2Client = self._create(self._session, "ec2")
        return client

    @cached_property
    def elb(self) -> "ElasticLoadBalancingClient":
        """The client for classic load balancers."""
        client: ElasticLoadBalancingClient = self._create(self._session, "elb")
        return client

    @cached_property
    def elbv2(self) -> "ElasticLoadBalancingv2Client":
        """The client for target groups."""
        client: ElasticLoadBalancingv2Client = self._create(self._session, "elbv2")
        return client

    @cached_property
    def ebs(self) -> "EBSClient":
        """The client for the EBS direct APIs; it is used from several threads."""
        client: EBSClient = self._create(self._session, "ebs")
        return client

    @cached_property
    def sts(self) -> "STSClient":
        """The STS client; with an assumed role, it uses that role's credentials."""
        client: STSClient = self._create(self._session, "sts")
        return client

    def _with_source(self) -> Session:
        """A session with the credentials of ``credentials_source``."""
        config = self._config
        session = _session(config)
        call_hooks.install(session, self._statistics)
        self._ask_own_sts_for_web_identity(session)
        if config.access_key_id and config.secret_access_key:
            session.set_credentials(config.access_key_id, config.secret_access_key, config.session_token)
        elif (found := session.get_credentials()) is not None:
            _kept_secret(found.get_frozen_credentials()._asdict())
        return session

    def _ask_own_sts_for_web_identity(self, session: Session) -> None:
        """Let web identity use our STS client; the SDK's knows neither our endpoint nor our CA bundle."""
        method = AssumeRoleWithWebIdentityProvider.METHOD
        own = AssumeRoleWithWebIdentityProvider(
            load_config=dict,
            client_creator=partial(self._create, session),
            profile_name="",
            token_loader_cls=_WebIdentityToken,
        )
        chain = session.get_component("credential_provider")
        chain.insert_after(method, own)
        chain.remove(method)  # the first of that name, the SDK's

    def _with_role(self) -> Session:
        """A session with an assumed role; the first call gets its credentials from STS."""
        source = self._with_source()
        credentials = source.get_credentials()
        if credentials is None:
            message = (
                f"No AWS credentials found to assume the role '{self._config.role_arn}' with: "
                "neither in the environment nor in the instance profile"
            )
            raise CloudError(message)
        fetcher = AssumeRoleCredentialFetcher(
            client_creator=partial(self._create, source),
            source_credentials=credentials,
            role_arn=str(self._config.role_arn),
            extra_args={"RoleSessionName": f"rsn-{uuid.uuid4()}"},
        )
        session = _session(self._config)
        call_hooks.install(session, self._statistics)
        assumed = DeferredRefreshableCredentials(
            lambda: _kept_secret(fetcher.fetch_credentials()), "assume-role"
        )
        session.register_component("credential_provider", CredentialResolver([_Fixed(assumed)]))
        return session

    def _create(
        self,
        session: Session,
        service: str,
        config: Config | None = None,
        **credentials: Any,  # noqa: ANN401 - the SDK's
    ) -> Any:  # noqa: ANN401 - typed by its users
        client = session.create_client(
            service,
            region_name=self._config.region,
            endpoint_url=self._config.endpoints.get(service),
            verify=self._verify,
            config=self._client_config(service).merge(config or Config()),
            **credentials,
        )
        attempts.watch(client, self._config.max_retries, self._statistics)
        return client

    def _client_config(self, service: str) -> Config:
        return Config(
            retries={"mode": "standard", "total_max_attempts": self._config.max_retries + 1},
            connect_timeout=CONNECT_TIMEOUT,
            user_agent_extra="bosh-aws-cpi",
            max_pool_connections=MAX_CONNECTIONS,
            use_dualstack_endpoint=self._is_dualstack(service),
        )

    def _is_dualstack(self, service: str) -> bool:
        """Whether to use dual-stack endpoints; the SDK refuses that together with a configured endpoint."""
        given = self._config.endpoints.get(service) or os.environ.get("AWS_ENDPOINT_URL")
        name = _ENDPOINT_NAMES.get(service, service.upper())
        return self._config.dualstack and not (given or os.environ.get(f"AWS_ENDPOINT_URL_{name}"))


def _kept_secret(credentials: dict[str, Any]) -> dict[str, Any]:
    """Register keys that are in no configuration as secrets, so that the log masks them."""
    redact.learn({"credentials": [credentials[name] for name in ("access_key", "secret_key", "token")]})
    return credentials


class _WebIdentityToken(FileWebIdentityTokenLoader):
    """Reads the web identity token from the file that the environment names."""

    def __call__(self) -> str:
        """Return the token; the log masks it from now on.

        Raises:
            CloudError: The file can't be read.
        """
        try:
            token: str = super().__call__()
        except (OSError, ValueError) as error:
            message = f"The file that AWS_WEB_IDENTITY_TOKEN_FILE names can't be read: {error}"
            raise CloudError(message) from None
        redact.learn({"credentials": [token]})
        return token


class _Fixed(CredentialProvider):
    """Provides given credentials."""

    METHOD = "assume-role"

    def __init__(self, credentials: Credentials) -> None:
        super().__init__()
        self._credentials = credentials

    def load(self) -> Credentials:
        return self._credentials


def _session(config: "AwsConfig") -> Session:
    """A session that reads the environment and instance metadata (IMDSv2 only), but no file."""
    session = Session(session_vars={"profile": (None, None, None, None)})
    for name, value in {
        "config_file": os.devnull,
        "credentials_file": os.devnull,
        "region": config.region,
        "metadata_service_num_attempts": METADATA_ATTEMPTS,
        "ec2_metadata_v1_disabled": True,
    }.items():
        session.set_config_variable(name, value)
    session.register_component("data_loader", data.loader())
    chain = session.get_component("credential_provider")
    for method in _FILE_PROVIDERS:
        chain.remove(method)
    return session


def _ca_bundle() -> str | None:
    path = os.environ.get("BOSH_CA_CERT_FILE")
    if path and not Path(path).is_file():
        message = f"BOSH_CA_CERT_FILE names a file that does not exist: '{path}'"
        raise CloudError(message)
    return path or None


def bypass_proxies_for_metadata() -> None:
    """Let no proxy handle instance metadata: a proxy would get its own machine's metadata."""
    override = os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT", "")
    hosts = [*METADATA_HOSTS, *filter(None, [urlsplit(override).hostname])]
    known = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    if known.strip() == "*":
        return
    merged = ",".join(dict.fromkeys([*filter(None, known.split(",")), *hosts]))
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = merged
