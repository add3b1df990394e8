"""Memories by meaning: from LanceDB as it is now, or from the log as it was (docs/design.md).

A memory is found by any of its wordings, and returns its face.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NotRequired, TypedDict, TypeGuard

import numpy as np
import orjson
from numpy.typing import NDArray

from palimpsest.contracts.errors import StoreError, TransientError
from palimpsest.contracts.events import Vector
from palimpsest.projections.lance import FOLDER, read_state
from palimpsest.projections.sessions import own_of
from palimpsest.projections.source import EventSource
from palimpsest.projections.totals import Total
from palimpsest.projections.vectors import decoded
from palimpsest.projections.wordings import Weighing
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Entry, Ledger, Memory
from palimpsest.streams.core.worth import worth

if TYPE_CHECKING:
    from lancedb.table import Table

Query = NDArray[np.float32]
Scores = NDArray[np.float64]
_LEFT_OUT = -2.0
"""Less than any cosine."""
DECIMALS = 4
MOST_RECOLLECTED = 64
"""Owners whose texts are kept as numbers for the next question."""
TRIES = 20
PAUSE_SECONDS = 0.05
FEWEST = 32
MOST_IN_MEMORY = 20_000
"""Candidates of an owner up to which looking at all of them is quicker than asking LanceDB."""
ADDED_UP = ("intensity", "metadata", "created_at", "updated_at", "occurred_at")
FACE_COLUMNS = ("memory_id", "face", "namespace", *ADDED_UP)


class Wording(TypedDict):
    """A text of a memory, and the earliest living candidate who said it."""

    candidate_id: str
    text: str


class Recalled(TypedDict):
    """A memory, its face, the cosine of its nearest wording, and its distinct wordings.

    `intensity` is the highest of its living members, `metadata` that of the one that happened last.
    Times are ISO 8601 in UTC. `confidence` and `importance`, decayed, are there where the policy
    decays one of them, or memories of little confidence are left out.
    """

    memory_id: str
    face: str
    score: float
    namespace: str
    members: list[Wording]
    intensity: float | None
    metadata: dict[str, Any]
    created_at: str
    updated_at: str
    occurred_at: str | None
    confidence: NotRequired[float | None]
    importance: NotRequired[float | None]


def recall(
    folder: Path,
    owner_id: str,
    vector: Query,
    k: int,
    namespace: str | None = None,
    *,
    without: Sequence[str] = (),
) -> list[Recalled]:
    """The `k` nearest living memories of an owner, best first; ties go to the older memory.

    `vector` has the model's dimension; memories `without` are left out. Both tables are read at one
    position. TransientError where the projection is being replaced for longer than a second,
    StoreError where it is damaged or has vectors of another dimension.
    """
    where = f"owner_id = {_literal(owner_id)}"
    if namespace is not None:
        where += f" AND namespace = {_literal(namespace)}"
    if without:
        where += f" AND memory_id NOT IN ({', '.join(map(_literal, without))})"
    for _ in range(TRIES):
        tables = _tables(folder / FOLDER)
        if tables is not None:
            return _nearest(*tables, vector, k, where) if tables else []
        time.sleep(PAUSE_SECONDS)
    raise TransientError("LanceDB is being written anew: try again")


def _tables(folder: Path) -> tuple[Table, Table] | tuple[()] | None:
    """Candidates and memories at the recorded position; () where there are none yet.

    None where the recorded versions are not there: somebody has just replaced them.
    """
    import lancedb

    try:
        recorded = read_state(folder)["tables"]
    except StoreError:
        return None if folder.parent.exists() and not folder.exists() else ()
    if not recorded:
        return ()
    try:
        opened = [lancedb.connect(folder).open_table(n) for n in ("candidates", "memories")]
        for table in opened:
            table.checkout(recorded[table.name]["version"])
    except (ValueError, RuntimeError, OSError):
        return None
    return opened[0], opened[1]


def _nearest(
    candidates: Table, memories: Table, vector: Query, k: int, where: str
) -> list[Recalled]:
    dimension = memories.schema.field("vector").type.list_size
    if dimension != len(vector):
        raise StoreError(
            f"LanceDB has vectors of {dimension} numbers, the model makes {len(vector)} numbers:"
            " name the model with which the memories were embedded"
        )
    best = _reached(memories, vector, k, where)
    for memory_id, score in _reached(candidates, vector, k, where).items():
        best[memory_id] = max(score, best.get(memory_id, -1.0))
    return _recalled(candidates, memories, best, k)


def _reached(table: Table, vector: Query, k: int, where: str) -> dict[str, float]:
    """The score of every memory that a table has among its `k` best, all that tie included."""
    wanted = max(4 * k, FEWEST)
    while True:
        hits = _search(table, vector, wanted, where)
        best = _best(hits)
        if len(hits) < wanted:
            return best
        scores = list(best.values())
        if len(scores) >= k and _score(hits[-1]) < scores[k - 1]:
            return best
        wanted *= 4


def _search(table: Table, vector: Query, limit: int, where: str) -> list[dict[str, Any]]:
    from lancedb.query import LanceVectorQueryBuilder

    search = table.search(vector, vector_column_name="vector")
    assert isinstance(search, LanceVectorQueryBuilder)
    rows: list[dict[str, Any]] = (
        search.distance_type("cosine")
        .where(where, prefilter=True)
        .limit(limit)
        .select(["memory_id", "_distance"])
        .to_arrow()
        .to_pylist()
    )
    return rows


def _best(hits: Iterable[dict[str, Any]]) -> dict[str, float]:
    best: dict[str, float] = {}
    for hit in hits:
        best.setdefault(hit["memory_id"], _score(hit))
    return best


def _score(hit: dict[str, Any]) -> float:
    score: float = round(1.0 - hit["_distance"], DECIMALS)
    return score


def _recalled(candidates: Table, memories: Table, best: dict[str, float], k: int) -> list[Recalled]:
    near = sorted(best.values(), reverse=True)[:k]
    ids = [i for i, score in best.items() if near and score >= near[-1]]
    if not ids:
        return []
    where = f"memory_id IN ({', '.join(map(_literal, ids))})"
    # Tables of an earlier layout are read until somebody writes them anew.
    there = [name for name in FACE_COLUMNS if name in memories.schema.names]
    faces = memories.search().where(where).limit(len(ids)).select(there).to_arrow()
    columns = ["memory_id", "candidate_id", "text"]
    texts = candidates.search().where(where).limit(candidates.count_rows()).select(columns)
    members: dict[str, list[Wording]] = {}
    for row in texts.to_arrow().to_pylist():
        wording = Wording(candidate_id=row["candidate_id"], text=row["text"])
        members.setdefault(row["memory_id"], []).append(wording)
    found = sorted(
        faces.to_pylist(),
        key=lambda r: (-best[r["memory_id"]], r["created_at"], r["memory_id"]),
    )
    return [
        Recalled(
            memory_id=row["memory_id"],
            face=row["face"],
            score=best[row["memory_id"]],
            namespace=row["namespace"],
            members=sorted(members.get(row["memory_id"], []), key=lambda w: w["candidate_id"]),
            intensity=row.get("intensity"),
            metadata=orjson.loads(row.get("metadata") or "{}"),
            created_at=_told(row["created_at"]),
            updated_at=_told(row["updated_at"]),
            occurred_at=_told(row["occurred_at"]) if row["occurred_at"] else None,
        )
        for row in found[:k]
    ]


def _told(time: datetime) -> str:
    """A time as it is printed; tables have UTC without a zone."""
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).isoformat()


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


class _Known(NamedTuple):
    """A memory as it was looked at: it is looked at again once an event has touched it."""

    memory: Memory
    seen: int
    rows: list[int]


class Recollection:
    """The living memories of a ledger with the vectors of their texts, as numbers.

    It follows the ledger: what it has decoded is kept for the next question.
    """

    def __init__(self, ledger: Ledger, dimension: int) -> None:
        self.ledger = ledger
        self.dimension = dimension
        self._seen = -1
        self._known: dict[str, _Known] = {}
        self._rows: dict[int, int] = {}
        self._vectors: list[Vector] = []
        self._units = np.empty((0, dimension), np.float32)
        self._memories: list[Memory] = []
        self._said = np.empty(0, np.intp)
        self._by = np.empty(0, np.intp)

    def recall(
        self,
        query: Query,
        k: int,
        namespace: str | None,
        session_id: str | None = None,
        weighing: Weighing | None = None,
    ) -> list[Recalled]:
        """What `recall` returns of these memories, weighed if so wished."""
        scores = self._scores(query)
        if namespace is not None or session_id is not None:
            own = own_of(self.ledger, session_id) if session_id is not None else set()
            for number, memory in enumerate(self._memories):
                if namespace not in (None, memory.namespace) or memory.id in own:
                    scores[number] = _LEFT_OUT
        found = self._best(scores, k) if weighing is None else self._kept(scores, k, weighing)
        found.sort(key=lambda one: (-one[1], one[0].members[0].decided_at, one[0].id))
        return [shown_memory(memory, score, weighing) for memory, score in found[:k]]

    def _best(self, scores: Scores, k: int) -> list[tuple[Memory, float]]:
        """The best `k`, with all that tie with the last."""
        least = np.partition(scores, -k)[-k] if k < len(scores) else _LEFT_OUT
        return [
            (self._memories[number], float(scores[number]))
            for number in np.flatnonzero((scores >= least) & (scores > _LEFT_OUT))
        ]

    def _kept(self, scores: Scores, k: int, weighing: Weighing) -> list[tuple[Memory, float]]:
        """The same, of those that are kept: looked at from the best on, until there are enough."""
        found: list[tuple[Memory, float]] = []
        for number in np.argsort(-scores, kind="stable"):
            score = float(scores[number])
            if score <= _LEFT_OUT or (len(found) >= k and score < found[k - 1][1]):
                break
            if weighing.keeps(self._memories[number]):
                found.append((self._memories[number], score))
        return found

    def _scores(self, query: Query) -> Scores:
        """For every living memory that has a vector, the cosine of its nearest text."""
        if self._seen != self.ledger.seen:
            self._follow()
            self._seen = self.ledger.seen
        cosines = self._units @ (query / (np.linalg.norm(query) or 1.0))
        best = np.full(len(self._memories), -1.0)
        np.maximum.at(best, self._by, cosines[self._said].astype(np.float64))
        return best.round(DECIMALS)

    def _follow(self) -> None:
        before, self._known = self._known, {}
        for memory in self.ledger.memories():
            known = before.get(memory.id)
            if known is None or known.memory is not memory or known.seen != memory.seen:
                known = _Known(memory, memory.seen, self._rows_of(memory))
            self._known[memory.id] = known
        found = [known for known in self._known.values() if known.rows]
        self._memories = [known.memory for known in found]
        self._said = np.fromiter(chain.from_iterable(known.rows for known in found), np.intp)
        counts = np.array([len(known.rows) for known in found], np.intp)
        self._by = np.repeat(np.arange(len(found)), counts)
        self._decode()

    def _rows_of(self, memory: Memory) -> list[int]:
        """Where the vectors of its face and of its texts are; none of one that is not recalled."""
        if not memory.living:
            return []
        texts = (entry.distinct.vector for entry in memory.members if _stands(entry))
        return [self._row(one) for one in (memory.face.vector, *texts) if self._fits(one)]

    def _fits(self, vector: Vector | None) -> TypeGuard[Vector]:
        return vector is not None and vector.dimension == self.dimension

    def _row(self, vector: Vector) -> int:
        """Where a vector's numbers are; they are told apart by identity, as `Decoded` does."""
        row = self._rows.get(id(vector))
        if row is None:
            row = self._rows[id(vector)] = len(self._vectors)
            self._vectors.append(vector)
        return row

    def _decode(self) -> None:
        new = self._vectors[len(self._units) :]
        if not new:
            return
        numbers = decoded(new, self.dimension).astype(np.float32)
        norms = np.linalg.norm(numbers, axis=1, keepdims=True)
        units = np.divide(numbers, norms, out=np.zeros_like(numbers), where=norms > 0)
        self._units = np.concatenate([self._units, units])


def _stands(entry: Entry) -> bool:
    """Whether a candidate stands for its text."""
    return entry.distinct.representative is entry


def shown_memory(memory: Memory, score: float, weighing: Weighing | None) -> Recalled:
    """A memory as recall returns it."""
    total = Total.of(memory)
    texts = [
        Wording(candidate_id=entry.id, text=entry.text)
        for entry in memory.members
        if _stands(entry)
    ]
    shown = Recalled(
        memory_id=memory.id,
        face=memory.face.text,
        score=score,
        namespace=memory.namespace,
        members=sorted(texts, key=lambda text: text["candidate_id"]),
        intensity=total.intensity,
        metadata=dict(total.metadata),
        created_at=_told(memory.members[0].decided_at),
        updated_at=_told(memory.updated),
        occurred_at=_told(total.occurred_at) if total.occurred_at else None,
    )
    if weighing is not None:
        shown["confidence"] = worth(memory, "confidence", weighing.policy, weighing.at)
        shown["importance"] = worth(memory, "importance", weighing.policy, weighing.at)
    return shown


class Recollections:
    """Recollections of the owners that were asked about last."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Recollection] = OrderedDict()

    def of(
        self, ledger: Ledger, query: Query, *, however_large: bool = False
    ) -> Recollection | None:
        """That of a ledger; None where the vectors are another model's.

        None, too, where LanceDB is quicker, unless `however_large`.
        """
        vectors = (row.vector for scope in ledger.scopes.values() for row in scope.rows[:1])
        fits = all(one is None or one.dimension == len(query) for one in vectors)
        if not fits or (len(ledger.entries) > MOST_IN_MEMORY and not however_large):
            return None
        found = self._kept.pop(ledger.owner_id, None)
        if found is None or found.ledger is not ledger or found.dimension != len(query):
            found = Recollection(ledger, len(query))
        self._kept[ledger.owner_id] = found
        if len(self._kept) > MOST_RECOLLECTED:
            self._kept.popitem(last=False)
        return found


def recall_as_of(
    source: EventSource,
    owner_id: str,
    vector: Query,
    k: int,
    namespace: str | None,
    position: int,
    session_id: str | None = None,
    weighing: Weighing | None = None,
) -> list[Recalled]:
    """What `recall` returned when the log's head was `position`, by folding it up to there."""
    ledger = Ledger(owner_id)
    for recorded in source.of_owner(owner_id, upto=position):
        evolve(ledger, recorded.event)
    return Recollection(ledger, len(vector)).recall(vector, k, namespace, session_id, weighing)
