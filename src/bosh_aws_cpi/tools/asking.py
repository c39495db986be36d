"""Calls AWS for operators' commands, and explains what to do when a call fails.

AWS may refuse a call, refuse the keys, throttle, or not answer; or something else than AWS may answer.
"""

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, Final, TypeGuard, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from bosh_aws_cpi import log
from bosh_aws_cpi.aws.sdk import errors, translation
from bosh_aws_cpi.aws.sdk.clients import CommandClients
from bosh_aws_cpi.aws.sdk.data import loader
from bosh_aws_cpi.aws.sdk.errors import call_of, code_of, describe_error, is_error_of_aws, policy_remedy
from bosh_aws_cpi.aws.sdk.translation import endpoint, explain, explain_no_answer
from bosh_aws_cpi.call_statistics import READS, CallStatistics
from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.properties.types import Problem, problem_of
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.findings import Finding, Severity, of_aws

Answer = TypeVar("Answer")
RETRIES: Final = 1
"""A low number: an unreachable service costs little time. Throttled calls have their own limit."""
_ASSUME: Final = "sts:AssumeRole"
_LATER: Final = "Repeat this command later"
_SOURCES: Final = {
    "static": "aws.access_key_id and aws.secret_access_key",
    "env_or_profile": "the environment or the instance profile",
}


class ReadingClients(CommandClients):
    """Clients that send equal calls once, and refuse calls that change anything.

    Args:
        config: The configuration.
        statistics: Counts the calls.
        look: Gets the parameters of each call, under the name ``params``.
    """

    def __init__(self, config: AwsConfig, statistics: CallStatistics, look: Callable[..., None]) -> None:
        super().__init__(config, statistics)
        self._look = look

    def _create(self, *arguments: Any, **keys: Any) -> Any:  # noqa: ANN401 - those of the base class
        client = super()._create(*arguments, **keys)
        answers: dict[str, tuple[Any, Any]] = {}

        def recall(**event: Any) -> tuple[Any, Any] | None:  # noqa: ANN401 - botocore's events are keywords
            name, body = event["model"].name, event["params"]["body"]
            is_dry = isinstance(body, dict) and body.get("DryRun") == "true"
            if not (is_dry or name.startswith(READS)):
                raise ValueError(f"{name} is no read")
            event["context"]["asked"] = asked = repr((name, event["params"]["url_path"], body))
            return answers.get(asked)

        def remember(**event: Any) -> None:  # noqa: ANN401
            answers.setdefault(event["context"]["asked"], (event["http_response"], event["parsed"]))

        client.meta.events.register("provide-client-params", self._look)
        client.meta.events.register("before-call", recall)
        client.meta.events.register("after-call", remember)
        return client


class AccessError(CloudError):
    """AWS does not accept the keys or the role, or the region is unknown: no call can succeed."""


class NoAnswer(Record):
    """A call without a usable answer, and the reason.

    Attributes:
        error: What the call raised.
        problem: Why the service fails, with the remedy; empty when AWS answered with an error or without an
            element, and when the SDK did not make the call.
    """

    error: Exception
    problem: str = ""


class Asker:
    """The calls of one command.

    Args:
        config: The ``aws`` section, for the messages about refused keys.
        again: The remedy if a call gets no answer, for a command whose calls have no retries: it calls each
            service again, except after a time-out. If empty, a service that does not answer, or throttles to
            the end, is not called again.
        keys_accepted: Whether AWS has accepted the keys before.
    """

    def __init__(self, config: AwsConfig, *, again: str = "", keys_accepted: bool = False) -> None:
        self._config = config
        self._again = again
        self._answered = {""} if keys_accepted else set()  # services; "" stands for an earlier one
        self._silent: dict[tuple[str, bool], tuple[str, str]] = {}
        self.not_checked: list[Finding] = []
        """What AWS did not answer, and why."""

    @property
    def are_keys_accepted(self) -> bool:
        """Whether AWS has answered a call, and so accepted the keys."""
        return bool(self._answered)

    def silence(self, service: str) -> tuple[str, str]:
        """Why a service has answered no call, and the remedy; empty if it has, or was not called."""
        return ("", "") if service in self._answered else self._silent.get((service, False), ("", ""))

    def attempt(self, service: str, call: Callable[[], Answer]) -> Answer | NoAnswer:
        """Call AWS once.

        Args:
            service: The SDK's name of the service.
            call: Makes the call.

        Raises:
            AccessError: AWS does not accept the keys, which it has never accepted, or the role, if the calls
                don't stand for themselves; or AWS has never answered, and the SDK does not know the region.
        """
        try:
            answer = call()
        except translation.NO_CREDENTIALS_ERRORS:
            raise
        except (ClientError, *translation.NO_ANSWER_ERRORS, BotoCoreError) as error:
            if not self._again and (role := _role_error(self._config, error)) is not None:
                raise role from error
            if isinstance(error, ClientError):
                return self._judge(service, error)
            if hasattr(error, errors.ELEMENT):  # AWS has answered, and may answer other calls
                self._answered.add(service)
                return NoAnswer(error)
            if errors.is_timeout(error):  # else a person who waits sees nothing for minutes
                log.logger.say(f"cpi: {service} does not answer in time, and is not asked again")
            if not self._answered and (wrong := _unknown_region(self._config, service)):
                raise AccessError(wrong) from error
            return NoAnswer(
                error,
                explain_no_answer(service, error) if isinstance(error, translation.NO_ANSWER_ERRORS) else "",
            )
        self._answered.add(service)
        return answer

    def ask(
        self,
        what: str,
        call: Callable[[], Answer | None],
        service: str = "ec2",
        *,
        is_dry: bool = False,
        may_be_empty: bool = True,
        problems: list[Problem] | None = None,
    ) -> Answer | None:
        """Call AWS; None, with a finding, when it refuses or does not answer.

        Args:
            what: What is looked up, or the property that names it: "quotas", "key_name".
            call: Makes the calls; its answer must not be None, which stands for no answer.
            service: The SDK's name of the service.
            is_dry: Whether it is a dry run: AWS throttles these apart, and a proxy may answer only these. So
                what a dry run meets, except a time-out, says nothing about other calls.
            may_be_empty: As in `unless_empty`, where None counts as empty, too.
            problems: Gets the answer that something is missing or can't be used: a CloudError of the call, or
                an error of AWS that is neither about permissions nor transient.

        Raises:
            AccessError: As in `attempt`.
            CloudError: The call raises it, and there are no ``problems``.
        """
        groups = {(service, False), (service, is_dry)}
        if groups.isdisjoint(self._silent):
            try:
                answer = self.attempt(service, call)
            except AccessError:
                raise
            except CloudError as error:
                if problems is None:
                    raise
                self._answered.add(service)
                problems.append(problem_of(error, what))
                return None
            if not isinstance(answer, NoAnswer):
                return answer if may_be_empty else self.unless_empty(what, answer)
            if problems is not None and _is_refusal(answer.error):
                problems.append(Problem(what, explain(answer.error)))
                return None
            is_apart = is_dry and not errors.is_timeout(answer.error)
            self._note((service, is_apart), what, answer)
        for group in sorted(groups & self._silent.keys())[:1]:
            why, remedy = self._silent[group]
            self.leave_out(f"{what}: {why}", remedy)
        return None

    def unless_empty(self, what: str, answer: Answer | None) -> Answer | None:
        """A list that can't be empty, such as the zones of a region; None, with a finding, when it is."""
        if not answer:
            self.leave_out(f"{what}: AWS lists none, though there must be some", self._again or _LATER)
        return answer or None

    def leave_out(self, what: str, remedy: str = "") -> None:
        """Add a finding about what could not be looked up."""
        self.not_checked.append(of_aws(Severity.NOT_CHECKED, what, remedy))

    def _note(self, group: tuple[str, bool], what: str, failed: NoAnswer) -> None:
        """Note that a call failed; if the service does not answer, make no more calls of this group."""
        service, _ = group
        error, message = failed.error, describe_error(failed.error)
        if errors.UNAUTHORIZED(error):
            self.leave_out(f"{what}: {message}", policy_remedy(error))
        elif not self._again and errors.THROTTLED(error):
            self._silent[group] = (f"{service} throttles the calls: {message}", _LATER)
        elif not failed.problem or (self._again and not errors.is_timeout(error)):
            self.leave_out(f"{what}: {message}", self._again)
        else:
            self._silent[group] = (f"{service}: {failed.problem}", "")

    def _judge(self, service: str, error: ClientError) -> NoAnswer:
        """Explain an error of a service; once AWS has accepted the keys, no error is blamed on them."""
        if not is_error_of_aws(error):
            return NoAnswer(error, explain_no_answer(service, error))
        if errors.KEYS_REFUSED(error) and not self._answered:
            raise keys_error(self._config, error) from error
        self._answered.add(service)
        return NoAnswer(error)


def _is_refusal(error: Exception) -> TypeGuard[ClientError]:
    """Whether AWS was asked, and says that it can't be done so: it has judged what was asked for."""
    if not isinstance(error, ClientError) or not is_error_of_aws(error) or errors.KEYS_REFUSED(error):
        return False
    return not (errors.UNAUTHORIZED(error) or errors.is_transient(error))


def _unknown_region(config: AwsConfig, service: str) -> str:
    """Why a service that does not answer may have no endpoint; empty if the SDK knows the region.

    The SDK may not know a new region, so one that answers is right.
    """
    partitions = loader(for_commands=True).load_data("partitions")["partitions"]
    known = {name for each in partitions for name in each["regions"]}
    if config.region in known or config.endpoints.get(service):
        return ""
    near = get_close_matches(config.region, known, n=2)
    remedy = f": did you mean {' or '.join(near)}?" if near else ""
    return f"aws.region '{config.region}' is not a known region, and {service} does not answer{remedy}"


def _role_error(config: AwsConfig, error: Exception) -> AccessError | None:
    """The error for a role that can't be assumed; None when another call failed."""
    call = call_of(error)
    if getattr(error, "operation_name", "") != "AssumeRole" and not (call and call.action == _ASSUME):
        return None
    if not isinstance(error, ClientError) or not is_error_of_aws(error):
        return AccessError(
            f"STS, which aws.role_arn '{config.role_arn}' needs, fails: {explain_no_answer('sts', error)}"
        )
    source = _SOURCES[config.credentials_source]
    what = f"aws.role_arn '{config.role_arn}' can't be assumed with the keys of {source}"
    trust = ". The role's trust policy must name the user or role of these keys"
    return AccessError(f"{what}: {explain(error)}{trust if errors.UNAUTHORIZED(error) else ''}")


def keys_error(config: AwsConfig, error: ClientError) -> AccessError:
    """The error for keys that AWS does not accept, or whose account it does not serve in the region."""
    if errors.ACCOUNT_NOT_SERVED(error):
        return AccessError(f"AWS does not serve the account in region '{config.region}': {explain(error)}")
    return AccessError(
        f"AWS does not accept the keys of {_SOURCES[config.credentials_source]}: {explain(error)}"
    )


def other_keys(service: str, error: ClientError) -> str:
    """Describe a service that refuses keys or an account that other services accept."""
    if errors.ACCOUNT_NOT_SERVED(error):
        return f"it does not serve the account: {explain(error)}"
    return f"it refuses the keys that other services accept ({code_of(error)}): check {endpoint(service)}"
