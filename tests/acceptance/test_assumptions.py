"""The table of the assumptions about AWS."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from acceptance import assumptions
from acceptance.trials import trials
from bosh_aws_cpi.aws.sdk.error_table import ROWS

ROOT = Path(__file__).parents[2]
FOLDERS = (ROOT / "src/bosh_aws_cpi", ROOT)
ASSUMPTIONS = assumptions.read()


@pytest.mark.parametrize("assumption", ASSUMPTIONS.values(), ids=ASSUMPTIONS)
def test_row(assumption: assumptions.Assumption) -> None:
    """An assumption names existing modules, a source, its certainty, and the reason if it is not tried."""
    modules = re.findall(r"`([^`]+)`", assumption.used_in)
    assert modules
    assert [name for name in modules if not any((folder / name).is_file() for folder in FOLDERS)] == []
    assert assumption.source
    assert assumption.sure in {"documented", "model", "field", "guess"}
    assert assumption.is_tried or re.fullmatch(r"no: .+", assumption.tried)


def test_trials() -> None:
    """Every assumption that is marked as tried has a trial, and every trial has such an assumption."""
    assert trials().keys() == {name for name, assumption in ASSUMPTIONS.items() if assumption.is_tried}


def test_codes_of_the_field() -> None:
    """The error codes that are known only from reports are in the table of errors."""
    codes = set(re.findall(r"\b(?:[A-Z][a-z]+){2,}\w*(?:\.\w+)?", ASSUMPTIONS["codes-of-the-field"].text))
    assert "InsufficientCidrBlocks" in codes
    assert codes <= ROWS.keys()


@pytest.mark.parametrize("row", ["| token | b | c | d | guess | yes |", "| `x` | b | guess | yes |"])
def test_row_that_cannot_be_read(tmp_path: Path, row: str) -> None:
    """An incomplete row is refused, and the error quotes it."""
    path = tmp_path / "table.md"
    path.write_text(f"| id | assumption | used in | source | sure | tried |\n| --- | --- |\n{row}\n")
    with pytest.raises(ValueError, match="no row of an assumption") as caught:
        assumptions.read(path)
    assert row in str(caught.value)
