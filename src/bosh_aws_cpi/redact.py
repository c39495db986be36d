"""Masks secrets in texts; finds secrets in documents by the names of keys, and in texts by their form."""

from __future__ import annotations

import json
import re
from binascii import b2a_base64
from collections.abc import Iterator

MASK = "<redacted>"

_MIN_LENGTH = 8
"""A shorter secret is masked only in a URL, or after a secret's key.

An ordinary word ("agent", "vcap"), masked everywhere, would garble the message and reveal the secret.
"""

_SECRET_NAME = re.compile(
    r"(password|passwd|passphrase|secret|token|certificate|credential|user_?data)"
    r"|(^|[_-])(cert|key|ca|auth)$"
    r"|^access_key"
)
"""Matches the name of a secret in lower case; a pattern with IGNORECASE takes longer to compile."""
_NOT_SECRET = frozenset({"credentials_source", "http_tokens"})
_AWS_PARAMETERS = frozenset({"ClientToken", "HttpTokens", "Key", "NextToken"})
"""Parameters of AWS's calls whose names sound like secrets, but whose values are none."""
_OBJECTS = frozenset({"credentials", "user_data"})
"""Objects, in reports of preflight and diagnose, in which only values of secret keys are masked."""
_URL_PASSWORD = re.compile(r"(?<=://)([^/\s:@]*):([^/\s]*)(?=@)")
_URL_WITH_PASSWORD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^:@/]*:(.*)@[^@]*", re.DOTALL)
"""A value that is a URL, whose password may contain any character, even a slash or a space."""
_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]+-----.*?(-----END [A-Z0-9 ]+-----|$)", re.DOTALL)
_AWS_KEY = re.compile(r"(<(?:AccessKeyId|SecretAccessKey|SessionToken)>)[^<]*")
_KEY_BEFORE_VALUE = re.compile(
    r"""(?P<quote>(?<!\\)\\*+["'])?+(?<![\w-])(?P<name>tag key|[\w-]++)(?(quote)(?P=quote))"""
    r"""\s*+(?P<mark>:|=>|=)\s*+"""
)
"""A key before its value in JSON (even inside a JSON string), Python, Ruby, YAML or a query.

AWS writes "tag key: 'NAME'", which is no secret's name; of other words before the key, nothing is known.
"""
_QUOTE = re.compile(r"""(?<!\\)(\\*+)(["'])""")
"""A quotation mark and the escapes before it."""
_BARE_NUMBER = re.compile(r"-?\d+\b")
_BARE_WORD = re.compile(r"""[^\s"'&,;(){}\[\]]+""")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
"""Characters that a URL contains as they are (RFC 3986, 2.3)."""
_QUOTES_IN_XML = (("&quot;", "&apos;"), ("&quot;", "&#39;"), ("&quot;", "&#x27;"), ("&#34;", "&#39;"))
"""The quotation marks of XML itself, and of the standard libraries of Ruby, Python and Go."""
_BRACKET = re.compile(r"""[\[\]{}]""")


class Redactor:
    """Masks secrets in texts: learned secrets, and others by their form."""

    def __init__(self) -> None:
        self._values: list[str] = []  # longest first: a secret may be a part of another secret

    def learn(self, document: object) -> None:
        """Learn every secret in a JSON document: values of secret keys, PEM blocks, passwords in URLs."""
        known = set(self._values)
        for value in _secrets(document):
            if len(value) >= _MIN_LENGTH:
                known |= _spellings(value)
        self._values = sorted(known, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """Return the text with its secrets masked."""
        for value in self._values:
            text = text.replace(value, MASK)
        text = _PEM.sub(MASK, text)
        text = _AWS_KEY.sub(rf"\1{MASK}", text)
        text = _URL_PASSWORD.sub(rf"\1:{MASK}", text)
        return _mask_named(text)


def _mask_named(text: str) -> str:
    """Mask the value after each secret's key."""
    parts: list[str] = []
    end = 0
    for key in _KEY_BEFORE_VALUE.finditer(text):
        if key.start() < end or key["name"] in _AWS_PARAMETERS or not _is_secret_name(key["name"]):
            continue
        if (span := _value(text, key)) is not None:
            quote_mark, after = span
            parts += [text[end : key.end()], quote_mark, MASK, quote_mark]
            end = after
    return "".join([*parts, text[end:]])


def _value(text: str, key: re.Match[str]) -> tuple[str, int] | None:
    """The quotation mark and the end position of a key's value; None when there is no value."""
    if opening := _QUOTE.match(text, key.end()):
        return opening[0], _end_of_quoted(text, opening)
    is_in_query = key["mark"] == "=" and key[0].endswith("=") and not key["quote"]
    match = _BARE_NUMBER.match(text, key.end()) if key["quote"] else None
    match = match or (_BARE_WORD.match(text, key.end()) if is_in_query else None)
    if match:
        return "", match.end()
    if key["quote"] and key["name"] not in _OBJECTS and text[key.end() : key.end() + 1] in {"{", "["}:
        return "", _end_of_brackets(text, key.end())
    return None


def _end_of_quoted(text: str, opening: re.Match[str]) -> int:
    """The end position of a quoted value; the end of the text when the quote is not closed.

    In JSON within a JSON string, a quotation mark has one escape, and a mark within a value three; and so on.
    """
    opened, mark = len(opening[1]), opening[2]
    for each in _QUOTE.finditer(text, opening.end()):
        if each[2] == mark and len(each[1]) % (2 * opened + 2) == opened:
            return each.end()
    return len(text)


def _end_of_brackets(text: str, begin: int) -> int:
    """The end position of an object or a list; the end of the text when the bracket is not closed.

    A bracket inside a string may change the result, which is never before the end of the first string.
    """
    depth = 0
    for bracket in _BRACKET.finditer(text, begin):
        depth += 1 if bracket[0] in "{[" else -1
        if depth == 0:
            return bracket.end()
    return len(text)


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
        if whole := _URL_WITH_PASSWORD.fullmatch(value):
            yield whole.group(1)


def _is_secret_name(name: str) -> bool:
    return name not in _NOT_SECRET and _SECRET_NAME.search(name.casefold()) is not None


def _spellings(value: str) -> set[str]:
    """The forms that a secret may have in a text: unchanged, in JSON, Python, XML, a URL or Base64."""
    in_json = {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    in_xml = {text for form in in_json for text in _in_xml(form)}
    encoded = {text for form in in_json for text in _in_base64(form.encode(errors="surrogatepass"))}
    in_urls = {text for form in (value, *encoded) for text in _in_url(form)}
    return {*in_xml, repr(value)[1:-1], *encoded, *in_urls}


def _in_xml(value: str) -> Iterator[str]:
    """The value in XML and HTML, with the different spellings of quotation marks."""
    escaped = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    yield from (value, escaped)
    if '"' in value or "'" in value:
        for double, single in _QUOTES_IN_XML:
            yield escaped.replace('"', double).replace("'", single)


def _in_base64(value: bytes) -> Iterator[str]:
    """The Base64 of a value: alone, and within a longer text, where it depends on the value's position.

    Characters that also depend on the text before or after the value are left out.
    """
    yield b2a_base64(value, newline=False).decode()
    for before in range(3):
        text = b2a_base64(bytes(before) + value, newline=False).decode()
        yield text[(before * 8 + 5) // 6 : (before + len(value)) * 8 // 6]


def _in_url(value: str) -> Iterator[str]:
    """The value percent-encoded as by `urllib.parse.quote` and `quote_plus`, also with lower case digits."""
    if special := set(value) - _UNRESERVED:
        coded = ((each, each.encode(errors="surrogatepass")) for each in special)
        codes = {ord(each): "".join(f"%{byte:02X}" for byte in code) for each, code in coded}
        upper = value.translate(codes)
        lower = value.translate({each: code.lower() for each, code in codes.items()})
        for whole, slash in ((upper, "%2F"), (lower, "%2f")):
            yield from (whole, whole.replace(slash, "/"), whole.replace("%20", "+"))
