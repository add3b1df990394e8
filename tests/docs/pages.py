"""The pages that people read, and the blocks of code in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FIRST = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
PAGES = [*(ROOT / name for name in FIRST), *sorted(DOCS.glob("**/*.md"))]
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]
_FENCE = re.compile(r"^``` ?(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text and the line that it begins in."""

    language: str
    text: str
    line: int


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[Block]:
    """A page's blocks of one language, in order."""
    text = text_of(name)
    return [
        Block(found[1], found[2], text[: found.start(2)].count("\n") + 1)
        for found in _FENCE.finditer(text)
        if found[1] == language
    ]


def prose(name: str) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", text_of(name))


def links(name: str) -> list[str]:
    return _LINK.findall(prose(name))
