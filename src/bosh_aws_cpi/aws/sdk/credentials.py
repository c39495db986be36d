"""Credentials from the configuration, the environment, a profile, web identity or a role; not from ~/.aws."""

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
"""The variable that names the folder for credentials of a role."""
METADATA_ATTEMPTS = 10
"""Attempts to get the instance profile's credentials."""
_LONGEST_NAME = 64
"""The most characters of the name of a role's session (API model)."""

_OF_SOURCES = ("AWS_CONTAINER_", "AWS_EC2_METADATA_SERVICE_", "AWS_METADATA_SERVICE_")
"""How the names of the variables begin that the sources of credentials outside of this process depend on."""

# The SDK's sources of keys in files (~/.aws, ~/.boto, /etc/boto.cfg) and from programs that these files name.
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
        config: The ``aws`` section: keys, their source, and a role to assume with them.
        statistics: Counts the calls of the session's clients.
        create_client: Creates a client of a session and a service, for STS.
        director_uuid: The UUID of the request's Director. Without one, for a command, STS is always called.

    Raises:
        NoCredentialsError: There are no credentials to assume the role with.
    """
    if config.role_arn:
        return _with_role(config, statistics, create_client, director_uuid)
    return _session_of_source(config, statistics, create_client)


def _session_of_source(
    config: AwsConfig, statistics: CallStatistics, create_client: Callable[..., Any]
) -> Session:
    """A session with the credentials of ``credentials_source``."""
    opened = _session_without_files(config, statistics)
    chain = opened.get_component("credential_provider")
    # Web identity uses our STS client: the SDK's own has neither our endpoint nor our CA bundle.
    web_identity = AssumeRoleWithWebIdentityProvider(
        load_config=dict,
        client_creator=partial(create_client, opened),
        profile_name="",
        token_loader_cls=_WebIdentityToken,
    )
    for own in (web_identity, _Container()):
        chain.insert_after(own.METHOD, own)
        chain.remove(own.METHOD)  # the first of that name, the SDK's
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
    """A session with an assumed role; the first call gets its credentials, kept ones or STS's."""
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
        events: Any = opened  # its stubs only allow handlers that return nothing
        events.register("before-sign", assumed.before_sign)
        events.register("needs-retry", assumed.after_attempt)
    opened.register_component("credential_provider", _Sources(lambda: assumed))
    return opened


class _Source:
    """The credentials that assume a role; they are not read as long as the role's kept ones are valid.

    Args:
        open_source: Opens their session.
    """

    def __init__(self, open_source: Callable[[], Session]) -> None:
        self._open_source = open_source

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        """The credentials.

        Raises:
            NoCredentialsError: There are none.
        """
        if (credentials := self._open_source().get_credentials()) is None:
            raise NoCredentialsError
        return credentials.get_frozen_credentials()


def _session_of_role(config: AwsConfig, director_uuid: str | None) -> dict[str, Any]:
    """AssumeRole's arguments beside the role.

    The session's name, which CloudTrail shows, begins with "rsn-" as the Ruby release's does: a trust policy
    may ask for that.
    """
    name = f"rsn-{director_uuid or 'bosh-aws-cpi'}"[:_LONGEST_NAME]
    tags = [{"Key": key, "Value": value} for key, value in config.session_tags.items()]
    arguments = {"RoleSessionName": name, "ExternalId": config.external_id, "Tags": tags}
    return {key: value for key, value in arguments.items() if value}


def _register_secrets(credentials: dict[str, Any]) -> dict[str, Any]:
    """Register keys that are not in the configuration as secrets, so that the log masks them."""
    redact.learn({"credentials": [credentials[name] for name in ("access_key", "secret_key", "token")]})
    return credentials


def _check(credentials: dict[str, Any], source: str) -> None:
    """Refuse credentials that can't sign a request.

    Raises:
        CloudError: An access key or a secret key is missing, or a part of the credentials is not text.
    """
    keys = [credentials["access_key"], credentials["secret_key"], *filter(None, credentials.values())]
    if not all(isinstance(each, str) and is_sendable(each) for each in keys):
        what = f"is missing, is not text, or has {UNSENDABLE}"
        raise CloudError(f"AWS credentials can't be used: a key or token of {source} {what}")


class _Container(ContainerProvider):
    """The credentials of a container, from its agent."""

    def load(self) -> Any:  # noqa: ANN401 - the SDK has no types
        """Return them; None if the environment has no agent's address.

        Raises:
            CloudError: The environment names no file with the token for the agent.
        """
        has_address = self.ENV_VAR in os.environ or self.ENV_VAR_FULL in os.environ
        if has_address and (path := os.environ.get(self.ENV_VAR_AUTH_TOKEN_FILE)) is not None:
            connections.check_file(self.ENV_VAR_AUTH_TOKEN_FILE, path)
        return super().load()


class _Sources:
    """A session's credentials. The SDK does not check the form of a source's answers.

    Args:
        load: Gets them, from the SDK's chain of sources or from a role.
    """

    def __init__(self, load: Callable[[], Credentials | None]) -> None:
        self._load = load

    def load_credentials(self) -> Credentials | None:
        """Return the credentials of the first source that has some; None if none has.

        Raises:
            CloudError: A source's address or answer can't be used. The SDK's error might quote a token.
        """
        try:
            return self._load()
        except (BotoCoreError, AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
            if isinstance(error, BotoCoreError) and type(error) is not HTTPClientError:
                raise
            # That class itself wraps an error of another library.
            kind = type(error.kwargs["error"] if isinstance(error, HTTPClientError) else error)
            known = ", ".join(sorted(name for name in os.environ if name.startswith(_OF_SOURCES)))
            raise CloudError(
                "AWS credentials can't be read: the address or the answer of the container's credentials or "
                f"of instance metadata is not valid ({kind.__name__})" + (f". Check {known}" if known else "")
            ) from None


class _WebIdentityToken(FileWebIdentityTokenLoader):
    """Reads the web identity token from the file that the environment names."""

    def __call__(self) -> str:
        """Return the token; the log masks it from now on.

        Raises:
            InvalidCall: The environment names no role with it.
            CloudError: The file can't be read, or is empty.
        """
        variable = "AWS_WEB_IDENTITY_TOKEN_FILE"
        connections.check_file(variable, os.environ.get(variable, ""))
        role_arn(
            os.environ.get("AWS_ROLE_ARN"),
            AwsConfig.role_arn.replace(path="AWS_ROLE_ARN"),
        )
        try:
            token: str = super().__call__()
        except (OSError, ValueError) as error:
            raise CloudError(f"The file that {variable} names can't be read: {error}") from None
        if not token:
            raise CloudError(f"The file that {variable} names is empty")
        redact.learn({"credentials": [token]})
        return token


def _session_without_files(config: AwsConfig, statistics: CallStatistics) -> Session:
    """A session that reads the environment and instance metadata (IMDSv2 only), but no file."""
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
    except ValueError:  # the SDK's, for the only number of the environment that it reads here
        raise wrong_variable("AWS_METADATA_SERVICE_TIMEOUT", "is not a whole number") from None
    for method in _FILE_PROVIDERS:
        chain.remove(method)
    return opened
