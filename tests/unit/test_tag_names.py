"""The list of the CPI's own tags is whole: a tag that is missing there could be written by a manifest."""

import ast
from collections.abc import Iterator

from bosh_aws_cpi.tag_names import OWN_KEYS, TARGET_TAG
from testbed.cloud import ROOT


def constants() -> Iterator[str]:
    """Yield the values of all constants of the program that are named as tags."""
    for path in (ROOT / "src/bosh_aws_cpi").rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(value))):
                    pass
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=str(value))):
                    pass
                case _:
                    continue
            if name.endswith("TAG"):
                yield value


def test_all_tags() -> None:
    """Every tag that a module names is in the list, and no other."""
    assert {*constants()} == OWN_KEYS | {TARGET_TAG}


def test_documented() -> None:
    """The policy's condition on tag keys has all of them: it must allow what the CPI writes."""
    text = (ROOT / "docs/permissions.md").read_text()
    (listed,) = [each for each in text.split("\n- ") if each.startswith("**Tag keys**")]
    assert {key for key in OWN_KEYS if f"`{key}`" not in listed} == set()
