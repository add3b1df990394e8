"""Recall by meaning from LanceDB, for large owners.

The origins of hits, and pending questions, come from DuckDB's tables. Only the ledger knows whether
two texts are indistinguishable, or whether two hits are of one frame: if they might be, the answer
is None.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from palimpsest.contracts.errors import StoreError, TransientError
from palimpsest.contracts.events import Joined
from palimpsest.contracts.shown import Recalled, Wording
from palimpsest.contracts.urn import Urn
from palimpsest.projections.base.source import EventFinder
from palimpsest.projections.duckdb.queries import queries, query
from palimpsest.projections.duckdb.views import quoted
from palimpsest.projections.lancedb.store import FOLDER, read_state
from palimpsest.projections.lancedb.tables import WINDOWS
from palimpsest.projections.recall.collapse import DECIMALS, Folding, alike
from palimpsest.projections.recall.filter import Filter
from palimpsest.projections.recall.from_ledger import NEARLY, Query
from palimpsest.projections.recall.hits import RecallOptions
from palimpsest.projections.shown.memory import displaced, iso_time
from palimpsest.streams.core.frames import by_frame
from palimpsest.streams.core.text import folded
from palimpsest.streams.core.version import version_of_parts
from palimpsest.streams.guard import Tables as GuardTables
from palimpsest.streams.guard import frame, kept_reading, tables_of

if TYPE_CHECKING:
    from lancedb.table import Table

TRIES = 20
PAUSE_SECONDS = 0.05
FEWEST = 32
MOST_NAMED = 5_000
"""Maximum number of memories that a search lists by id; above it, the ledger is used."""
AUTOMATIC = ("rule", "judge")
"""Ranks whose choice of a face is never final."""
ADDED_UP = ("intensity", "metadata", "created_at", "updated_at", "occurred_at")
FACE_COLUMNS = ("memory_id", "owner_id", "face", "face_of", "namespace", *ADDED_UP)

Tables = tuple["Table", ...]
"""Candidates, memories, and the windows of long texts, if any."""


def recall(
    folder: Path,
    log: EventFinder,
    owner_id: str,
    vector: Query,
    wanted: RecallOptions,
    *,
    without: Sequence[str] = (),
) -> list[Recalled] | None:
    """The nearest living memories of an owner, best first; ties go to the older memory.

    None if the ledger is needed. `vector` has the model's dimension; memories `without` are left
    out. All tables are read at one position. Raises TransientError if the projection is being
    replaced for longer than a second, StoreError if it is damaged or its vectors have another
    dimension.
    """
    if not wanted.former and query(folder, _MAY_BE_FORMER, {"owner": owner_id}):
        return None
    where = f"owner_id = {quoted(owner_id)}"
    if wanted.filter.namespace is not None:
        where += f" AND namespace = {quoted(wanted.filter.namespace)}"
    if wanted.filter.looks_at_members:
        passing = _passing(folder, owner_id, wanted.filter)
        if not passing or len(passing) > MOST_NAMED:
            return None if passing else []
        where += f" AND memory_id IN ({_literals(passing)})"
    if without:
        where += f" AND memory_id NOT IN ({_literals(without)})"
    found = _searched(folder, log, vector, where, wanted)
    if found and query(folder, _HAS_NAMES, {"owner": owner_id}):
        return None  # only the ledger has the names by which texts are alike or of one frame
    if not found or not any(_has_expired(hit, wanted.filter) for hit in found):
        return found
    # Only now, so that owners without expiring memories cost nothing more.
    asked = {"owner": owner_id, "at": _naive(wanted.filter.at)}
    expired = [row["memory_id"] for row in query(folder, _EXPIRED, asked)]
    if len(expired) > MOST_NAMED:
        return None
    where += f" AND memory_id NOT IN ({_literals(expired)})"
    return _searched(folder, log, vector, where, wanted)


def _searched(
    folder: Path, log: EventFinder, vector: Query, where: str, wanted: RecallOptions
) -> list[Recalled] | None:
    for _ in range(TRIES):
        tables = _tables(folder / FOLDER)
        if tables is not None:
            return _recalled(tables, folder, log, vector, where, wanted) if tables else []
        time.sleep(PAUSE_SECONDS)
    raise TransientError("LanceDB is being rewritten: try again")


def _has_expired(hit: Recalled, wanted: Filter) -> bool:
    """Whether a hit has to be left out, because its memory has expired."""
    ends = hit.get("expires_at")
    if ends is None or wanted.show_expired or wanted.at is None:
        return False
    return datetime.fromisoformat(ends) <= wanted.at


_MAY_BE_FORMER = """
SELECT owner_id FROM joins WHERE owner_id = $owner
GROUP BY owner_id
HAVING bool_or(NOT standing) AND bool_or(standing AND rank IN ('agent', 'person'))
"""
"""Owners with a standing update and a reversed join: they may have a memory that is wholly former.

The tables do not say what the update displaced; only the ledger knows if there is such a memory.
"""
_HAS_NAMES = "SELECT 1 FROM events WHERE owner_id = $owner AND event = 'names_set' LIMIT 1"
_EXPIRED = f"""
SELECT memory_id FROM memories WHERE owner_id = $owner AND expires_at <= $at LIMIT {MOST_NAMED + 1}
"""  # noqa: S608
_MEMBERS = """
SELECT memory_id, metadata FROM candidates
WHERE owner_id = $owner AND living
  AND ($namespace IS NULL OR namespace = $namespace) AND ($category IS NULL OR category = $category)
  AND ($since IS NULL OR least(coalesce(occurred_at, decided_at), decided_at) >= $since)
  AND ($until IS NULL OR least(coalesce(occurred_at, decided_at), decided_at) < $until)
"""


def _passing(folder: Path, owner_id: str, wanted: Filter) -> list[str]:
    """The ids of the memories that pass a filter."""
    asked = {
        "owner": owner_id,
        "namespace": wanted.namespace,
        "category": wanted.category,
        "since": _naive(wanted.since),
        "until": _naive(wanted.until),
    }
    rows = query(folder, _MEMBERS, asked)
    found = (r["memory_id"] for r in rows if wanted.says(orjson.loads(r["metadata"] or "{}")))
    return list(dict.fromkeys(found))


def _naive(at: datetime | None) -> datetime | None:
    """A time as the tables have it: UTC without a zone."""
    return None if at is None else at.astimezone(UTC).replace(tzinfo=None)


def _tables(folder: Path) -> Tables | None:
    """The tables at the recorded position; () if there are none yet.

    None if the recorded versions are missing: another process has just replaced them.
    """
    import lancedb

    try:
        recorded = read_state(folder)["tables"]
    except StoreError:
        return None if folder.parent.exists() and not folder.exists() else ()
    if not recorded:
        return ()
    try:
        names = ["candidates", "memories", *(n for n in recorded if n == WINDOWS.name)]
        opened = [lancedb.connect(folder).open_table(name) for name in names]
        for table in opened:
            table.checkout(recorded[table.name]["version"])
    except (ValueError, RuntimeError, OSError):
        return None
    return tuple(opened)


def _recalled(
    tables: Tables, folder: Path, log: EventFinder, vector: Query, where: str, wanted: RecallOptions
) -> list[Recalled] | None:
    candidates, memories, *_ = tables
    dimension = memories.schema.field("vector").type.list_size
    made = vector.shape[-1]
    if dimension != made:
        raise StoreError(
            f"LanceDB's vectors have {dimension} numbers, and the model's have {made}: name the"
            " model that embedded the memories"
        )
    best: dict[str, float] = {}
    for table, row in product(tables, np.atleast_2d(vector)):
        for memory_id, score in _reached(table, row, wanted.k, where).items():
            best[memory_id] = max(score, best.get(memory_id, -1.0))
    faces = _faces(memories, best, wanted)
    if not faces:
        return []
    if wanted.folding and _may_fold(memories, faces, where, wanted.folding):
        return None
    if len(by_frame(faces, _may_share_frame)) < len(faces):
        return None
    return _with_members(candidates, faces, best, _StoredMemories(folder, log, faces), wanted)


def _reached(table: Table, vector: Query, k: int, where: str) -> dict[str, float]:
    """The scores of the memories among a table's best `k` rows, including ties."""
    wanted = max(4 * k, FEWEST)
    while True:
        rows = _search(table, vector, wanted, where)
        best: dict[str, float] = {}
        for row in rows:
            best.setdefault(row["memory_id"], _score(row))
        if len(rows) < wanted:
            return best
        scores = list(best.values())
        if len(scores) >= k and _score(rows[-1]) < scores[k - 1]:
            return best
        wanted *= 4


def _search(
    table: Table, vectors: Query | list[list[float]], limit: int, where: str, *columns: str
) -> list[dict[str, Any]]:
    """The nearest rows, up to `limit` per vector; with several, `query_index` names the vector."""
    from lancedb.query import LanceVectorQueryBuilder

    search = table.search(vectors, vector_column_name="vector")
    assert isinstance(search, LanceVectorQueryBuilder)
    rows: list[dict[str, Any]] = (
        search.distance_type("cosine")
        .where(where, prefilter=True)
        .limit(limit)
        .select(["memory_id", *columns, "_distance"])
        .to_arrow()
        .to_pylist()
    )
    return rows


def _score(row: dict[str, Any]) -> float:
    score: float = round(1.0 - row["_distance"], DECIMALS)
    return score


def _faces(
    memories: Table, best: Mapping[str, float], wanted: RecallOptions
) -> list[dict[str, Any]]:
    """The rows of the best `k`, in order; of equals, one that says the question comes first."""
    near, said = sorted(best.values(), reverse=True)[: wanted.k], folded(wanted.verbatim)
    ids = [i for i, score in best.items() if near and score >= near[-1]]
    if not ids:
        return []
    # Tables of an earlier layout are also read until a writer recreates them.
    there = [name for name in (*FACE_COLUMNS, "vector") if name in memories.schema.names]
    where = f"memory_id IN ({_literals(ids)})"
    asked = memories.search().where(where).limit(len(ids)).select(there)
    found: list[dict[str, Any]] = asked.to_arrow().to_pylist()
    found.sort(key=lambda r: (r["created_at"], r["memory_id"]))
    found.sort(key=lambda r: (-best[r["memory_id"]], folded(r["face"]) != said))
    return found[: wanted.k]


def _may_fold(
    memories: Table, faces: Sequence[dict[str, Any]], where: str, folding: Folding
) -> bool:
    """Whether another memory might be indistinguishable from one of these, by the faces' texts.

    The tables do not say what the model could not read, so only the ledger is certain.
    """
    by_namespace: dict[str, list[dict[str, Any]]] = {}
    tables = tables_of(folding.policy.languages)
    for face in faces:
        if face["vector"] is not None:
            by_namespace.setdefault(face["namespace"], []).append(face)
    return any(
        _is_said_twice(
            memories, some, f"{where} AND namespace = {quoted(namespace)}", floor, tables
        )
        for namespace, some in by_namespace.items()
        if (floor := folding.at_least(namespace)) is not None
    )


def _may_share_frame(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two hits may be of one frame; only the ledger knows which were separated."""
    same_namespace = one["namespace"] == other["namespace"]
    return same_namespace and frame(kept_reading(one["face"]), kept_reading(other["face"]))


def _is_said_twice(
    memories: Table,
    faces: Sequence[dict[str, Any]],
    where: str,
    floor: float,
    tables: GuardTables,
) -> bool:
    """Whether another face is indistinguishable from one of these, at a cosine of `floor` or more.

    One search is made for all, because each search reads all of the owner's vectors.
    """
    vectors = [face["vector"] for face in faces]
    limit = FEWEST
    while True:
        rows = _search(memories, vectors, limit, where, "face")
        near = [row for row in rows if _score(row) >= floor - NEARLY]
        pairs = ((faces[row.get("query_index", 0)], row) for row in near)
        others = (pair for pair in pairs if pair[0]["memory_id"] != pair[1]["memory_id"])
        if any(alike(face["face"], None, row["face"], None, (), tables) for face, row in others):
            return True
        if len(near) < limit:
            return False
        limit *= 4


_CANDIDATES = """
SELECT candidate_id, memory_id, source, session_id, occurred_at, decision, decision_id, living,
       expires_at
FROM candidates WHERE list_contains($memories, memory_id)
"""
_JOINS = """
SELECT j.decision_id, j.decision, j.candidate_id, j.joined_to, j.memory_id, j.face_rule, j.rank,
       j.position, CASE WHEN j.event = 'joined' THEN j.position ELSE d.position END AS place
FROM joins j JOIN candidates c ON c.candidate_id = j.candidate_id
     JOIN decisions d ON d.decision_id = c.decision_id
WHERE j.standing AND list_contains($memories, j.memory_id) ORDER BY place, j.position
"""
"""In the order of members (docs/design.md, Faces)."""
_TEXTS = """
SELECT t.decision_id, t.sources FROM compositions t JOIN joins j USING (decision_id)
WHERE j.standing AND list_contains($memories, j.memory_id)
"""
_WAITING = """
WITH waiting AS (
    SELECT memory_id, unnest(list_append(coalesce(waits_for, []), held)) AS candidate_id
    FROM candidates WHERE owner_id = $owner AND living AND pending
)
SELECT waiting.memory_id AS one, c.memory_id AS other
FROM waiting JOIN candidates c USING (candidate_id) WHERE waiting.memory_id <> c.memory_id
"""


class _StoredMemories:
    """Some memories, from DuckDB's tables."""

    def __init__(self, folder: Path, log: EventFinder, faces: Sequence[dict[str, Any]]) -> None:
        self._log = log
        self.owner_id: str = faces[0]["owner_id"]
        ids = {"memories": [face["memory_id"] for face in faces]}
        owner = {"owner": self.owner_id}
        rows, waiting = queries(folder, (_CANDIDATES, ids), (_WAITING, owner))
        single = len(rows) == len(faces)
        joins, texts = ([], []) if single else queries(folder, (_JOINS, ids), (_TEXTS, ids))
        self.candidates = {row["candidate_id"]: row for row in rows}
        self._members: dict[str, list[str]] = {}
        for row in rows:
            self._members.setdefault(row["memory_id"], []).append(row["candidate_id"])
        self._joins: dict[str, list[dict[str, Any]]] = {}
        for row in joins:
            self._joins.setdefault(row["memory_id"], []).append(row)
        self._texts = texts
        self._waiting = waiting
        self.brought: dict[str, dict[str, Any]] = {}
        for row in sorted(joins, key=lambda row: row["position"]):
            self.brought.setdefault(row["candidate_id"], row)

    def expires_at(self, memory_id: str) -> datetime | None:
        """When the last living member of a memory expires; None: never."""
        members = (self.candidates[member] for member in self._members.get(memory_id, ()))
        ends = [member["expires_at"] for member in members if member["living"]]
        return None if None in ends else max(ends, default=None)

    def version(self, memory_id: str, face: str) -> str:
        """The version of a memory that has this face."""
        members = self._members.get(memory_id, ())
        living = (member for member in members if self.candidates[member]["living"])
        return version_of_parts(memory_id, face, living)

    def former(self, memory_id: str, speaks: str) -> set[str]:
        """The members whose texts the face has displaced."""
        members, joins = self._members.get(memory_id, [speaks]), self._joins.get(memory_id, [])
        ends = ((row["joined_to"], row["candidate_id"], self._agrees(row)) for row in joins)
        return displaced(members, ends, speaks)

    def _agrees(self, join: dict[str, Any]) -> bool:
        if join["face_rule"] == "take":
            return False
        if join["face_rule"] == "text":
            return any(self._stands(join, text) for text in self._texts)
        if join["rank"] in AUTOMATIC:
            return True
        recorded = self._log.find(join["decision_id"])
        event = recorded.event if recorded else None
        return not (isinstance(event, Joined) and event.data.join.former)

    def _stands(self, join: dict[str, Any], text: dict[str, Any]) -> bool:
        """Whether a text was composed for a join and all its sources are living members."""
        sources = (self.candidates.get(source) for source in text["sources"])
        return text["decision_id"] == join["decision_id"] and all(
            source is not None and source["living"] and source["memory_id"] == join["memory_id"]
            for source in sources
        )

    def unsettled(self, memory_id: str) -> list[str]:
        """The other memories that the judge may still join with it."""
        pairs = ((row["one"], row["other"]) for row in self._waiting)
        others = ((a, b) if a == memory_id else (b, a) for a, b in pairs)
        return sorted({other for one, other in others if one == memory_id})

    def wording(self, candidate_id: str, text: str, *, former: bool) -> Wording:
        """A member's wording, with the decision that brought its text into the memory."""
        row = self.candidates[candidate_id]
        join = self.brought.get(candidate_id, row)
        return Wording(
            candidate_id=candidate_id,
            text=text,
            relation="former" if former else "same",
            source=row["source"],
            session_id=row["session_id"],
            occurred_at=iso_time(row["occurred_at"]) if row["occurred_at"] else None,
            decision=join["decision"],
            decision_id=join["decision_id"],
        )


def _with_members(
    candidates: Table,
    faces: Sequence[dict[str, Any]],
    best: Mapping[str, float],
    about: _StoredMemories,
    wanted: RecallOptions,
) -> list[Recalled] | None:
    """The hits; None if DuckDB's tables do not have all of their data."""
    where = f"memory_id IN ({_literals([face['memory_id'] for face in faces])})"
    columns = ["memory_id", "candidate_id", "text"]
    texts = candidates.search().where(where).limit(candidates.count_rows()).select(columns)
    members: dict[str, dict[str, str]] = {}
    for row in texts.to_arrow().to_pylist():
        members.setdefault(row["memory_id"], {})[row["candidate_id"]] = row["text"]
    found: list[Recalled] = []
    for face in faces:
        said = members.get(face["memory_id"], {})
        if not {face["face_of"], *said} <= about.candidates.keys():
            return None
        former = about.former(face["memory_id"], face["face_of"])
        wordings = [
            about.wording(candidate_id, text, former=candidate_id in former)
            for candidate_id, text in sorted(said.items())
            if wanted.former or candidate_id not in former
        ]
        found.append(_hit(face, best[face["memory_id"]], wordings, about))
    return found


def _hit(
    face: Mapping[str, Any], score: float, wordings: list[Wording], about: _StoredMemories
) -> Recalled:
    hit = Recalled(
        memory_id=face["memory_id"],
        urn=str(Urn(about.owner_id, face["namespace"], face["memory_id"])),
        face=face["face"],
        score=score,
        namespace=face["namespace"],
        members=wordings,
        intensity=face.get("intensity"),
        metadata=orjson.loads(face.get("metadata") or "{}"),
        created_at=iso_time(face["created_at"]),
        updated_at=iso_time(face["updated_at"]),
        occurred_at=iso_time(face["occurred_at"]) if face["occurred_at"] else None,
        version=about.version(face["memory_id"], face["face"]),
        folded=[],
        unsettled=about.unsettled(face["memory_id"]),
    )
    if (ends := about.expires_at(face["memory_id"])) is not None:
        hit["expires_at"] = iso_time(ends)
    return hit


def _literals(texts: Iterable[str]) -> str:
    return ", ".join(map(quoted, texts))
