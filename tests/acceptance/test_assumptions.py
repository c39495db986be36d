"""The lists of the assumptions about AWS."""

import re
from pathlib import Path

import pytest

from acceptance import assumptions
from acceptance.trials import trials
from bosh_aws_cpi.aws.sdk.codes import table

ASSUMPTIONS = assumptions.read()


def test_sources() -> None:
    """Every assumption has a source, or is called a guess."""
    assert [name for name, assumption in ASSUMPTIONS.items() if not assumption.source] == []


def test_trials() -> None:
    """Every assumption of the section of trials has one, and every trial has such an assumption."""
    assert trials().keys() == {name for name, assumption in ASSUMPTIONS.items() if assumption.is_tried}


def test_codes_of_the_field() -> None:
    """The error codes that are known only from reports are in the table of errors."""
    codes = set(re.findall(r"\b(?:[A-Z][a-z]+){2,}\w*(?:\.\w+)?", ASSUMPTIONS["codes-of-the-field"].text))
    assert "InsufficientCidrBlocks" in codes
    assert codes <= {each.code for each in table()}


def test_item_that_cannot_be_read(tmp_path: Path) -> None:
    """An item without a source is refused, and the error quotes it."""
    path = tmp_path / "list.md"
    path.write_text("## Guesses\n\n- `x`: It is\n  so.\n")
    with pytest.raises(ValueError, match=r"no item of an assumption: - `x`: It is so\."):
        assumptions.read(path)
