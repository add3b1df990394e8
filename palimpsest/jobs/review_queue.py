"""The queue of pairs that wait for a person's review."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Literal

from palimpsest.backends.reader import Reader
from palimpsest.contracts.errors import RefusedError
from palimpsest.projections.duckdb.queries import query
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.core.separations import separation
from palimpsest.streams.write.owners import fold_owner

Waits = Literal["pending", "contradicts", "forgotten", "unreviewed"]

_NEXT = """
SELECT waits_as, decision, similarity, owner_id, namespace, decision_id, candidate_id, existing_id,
       new_text, existing_text, cues, decided_at
FROM review_queue
WHERE decision_id = coalesce(?, decision_id) AND existing_id = coalesce(?, existing_id)
  AND owner_id = coalesce(?, owner_id)
ORDER BY waits_as <> 'pending', waits_as, similarity, position, existing_id
"""


def next_question(
    reader: Reader,
    *,
    decision_id: str | None = None,
    existing_id: str | None = None,
    owner_id: str | None = None,
    skip: int = 0,
) -> dict[str, Any] | None:
    """The first waiting question of all, or about a decision, a pair or an owner; None if none.

    Pending pairs come first, then joins that contradict a chosen face, then repeats of forgotten
    texts, then unreviewed joins; within each kind, the least similar first. An answered pair does
    not return, even if its candidate still waits for another. `skip` passes over that many
    questions.
    """
    reader.refresh()
    waiting = _waiting(reader, [decision_id, existing_id, owner_id])
    return next(islice(waiting, skip, None), None)


def _waiting(reader: Reader, about: Sequence[str | None]) -> Iterator[dict[str, Any]]:
    ledgers: dict[str, Ledger] = {}
    for row in query(reader.projections, _NEXT, about):
        owner = row["owner_id"]
        if owner not in ledgers:
            ledgers[owner] = fold_owner(reader.log, owner)
        pair = [ledgers[owner].entries[row[column]] for column in ("candidate_id", "existing_id")]
        waits = row["waits_as"] == "forgotten"
        if waits or separation(ledgers[owner], pair[0], pair[1]) is None:
            yield row


def question_about(reader: Reader, decision_id: str, existing_id: str) -> dict[str, Any]:
    """The question about a decision's pair; raises RefusedError if it does not wait.

    A decision may have several waiting pairs; an answer concerns the pair that was shown.
    """
    found = next_question(reader, decision_id=decision_id, existing_id=existing_id)
    if found is None:
        pair = f"decision {decision_id} and candidate {existing_id}"
        raise RefusedError("not_waiting", f"no question waits about {pair}: see `review next`")
    return found
