"""`embed --model`: the dry run, the run, the switch, and the old vectors afterwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.palimpsest.cli.conftest import CommandLine
from tests.stub_engine import OtherStub

OTHER = OtherStub.model
TEXTS = ("Ada has a big dog.", "Ada works from home.", "Ada lives in Paris.")


@pytest.fixture(name="moving")
def stocked_with_texts(palimpsest: CommandLine, row: Callable[..., dict[str, Any]]) -> CommandLine:
    palimpsest.holds(*(row(text) for text in TEXTS))
    return palimpsest


def policy_of(moving: CommandLine, model: str) -> str:
    shown = moving("policy", "show", "standard").out
    (moving.folder / "new.toml").write_text(shown.replace("all-MiniLM-L6-v2", model))
    return "new.toml"


def test_a_store_moves_step_by_step(moving: CommandLine) -> None:
    plan = moving.json("embed", "--model", OTHER, "--dry-run")
    assert (plan["model"], plan["texts"], plan["left"]) == (OTHER, 3, 3)
    assert plan["seconds"] >= 0
    assert plan["bytes"] > 0
    refused = moving("--json", "embed", "--model", OTHER, "--switch")
    assert (refused.status, refused.document["error"]["reason"]) == (3, "other_model")
    assert moving.json("embed", "--model", OTHER) == {"model": OTHER, "embedded": 3, "left": 0}
    rules = policy_of(moving, OTHER)
    assert moving.json("backtest", rules, "--processes", "1")["candidates"] == 3
    assert moving.json("embed", "--model", OTHER, "--switch", "--policy", rules)["policy"] == (
        "standard"
    )
    assert moving.json("recall", "ada", "big dog")[0]["face"] == TEXTS[0]
    dropped = {"dropped": ["all-MiniLM-L6-v2"], "vectors": 3}
    for options in (["--dry-run"], []):
        said = moving.json("embed", "--drop-old", *options)
        assert {name: said[name] for name in dropped} == dropped
    assert moving.json("verify")["differences"] == 0
    assert moving.json("embed") == {"embedded": 0, "left": 0}


def test_remarks_say_what_is_left_to_do(moving: CommandLine) -> None:
    moving("embed", "--model", OTHER)
    switched = moving("embed", "--model", OTHER, "--switch")
    assert "thresholds are still those of the old model" in switched.err
    assert "stay in it" in moving("embed", "--drop-old").err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--switch"], "need --model"),
        (["--policy", "new.toml"], "need --model"),
        (["--model", OTHER, "--policy", "new.toml"], "comes with --switch"),
        (["--model", OTHER, "--drop-old"], "in a command of its own"),
        (["--model", OTHER, "--long"], "without --model"),
        (["--model", OTHER, "--switch", "--dry-run"], "has no --dry-run"),
        (["--model", "all-MiniLM-L6-v2"], "is the model in force"),
    ],
)
def test_wrong_usage_says_what_to_do(moving: CommandLine, options: list[str], told: str) -> None:
    ran = moving("embed", *options)
    assert ran.status == 2
    assert told in ran.err.replace("\n", " ")


def test_doctor_names_the_model_in_force(
    moving: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    moving("embed", "--model", OTHER)
    moving("embed", "--model", OTHER, "--switch")
    monkeypatch.setenv("PALIMPSEST_MODEL", "all-MiniLM-L6-v2")
    found = moving("--json", "doctor").document["findings"]
    [policy] = [one for one in found if one["name"] == "policy"]
    assert not policy["found"]
    assert "the store compares vectors of other" in policy["remedy"]
    monkeypatch.delenv("PALIMPSEST_MODEL")
    found = moving("--json", "doctor").document["findings"]
    assert [one["found"] for one in found if one["name"] == "policy"] == [True]


def test_a_service_is_configured_by_its_table(
    moving: CommandLine, caplog: pytest.LogCaptureFixture
) -> None:
    table = '[embedder]\nprotocol = "openai"\nmodel = "small"\nbase_url = "http://127.0.0.1:9/v1"\n'
    Path(moving.folder / "palimpsest.toml").write_text(f"{table}retries = 0\n")
    ran = moving("embed", "--model", "small", "--dry-run")
    assert (ran.status, "no connection" in ran.err) == (1, True)
    assert "small is configured" in caplog.text, "the one in force is another"
