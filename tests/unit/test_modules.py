"""The program's modules stay small."""

from __future__ import annotations

from testbed.cloud import ROOT

TABLES = {"error_table.py", "instance_type_table.py", "vm_size_table.py"}
MOST = 250


def test_lines() -> None:
    """No module has more lines than a reader can keep in mind, but for the tables."""
    modules = [path for path in (ROOT / "src/bosh_aws_cpi").rglob("*.py") if path.name not in TABLES]
    lines = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in modules}
    assert len(lines) > 50
    assert {name: count for name, count in lines.items() if count > MOST} == {}
