"""Every Python block runs, a page's blocks as one program; what `# →` promises is what comes."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import distribution, packages_distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import palimpsest
from palimpsest import Palimpsest
from palimpsest.server.starting import find_or_start
from tests.docs.pages import NAMES, ROOT, Block, blocks, text_of

WITH_PYTHON = [name for name in NAMES if blocks(name, "python")]
PROMISE = re.compile(r"# → (.+)$")
INSTALL = re.compile(r"pip install ([^`\n]+)")
NAMED = re.compile(r"[A-Za-z0-9._-]+")


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
    """The pages of HTTP ask a server, which ends with the page."""
    find_or_start(Path("memories").absolute())


@pytest.mark.usefixtures("own_views")
@pytest.mark.parametrize("page", WITH_PYTHON)
def test_python_of(page: str) -> None:
    make_the_store_that_is_called_so()
    if page in ("docs/client.md", "docs/http.md"):
        serve_the_memories()
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page, "python"):
        run(block, str(ROOT / page), names)


def test_the_errors_of_the_page_are_those_that_can_be_imported() -> None:
    listed = re.findall(r"^\| `(\w+Error)` \|", text_of("docs/python.md"), flags=re.MULTILINE)
    assert {*listed, "PalimpsestError"} == {name for name in palimpsest.__all__ if "Error" in name}


def test_the_readme_runs_again_in_the_same_folder() -> None:
    for _ in range(2):
        names: dict[str, Any] = {"__name__": "__main__"}
        for block in blocks("README.md", "python"):
            run(block, "README.md", names)


def test_a_broken_promise_is_noticed() -> None:
    with pytest.raises(AssertionError, match="page:1 gives 2"):
        run(Block("python", "1 + 1  # → 3\n", 1), "page", {})


def imported(page: str) -> Iterator[str]:
    """The modules that a page's Python imports, beside ours and Python's own."""
    for block in blocks(page, "python"):
        for node in ast.walk(ast.parse(block.text)):
            names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                if name.partition(".")[0] not in {
                    "palimpsest",
                    "examples",
                    *sys.stdlib_module_names,
                }:
                    yield name


def distribution_of(module: str) -> str:
    """What has to be installed for a module; several share a package like `langgraph`."""
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None, f"{module} is a file"
    return next(
        name
        for name in packages_distributions()[module.partition(".")[0]]
        if Path(spec.origin)
        in [Path(str(file.locate())) for file in distribution(name).files or ()]
    )


@cache
def ours() -> dict[str, list[str]]:
    """What our distribution needs, and under the name of each extra what that brings."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {"": project["dependencies"], **project["optional-dependencies"]}


def installed(page: str) -> set[str]:
    """The distributions that ours needs, and those that a page tells to install beside it."""
    needed = list(ours()[""])
    found = set()
    for words in INSTALL.findall(text_of(page)):
        for word in words.replace("'", "").split():
            name, _, extras = word.partition("[")
            found.add(name)
            needed += [one for extra in NAMED.findall(extras) for one in ours()[extra]]
    found |= {NAMED.findall(one)[0] for one in needed}
    return found


@pytest.mark.parametrize("page", WITH_PYTHON)
def test_a_page_shows_how_to_install_what_it_imports(page: str) -> None:
    missing = {distribution_of(module) for module in imported(page)} - installed(page)
    assert not missing
