"""The filters of EC2's Describe calls."""

import re
from pathlib import Path

import pytest

from bosh_aws_cpi import aws
from bosh_aws_cpi.aws.sdk import filters


@pytest.mark.parametrize(
    ("value", "escaped"), [("a-1", "a-1"), ("*", r"\*"), ("a?", r"a\?"), ("\\", r"\\"), (r"\*", r"\\\*")]
)
def test_escaped(value: str, escaped: str) -> None:
    """A value stands for itself; in the beginning of one the last asterisk alone is a wildcard."""
    assert filters.equals("n", value, "b") == {"Name": "n", "Values": [escaped, "b"]}
    assert filters.by_tags({"b": "2", "a": value}) == [
        {"Name": "tag:a", "Values": [escaped]},
        {"Name": "tag:b", "Values": ["2"]},
    ]
    assert filters.starts_with("n", value) == {"Name": "n", "Values": [f"{escaped}*"]}


def test_one_place() -> None:
    """No other module writes a filter."""
    modules = {Path(each) for folder in aws.__path__ for each in Path(folder).rglob("*.py")}
    assert [path.stem for path in modules if re.search(r'"Values":', path.read_text())] == ["filters"]
