"""What a wait meets: AWS's refusals, one thing after the other, and chance."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws.sdk.errors import CALL, Call


def ago(age: timedelta) -> datetime:
    """The time of something of this age. Parameters have ages, because the test may run an hour later."""
    return datetime.now(UTC) - age


def refusal(code: str) -> ClientError:
    """Make an error that AWS answered."""
    return ClientError({"Error": {"Code": code, "Message": "said"}}, "DescribeVolumes")


def fault(code: str = "InternalError", status: int = 500) -> ClientError:
    """Make an error of AWS's own, after which nobody knows whether the call did its work."""
    metadata: Any = {"HTTPStatusCode": status}
    return ClientError(
        {"Error": {"Code": code, "Message": "said"}, "ResponseMetadata": metadata}, "DescribeVolumes"
    )


def knowing(error: Exception, call: Call | None) -> Exception:
    """Put the call that it ended into an error, as the call hooks do."""
    if call is not None and isinstance(error, ClientError):
        answer: Any = error.response
        answer["Error"][CALL] = call
    elif call is not None:
        setattr(error, CALL, call)
    return error


class Script:
    """Does one thing after the other, when called; the last one again and again."""

    def __init__(self, *steps: Any) -> None:
        """Raise those steps that are errors, return the others."""
        self.steps = list(steps)
        self.calls = 0

    def __call__(self) -> Any:
        """Do the next thing."""
        self.calls += 1
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        if isinstance(step, Exception):
            raise step
        return step


def jitter(monkeypatch: pytest.MonkeyPatch, part: float) -> None:
    """Let chance be what is wanted."""

    def uniform(low: float, high: float) -> float:
        return low + part * (high - low)

    monkeypatch.setattr(random, "uniform", uniform)
