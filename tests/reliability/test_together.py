"""One decides; others submit, ask, query and recall meanwhile, and one takes over when it dies."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import orjson
import pytest

from palimpsest.contracts.errors import StoreError
from palimpsest.streams.embedded.inbox import Inbox
from palimpsest.streams.log.log import Log
from tests.reliability.processes import Child, Forge, outcome, until
from tests.reliability.rows import rows, write

HALVES = """
SELECT (SELECT count(*) FROM decisions d
        WHERE joined_to IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM candidates c WHERE c.candidate_id = d.joined_to)) AS torn,
       (SELECT count(*) FROM decisions d
        WHERE candidate_id IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM candidates c
                          WHERE c.candidate_id = d.candidate_id)) AS missing,
       (SELECT count(*) FROM candidates c
        WHERE NOT EXISTS (SELECT 1 FROM memories m WHERE m.memory_id = c.memory_id)) AS homeless,
       (SELECT count(*) FROM decisions) AS decisions,
       (SELECT count(*) - count(DISTINCT candidate_id) FROM candidates) AS doubled
"""
"""What half a commit would show: a join without its candidate, a candidate without its memory."""


class Producer:
    """Writes rows into a pipe that an ingesting child reads."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb", buffering=0)

    def send(self, some: list[dict[str, Any]]) -> None:
        self._file.write(b"".join(orjson.dumps(row) + b"\n" for row in some))

    def close(self) -> None:
        self._file.close()


@contextmanager
def ingesting(forge: Forge, store: Path, folder: Path) -> Iterator[tuple[Child, Producer]]:
    """A child that ingests from a pipe for as long as the block lasts."""
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    child = forge.start(store, ["ingest", "--json", "-"], stdin=str(pipe), grace=60.0, views=True)
    producer = Producer(pipe)
    try:
        yield child, producer
    finally:
        producer.close()
        child.kill(signal.SIGCONT)
        child.wait()


def decided(store: Path) -> int:
    """Events in the log; 0 while it is being made."""
    try:
        with Log.open(store / "log.sqlite") as log:
            return log.count()
    except StoreError:
        return 0


def stop_between_commits(child: Child, store: Path) -> None:
    """Stopped within one, it would keep the file locked, and submitters give up after a while."""
    with closing(sqlite3.connect(store / "log.sqlite", timeout=1, isolation_level=None)) as log:
        while True:
            child.kill(signal.SIGSTOP)
            try:
                log.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                child.kill(signal.SIGCONT)
            else:
                log.execute("ROLLBACK")
                return


def waiting(store: Path) -> int:
    with Log.open(store / "log.sqlite") as log:
        return len(Inbox(log).waiting(99))


def analysts(store: Path) -> Callable[[], dict[str, Any]]:
    """A query in this process, which never wrote; it must never fail nor see half a commit."""
    file = str((store / "projections" / "palimpsest.duckdb").resolve())
    seen = [0]

    def query() -> dict[str, Any]:
        with duckdb.connect(file, read_only=True) as database:
            columns = database.execute(HALVES)
            names = [column[0] for column in columns.description or ()]
            row = dict(zip(names, columns.fetchone() or (), strict=True))
        assert (row["torn"], row["missing"], row["homeless"], row["doubled"]) == (0, 0, 0, 0)
        assert row["decisions"] >= seen[0], "decisions went away"
        seen[0] = row["decisions"]
        return row

    return query


def test_many_at_once(forge: Forge, tmp_path: Path) -> None:
    store = tmp_path / "store"
    stream, others = rows(120, owners=3, seed=3), rows(30, owners=3, seed=4)
    for row in others:
        row["source"] = "another"
    file = write(tmp_path / "others.jsonl", others, ())
    with ingesting(forge, store, tmp_path) as (ingest, producer):
        producer.send(stream[:40])
        until(lambda: decided(store) > 40)
        until((store / "projections" / "palimpsest.duckdb").exists)
        query = analysts(store)
        until(lambda: query()["decisions"] >= 40)  # the read side follows when it can
        submitter = forge.start(store, ["ingest", "--json", str(file)])
        joined = until(lambda: first_join(store))
        person = forge.start(
            store,
            ["unmerge", "--decision", joined, "--json"],
            ["sql", "SELECT count(*) AS n FROM decisions", "--json"],
            ["recall", "owner 1", "wooden boats", "--json"],
            ["recall", "owner 2", "chess", "--json"],
        )
        for start in range(40, 120, 10):
            producer.send(stream[start : start + 10])
            query()
        submitter.wait()
        person.wait()
        for _ in range(5):
            query()
        assert ingest.status is None
    assert ingest.statuses() == [0], ingest.printed(0, 2)
    assert submitter.statuses() == [0], submitter.printed(0, 2)
    assert person.statuses() == [0, 0, 0, 0], person.printed(0, 2)
    assert submitter.answer(0)["rows"] == 30
    assert ingest.answer(0)["rows"] == 120
    assert person.answer(0)["reversed"] == [joined]
    assert person.answer(1)[0]["n"] >= 40
    assert len(person.answer(2)) == 5
    checked = forge.run(store, ["verify", "--json"], ["status", "--json"])
    assert checked.answer(0)["differences"] == 0
    assert checked.answer(1)["candidates"] == 150
    assert analysts(store)()["decisions"] == 150


def first_join(store: Path) -> str:
    found = (
        event["id"]
        for event in outcome(store)["decided"]
        if event["data"].get("decision") == "token_reject"
    )
    return next(found, "")


def test_a_waiting_submitter_takes_over_from_a_writer_that_dies(
    forge: Forge, tmp_path: Path
) -> None:
    """It is stopped while it holds the lock; what waits in the inbox is not lost with it."""
    store = tmp_path / "store"
    file = write(tmp_path / "others.jsonl", [row | {"source": "other"} for row in rows(30)], ())
    with ingesting(forge, store, tmp_path) as (ingest, producer):
        producer.send(rows(40, seed=5))
        until(lambda: decided(store) > 40)
        stop_between_commits(ingest, store)
        before = decided(store)
        submitters = [
            forge.start(store, ["ingest", "--json", str(file)]),
            forge.start(store, ["ingest", "--json", str(file)]),
        ]
        until(lambda: waiting(store) == 2)
        assert decided(store) == before
        ingest.kill(signal.SIGKILL)
        assert [child.wait() for child in submitters] == [0, 0]
        assert ingest.wait() == -9
    summaries = [child.answer() for child in submitters]
    # Each window is decided on for whoever was first with it, which may be either.
    assert sum(summary["known"] for summary in summaries) == 30
    assert sum(sum(summary["decisions"].values()) for summary in summaries) == 30
    checked = forge.run(store, ["verify", "--json"], ["status", "--json"])
    assert checked.answer(0)["differences"] == 0
    assert checked.answer(1)["candidates"] == 70
    assert waiting(store) == 0


def test_rebuild_and_verify_say_that_somebody_is_writing(forge: Forge, tmp_path: Path) -> None:
    store = tmp_path / "store"
    with ingesting(forge, store, tmp_path) as (_, producer):
        producer.send(rows(10))
        until(lambda: decided(store) > 10)
        for command in ("rebuild", "verify"):
            child = forge.run(store, [command])
            assert child.statuses() == [1]
            assert "another process is writing" in " ".join(child.printed(0, 2).split())


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=["SIGINT", "SIGTERM", "SIGHUP"]
)
def test_an_interrupt_ends_cleanly_with_what_was_done(
    forge: Forge, tmp_path: Path, number: int
) -> None:
    store = tmp_path / "store"
    with ingesting(forge, store, tmp_path) as (ingest, producer):
        producer.send(rows(20))
        until(lambda: decided(store) > 20)
        ingest.kill(number)
        assert ingest.wait() == 130, ingest.printed(0, 2)
    summary = ingest.answer()
    assert summary["interrupted"]
    assert summary["rows"] == sum(summary["decisions"].values()) == 20
    assert "Traceback" not in ingest.printed(0, 2)
    checked = forge.run(store, ["verify", "--json"], ["status", "--json"])
    assert checked.answer(0)["differences"] == 0
    assert checked.answer(1)["candidates"] == 20
