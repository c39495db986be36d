"""What must not be seen."""

import html
import json
import re
from base64 import b64encode
from typing import Any
from urllib.parse import quote, quote_plus
from xml.sax.saxutils import escape

import pytest

from bosh_aws_cpi.redact import MASK, Redactor

SECRET = """s3"cr'et\\ /:@ü<&>"""
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\ndef==\n-----END RSA PRIVATE KEY-----\n"


def lower(quoted: str) -> str:
    """Return percent-encoded text with lower-case digits."""
    return re.sub("%..", lambda code: code[0].lower(), quoted)


def learned(document: object) -> Redactor:
    """Return a redactor that was told of a document."""
    redact = Redactor()
    redact.learn(document)
    return redact


@pytest.mark.parametrize(
    "spelling",
    [
        SECRET,
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        repr(SECRET)[1:-1],
        quote(SECRET, safe=""),
        quote(SECRET),
        quote_plus(SECRET),
        lower(quote(SECRET, safe="")),
        lower(quote(SECRET)),
        escape(SECRET),
        escape(SECRET, {'"': "&quot;", "'": "&apos;"}),
        escape(SECRET, {'"': "&quot;", "'": "&#39;"}),
        escape(SECRET, {'"': "&#34;", "'": "&#39;"}),
        html.escape(SECRET),
        html.escape(json.dumps(SECRET)[1:-1]),
    ],
)
def test_spellings(spelling: str) -> None:
    """A secret is masked however it is spelled, as often as it stands there."""
    redact = learned({"password": SECRET})
    assert redact(f"a {spelling} b {spelling} c") == f"a {MASK} b {MASK} c"


@pytest.mark.parametrize("form", [SECRET, json.dumps(SECRET)[1:-1]], ids=["plain", "JSON"])
@pytest.mark.parametrize("before", range(6))
def test_base64(before: int, form: str) -> None:
    """A secret is masked in Base64, wherever in the encoded text it stands."""
    redact = learned({"password": SECRET})
    for after in range(3):
        encoded = b64encode(b"x" * before + form.encode() + b"y" * after).decode()
        for text in (encoded, quote(encoded), quote(encoded, safe=""), lower(quote(encoded, safe=""))):
            masked = redact(text)
            assert masked.count(MASK) == 1
            assert len(masked.replace(MASK, "")) <= len(b64encode(b"x" * before)) + 16


@pytest.mark.parametrize(
    "name",
    [
        *("password", "blobstore_password", "Passwd", "passphrase", "secret_access_key", "client_secret"),
        *("session_token", "token", "certificate", "private_key", "cert", "ca", "tls_ca", "mbus_cert"),
        *("access_key_id", "credentials", "auth", "key", "API_KEY"),
    ],
)
def test_secret_names(name: str) -> None:
    """A value is a secret by its key, at any depth, and so is all that stands below such a key."""
    redact = learned({"a": [{"b": {name: ["first-secret", {"c": "second-secret"}]}}]})
    assert redact("first-secret, second-secret, c") == f"{MASK}, {MASK}, c"


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"credentials_source": "env_or_profile"}, "credentials_source env_or_profile"),
        ({"metadata_options": {"http_tokens": "required"}}, "a region is required"),
        ({"networks": {"private": {"type": "manual", "ip": "10.0.0.5"}}}, "manual 10.0.0.5 private"),
        ({"key_name": "bosh", "default_key_name": "vms"}, "bosh vms"),
        ({"kms_key_arn": "arn:aws:kms:us-east-1:1:key/a"}, "arn:aws:kms:us-east-1:1:key/a"),
        ({"keys": ["monkey"], "author": "somebody"}, "monkey somebody"),
        ({"tags": {"owner": "team"}}, "team"),
        ({"password": None, "secret": 12, "token": True}, "None 12 True"),
    ],
)
def test_no_secrets(document: dict[str, Any], text: str) -> None:
    """Values that only sound like secrets stay readable."""
    assert learned(document)(text) == text


def test_short_values() -> None:
    """A secret of less than 8 characters is left where it may be an ordinary word, a longer one is masked."""
    redact = learned({"password": "agent", "secret": "", "token": "7 chars", "key": "8 charac"})
    text = "use another agent id, VM `my-agent', 7 chars, "
    assert redact(f"{text}8 charac") == f"{text}{MASK}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nats://nats:agent@10.0.0.6:4222", f"nats://nats:{MASK}@10.0.0.6:4222"),
        (
            '{"blobstore_password": "agent", "agent": "a"}',
            f'{{"blobstore_password": "{MASK}", "agent": "a"}}',
        ),
        ("{'password': 'agent', 'b': 'agent'}", f"{{'password': '{MASK}', 'b': 'agent'}}"),
        (r'"{\"token\": \"agent\", \"b\": \"c\"}"', rf'"{{\"token\": \"{MASK}\", \"b\": \"c\"}}"'),
        (r'"{\"token\": \"a\\\"gent\", \"b\": \"c\"}"', rf'"{{\"token\": \"{MASK}\", \"b\": \"c\"}}"'),
        (r'"{\"token\": \"agent\\\\\", \"b\": \"c\"}"', rf'"{{\"token\": \"{MASK}\", \"b\": \"c\"}}"'),
        (r'{"user_data": "agent\nagent\" cut', f'{{"user_data": "{MASK}"'),
        ('{"secret": 1234, "count": 1234}', f'{{"secret": {MASK}, "count": 1234}}'),
        (
            '{"secrets": {"user": "joe", "pins": ["s3", {"a": 1}]}, "b": [1]}',
            f'{{"secrets": {MASK}, "b": [1]}}',
        ),
        (
            '{"credentials": {"user": "joe", "password": "s3"}}',
            f'{{"credentials": {{"user": "joe", "password": "{MASK}"}}}}',
        ),
        ("{'passwords': ['abc', 'agent'], 'b': 'c'}", f"{{'passwords': {MASK}, 'b': 'c'}}"),
        ("'secret': {'a': 'cut off", f"'secret': {MASK}"),
        ("GET /x?password=agent&b=c", f"GET /x?password={MASK}&b=c"),
        ("'TagKeys': [{'Key': 'job', 'Value': 'db'}], 'ClientToken': 'c1'",) * 2,
    ],
)
def test_short_values_by_their_form(text: str, expected: str) -> None:
    """A short secret is masked where its form shows it: a URL's password, the value of a secret's key."""
    assert learned({"password": "agent", "secret": 1234})(text) == expected


def test_longest_first() -> None:
    """A secret that holds another one is masked whole."""
    redact = learned({"password": "a-secret", "token": "a-secret-token", "key": "my-a-secret-token"})
    assert redact("my-a-secret-token a-secret-token a-secret") == f"{MASK} {MASK} {MASK}"


def test_learning_more() -> None:
    """Earlier secrets are still known after the next document."""
    redact = learned({"password": "first-one"})
    redact.learn({"password": "second-one"})
    redact.learn({})
    assert redact("first-one second-one") == f"{MASK} {MASK}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("get https://u:p%40q@h/x?y and on", f"get https://u:{MASK}@h/x?y and on"),
        ("http://u:p@ss:word@h:1/", f"http://u:{MASK}@h:1/"),
        ("http://:pw@h", f"http://:{MASK}@h"),
        ("http://10.0.0.6:25777/instances/i-1",) * 2,
        ("mail a@b: http://h/x",) * 2,
    ],
)
def test_urls(text: str, expected: str) -> None:
    """A password inside a URL is masked, the rest of the URL stays."""
    assert Redactor()(text) == expected


@pytest.mark.parametrize("password", ["hunter-2", "hun/ter 2", "h@nter:2"])
def test_password_of_a_url(password: str) -> None:
    """A password that is learned from a URL is masked outside of it too, whatever it holds."""
    redact = learned({"agent": {"mbus": f"nats://nats:{password}@h:1"}})
    assert redact(f"it was {password}") == f"it was {MASK}"


@pytest.mark.parametrize("name", ["AccessKeyId", "SecretAccessKey", "SessionToken"])
def test_keys_in_an_answer(name: str) -> None:
    """Keys in an answer of AWS are masked although they were not learned."""
    assert Redactor()(f"<{name}>hunter2</{name}>") == f"<{name}>{MASK}</{name}>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"before {PEM} after", f"before {MASK}\n after"),
        (f"{PEM}{PEM}", f"{MASK}\n{MASK}\n"),
        (json.dumps({"a": PEM, "b": 1}), f'{{"a": "{MASK}\\n", "b": 1}}'),
        ("x -----BEGIN CERTIFICATE-----\nMIIEabc", f"x {MASK}"),
    ],
    ids=["as it is", "two", "in JSON", "cut off"],
)
def test_pem_blocks(text: str, expected: str) -> None:
    """A PEM block is masked wherever it stands, one that is cut off to the end."""
    assert Redactor()(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{'secret': 'it\\'s', 'a': 'b'}", f"{{'secret': '{MASK}', 'a': 'b'}}"),
        (':session_token => "x"', f':session_token => "{MASK}"'),
        ('Private_Key: "a\\"b"', f'Private_Key: "{MASK}"'),
        ('blobstore_password: "x"', f'blobstore_password: "{MASK}"'),
        ('key_name: "x", http_tokens: "y"', 'key_name: "x", http_tokens: "y"'),
        ("the following tag key: 'CostCenter'.", "the following tag key: 'CostCenter'."),
        *((f"{word} key: 'x'", f"{word} key: '{MASK}'") for word in ("private", "access", "meta-tag", "the")),
        *((f"tag {name}: 'x'", f"tag {name}: '{MASK}'") for name in ("password", "access_key_id", "ca")),
    ],
)
def test_named_values(text: str, expected: str) -> None:
    """A quoted value behind a secret's name is masked although it was not learned."""
    assert Redactor()(text) == expected
