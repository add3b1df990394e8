"""Killed while the sources of composed texts are taken away: each text is asked for once."""

from __future__ import annotations

import shutil
from pathlib import Path
from uuid import uuid4

import pytest

from palimpsest.backends.embedded import EmbeddedWriter
from palimpsest.backends.paths import LOG_FILE
from palimpsest.backends.reader import Reader
from palimpsest.cli.demo.judge import JudgeServer
from palimpsest.contracts.evidence import Evidence
from palimpsest.contracts.requests import CombineRequest
from palimpsest.streams.embedder import Embedder
from palimpsest.streams.log.log import Log
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write.owners import fold_owner
from tests.reliability.processes import Forge
from tests.streams.write.runtime import inputs
from tests.stub_engine import StubEngine

OWNERS = ("ada", "ben", "cleo", "dora")
THINGS = ("a garden of roses", "four old clocks", "the letters of an aunt")
RETRACT = ["retract", "--source", "leaving", "--yes", "--json"]
STEPS = [("log:append", 1), ("log:committed", 1), ("log:append", 2), ("log:committed", 2)]
"""Three owners lose a source in the first commit, the fourth in the second: each is four steps."""


@pytest.fixture(scope="module")
def composed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which each owner has one memory, composed of three; nobody may write to it."""
    folder = tmp_path_factory.mktemp("composed")
    unseeing = load_policy("standard").model_copy(update={"checks": (), "name": "unseeing"})
    log = Log.create(folder / LOG_FILE)
    writer = EmbeddedWriter(Reader(folder, log, unseeing, lambda: Embedder(StubEngine())))
    for owner in OWNERS:
        said = [{"owner_id": owner, "text": f"{owner} keeps {thing}"} for thing in THINGS]
        rows = [row | {"source": "leaving" if row is said[0] else "staying"} for row in said]
        first, *others = [outcome.candidate_id or "" for outcome in writer.submit(inputs(rows))]
        for count, other in enumerate(others, start=2):
            request = CombineRequest(
                request_id=str(uuid4()),
                a=other,
                b=first,
                decision="llm_merge",
                face="text",
                composed=f"{owner} keeps {count} things",
                sources=(first, *others[: count - 1]),
                evidence=Evidence(policy=unseeing.hash),
            )
            writer.ask(request)
    writer.close()
    return folder


@pytest.mark.parametrize(("effect", "number"), STEPS)
def test_killed_and_started_again(
    forge: Forge, composed: Path, tmp_path: Path, effect: str, number: int
) -> None:
    store = Path(shutil.copytree(composed, tmp_path / "store"))
    assert forge.start(store, RETRACT, crash=[effect, number], bulk=12).wait() == -9
    before = asked(store)
    committed = number - 1 if effect == "log:append" else number
    assert len(before) == (0, 3, 4)[committed]
    again = forge.run(store, RETRACT)
    left = (0, 3, 4)[committed] < len(OWNERS)
    assert again.statuses()[0] == (0 if left else 1), again.printed(0, 2)
    after = asked(store)
    assert len(after) == len(OWNERS)
    assert after[: len(before)] == before, "what waits keeps its place"


def test_an_imported_log_has_them_composed(forge: Forge, composed: Path, tmp_path: Path) -> None:
    store = Path(shutil.copytree(composed, tmp_path / "store"))
    file = str(tmp_path / "log.jsonl")
    left = forge.run(store, RETRACT, ["log", "export", file])
    assert left.statuses() == [0, 0], left.printed(1, 2)
    other = tmp_path / "other"
    with JudgeServer() as server:
        env = {"ANTHROPIC_API_KEY": "test", "ANTHROPIC_BASE_URL": server.url}
        commands = (["log", "import", file], ["verifier", "--once", "--json"])
        again = forge.run(other, *commands, env=env)
    assert again.statuses() == [0, 0], again.printed(1, 2)
    assert again.answer()["outcomes"] == {"settled": len(OWNERS)}
    assert again.answer()["waiting"] == 0
    assert asked(store), "there they wait still"
    assert asked(other) == []


def asked(store: Path) -> list[str]:
    """The joins that wait for a text, in their order; just those that the ledgers name."""
    with Log.open(store / LOG_FILE) as log:
        folded = [fold_owner(log, owner) for owner in OWNERS]
        waiting = [(one.kind, one.subject) for one in log.verifications.waiting(100)]
    assert sorted(waiting) == sorted(
        ("compose", decision_id) for ledger in folded for decision_id in ledger.composing
    )
    return [subject for _, subject in waiting]
