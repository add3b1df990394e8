"""Links lead somewhere, and every page can be found."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.docs.pages import DOCS, NAMES, ROOT, links, prose, text_of
from tests.tables import each


def anchors(name: str) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", text_of(name), flags=re.MULTILINE)
    return {
        re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings
    }


@each("page", NAMES)
def test_links_of(page: str) -> None:
    for link in links(page):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.resolve().is_relative_to(ROOT), link
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target.resolve().relative_to(ROOT).as_posix()), link


@each("page", NAMES)
def test_every_block_of(page: str) -> None:
    """A fence that is not read as one swallows the blocks and the prose after it."""
    assert "```" not in prose(page)


def tables(name: str) -> Iterator[list[int]]:
    """The number of cells in each row of a page's tables."""
    for lines in re.findall(r"^(?:\|.+\n)+", prose(name), flags=re.MULTILINE):
        yield [len(re.sub(r"`[^`]*`|\\\|", "", line).split("|")) for line in lines.splitlines()]


@each("page", NAMES)
def test_every_table_of(page: str) -> None:
    """Cells beyond those of the head are not shown."""
    for cells in tables(page):
        assert {*cells} == {cells[0]}


def test_every_page_is_in_the_index() -> None:
    pages = {page.name for page in DOCS.glob("*.md")} - {"README.md"}
    assert pages - set(links("docs/README.md")) == set()
    assert "docs/README.md" in set(links("README.md"))


def test_every_decision_page_is_listed() -> None:
    folder = DOCS / "decisions"
    pages = {page.name for page in folder.glob("[0-9]*.md")}
    listed = {link for link in links("docs/decisions/README.md") if not link.startswith("../")}
    assert pages == listed
