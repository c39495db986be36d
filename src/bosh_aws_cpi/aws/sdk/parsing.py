"""Parses AWS's answers: one that can't be read, or lacks what it must contain, is an error, not empty."""

from functools import cache
from typing import Any, Final

from botocore.parsers import PROTOCOL_PARSERS, ResponseParser, ResponseParserFactory

from bosh_aws_cpi.aws.sdk import clock
from bosh_aws_cpi.aws.sdk.errors import CALL, REFUSED, Call, Unreadable, is_page

_METADATA: Final = "ResponseMetadata"
_READS: Final = ("Describe", "Get", "List")
"""How the names of calls that only read begin."""


class Answer(dict[str, Any]):
    """A structure in an answer of AWS; to read a member that AWS left out raises `Unreadable`."""

    def __init__(self, content: dict[str, Any], parser: "AnswerParser") -> None:
        super().__init__(content)
        self.parser = parser

    def __missing__(self, member: str) -> Any:  # noqa: ANN401 - nothing: it raises
        """Raise the error of a member that is not there."""
        raise self.parser.lacks(f"'{member}'")


class Entries(list[Any]):
    """A list in an answer of AWS; to read an entry that AWS left out raises `Unreadable`."""

    def __init__(self, content: list[Any], parser: "AnswerParser") -> None:
        super().__init__(content)
        self.parser = parser

    def __getitem__(self, index: Any) -> Any:  # noqa: ANN401 - a number or a slice
        """Return the entry."""
        try:
            return super().__getitem__(index)
        except IndexError:
            raise self.parser.lacks("an entry of a list") from None


class AnswerParser(ResponseParser):
    """Parses one answer; a mixin for the SDK's parsers.

    Attributes:
        call: The call, once `failure_of` was told.
        failure: Why the answer can't be read; None if it can.
    """

    call: Call | None = None
    failure: Unreadable | None = None

    def parse(self, response: Any, shape: Any) -> Answer:  # noqa: ANN401 - the SDK's
        """Parse an answer; one that can't be read becomes an empty answer with a `failure`.

        The SDK itself would raise its error past its own retries, and quote the whole answer.
        """
        try:
            parsed = super().parse(response, shape)
            is_failed = response["status_code"] < REFUSED and (
                is_page(response["headers"])
                or _is_hollow(parsed, response["context"]["operation_name"], shape)
            )
        except Exception:  # noqa: BLE001 - what the SDK's parsers raise depends on what they are given
            is_failed = True
        if is_failed:
            self.failure = Unreadable()
            parsed = {_METADATA: {"HTTPStatusCode": response["status_code"], "HTTPHeaders": {}}}
        elif response["status_code"] < REFUSED:
            clock.hear(response["headers"])
        return Answer(parsed, self)

    def lacks(self, what: str) -> Unreadable:
        """The error for what is not in the answer."""
        error = Unreadable(f"its answer lacks {what}")
        setattr(error, CALL, self.call)
        return error

    def _handle_structure(self, shape: Any, node: Any) -> Any:  # noqa: ANN401
        found = super()._handle_structure(shape, node)  # type: ignore[misc] # not in the stubs
        return Answer(found, self) if isinstance(found, dict) else found

    def _handle_list(self, shape: Any, node: Any) -> Entries:  # noqa: ANN401
        found = super()._handle_list(shape, node)  # type: ignore[misc] # not in the stubs
        return Entries(found, self)


def _is_hollow(parsed: dict[str, Any], operation: str, shape: Any) -> bool:  # noqa: ANN401
    """Whether an answer has no content: another program's document, which the SDK takes for an empty answer.

    A call that reads has a member of its own in its answer, even if that is an empty list. The answer to
    another call may have none, but "every response contains a request ID" (EC2 API Reference, "Query
    requests"; the samples of the other services have one, too).
    """
    if parsed.keys() - {_METADATA}:
        return False
    is_read = operation.startswith(_READS) and shape is not None
    return is_read or not parsed.get(_METADATA, {}).get("RequestId")


class Parsers(ResponseParserFactory):
    """Creates the parsers of a session."""

    def create_parser(self, protocol_name: str) -> ResponseParser:
        """Create the parser of one answer."""
        defaults = vars(self)["_defaults"]  # which botocore's stubs lack
        return _parser_of(PROTOCOL_PARSERS[protocol_name])(**defaults)


@cache
def _parser_of(kind: type[ResponseParser]) -> type[ResponseParser]:
    return type(kind.__name__, (AnswerParser, kind), {})


def failure_of(parsed: dict[str, Any], call: Call) -> Unreadable | None:
    """Why the answer to a call can't be read; None if it can. Its later errors will name the call."""
    if not isinstance(parsed, Answer):
        return None
    parsed.parser.call = call
    return parsed.parser.failure
