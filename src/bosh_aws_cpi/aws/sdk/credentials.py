"""Credentials from the configuration, the environment, a profile, web identity or a role, not from ~/.aws."""

import os
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from botocore.credentials import (
    AssumeRoleCredentialFetcher,
    AssumeRoleWithWebIdentityProvider,
    ContainerProvider,
    Credentials,
    DeferredRefreshableCredentials,
    ReadOnlyCredentials,
)
from botocore.exceptions import BotoCoreError, HTTPClientError, NoCredentialsError
from botocore.session import Session
from botocore.utils import FileWebIdentityTokenLoader

from bosh_aws_cpi import connections
from bosh_aws_cpi.aws.sdk import call_hooks, data
from bosh_aws_cpi.aws.sdk.role_session import RoleCredentials
from bosh_aws_cpi.call_statistics import CallStatistics
from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.config.values import UNSENDABLE, is_sendable, role_arn
from bosh_aws_cpi.errors import CloudError, wrong_variable
from bosh_aws_cpi.log import redact

RUN_FOLDER = "BOSH_AWS_CPI_RUN_DIR"
"""The environment variable that names the folder for a role's credentials."""
METADATA_ATTEMPTS = 10
"""The number of attempts to get the instance profile's credentials."""
_LONGEST_NAME = 64
"""The maximum length of the name of a role's session (API model)."""

_SOURCE_VARIABLES = ("AWS_CONTAINER_", "AWS_EC2_METADATA_SERVICE_", "AWS_METADATA_SERVICE_")
"""The beginnings of the environment variables that container and instance credentials depend on."""

# The SDK's sources that read files (~/.aws, ~/.boto, /etc/boto.cfg), or run programs that these files name.
_FILE_PROVIDERS = (
    "shared-credentials-file",
    "custom-process",
    "config-file",
    "ec2-credentials-file",
    "boto-config",
)


def session(
    config: AwsConfig,
    statistics: CallStatistics,
    create_client: Callable[..., Any],
    director_uuid: str | None,
) -> Session:
    """Open a session of the SDK with the credentials of the configuration.

    Args:
        config: The ``aws`` section: keys or their source, and a role to assume.
        statistics: Counts the calls of the session's clients.
        create_client: Creates a client for STS, from a session and a service's name.
        director_uuid: The UUID of the request's Director; None for a command, which always calls STS.

    Raises:
        NoCredentialsError: There are no credentials for assuming the role.
    """
    if config.role_arn:
        return _with_role(config, statistics, create_client, director_uuid)
    return _session_of_source(config, statistics, create_client)


def _session_of_source(
    config: AwsConfig, statistics: CallStatistics, create_client: Callable[..., Any]
) -> Session:
    """Open a session with the credentials of ``credentials_source``."""
    opened = _session_without_files(config, statistics)
    chain = opened.get_component("credential_provider")
    # Web identity needs our STS client: the SDK's client has neither our endpoint nor our CA bundle.
    web_identity = AssumeRoleWithWebIdentityProvider(
        load_config=dict,
        client_creator=partial(create_client, opened),
        profile_name="",
        token_loader_cls=_WebIdentityToken,
    )
    for own in (web_identity, _Container()):
        chain.insert_after(own.METHOD, own)
        chain.remove(own.METHOD)  # the SDK's source, the first of that name
    opened.register_component("credential_provider", _Sources(chain.load_credentials))
    if config.access_key_id and config.secret_access_key:
        opened.set_credentials(config.access_key_id, config.secret_access_key, config.session_token)
    elif (credentials := opened.get_credentials()) is not None:
        _check(_register_secrets(credentials.get_frozen_credentials()._asdict()), credentials.method)
    return opened


def _with_role(
    config: AwsConfig,
    statistics: CallStatistics,
    create_client: Callable[..., Any],
    director_uuid: str | None,
) -> Session:
    """Open a session with an assumed role; the first call loads the credentials, from a file or from STS."""
    open_source = cache(partial(_session_of_source, config, statistics, create_client))
    fetcher = partial(
        AssumeRoleCredentialFetcher,
        client_creator=lambda *names, **keys: create_client(open_source(), *names, **keys),
        source_credentials=_Source(open_source),
        role_arn=str(config.role_arn),
        extra_args=_session_of_role(config, director_uuid),
    )
    opened = _session_without_files(config, statistics)
    assumed = DeferredRefreshableCredentials(
        lambda: _register_secrets(fetcher().fetch_credentials()), "assume-role"
    )
    folder = os.environ.get(RUN_FOLDER, "")
    if config.keep_role_session and director_uuid is not None and os.path.isdir(folder):  # noqa: PTH112 - pathlib's may raise
        assumed = RoleCredentials(lambda kept: fetcher(cache=kept), _register_secrets, folder)
        events: Any = opened  # the stubs only allow handlers that return nothing
        events.register("before-sign", assumed.before_sign)
        events.register("needs-retry", assumed.after_attempt)
    opened.register_component("credential_provider", _Sources(lambda: assumed))
    return opened


class _Source:
    """The credentials for assuming a role, read only when the role's cached credentials are not valid.

    Args:
        open_source: Opens the session with these credentials.
    """

    def __init__(self, open_source: Callable[[], Session]) -> None:
        self._open_source = open_source

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        """Return the credentials.

        Raises:
            NoCredentialsError: There are no credentials.
        """
        if (credentials := self._open_source().get_credentials()) is None:
            raise NoCredentialsError
        return credentials.get_frozen_credentials()


def _session_of_role(config: AwsConfig, director_uuid: str | None) -> dict[str, Any]:
    """The arguments of AssumeRole besides the role.

    The session's name, which CloudTrail shows, begins with "rsn-" as in the Ruby release: a trust policy may
    require this beginning.
    """
    name = f"rsn-{director_uuid or 'bosh-aws-cpi'}"[:_LONGEST_NAME]
    tags = [{"Key": key, "Value": value} for key, value in config.session_tags.items()]
    arguments = {"RoleSessionName": name, "ExternalId": config.external_id, "Tags": tags}
    return {key: value for key, value in arguments.items() if value}


def _register_secrets(credentials: dict[str, Any]) -> dict[str, Any]:
    """Let the log mask these credentials, which are not in the configuration, and return them."""
    redact.learn({"credentials": [credentials[name] for name in ("access_key", "secret_key", "token")]})
    return credentials


def _check(credentials: dict[str, Any], source: str) -> None:
    """Refuse credentials that can't sign a request.

    Raises:
        CloudError: A key is missing, or a key or the token is not text that a header can carry.
    """
    keys = [credentials["access_key"], credentials["secret_key"], *filter(None, credentials.values())]
    if not all(isinstance(each, str) and is_sendable(each) for each in keys):
        what = f"is missing, is not text, or has {UNSENDABLE}"
        raise CloudError(f"AWS credentials can't be used: a key or token of {source} {what}")


class _Container(ContainerProvider):
    """The container's credentials, from the container's agent."""

    def load(self) -> Any:  # noqa: ANN401 - the SDK has no types
        """Return the credentials; None if the environment has no address of an agent.

        Raises:
            CloudError: The file with the token for the agent, which the environment names, can't be used.
        """
        has_address = self.ENV_VAR in os.environ or self.ENV_VAR_FULL in os.environ
        if has_address and (path := os.environ.get(self.ENV_VAR_AUTH_TOKEN_FILE)) is not None:
            connections.check_file(self.ENV_VAR_AUTH_TOKEN_FILE, path)
        return super().load()


class _Sources:
    """Loads a session's credentials, and refuses malformed answers, which the SDK does not check.

    Args:
        load: Gets the credentials, from the SDK's chain of sources or from a role.
    """

    def __init__(self, load: Callable[[], Credentials | None]) -> None:
        self._load = load

    def load_credentials(self) -> Credentials | None:
        """Return the credentials of the first source that has any; None if no source has.

        Raises:
            CloudError: A source's address or answer is not valid; the SDK's own error might quote a token.
        """
        try:
            return self._load()
        except (BotoCoreError, AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
            if isinstance(error, BotoCoreError) and type(error) is not HTTPClientError:
                raise
            # HTTPClientError itself wraps an error of another library.
            kind = type(error.kwargs["error"] if isinstance(error, HTTPClientError) else error)
            known = ", ".join(sorted(name for name in os.environ if name.startswith(_SOURCE_VARIABLES)))
            raise CloudError(
                "AWS credentials can't be read: the address or the answer of the container's credentials or "
                f"of instance metadata is not valid ({kind.__name__})" + (f". Check {known}" if known else "")
            ) from None


class _WebIdentityToken(FileWebIdentityTokenLoader):
    """Loads the web identity token from the file that the environment names."""

    def __call__(self) -> str:
        """Return the token; the log masks it from now on.

        Raises:
            InvalidCall: The environment names no valid role.
            CloudError: The file can't be read, or is empty or too large.
        """
        variable = "AWS_WEB_IDENTITY_TOKEN_FILE"
        connections.check_file(variable, os.environ.get(variable, ""))
        role_arn(os.environ.get("AWS_ROLE_ARN"), AwsConfig.role_arn.replace(path="AWS_ROLE_ARN"))
        try:
            token: str = super().__call__()
        except (OSError, ValueError) as error:
            raise CloudError(f"The file that {variable} names can't be read: {error}") from None
        redact.learn({"credentials": [token]})
        return token


def _session_without_files(config: AwsConfig, statistics: CallStatistics) -> Session:
    """Open a session that reads the environment and instance metadata (IMDSv2 only), but no files."""
    opened = Session(session_vars={"profile": (None, None, None, None)}, include_builtin_handlers=False)
    call_hooks.install(opened, statistics)
    for name, value in {
        "config_file": os.devnull,
        "credentials_file": os.devnull,
        "region": config.region,
        "metadata_service_num_attempts": METADATA_ATTEMPTS,
        "ec2_metadata_v1_disabled": True,
    }.items():
        opened.set_config_variable(name, value)
    opened.register_component("data_loader", data.loader())
    try:
        chain = opened.get_component("credential_provider")
    except ValueError:  # of the SDK, for the only number that it reads from the environment here
        raise wrong_variable("AWS_METADATA_SERVICE_TIMEOUT", "is not a whole number") from None
    for method in _FILE_PROVIDERS:
        chain.remove(method)
    return opened
