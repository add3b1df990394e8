"""A verifier killed at each of its steps: no verdict lost, none doubled, none paid for twice."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from palimpsest.cli.demo.judge import JudgeServer
from palimpsest.contracts.events import Decided, Settled
from palimpsest.streams.log.log import Log
from tests.reliability.processes import Forge
from tests.reliability.rows import write

ROWS = [
    {
        "owner_id": owner,
        "text": f"{owner} paints {number} wooden boats in the harbour",
        "id": f"{owner} {number}",
        "source": "test",
    }
    for number in range(2, 6)
    for owner in ("ada", "ben", "cleo")
]
PENDING = len(ROWS) - 3
STEPS = ("judge:asked", "judge:remembered", "verifier:brings", "log:append", "log:committed")


@pytest.fixture(scope="module")
def waiting(forge: Forge, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with candidates that wait for the judge; nobody may write to it."""
    folder = tmp_path_factory.mktemp("waiting")
    file = write(folder / "rows.jsonl", ROWS, ())
    assert forge.run(folder / "store", ["ingest", str(file)]).statuses() == [0]
    return folder / "store"


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_a_step_and_started_again(
    forge: Forge, waiting: Path, tmp_path: Path, step: str
) -> None:
    store = Path(shutil.copytree(waiting, tmp_path / "store"))
    verify = ["verifier", "--once", "--json"]
    with JudgeServer() as server:
        second = step.startswith("judge:")  # what is brought may all be in one transaction
        killed = forge.start(store, verify, env=_key(server), crash=[step, 2 if second else 1])
        assert killed.wait() == -9, f"it never came to {step}"
    remembered = _remembered(store)
    with JudgeServer() as server:  # another one: requests of the killed one may still arrive there
        again = forge.run(store, verify, ["verify", "--json"], env=_key(server))
        assert again.statuses() == [0, 0], again.printed(0, 2)
        asked_after = [_texts(request) for request in server.requests]
    assert again.answer()["differences"] == 0
    assert again.answer(0)["waiting"] == 0
    with Log.open(store / "log.sqlite") as log:
        events = [recorded.event for recorded in log.after(0, 10**6)]
    settled = Counter(e.data.candidate_id for e in events if isinstance(e, Settled))
    pending = {e.subject for e in events if isinstance(e, Decided) and e.data.decision == "pending"}
    assert settled == Counter(dict.fromkeys(pending, 1))
    assert len(pending) == PENDING
    paid = sum(len(texts) for texts in asked_after)
    assert _remembered(store) - remembered == paid, "what was remembered is not asked again"


def _key(server: JudgeServer) -> dict[str, str]:
    """The environment of a process that asks this judge."""
    return {"ANTHROPIC_API_KEY": "test", "ANTHROPIC_BASE_URL": server.url}


def _remembered(store: Path) -> int:
    """How many answers are in the judge's file."""
    if not (store / "judge.sqlite").exists():
        return 0
    with closing(sqlite3.connect(store / "judge.sqlite")) as database, database:
        count = database.execute("SELECT count(*) FROM answers").fetchone()[0]
    database.close()
    return int(count)


def _texts(request: dict[str, Any]) -> list[Any]:
    found: list[Any] = json.loads(request["messages"][0]["content"])["pairs"]
    return found
