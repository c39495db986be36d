"""What must not be seen: found in documents by name and shape, removed from all text."""

import json
import re
from collections.abc import Iterator
from urllib.parse import quote

MASK = "<redacted>"

_MIN_LENGTH = 8
"""A shorter secret is masked only where its form shows it: as a URL's password, or behind a secret's key.

It may well be an ordinary word ("agent", "vcap"): masked everywhere, it would garble the message and
give itself away.
"""

_WORDS = "password|passwd|passphrase|secret|token|certificate|credential"
_ENDS = "cert|key|ca|auth"
_SECRET_NAME = re.compile(rf"({_WORDS})|(^|_)({_ENDS})$|^access_key", re.IGNORECASE)
_NOT_SECRET = frozenset({"credentials_source", "http_tokens"})
_URL_PASSWORD = re.compile(r"(?<=://)([^/\s:@]*):([^/\s]*)(?=@)")
_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^:@/]*:(.*)@[^@]*", re.IGNORECASE | re.DOTALL)
"""A value that is a URL as a whole: its password may hold any character, a slash or blank too."""
_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]+-----.*?(-----END [A-Z0-9 ]+-----|$)", re.DOTALL)
_AWS_KEY = re.compile(r"(<(?:AccessKeyId|SecretAccessKey|SessionToken)>)[^<]*")
_NAME = rf"[\w-]*(?:{_WORDS})[\w-]*|(?:\w+_)?(?:{_ENDS})|access_key\w*"
_NAMED = re.compile(
    rf"""(?P<key>(?P<quote>\\*["'])?\b(?P<name>{_NAME})(?(quote)(?P=quote))\s*(?::|=>|=)\s*)"""
    r"""(?:(?P<open>\\*["'])(?:\\.|(?!(?P=open)).)*?(?P=open)|(?(quote)-?\d+\b|(?!)))""",
    re.DOTALL | re.IGNORECASE,
)
"""A key with its quoted value in JSON (also inside a JSON string), Python, Ruby or YAML, or with a number."""


class Redactor:
    """Removes secrets from text: those it was told of, and whatever looks like one."""

    def __init__(self) -> None:
        self._values: list[str] = []  # longest first: a secret may be part of another

    def learn(self, document: object) -> None:
        """Remember every secret of a JSON document: secret by its key, a PEM block, a URL's password."""
        known = set(self._values)
        for value in _secrets(document):
            if len(value) >= _MIN_LENGTH:
                known |= _spellings(value)
        self._values = sorted(known, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """The text without its secrets."""
        for value in self._values:
            text = text.replace(value, MASK)
        text = _PEM.sub(MASK, text)
        text = _AWS_KEY.sub(rf"\1{MASK}", text)
        text = _URL_PASSWORD.sub(rf"\1:{MASK}", text)
        return _NAMED.sub(_masked, text)


def _masked(found: re.Match[str]) -> str:
    """A secret's key and its value, which is masked."""
    if found["name"] in _NOT_SECRET:
        return found[0]
    quote = found["open"] or ""
    return f"{found['key']}{quote}{MASK}{quote}"


def _secrets(value: object, *, secret: bool = False) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _secrets(inner, secret=secret or _is_secret_name(str(key)))
    elif isinstance(value, list):
        for inner in value:
            yield from _secrets(inner, secret=secret)
    elif secret and isinstance(value, int) and not isinstance(value, bool):
        yield str(value)
    elif isinstance(value, str):
        if secret or "-----BEGIN " in value:
            yield value
        yield from (match.group(2) for match in _URL_PASSWORD.finditer(value))
        if whole := _URL.fullmatch(value):
            yield whole.group(1)


def _is_secret_name(name: str) -> bool:
    return name not in _NOT_SECRET and _SECRET_NAME.search(name) is not None


def _spellings(value: str) -> set[str]:
    """A secret as it may stand in text: as it is, in JSON, in a Python literal, in a URL."""
    return {
        value,
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        repr(value)[1:-1],
        quote(value, safe=""),
    }
