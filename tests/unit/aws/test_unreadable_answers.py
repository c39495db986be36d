"""Answers that are no AWS service's, such as the pages of a proxy in between."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.awsrequest import AWSRequest, AWSResponse
from botocore.exceptions import ClientError
from botocore.parsers import ResponseParserError

from bosh_aws_cpi.aws.sdk.errors import may_be_done
from bosh_aws_cpi.aws.sdk.translation import translate
from bosh_aws_cpi.errors import CloudError
from tests.unit.aws.service_calls import CALLS
from tests.unit.rpc.standin import Host, ask

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bosh_aws_cpi.aws.sdk.clients import Clients
    from bosh_aws_cpi.errors import BoshError
    from tests.unit.conftest import ProgramLog

SECRET = "hunter2"
PAGES = {
    "xhtml": f"<html><head><title>No</title></head><body>{SECRET}</body></html>",
    "html": f"<!DOCTYPE html><html><p>{SECRET}<br></html>",
    "text": SECRET,
    "json": f'{{"why": "{SECRET}"}}',
    "nothing": "",
}
RETRIES = 2
"""As many as `max_retries` says."""


class Body:
    """The body of an answer, as the connection has it."""

    def __init__(self, text: str) -> None:
        """Hold a page."""
        self._text = text

    def stream(self) -> Iterator[bytes]:
        """Give it away."""
        yield self._text.encode()


class Proxy:
    """Answers all calls of a client itself.

    Attributes:
        page: What it answers.
        asked: How often it was asked.
    """

    def __init__(self, client: Any, status: int, page: str = "", content_type: str = "text/html") -> None:
        """Come in between."""
        self.page = page
        self.asked = 0
        self._status = status
        self._content_type = content_type
        client.meta.events.register("before-send", self._answer)

    def _answer(self, request: AWSRequest, **_: Any) -> AWSResponse:
        self.asked += 1
        headers: Any = {"content-type": self._content_type}
        return AWSResponse(str(request.url), self._status, headers, Body(self.page))


def met(clients: Clients, service: str) -> Exception:
    """Make a call; returns the error that it ends with."""
    with pytest.raises((ClientError, ResponseParserError)) as caught:
        CALLS[service](clients)
    return caught.value


def translated(error: Exception) -> BoshError:
    """Translate the SDK's error."""
    typed = translate(error, "attach_disk")
    assert typed is not None
    return typed


@pytest.mark.parametrize("service", CALLS)
@pytest.mark.parametrize("status", [302, 403, 429, 502, 503])
def test_page(clients: Clients, service: str, status: int) -> None:
    """Whatever comes has a type and is not quoted: it may hold secrets."""
    proxy = Proxy(getattr(clients, service), status)
    quoted = {}
    for name, proxy.page in PAGES.items():
        quoted[name] = SECRET in translated(met(clients, service)).message
    assert quoted == dict.fromkeys(PAGES, False)


@pytest.mark.parametrize("service", ["ec2", "elb", "elbv2", "sts"])
@pytest.mark.parametrize("page", ["xhtml", "html", "nothing"])
def test_page_as_success(clients: Clients, service: str, page: str) -> None:
    """A page that says that all is well is no answer either: nothing may be read from it."""
    Proxy(getattr(clients, service), 200, PAGES[page])
    typed = translated(met(clients, service))
    assert typed.ok_to_retry is True
    assert SECRET not in typed.message


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    ("status", "asked", "is_perhaps_done"),
    [
        *((302, 1, False), (403, 1, False), (404, 1, False), (429, RETRIES + 1, False)),
        *((502, RETRIES + 1, True), (503, RETRIES + 1, True)),
    ],
)
def test_attempts(clients: Clients, status: int, asked: int, page: str, *, is_perhaps_done: bool) -> None:
    """A page, whether it can be read or not, counts by its HTTP status."""
    proxy = Proxy(clients.ec2, status, PAGES[page])
    error = met(clients, "ec2")
    assert proxy.asked == asked
    assert may_be_done(error) is is_perhaps_done
    assert translated(error).ok_to_retry is (status not in {302, 403, 404})


@pytest.mark.parametrize("service", ["ec2", "elb", "elbv2", "sts"])
@pytest.mark.parametrize("status", [200, 403, 503])
def test_no_page(clients: Clients, service: str, status: int) -> None:
    """What does not say that it is a page is not quoted either, nor by the error itself: an undo logs it."""
    Proxy(getattr(clients, service), status, PAGES["html"], "text/plain")
    error = met(clients, service)
    assert SECRET not in f"{error} {translated(error).message}"


def test_debug_log(clients: Clients, program_log: ProgramLog) -> None:
    """The log of the calls does not contain a page."""
    Proxy(clients.ec2, 200, PAGES["html"])
    met(clients, "ec2")
    assert "AWS did not answer: AWS could not be called: its answer can't be read" in program_log.text
    assert SECRET not in program_log.text


@pytest.mark.usefixtures("signals")
def test_log_of_the_answer(clients: Clients) -> None:
    """The response's log names the page among the causes, shortened."""
    Proxy(clients.ec2, 200, f"<p>{'x' * 600}{SECRET}")

    def method(*_: Any) -> None:
        error = met(clients, "ec2")
        message = "outer"
        raise CloudError(message) from error

    log = ask(Host(method), "has_vm", "i-1")["log"]
    assert "; caused by ResponseParserError: AWS could not be called: " in log
    assert SECRET not in log
