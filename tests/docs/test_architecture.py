"""Every name that ARCHITECTURE.md gives, with the module or class that has it, is in the code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.docs.pages import ROOT
from tests.tables import each

CODE = ("contracts", "streams", "projections", "palimpsest")
PAGE = (ROOT / "ARCHITECTURE.md").read_text()
FILES = (".html", ".js", ".json", ".lock", ".py")
TOPICS = "memory."
NAMES = sorted(
    name
    for name in set(re.findall(r"`((?:\w+\.)+\w+)`", PAGE))
    if not name.endswith(FILES) and not name.startswith(TOPICS)
)

_AT_TOP = re.compile(r"(?:class|def|async def) (\w+)|(\w+)(?:: .*)? = ")
_IN_CLASS = re.compile(r"    (?:    self\.|(?:async )?def )?(\w+)(?=[:(]| = )")


@cache
def declared() -> frozenset[str]:
    """Modules, classes, functions and constants by each end of their names: `a.b.C.d`, `C.d`."""
    return frozenset(
        ".".join(parts[start:])
        for folder in CODE
        for file in (ROOT / folder).rglob("*.py")
        if not any(parent.is_symlink() for parent in file.parents)
        for parts in _declared(file)
        for start in range(len(parts))
    )


def _declared(file: Path) -> Iterator[list[str]]:
    module = [*file.relative_to(ROOT).with_suffix("").parts]
    text, top = file.read_text(), ""
    yield module
    if module[-1] == "__init__":  # it may export what its modules declare
        module.pop()
        yield from ([*module, word] for word in set(re.findall(r"\w+", text)))
    for line in text.splitlines():
        if found := _AT_TOP.match(line):
            top = found[1] or found[2]
            yield [*module, top]
        elif found := _IN_CLASS.match(line):
            yield [*module, top, found[1]]


@each("name", NAMES)
def test_a_name_is_in_the_code(name: str) -> None:
    assert name.removeprefix("palimpsest.") in declared()
