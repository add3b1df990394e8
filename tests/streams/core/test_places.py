"""Folders of tests: one that a test left in its place is in nobody's way."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.mark.parametrize("can_be_moved", [True, False])
def test_what_an_earlier_test_left_is_in_nobodys_way(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    *,
    can_be_moved: bool,
) -> None:
    left = tmp_path_factory.getbasetemp() / "here"
    left.mkdir()
    (left / "rest").write_text("of an earlier test")
    with monkeypatch.context() as patch:
        if not can_be_moved:
            patch.setattr(Path, "rename", refuse)
        folder: Path = request.getfixturevalue("tmp_path")
    assert not list(folder.iterdir())
    if not can_be_moved:
        left.rename(left.with_name("moved later"))


def refuse(*_: object) -> None:
    raise PermissionError("somebody has it")
