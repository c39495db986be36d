"""The account of what is believed of AWS."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from acceptance import beliefs
from acceptance.trials import trials
from bosh_aws_cpi.aws.error_table import ROWS

SOURCE = Path(__file__).parents[2] / "src/bosh_aws_cpi"
BELIEFS = beliefs.read()


@pytest.mark.parametrize("belief", BELIEFS.values(), ids=BELIEFS)
def test_row(belief: beliefs.Belief) -> None:
    """A belief names modules that are there, a source, how sure it is, and why it is not tried."""
    modules = re.findall(r"`([^`]+)`", belief.used_in)
    assert modules
    assert [name for name in modules if not (SOURCE / name).is_file()] == []
    assert belief.source
    assert belief.sure in {"documented", "model", "field", "guess"}
    assert belief.is_tried or re.fullmatch(r"no: .+", belief.tried)


def test_trials() -> None:
    """Each belief that is said to be tried has its trial, and no trial is of anything else."""
    assert trials().keys() == {name for name, belief in BELIEFS.items() if belief.is_tried}


def test_codes_of_the_field() -> None:
    """The codes that are known by reports alone are in the table of errors."""
    codes = set(re.findall(r"\b(?:[A-Z][a-z]+){2,}\w*(?:\.\w+)?", BELIEFS["codes-of-the-field"].text))
    assert "InsufficientCidrBlocks" in codes
    assert codes <= ROWS.keys()


@pytest.mark.parametrize("row", ["| token | b | c | d | guess | yes |", "| `x` | b | guess | yes |"])
def test_row_that_cannot_be_read(tmp_path: Path, row: str) -> None:
    """A row that lacks something is refused with its text."""
    path = tmp_path / "table.md"
    path.write_text(f"| id | belief | used in | source | sure | tried |\n| --- | --- |\n{row}\n")
    with pytest.raises(ValueError, match="no row of a belief") as caught:
        beliefs.read(path)
    assert row in str(caught.value)
