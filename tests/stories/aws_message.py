"""Messages about what AWS said, as far as a story is about them."""

import re


class AwsMessage(str):
    """A message that stands for itself, whatever ids and remedy it names; those have tests of their own.

    The ids follow the request id in brackets, the remedy follows the whole as a sentence.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, str):
            return NotImplemented
        plain = re.sub(r"\(request id (\S+), for [^)]*\)", r"(request id \1)", str(other))
        return str(self) in {str(other), plain} or plain.startswith(f"{self!s}. ")

    def __hash__(self) -> int:
        return hash(str(self))
