"""The documentation's links, anchors and file names lead to something that exists."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.cloud import ROOT

PACKAGE = ROOT / "src/bosh_aws_cpi"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob(".github/**/*.md"), *ROOT.glob("docs/**/*.md")])
INDEX = ROOT / "docs/README.md"
LINK = re.compile(r"\]\(([^()\s]+)\)")
MODULE = re.compile(r"`([\w./*-]+/[\w*]+\.py)`")


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page: a repeated one is numbered."""
    seen: Counter[str] = Counter()
    found = set()
    for heading in re.findall(r"^#+ (.+)$", prose(page), flags=re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w -]", "", text).replace(" ", "-")
        found.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
        seen[anchor] += 1
    return found


def targets(page: Path) -> Iterator[tuple[str, Path, str]]:
    """Each relative link of a page: as it is written, its file, its anchor."""
    for link in LINK.findall(prose(page)):
        if not re.match(r"[a-z]+:", link):
            file, _, anchor = link.partition("#")
            yield link, (page.parent / file).resolve() if file else page, anchor


def broken(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    return [
        link
        for link, file, anchor in targets(page)
        if not file.exists() or (anchor and anchor not in anchors(file))
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links(page: Path) -> None:
    """Each relative link leads to a file or a heading that exists, and each named Python file exists."""
    assert broken(page) == []
    named = MODULE.findall(page.read_text())
    assert [path for path in named if not (any(ROOT.glob(path)) or any(PACKAGE.glob(path)))] == []


def test_map() -> None:
    """Each module in the architecture's map of the tree exists."""
    _, tree, _ = (ROOT / "docs/architecture.md").read_text().split("```\n", 2)
    named = set(re.findall(r"\b\w+\.py\b", tree))
    assert len(named) > 20
    assert named <= {path.name for path in PACKAGE.rglob("*.py")}


def test_layers() -> None:
    """The diagram of the layers has those of the import contract, from the top down."""
    contract, *_ = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    _, diagram, *_ = (ROOT / "docs/architecture.md").read_text().split("```mermaid\n")
    boxes = re.findall(r"\w+\[\"(.+?)\"\]", diagram)
    drawn = [" | ".join(part.partition(":")[0] for part in box.split(" | ")) for box in boxes]
    assert drawn == contract["layers"]


def test_every_page_is_in_the_index() -> None:
    """The index leads to every page of the documentation, directly or by the decisions' own index."""
    linked = {file for page in (INDEX, INDEX.parent / "decisions/README.md") for _, file, _ in targets(page)}
    assert {page for page in PAGES if INDEX.parent in page.parents} <= {INDEX, *linked}
