"""Today's code reads every log that was ever recorded, to the byte, and makes of it the same."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from palimpsest.contracts.wire import decode, encode
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.touched import Touched
from tests.recorded.replay import FOLDER, replayed, snapshot

LOGS = sorted(FOLDER.glob("*.jsonl"))
LATER = {"questions", "contradicts"}
"""Said of histories that were recorded since."""


def test_there_are_recorded_histories() -> None:
    assert LOGS


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.stem)
def test_every_line_is_written_as_it_was_read(log: Path) -> None:
    for line in log.read_bytes().splitlines():
        assert encode(decode(line)) == line


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.stem)
def test_a_replay_gives_the_recorded_state(log: Path) -> None:
    expected = orjson.loads(log.with_suffix(".json").read_bytes())
    found = orjson.loads(orjson.dumps(snapshot(replayed(log))))
    for name in found.keys() - (LATER - expected.keys()):
        assert found[name] == expected[name]


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.stem)
def test_a_replay_delivered_twice_is_once(log: Path) -> None:
    ledger = replayed(log)
    for line in log.read_bytes().splitlines():
        assert evolve(ledger, decode(line)) == Touched()
