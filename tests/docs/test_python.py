"""Every Python block runs, a page's blocks as one program; what `# →` promises is what comes."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from palimpsest import Palimpsest
from palimpsest.serve.starting import find_or_start
from tests.docs.pages import NAMES, ROOT, Block, blocks

WITH_PYTHON = [name for name in NAMES if blocks(name, "python")]
PROMISE = re.compile(r"# → (.+)$")


def run(block: Block, page: str, names: dict[str, Any]) -> None:
    """Run a block statement by statement; lines of the page are those of a traceback."""
    tree = ast.parse(block.text)
    ast.increment_lineno(tree, block.line - 1)
    lines = ("\n" * (block.line - 1) + block.text).splitlines()
    following = [node.lineno for node in tree.body[1:]] + [len(lines) + 1]
    for node, after in zip(tree.body, following, strict=True):
        if not isinstance(node, ast.Expr):
            exec(compile(ast.Module([node], []), page, "exec"), names)
            continue
        value = eval(compile(ast.Expression(node.value), page, "eval"), names)
        said = [
            found[1]
            for line in lines[node.lineno - 1 : after - 1]
            if (found := PROMISE.search(line))
        ]
        assert said in ([], [repr(value)]), f"{page}:{node.lineno} gives {value!r}"


def make_the_store_that_is_called_so() -> None:
    """Pages say STORE where the reader's own store stands."""
    with Palimpsest.open("STORE") as store:
        store.submit({"owner_id": "ada", "text": "Ada lives in Paris."})
        assert store.sql_file.exists()


def test_the_pages_have_python() -> None:
    assert {"README.md", "docs/python.md", "docs/guard.md"} <= set(WITH_PYTHON)


def serve_the_memories() -> None:
    """The page of HTTP asks a server, which ends with the page."""
    find_or_start(Path("memories").absolute())


@pytest.mark.parametrize("page", WITH_PYTHON)
def test_python_of(page: str) -> None:
    make_the_store_that_is_called_so()
    if page == "docs/http.md":
        serve_the_memories()
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page, "python"):
        run(block, str(ROOT / page), names)


def test_a_broken_promise_is_noticed() -> None:
    with pytest.raises(AssertionError, match="page:1 gives 2"):
        run(Block("python", "1 + 1  # → 3\n", 1), "page", {})
