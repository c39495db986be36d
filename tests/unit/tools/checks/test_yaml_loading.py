"""YAML is read as BOSH reads it, with libyaml and without it."""

import pytest
import yaml

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.tools.checks.documents import load_yaml

TABS = {
    "a:\tb\t\nc: d\n": {"a": "b", "c": "d"},
    "a\t: b\n": {"a": "b"},
    "a: {b:\t[c,\td]\t}\n": {"a": {"b": ["c", "d"]}},
    "a: b\t# note\n": {"a": "b"},
}
"""Tabs where libyaml, with which a Director reads YAML, skips them."""
ALIASES = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}' if n else 'x'] * 9)}]" for n in range(9))


@pytest.mark.parametrize("is_there", [True, False], ids=["libyaml", "no libyaml"])
@pytest.mark.parametrize("text", TABS)
def test_tabs(monkeypatch: pytest.MonkeyPatch, text: str, *, is_there: bool) -> None:
    """A tab that is no indentation separates, as a space does, with PyYAML's C extension and without it."""
    if not is_there:
        monkeypatch.setattr(yaml, "__with_libyaml__", False)
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    assert load_yaml("f.yml", text.encode())[0] == TABS[text]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: !!python/object/apply:os.system [ls]", "1 is not valid YAML"),
        ("a: .inf", "1 is not valid YAML: a number must be finite"),
        ("a: .nan", "1 is not valid YAML: a number must be finite"),
        ("a: 0x_", "1 is not valid YAML: a value can't be read as !!int"),
        ("a: !!binary aGVsbG8=", "1 is not valid YAML: a value is marked !!binary"),
        ("{[a]: b}", "1 is not valid YAML: a key must be a string"),
        ("\n[1:1" + ":1" * 200 + "]", "2 can't be read: a number has more than 300 characters"),
        (ALIASES, "6 can't be read: its aliases (*NAME) stand for more than 100000 values"),
        ("a: {<<: b}", "1 is not valid YAML: expected a mapping or list of mappings for merging"),
        (b"\x00\xff\xfe\x00binary\x00", "1 is not valid YAML: it is not in UTF-8"),
        ("a: 1\nb: gr\xf6\xdfer\n".encode("latin-1"), "2 is not valid YAML: it is not in UTF-8"),
        ("a: 1\n".encode("utf-16-le"), "1 is not valid YAML: it is not in UTF-8"),
        ("a:\n\tb: 1\n", "2 is not valid YAML: a tab indents this line: use spaces"),
        ("a:\n  b: 1\n  \tc: 2\n", "3 is not valid YAML: a tab indents this line: use spaces"),
        ("a:\n  azs: [z1, z2\n  b: 1\nc: 2\n", "3 is not valid YAML: did not find expected ',' or ']'"),
        ("a: b\n---\na: c\n", "2 is not valid YAML: a second document begins (---)"),
        ("{password: hunter7hunter7, @a}", "1 is not valid YAML"),
        ("password: hunter7hunter7: hunter7hunter7", "1 is not valid YAML"),
        ("password: *hunter7hunter7", "1 is not valid YAML"),
        ("password: !Zt'9-hunter7", "1 is not valid YAML: could not determine a constructor for the tag"),
    ],
)
def test_refused(text: str | bytes, words: str) -> None:
    """What is no YAML, or no JSON, is refused in libyaml's words, with the line; no secret is quoted."""
    with pytest.raises(CloudError) as caught:
        load_yaml("f.yml", text.encode() if isinstance(text, str) else text)
    assert caught.value.message.startswith(f"f.yml:{words}")
    assert "hunter7" not in caught.value.message
