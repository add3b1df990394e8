"""The variables of designs/namespaced.md under our prefix: recorded when its preset is set."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest.streams.policies import load_policy
from tests.palimpsest.cli.conftest import CommandLine, row

NAMES = {
    "ENABLED": "false",
    "THRESHOLD_DECISIONS": "0.97",
    "THRESHOLD_PATTERNS": "0.96",
    "THRESHOLD_LEARNINGS": "0.95",
    "THRESHOLD_DEFAULT": "0.94",
    "TIME_WINDOW_SECS": "60",
    "CACHE_CAPACITY": "50",
}


def set_all(monkeypatch: pytest.MonkeyPatch, **changed: str) -> None:
    for name, value in (NAMES | changed).items():
        monkeypatch.setenv(f"PALIMPSEST_DEDUP_{name}", value)


def rules(shown: dict[str, Any]) -> list[Any]:
    semantic, recent = shown["checks"]
    by_name = semantic["namespaces"]
    return [
        shown["enabled"],
        *(by_name[name] for name in ("decisions", "patterns", "learnings")),
        semantic["zones"][0]["at_least"],
        recent["seconds"],
        recent["capacity"],
    ]


def test_environment_variables_are_recorded_with_the_policy(
    palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_all(monkeypatch)
    answer = palimpsest.json("policy", "set", "namespaced")
    shown = palimpsest.json("policy", "show")
    assert rules(shown) == [False, 0.97, 0.96, 0.95, 0.94, 60, 50]
    assert shown["hash"] == answer["hash"] != load_policy("namespaced").hash
    for name in NAMES:
        monkeypatch.delenv(f"PALIMPSEST_DEDUP_{name}")
    assert palimpsest.json("policy", "show")["hash"] == answer["hash"], "it is in force till set"
    palimpsest("policy", "set", "namespaced")
    assert palimpsest.json("policy", "show")["hash"] == load_policy("namespaced").hash


def test_a_dry_run_shows_them_and_writes_nothing(
    palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_all(monkeypatch, ENABLED="true")
    answer = palimpsest.json("policy", "set", "namespaced", "--dry-run")
    assert rules(answer["rules"]) == [True, 0.97, 0.96, 0.95, 0.94, 60, 50]
    assert not palimpsest.store.exists()
    shown = palimpsest("policy", "set", "namespaced", "--dry-run").out
    assert "dedup.time_window_secs" in shown


def test_one_of_them_leaves_the_other_numbers(
    palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_DEDUP_THRESHOLD_DEFAULT", "0.92")
    palimpsest("policy", "set", "namespaced")
    assert rules(palimpsest.json("policy", "show")) == [True, 0.92, 0.9, 0.88, 0.92, 300, 1000]


def test_other_policies_do_not_read_them(
    palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_all(monkeypatch)
    answer = palimpsest.json("policy", "set", "store-time")
    assert answer["hash"] == load_policy("store-time").hash
    assert "dedup." not in palimpsest("policy", "set", "store-time").out


def test_they_count_for_the_first_policy_of_a_new_store(
    palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_POLICY", "namespaced")
    set_all(monkeypatch)
    palimpsest.ingest(row("a text"))
    assert rules(palimpsest.json("policy", "show"))[0] is False


def test_the_settings_file_has_them_in_a_table(
    palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(palimpsest.folder)
    (palimpsest.folder / "palimpsest.toml").write_text("[dedup]\nthreshold_default = 0.93\n")
    palimpsest("policy", "set", "namespaced")
    assert rules(palimpsest.json("policy", "show"))[4] == 0.93


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("ENABLED", "perhaps", "boolean"),
        ("THRESHOLD_DEFAULT", "92%", "number"),
        ("THRESHOLD_DECISIONS", "1.2", "less than or equal to 1"),
        ("TIME_WINDOW_SECS", "0", "greater than 0"),
        ("CACHE_CAPACITY", "many", "integer"),
        ("THRESHOLD_TECHDEBT", "0.9", "no such key"),
    ],
)
def test_bad_values_are_clear_errors(
    palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch, name: str, value: str, says: str
) -> None:
    monkeypatch.setenv(f"PALIMPSEST_DEDUP_{name}", value)
    ran = palimpsest("policy", "set", "namespaced")
    assert ran.status == 2
    error = " ".join(ran.err.split())
    assert f"dedup.{name.lower()}" in error
    assert says in error
    assert not palimpsest.store.exists()
