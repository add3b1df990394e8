"""Recall by meaning from the owner's ledger, current or as of a position (docs/design.md).

A memory is found by any of its wordings, and returns its face.
"""

from __future__ import annotations

import heapq
from bisect import bisect
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from palimpsest.contracts.events import Vector
from palimpsest.contracts.shown import Recalled
from palimpsest.projections.base.vectors import decoded
from palimpsest.projections.recall.collapse import DECIMALS, Folding
from palimpsest.projections.recall.hits import LOOKED_AT, Ranked, RecallOptions, hits, in_order
from palimpsest.projections.recall.sayings import Sayings
from palimpsest.streams.core.ledger import Entry, Ledger, Memory
from palimpsest.streams.search.cosine.kernels import products

Query = NDArray[np.float32]
"""A query's vector (dimension,); for a text longer than the model's input (windows, dimension)."""
Scores = NDArray[np.float64]
Numbers = NDArray[np.intp]
NEARLY = 1e-3
"""A tolerance for rounding errors of a cosine."""
MOST_RECOLLECTED = 64
"""Maximum number of owners whose decoded vectors are kept for the next question."""
MOST_IN_MEMORY = 100_000
"""Up to this number of candidates of a loaded owner, scanning all is faster than LanceDB."""
FUSION = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke & Buettcher, 2009)."""
NOT_MENTIONED: Mapping[str, int] = MappingProxyType({})
AT_ONCE = 256
"""Number of memories whose scores are read at once."""
UNKNOWN = 0
"""In place of the hash of a memory's kind (`Folding.kind`) that was not needed yet."""
FEW_CHANGED = 4
"""If more than a quarter of the memories have changed, all are looked at again."""


class _Known(NamedTuple):
    """What is cached about a memory; renewed after an event has changed the memory."""

    memory: Memory
    seen: int
    rows: list[int]
    face: int | None


class Recollection:
    """The living memories of a ledger, with the decoded vectors of their texts.

    It follows the ledger, and keeps decoded vectors for the next question.
    """

    def __init__(self, ledger: Ledger, dimension: int) -> None:
        self.ledger = ledger
        self.dimension = dimension
        self.model = ledger.model
        self._sayings = Sayings(ledger.names)
        self._kinds_by: tuple[tuple[str, ...], Folding | None] = (ledger.names, None)
        self._seen = -1
        self._known: dict[str, _Known] = {}
        self._rows: dict[int, range] = {}
        self._vectors: list[Vector] = []
        self._waiting: list[Vector] = []
        self._units = self._room = np.empty((0, dimension), np.float32)
        self._read: dict[str, int] = {}
        self._memories: list[Memory] = []
        self._number_of: dict[str, int] = {}
        self._statement_of = np.empty(0, np.intp)
        self._by = np.empty(0, np.intp)
        self._faces = np.empty(0, np.intp)
        self._kinds = np.empty(0, np.int64)

    def recall(
        self,
        query: Query,
        wanted: RecallOptions,
        names: tuple[str, ...],
        others: Sequence[Ranked] = (),
        mentioning: Mapping[str, int] = NOT_MENTIONED,
    ) -> list[Recalled]:
        """The hits among these memories and `others`, which were ranked elsewhere.

        `names` are those of the owner, declared or presumed. `mentioning` has the ids and
        ranks of memories that mention an identifier of the question; these move up.
        """
        scores = self._scores(query)
        order = np.argsort(-scores, kind="stable")

        def near(heads: Sequence[Memory], after: float, floor: float) -> list[Ranked]:
            start = 0 if mentioning else int(np.searchsorted(-scores[order], -after))
            found = self._near(heads, order[start : start + LOOKED_AT], floor)
            if wanted.folding is not None:  # a diary has hundreds that differ in a figure
                found = self._of_kinds(heads, found, wanted.folding)
            ranked = [Ranked(self._memories[number], float(scores[number])) for number in found]
            return sorted([*ranked, *others], key=in_order)

        def find(memory_id: str) -> Ranked | None:
            number = self._number_of.get(memory_id)
            if number is None:
                return next((one for one in others if one.memory.id == memory_id), None)
            return Ranked(self._memories[number], float(scores[number]))

        if mentioning:
            ranked = self._fused(scores, order, mentioning, others)
        else:
            ranked = self._ranked(scores, order)
            if others:
                ranked = heapq.merge(ranked, others, key=in_order)
        if self._sayings.names != names or self._sayings.is_full:
            self._sayings = Sayings(names)
        return hits(self.ledger, ranked, wanted, self._sayings, near, find)

    def _fused(
        self,
        scores: Scores,
        order: Numbers,
        mentioning: Mapping[str, int],
        others: Sequence[Ranked],
    ) -> Iterator[Ranked]:
        """All memories by reciprocal rank fusion of their order, the mentions and `others`."""
        fusion = np.empty(len(order))
        fusion[order] = 1 / (FUSION + np.arange(len(order)))
        for memory_id, rank in mentioning.items():
            number = self._number_of.get(memory_id)
            if number is not None:
                fusion[number] += 1 / (FUSION + rank)
        own = (
            (float(fusion[number]), Ranked(self._memories[number], float(scores[number])))
            for number in np.argsort(-fusion, kind="stable")
        )
        theirs = ((1 / (FUSION + rank), ranked) for rank, ranked in enumerate(others))
        for _, ranked in heapq.merge(own, theirs, key=itemgetter(0), reverse=True):
            yield ranked

    def _ranked(self, scores: Scores, order: Numbers) -> Iterator[Ranked]:
        """All memories, the best first, computed lazily."""
        for start in range(0, len(order), AT_ONCE):
            numbers = order[start : start + AT_ONCE]
            memories = map(self._memories.__getitem__, numbers.tolist())
            yield from map(Ranked, memories, scores[numbers].tolist())

    def _near(self, heads: Sequence[Memory], numbers: Numbers, floor: float) -> Numbers:
        """Those of `numbers` whose face has a cosine of `floor` or more to one of the heads."""
        rows = [row for head in heads if (row := self._known[head.id].face) is not None]
        numbers = numbers[self._faces[numbers] >= 0]
        if not rows or not len(numbers):
            return numbers[:0]
        theirs = self._units[self._faces[numbers]]
        # Not by BLAS, which waits for its threads: 8 ms if the cores are busy.
        cosines = products(self._units[rows], theirs).max(axis=0)
        found: Numbers = numbers[cosines >= floor - NEARLY]
        return found

    def _of_kinds(self, heads: Sequence[Memory], numbers: Numbers, folding: Folding) -> Numbers:
        """Those of `numbers` that are of the kind of one of the heads, and perhaps a few others."""
        if self._kinds_by != (self.ledger.names, folding):
            self._kinds_by = self.ledger.names, folding
            self._kinds[:] = UNKNOWN
        for number in numbers[self._kinds[numbers] == UNKNOWN].tolist():
            self._kinds[number] = hash(folding.kind(self.ledger, self._memories[number]))
        kinds = [hash(folding.kind(self.ledger, head)) for head in heads]
        found: Numbers = numbers[(self._kinds[numbers] == np.array(kinds)[:, None]).any(axis=0)]
        return found

    def _scores(self, query: Query) -> Scores:
        """For every living memory with a vector, the cosine of its nearest text."""
        if self._seen != self.ledger.seen:
            changed: dict[Entry, None] = {}
            for scope in self.ledger.scopes.values():
                changed |= dict.fromkeys(scope.faces[self._read.get(scope.namespace, 0) :])
                self._read[scope.namespace] = len(scope.faces)
            if len(changed) * FEW_CHANGED > len(self._memories) or not self._note_changed(changed):
                self._look_at_all()
            self._decode()
            self._seen = self.ledger.seen
        # Not `@`: it distributes the work to threads, and waits for them.
        asked = [row / (np.linalg.norm(row) or 1.0) for row in np.atleast_2d(query)]
        first, *more = (np.vecdot(self._units, vector) for vector in asked)
        cosines = np.maximum.reduce([first, *more]) if more else first
        best = np.full(len(self._memories), -1.0)
        np.maximum.at(best, self._by, cosines[self._statement_of].astype(np.float64))
        return best.round(DECIMALS)

    def _note_changed(self, changed: Iterable[Entry]) -> bool:
        """Note memories that are new or have changed; False if one of those known is gone.

        `changed` has the first members of these memories.
        """
        looked_at: list[_Known] = []
        new: list[Memory] = []
        for entry in sorted(changed, key=_by_age):
            number = self._number_of.get(entry.id)
            if entry.memory.members[0] is not entry:  # it is in an older memory now
                if number is not None:
                    return False
                self._known.pop(entry.id, None)
                continue
            known = self._known[entry.id] = self._looked_at(entry.memory)
            if number is not None and not known.rows:
                return False
            if number is not None:
                self._memories[number] = entry.memory
            elif known.rows:
                new.append(entry.memory)
            if known.rows:
                looked_at.append(known)
        if new:
            self._number(new)
        self._renew({self._number_of[known.memory.id]: known for known in looked_at})
        return True

    def _number(self, new: Sequence[Memory]) -> None:
        """Number new memories, given in order of age, and those that are younger anew.

        While a clock that went back has not caught up, all new ones have the same time.
        """
        ages = [_age(memory) for memory in new]
        places = [bisect(self._memories, age, key=_age) for age in ages]
        first = places[0]
        self._memories[first:] = sorted([*self._memories[first:], *new], key=_age)
        moved = enumerate(self._memories[first:], start=first)
        self._number_of.update((memory.id, number) for number, memory in moved)
        self._by += np.searchsorted(places, self._by, side="right")
        self._faces = np.insert(self._faces, places, -1)
        self._kinds = np.insert(self._kinds, places, UNKNOWN)

    def _renew(self, looked_at: Mapping[int, _Known]) -> None:
        """Replace what is known about memories, by number."""
        stay = ~np.isin(self._by, list(looked_at))
        rows = [row for known in looked_at.values() for row in known.rows]
        by = [number for number, known in looked_at.items() for _ in known.rows]
        self._statement_of = np.append(self._statement_of[stay], np.array(rows, np.intp))
        self._by = np.append(self._by[stay], np.array(by, np.intp))
        for number, known in looked_at.items():
            self._faces[number] = -1 if known.face is None else known.face
            self._kinds[number] = UNKNOWN

    def _look_at_all(self) -> None:
        before, self._known = self._known, {}
        for memory in self.ledger.memories():
            known = before.get(memory.id)
            if known is None or known.memory is not memory or known.seen != memory.seen:
                known = self._looked_at(memory)
            self._known[memory.id] = known
        found = [known for known in self._known.values() if known.rows]
        found.sort(key=lambda known: _age(known.memory))
        self._memories = [known.memory for known in found]
        self._number_of = {memory.id: number for number, memory in enumerate(self._memories)}
        self._statement_of = np.fromiter(
            chain.from_iterable(known.rows for known in found), np.intp
        )
        counts = np.array([len(known.rows) for known in found], np.intp)
        speaks = (-1 if known.face is None else known.face for known in found)
        self._faces = np.fromiter(speaks, np.intp)
        self._kinds = np.full(len(found), UNKNOWN)
        self._by = np.repeat(np.arange(len(found)), counts)

    def _looked_at(self, memory: Memory) -> _Known:
        """The rows of the vectors of its face and texts; no rows if it is not recalled."""
        if not memory.living:
            return _Known(memory, memory.seen, [], None)
        vectors = [e.distinct.vector for e in memory.members if e.distinct.representative is e]
        fitting = [vector for vector in (memory.face.vector, *vectors) if self._fits(vector)]
        rows = [row for vector in fitting for row in self._rows_of(vector)]
        return _Known(
            memory, memory.seen, rows, rows[0] if self._fits(memory.face.vector) else None
        )

    def _fits(self, vector: Vector | None) -> TypeGuard[Vector]:
        return vector is not None and vector.dimension == self.dimension

    def _rows_of(self, vector: Vector) -> range:
        """The rows of a vector, followed by those of its windows.

        Vectors are compared by identity, as in `Packed`, so they must be kept alive.
        """
        rows = self._rows.get(id(vector))
        if rows is None:
            self._vectors.append(vector)
            start = len(self._units) + len(self._waiting)
            self._waiting += vector.each()
            rows = self._rows[id(vector)] = range(start, len(self._units) + len(self._waiting))
        return rows

    def _decode(self) -> None:
        new, self._waiting = self._waiting, []
        if not new:
            return
        numbers = decoded(new, self.dimension).astype(np.float32)
        norms = np.linalg.norm(numbers, axis=1, keepdims=True)
        units = np.divide(numbers, norms, out=np.zeros_like(numbers), where=norms > 0)
        held, total = len(self._units), len(self._units) + len(units)
        if total > len(self._room):
            self._room = np.empty((max(total, held * 5 // 4), self.dimension), np.float32)
            self._room[:held] = self._units
        self._room[held:total] = units
        self._units = self._room[:total]


def _by_age(first: Entry) -> tuple[datetime, str]:
    """A sort key: the order in which memories are numbered, and ties stand (`in_order`)."""
    return first.decided_at, first.id


def _age(memory: Memory) -> tuple[datetime, str]:
    return _by_age(memory.members[0])


class Recollections:
    """A cache of the recollections of the most recently asked owners."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Recollection] = OrderedDict()

    def of(
        self, ledger: Ledger, query: Query, *, however_large: bool = False
    ) -> Recollection | None:
        """The recollection of a ledger; None if its vectors have another dimension.

        Also None if LanceDB is faster, unless `however_large`.
        """
        vectors = (row.vector for scope in ledger.scopes.values() for row in scope.rows[:1])
        fits = all(vector is None or vector.dimension == query.shape[-1] for vector in vectors)
        if not fits or (len(ledger.entries) > MOST_IN_MEMORY and not however_large):
            return None
        found = self._kept.pop(ledger.owner_id, None)
        if (
            found is None
            or found.ledger is not ledger
            or (found.model, found.dimension) != (ledger.model, query.shape[-1])
        ):
            found = Recollection(ledger, query.shape[-1])
        self._kept[ledger.owner_id] = found
        if len(self._kept) > MOST_RECOLLECTED:
            self._kept.popitem(last=False)
        return found
