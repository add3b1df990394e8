"""A recorded history as two files: the log's lines, and what a replay of them must say."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from palimpsest.contracts.events import AnyEvent
from palimpsest.contracts.wire import decode, encode
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.core.separations import statement_on

FOLDER = Path(__file__).parent


def record(name: str, events: Iterable[AnyEvent]) -> None:
    """Write a new history; one that is there is never written again."""
    log = FOLDER / f"{name}.jsonl"
    if log.exists():
        raise FileExistsError(log)
    log.write_bytes(b"".join(encode(event) + b"\n" for event in events))
    expected = orjson.dumps(snapshot(replayed(log)), option=orjson.OPT_INDENT_2)
    log.with_suffix(".json").write_bytes(expected + b"\n")


def replayed(log: Path) -> Ledger:
    """The ledger folded from a recorded log, which holds one owner (and the store's policies)."""
    ledger = Ledger("")
    for line in log.read_bytes().splitlines():
        event = decode(line)
        ledger.owner_id = ledger.owner_id or event.owner_id
        evolve(ledger, event)
    return ledger


def snapshot(ledger: Ledger) -> dict[str, Any]:
    """All that a ledger says and that must never change, as JSON values."""
    return {
        "memories": [
            {
                "memory_id": memory.id,
                "namespace": memory.namespace,
                "members": [[entry.id, entry.living] for entry in memory.members],
                "face": memory.face.text,
                "needs_composition": memory.face.needs_composition,
                "living": memory.living,
            }
            for memory in ledger.memories()
        ],
        "joins": [
            [edge.id, edge.newer.id, edge.older.id, edge.decision, edge.standing, edge.place]
            for edge in ledger.edges.values()
        ],
        "separated": [
            [a, b, said.rank]
            for a, others in ledger.statements.items()
            for b in others
            if a < b and (said := statement_on(ledger, a, b)) is not None and said.separated
        ],
        "reviews": dict(ledger.reviews),
        "questions": [
            [entry.id, list(entry.open), entry.held]
            for entry in ledger.entries.values()
            if entry.pending
        ],
        "contradicts": [
            [memory.id, *memory.face.contradicts]
            for memory in ledger.memories()
            if memory.face.contradicts
        ],
        "seen": ledger.seen,
    }
