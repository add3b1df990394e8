"""Around the page: CI installs the browser, and the docs' pictures come from the tests."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
NEEDED = ("bash", "dirname", "df", "awk")
STEPS = ["test-all", "check", "test-wheel", "test-pythons", "test-mem0", "test-langchain"]
"""The targets that CI makes if the disk has no room for torch."""


@pytest.mark.parametrize(
    ("installs", "required"), [(True, "1"), (False, "0")], ids=["has it now", "cannot have it"]
)
def test_ci_installs_the_browser_and_then_requires_it(
    tmp_path: Path, installs: bool, required: str
) -> None:
    """Commands are replaced by stubs that record their arguments; `df` reports a full disk."""
    (programs := tmp_path / "bin").mkdir()
    for name in NEEDED:
        (programs / name).symlink_to(Path("/usr/bin") / name)
    (programs / "df").unlink()
    browser = programs / "chromium"
    brought = f"[[ $1 != install ]] || {{ : >{browser}; chmod +x {browser}; }}"
    acts = {
        "make": 'echo "make $* $PALIMPSEST_REQUIRE_BROWSER"',
        "apt-get": f'echo "apt-get $*"; {brought if installs else "exit 1"}',
        "df": "printf 'size\\n/ 1 1 1 1\\n'",
        "chmod": '/bin/chmod "$@"',
    }
    for name, act in acts.items():
        (programs / name).write_text(f"#!/usr/bin/bash\n{act}\n")
        (programs / name).chmod(0o755)
    without = {name: value for name, value in os.environ.items() if "PALIMPSEST" not in name}
    done = subprocess.run(
        ["/usr/bin/bash", str(ROOT / ".ci" / "run")],
        env=without | {"PATH": str(programs)},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert ("apt-get install -y -qq chromium" in lines) == installs
    assert ("chromium could not be installed." in lines) == (not installs)
    assert f"make test-all {required}" in lines
    assert re.findall(r"^make (\S+) \d?$", done.stdout, flags=re.MULTILINE) == STEPS


def test_the_pictures_of_the_docs_are_those_that_the_tests_take() -> None:
    docs = (ROOT / "docs" / "review.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"\(images/(review-[a-z]+)\.png\)", docs))
    tests = "".join(
        (Path(__file__).parent / name).read_text(encoding="utf-8")
        for name in ("test_browser.py", "test_looking_in_browser.py")
    )
    taken = set(re.findall(r'picture\(page, "(review-[a-z]+)"\)', tests))
    looks = re.findall(r'^    "(\w+)": \{"', tests, flags=re.MULTILINE)
    assert 'picture(page, f"review-{look}")' in tests
    assert shown
    assert shown <= taken | {f"review-{look}" for look in looks}
    for name in shown:
        assert (ROOT / "docs" / "images" / f"{name}.png").is_file()
