"""Both ways to recall, with the owner's ledger folded anew for the one that needs it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from palimpsest.contracts.shown import Recalled
from palimpsest.projections.recall import from_lance as recall_lance
from palimpsest.projections.recall.filter import Filter
from palimpsest.projections.recall.from_ledger import Query, Recollection
from palimpsest.projections.recall.hits import RecallOptions
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Ledger
from tests.projections.histories import MemoryLog


def recall(
    folder: Path,
    log: MemoryLog,
    owner_id: str,
    vector: Query,
    k: int,
    namespace: str | None = None,
    *,
    without: Sequence[str] = (),
) -> list[Recalled]:
    """From LanceDB."""
    asked = RecallOptions(k, Filter(namespace), former=True)
    found = recall_lance.recall(folder, log, owner_id, vector, asked, without=without)
    assert found is not None, "only the ledger can tell"
    return found


def recall_as_of(
    log: MemoryLog,
    owner_id: str,
    vector: Query,
    k: int,
    namespace: str | None,
    position: int,
    session_id: str | None = None,
) -> list[Recalled]:
    """From the ledger as it was when the log's head was `position`."""
    ledger = Ledger(owner_id)
    for recorded in log.of_owner(owner_id, upto=position):
        evolve(ledger, recorded.event)
    asked = RecallOptions(k, Filter(namespace), session_id, former=True)
    return Recollection(ledger, len(vector)).recall(vector, asked, ledger.names)


def recall_both(
    folder: Path, log: MemoryLog, owner_id: str, vector: Query, wanted: RecallOptions
) -> list[Recalled]:
    """From LanceDB, and the same from the ledger."""
    found = recall_lance.recall(folder, log, owner_id, vector, wanted)
    ledger = Ledger(owner_id)
    for recorded in log.of_owner(owner_id):
        evolve(ledger, recorded.event)
    assert found == Recollection(ledger, len(vector)).recall(vector, wanted, ledger.names)
    return found
