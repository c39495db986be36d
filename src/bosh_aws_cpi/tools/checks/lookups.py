"""The AWS account of `cpi check`: each thing is looked up once, and nothing is created."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final, TypeVar

from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.properties.types import Problem
from bosh_aws_cpi.records import EMPTY
from bosh_aws_cpi.tools.asking import RETRIES, Asker, ReadingClients
from bosh_aws_cpi.tools.checks.documents import variables_in
from bosh_aws_cpi.tools.command import ToldStatistics
from bosh_aws_cpi.tools.findings import Finding

Answer = TypeVar("Answer")
_SERVICES: Final = {
    "elbs": "elb",
    "iam_instance_profile": "iam",
    "kms_key_arn": "kms",
    "lb_target_groups": "elbv2",
    "quotas": "service-quotas",
}
"""The service that looks up what a property names, by the SDK's name; EC2 looks up all others."""
DRY_RUN: Final = "dry run"
"""What `Account.ask` calls a dry run, in place of a property."""


class _VariableError(Exception):
    """A parameter of a call is a variable."""


def _refuse_variables(**event: Any) -> None:  # noqa: ANN401 - botocore's events are keywords
    if variables_in(repr(event["params"])):
        raise _VariableError


class Account:
    """The account.

    Args:
        aws: The configuration.
        is_offline: Whether AWS is not asked at all.
    """

    def __init__(self, aws: AwsConfig, *, is_offline: bool) -> None:
        self.is_offline = is_offline
        self._aws = aws
        self._asker = Asker(aws)
        self._listings: dict[str, Any] = {}

    @cached_property
    def clients(self) -> ReadingClients:
        """AWS's clients."""
        return ReadingClients(self._aws.replace(max_retries=RETRIES), ToldStatistics(), _refuse_variables)

    def ask(
        self,
        key: str,
        look_up: Callable[[], Answer],
        problems: list[Problem] | None = None,
        known: Mapping[str, Any] = EMPTY,
    ) -> Answer | None:
        """Look something up, and report a lookup that AWS refuses or does not answer as not checked.

        Args:
            key: The property that names what is looked up, or `DRY_RUN`.
            look_up: Calls AWS. Its CloudError says that something is missing, or can't be used; so does
                another error of AWS.
            problems: Gets that error.
            known: The answers that are known already, which may be that there is none.

        Raises:
            CloudError: AWS does not accept the keys, or the role, or could not be asked at all.
        """
        if self.is_offline or key in known:
            return known.get(key)
        service = next((each for name, each in _SERVICES.items() if name in key.split(".")), "ec2")
        try:
            return self._asker.ask(
                key, look_up, service, is_dry=key == DRY_RUN, problems=[] if problems is None else problems
            )
        except _VariableError:
            return None

    def listing(
        self, what: str, look_up: Callable[[], Answer], *, may_be_empty: bool = True
    ) -> Answer | None:
        """List all things of a kind, once; None without an answer, or if it is empty and can't be."""
        if what not in self._listings:
            answer = self.ask(what, look_up)
            is_believed = may_be_empty or answer is None
            self._listings[what] = answer if is_believed else self._asker.unless_empty(what, answer)
        found: Answer | None = self._listings[what]
        return found

    def not_checked(self) -> list[Finding]:
        """Return a finding for each lookup without an answer.

        Raises:
            CloudError: AWS has answered nothing, or EC2, without which little is checked.
        """
        found = self._asker.not_checked
        silence = self._asker.silence("ec2")
        if any(silence) or (found and not self._asker.are_keys_accepted):
            of_all = not self._asker.are_keys_accepted
            who, why = ("AWS", (found[0].what, found[0].remedy)) if of_all else ("EC2", silence)
            raise CloudError(". ".join(filter(None, [f"{who} has answered no call", *why])))
        return found
