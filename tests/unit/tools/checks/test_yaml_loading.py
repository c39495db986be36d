"""YAML is read alike with libyaml and without it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from bosh_aws_cpi.tools.checks.yaml_loading import loaded
from tests.stories.right_configs import RIGHT, UNKNOWN

TEXTS = [*(text for texts in RIGHT.values() for text in texts), *UNKNOWN.values()]
TABS = {
    "a:\tb\n": {"a": "b"},
    "a: b\t\nc: d\n": {"a": "b", "c": "d"},
    "a\t: b\n": {"a": "b"},
    "a: [b,\tc]\n": {"a": ["b", "c"]},
    "a: {b:\tc\t}\n": {"a": {"b": "c"}},
    "a: b\t# note\n": {"a": "b"},
}
"""Tabs where libyaml, with which a Director reads YAML, skips them."""


def read(text: str) -> Any:
    """Read a text."""
    return loaded("f.yml", text.encode())


@pytest.fixture
def _no_libyaml(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away PyYAML's C extension, which not every installation has."""
    monkeypatch.setattr(yaml, "__with_libyaml__", False)
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="this PyYAML has no libyaml to compare with")
@pytest.mark.parametrize("text", [*TEXTS, *TABS])
def test_same(text: str, request: pytest.FixtureRequest) -> None:
    """Values, places and repeated keys are the same without libyaml."""
    expected = read(text)
    request.getfixturevalue("_no_libyaml")
    assert read(text) == expected


@pytest.mark.usefixtures("_no_libyaml")
@pytest.mark.parametrize("text", TABS)
def test_tabs(text: str) -> None:
    """A tab that is no indentation separates, as a space does."""
    assert read(text)[0] == TABS[text]
