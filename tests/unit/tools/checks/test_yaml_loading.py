"""YAML is read alike with libyaml and without it."""

import pytest
import yaml

from bosh_aws_cpi.tools.checks.yaml_loading import loaded

TABS = {
    "a:\tb\n": {"a": "b"},
    "a: b\t\nc: d\n": {"a": "b", "c": "d"},
    "a\t: b\n": {"a": "b"},
    "a: [b,\tc]\n": {"a": ["b", "c"]},
    "a: {b:\tc\t}\n": {"a": {"b": "c"}},
    "a: b\t# note\n": {"a": "b"},
}
"""Tabs where libyaml, with which a Director reads YAML, skips them."""


@pytest.mark.parametrize("is_there", [True, False], ids=["libyaml", "no libyaml"])
@pytest.mark.parametrize("text", TABS)
def test_tabs(monkeypatch: pytest.MonkeyPatch, text: str, *, is_there: bool) -> None:
    """A tab that is no indentation separates, as a space does, with PyYAML's C extension and without it."""
    if not is_there:
        monkeypatch.setattr(yaml, "__with_libyaml__", False)
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    assert loaded("f.yml", text.encode())[0] == TABS[text]
