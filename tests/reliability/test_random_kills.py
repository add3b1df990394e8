"""Killed at any moment, again and again, and started again until it is done.

PALIMPSEST_KILLS says how often (`make test-crash`: 100); PALIMPSEST_SEED repeats a run.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

from tests.reliability.processes import Forge, outcome
from tests.reliability.rows import rows, write

KILLS = int(os.environ.get("PALIMPSEST_KILLS", "5"))
SEED = int(os.environ.get("PALIMPSEST_SEED") or int.from_bytes(os.urandom(4), "big"))
MOST = min(8, -(-KILLS // 4))
"""Kills of one command, of four; then it is left in peace, so that a round ends."""

Commands = list[list[str]]


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("rows") / "rows.jsonl", rows(120, owners=4, seed=11))


@pytest.mark.long
@pytest.mark.crash
@pytest.mark.timeout(3600)
def test_killed_at_random_moments_nothing_is_lost_or_doubled(
    forge: Forge, big: Path, tmp_path: Path
) -> None:
    print(f"PALIMPSEST_SEED={SEED}")
    chance = random.Random(SEED)
    commands, seconds, expected = _undisturbed(forge, big, tmp_path / "whole")
    kills = lost = rounds = 0
    while kills < KILLS:
        store = tmp_path / f"round {rounds}"
        rounds += 1
        for command, lasts in zip(commands, seconds, strict=True):
            kills += _killed(forge, store, command, lasts, chance, KILLS - kills)
        checked = forge.run(store, ["verify", "--json"])
        assert checked.answer()["differences"] == 0, checked.answer()
        lost += outcome(store) != expected
        assert lost == 0, store
    print(f"{kills} kills in {rounds} rounds: nothing lost, nothing doubled")


def _undisturbed(
    forge: Forge, big: Path, store: Path
) -> tuple[Commands, list[float], dict[str, Any]]:
    """What is done, how long each command lasts, and what comes out."""
    commands: Commands = [["ingest", str(big)], ["rebuild"]]
    seconds = [_timed(forge, store, command) for command in commands]
    joins = [
        event["id"]
        for event in outcome(store)["decided"]
        if event["data"].get("decision") == "token_reject"
    ]
    reverse = ["reverse", "--source", "made-up", "--yes"]
    for command in (["unmerge", "--decision", joins[0]], reverse):
        commands.append(command)
        seconds.append(_timed(forge, store, command))
    return commands, seconds, outcome(store)


def _timed(forge: Forge, store: Path, command: list[str]) -> float:
    begun = time.monotonic()
    assert forge.run(store, command).wait() in (0, 1)
    return time.monotonic() - begun


def _killed(
    forge: Forge, store: Path, command: list[str], lasts: float, chance: random.Random, left: int
) -> int:
    """Run a command until it is done, killed up to `left` times on the way; how often it was."""
    kills = 0
    while True:
        child = forge.start(store, command)
        if kills < min(left, MOST):
            time.sleep(chance.uniform(0.0, lasts))
            child.kill()
        if child.wait() != -9:
            assert child.wait() in (0, 1, 3), child.printed(0, 2)
            return kills
        kills += 1
