"""`make test-pythons`: which tests run on which interpreter."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from infra import pythons


@pytest.mark.parametrize(
    ("running", "installed", "whole"),
    [
        ("3.11", ("3.12", "3.13"), {"3.13"}),
        ("3.11", ("3.12",), {"3.12"}),
        ("3.12", ("3.11", "3.13"), {"3.11", "3.13"}),
    ],
)
def test_one_between_ours_and_the_newest_runs_a_part(
    monkeypatch: pytest.MonkeyPatch, running: str, installed: tuple[str, ...], whole: set[str]
) -> None:
    ran: dict[str, list[str]] = {}

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        ran[command[0]] = command
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(pythons, "claimed", lambda: ["3.11", "3.12", "3.13"])
    monkeypatch.setattr(pythons, "running", lambda: running)
    monkeypatch.setattr(pythons, "interpreter", lambda v: v if v in installed else None)
    monkeypatch.setattr(pythons, "environment", lambda version, _: Path(version))
    monkeypatch.setattr(subprocess, "run", run)
    assert pythons.main(["-q"]) == 0
    assert set(ran) == set(installed)
    assert {version for version in ran if ran[version][-1] == "-q"} == whole
    assert all((pythons.ROOT / folder).is_dir() for folder in pythons.BETWEEN)
