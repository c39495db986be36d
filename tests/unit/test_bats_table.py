"""The table of BOSH's acceptance tests in docs/testing.md: it has each story in tests/e2e/bats."""

import re
from pathlib import Path

from tests.listing import check_listed

ROOT = Path(__file__).parents[2]


def test_table_has_each_story() -> None:
    """The table has a row for each story."""
    page = (ROOT / "docs" / "testing.md").read_text()
    table = page.partition("\n## BOSH's acceptance tests\n")[2].partition("\n## ")[0]
    listed = re.findall(r"^\|[^|]+\| `(test_\w+)` \|", table, re.MULTILINE)
    folder = ROOT / "tests" / "e2e" / "bats"
    stories = [
        name
        for path in folder.glob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
    ]
    assert stories
    check_listed(listed, stories, "missing in docs/testing.md", "no story in tests/e2e/bats")
