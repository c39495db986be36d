"""Calls AWS for `cpi check`; a call that AWS refuses or does not answer becomes a finding."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
)
from botocore.parsers import ResponseParserError

from bosh_aws_cpi.aws.sdk.error_codes import THROTTLED, UNAUTHORIZED
from bosh_aws_cpi.aws.sdk.errors import call_of, described, has_code
from bosh_aws_cpi.tools.findings import Finding, Severity
from bosh_aws_cpi.tools.unreachable import OUT_OF_REACH, reason, refused_keys, refused_role, speaks_of_keys

if TYPE_CHECKING:
    from bosh_aws_cpi.config.aws_config import AwsConfig

Answer = TypeVar("Answer")
RETRIES: Final = 1
"""So few that an unreachable service costs little time; throttled calls have a limit of their own."""
_LATER: Final = "Repeat this command later"


class Inquiry:
    """The calls of one check; a service that does not answer, or throttles to the end, is not called again.

    Args:
        aws: The configuration, for the messages about refused keys.
    """

    def __init__(self, aws: "AwsConfig") -> None:
        self._aws = aws
        self._silent: dict[str, tuple[str, str]] = {}
        self._are_keys_taken = False
        self.not_checked: list[Finding] = []

    def ask(self, service: str, what: str, call: Callable[[], Answer]) -> Answer | None:
        """Call AWS; None, with a finding, when it refuses or does not answer.

        Args:
            service: The SDK's name of the service.
            what: What is looked up: "key pairs".
            call: Makes the calls; its answer must not be None, which stands for no answer.

        Raises:
            CloudError: AWS does not accept the keys, or the role.
        """
        if service in self._silent:
            self._leave_out_too(service, what)
            return None
        try:
            answer = call()
        except (CredentialRetrievalError, NoCredentialsError, PartialCredentialsError):
            raise  # they are BotoCoreErrors, but without keys nothing can be looked up
        except ClientError as error:
            self._refuse(service, what, error)
            return None
        except (*OUT_OF_REACH, BotoCoreError, ResponseParserError) as error:
            is_out = isinstance(error, OUT_OF_REACH)
            why = reason(service, error) if is_out else described(error)
            self._silent[service] = (f"{service}: {why}", "")
            self._leave_out_too(service, what)
            return None
        self._are_keys_taken = True
        return answer

    def _leave_out_too(self, service: str, what: str) -> None:
        """Leave out what a service that is not called again would answer."""
        why, remedy = self._silent[service]
        self.leave_out(f"{what}: {why}", remedy)

    def leave_out(self, what: str, remedy: str = "") -> None:
        """Add a finding about what could not be looked up."""
        self.not_checked.append(Finding(Severity.NOT_CHECKED, what, remedy, source="AWS"))

    def _refuse(self, service: str, what: str, error: ClientError) -> None:
        """Leave out what AWS refuses; keys that it has never accepted end the command."""
        if (role := refused_role(self._aws, error)) is not None:
            raise role from error
        if speaks_of_keys(error) and not self._are_keys_taken:
            raise refused_keys(self._aws, error) from error
        self._are_keys_taken = True
        if has_code(error, THROTTLED):
            self._silent[service] = (f"{service}: throttled: {described(error)}", _LATER)
            self._leave_out_too(service, what)
            return
        call = call_of(error)
        action = call.action if call is not None else error.operation_name
        self.leave_out(
            f"{what}: {described(error)}", f"Allow {action}" if has_code(error, UNAUTHORIZED) else ""
        )
