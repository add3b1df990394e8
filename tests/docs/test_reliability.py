"""docs/reliability.md names tests that exist, and the last run of every campaign."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import ROOT, text_of

PAGE = text_of("docs/reliability.md")
CLUSTER = "A cluster"
"""The section that names files of tests/cluster without their folder, as it says."""


def sections() -> dict[str, str]:
    """The page's sections of the second level, by heading."""
    parts = re.split(r"^## (.+)\n", PAGE, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("section", sections())
def test_each_file_that_is_named_exists_and_is_one(section: str) -> None:
    """One without a folder was named with it before, in the same section."""
    folders = [ROOT / "tests" / "cluster"] if section == CLUSTER else []
    named = {path.name: path for folder in folders for path in folder.glob("*.py")}
    for name in re.findall(r"`([\w/]+\.py)`", sections()[section]):
        if "/" in name:
            named[name.rpartition("/")[2]] = ROOT / name
        assert name.rpartition("/")[2] in named, f"{name} has no folder"
        assert named[name.rpartition("/")[2]].is_file(), name


def test_each_folder_that_is_named_exists() -> None:
    for name in re.findall(r"`(tests/[\w/]+)`", PAGE):
        assert (ROOT / name).is_dir(), name


def test_each_target_is_explained_and_runs_with_every_change_or_has_its_last_run() -> None:
    targets = set(re.findall(r"^(test[\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    always = set(re.findall(r"make (test[\w-]*)$", (ROOT / ".ci/run").read_text(), re.MULTILINE))
    always.add("test")  # is the greater part of test-all
    explained = set(re.findall(r"^- `make (test-[\w-]*)`:", PAGE, re.MULTILINE))
    ran = r"^\| `make (test[\w-]*)` \| \d{1,2} [A-Z][a-z]+ \d{4} \| .+ \|$"
    assert set(re.findall(ran, sections()["Measured"], re.MULTILINE)) == targets - always
    assert explained == targets - {"test"}
