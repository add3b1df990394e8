"""An agent's handle on the memories of one owner (docs/python.md)."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from palimpsest.contracts.answers import (
    Checked,
    Forgotten,
    Names,
    NewExpiry,
    PutBack,
    Restorations,
    Session,
    TakenBack,
    Unmerged,
    Updated,
)
from palimpsest.contracts.errors import RefusedError, UsageError, no_such_id
from palimpsest.contracts.shown import Changes, Found, History, Hits, Page, ShownMemory
from palimpsest.process.parameters import made_by
from palimpsest.projections.recall.hits import MinScore
from palimpsest.queries.changes import without_positions
from palimpsest.queries.find import Plan
from palimpsest.queries.hiding import forgotten_texts, without, without_texts
from palimpsest.queries.ids import forgetting_of
from palimpsest.queries.triangles import Triangle
from palimpsest.queries.undoing import OF_A_PERSON, OF_ANOTHER, offered
from palimpsest.queries.why import Explanation, WhyNot

if TYPE_CHECKING:
    from palimpsest.api.store import Palimpsest
    from palimpsest.streams.write.inputs import Outcome

Answer = TypeVar("Answer")


class Agent:
    """What an agent may do with one owner's memories; each call works like that of `Palimpsest`.

    Ids of other owners are unknown here, forgotten texts are not shown, and what a person stated
    cannot be overruled. Calls for people (`merge`, `separate`, `confirm`, …) are missing.
    """

    @made_by("get a handle by `memories.agent(owner_id)`")
    def __init__(self, store: Palimpsest, owner_id: str, actor: str | None = None) -> None:
        self._store = store
        self._actor = actor
        self.owner_id = owner_id

    @property
    def _speaker(self) -> dict[str, Any]:
        return {"by": "agent", "owner_id": self.owner_id, "actor": self._actor}

    def submit(
        self,
        candidates: str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]],
        *,
        source: str = "python",
    ) -> builtins.list[Outcome]:
        """Decide on a text or a candidate, or several. UsageError for one of another owner."""
        several = isinstance(candidates, Iterable) and not isinstance(candidates, str | Mapping)
        rows: Iterable[Any] = candidates if several else [candidates]
        return self._store.submit([self._candidate(row) for row in rows], source=source)

    def add(self, messages: Any, **how: Any) -> builtins.list[Outcome]:
        """Remember a conversation, as `Palimpsest.add` does."""
        return self._store.add(messages, **(how | {"owner_id": self.owner_id}))

    def _candidate(self, given: str | Mapping[str, Any]) -> dict[str, Any]:
        """A candidate of this owner; a CloudEvent names the owner in its data."""
        row = {"text": given} if isinstance(given, str) else given
        if not isinstance(row, Mapping):
            raise UsageError("a candidate should be a text, or a mapping such as a dict")
        data = row.get("data")
        if "specversion" in row and isinstance(data, Mapping):
            return {**row, "data": self._owned(data)}
        return self._owned(row)

    def _owned(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        if fields.get("owner_id") not in (None, self.owner_id):
            raise UsageError("a candidate belongs to another owner")
        return {**fields, "owner_id": self.owner_id}

    def check(self, candidate: str | Mapping[str, Any], *, source: str = "python") -> Checked:
        """Show what would be decided on a candidate if it were submitted now; write nothing."""
        return self._seen(self._store.check(self._candidate(candidate), source=source))

    def recall(
        self,
        query: str,
        *,
        k: int = 5,
        hybrid: bool | None = None,
        min_score: MinScore = "model",
        **narrowed: Any,
    ) -> Hits:
        """The `k` memories nearest to a question or mentioning an identifier from it, best first.

        Hardly related ones are left out and counted as `weaker`; `min_score=None` includes them.
        `as_of` is a UsageError: it would show forgotten texts.
        """
        if narrowed.get("as_of") is not None:  # it would show texts forgotten since then
            raise UsageError("an agent recalls as of now: `as_of` is for people")
        return self._store.recall(
            self.owner_id, query, k=k, hybrid=hybrid, min_score=min_score, **narrowed
        )

    def find(self, query: str, **wanted: Any) -> Plan:
        """All memories that mention the query, then those nearest by meaning."""
        return self._store.find(self.owner_id, query, **wanted)

    def list(self, **wanted: Any) -> Page:
        """A page of the living memories, the latest first."""
        return self._store.list(self.owner_id, **wanted)

    def changes(self, *, after: str | None = None, **wanted: Any) -> Changes:
        """The next page of this owner's events; `after` is the `next` of the previous one."""
        page = self._store.changes(self.owner_id, after=after or 0, **wanted)
        return without_positions(self._seen(page), after or 0)

    def get(self, memory_id: str) -> Found:
        """The current memory of any id. RefusedError if it is unknown, forgotten or retracted."""
        found = self._store.get(memory_id, owner_id=self.owner_id)
        if found["state"] == "retracted":
            raise RefusedError("unknown_candidate", no_such_id(memory_id))
        return self._seen(found)

    def history(self, memory_id: str) -> History:
        """Every event of a memory, in order; without texts if it is forgotten or retracted."""
        found = self._seen(self._store.history(memory_id, owner_id=self.owner_id))
        return without_texts(found) if found["state"] == "retracted" else found

    def show(self, memory_id: str) -> ShownMemory:
        """A memory with every member and its evidence. RefusedError as for `get`."""
        self.get(memory_id)
        return self._seen(self._store.show(memory_id, owner_id=self.owner_id))

    def why(self, some_id: str) -> Explanation:
        """Why a candidate, or each member of a memory, is where it is; refuses as `get` does."""
        self.get(some_id)
        return self._seen(self._store.why(some_id))

    def why_not(self, some_id: str, other_id: str) -> WhyNot:
        """Why two candidates are not in one memory. RefusedError as for `get`."""
        self.get(some_id)
        self.get(other_id)
        return self._seen(self._store.why_not(some_id, other_id))

    def triangles(self, **wanted: Any) -> builtins.list[Triangle]:
        """Pairs that a person separated, with a third that is joined to one and near the other."""
        return self._seen(self._store.triangles(self.owner_id, **wanted))

    def names(self) -> Names:
        """The names that the owner is called by."""
        return self._store.names(self.owner_id)

    def update(self, memory_id: str, text: str, **more: Any) -> Updated:
        """Change the text of a memory."""
        return self._seen(self._store.update(memory_id, text, **(more | self._speaker)))

    def undo(self, some_id: str, **more: Any) -> TakenBack:
        """Undo what an id names, unless a person stated it."""
        return self._seen(self._store.undo(some_id, **(more | self._speaker)))

    def redo(self, some_id: str, **more: Any) -> TakenBack:
        """Do again what was undone, unless a person said otherwise."""
        return self._seen(self._store.redo(some_id, **(more | self._speaker)))

    def renew(self, candidate_id: str, expires_at: datetime | str, **more: Any) -> NewExpiry:
        """Change when a candidate expires."""
        asked = more | {"owner_id": self.owner_id, "actor": self._actor}
        return self._seen(self._store.renew(candidate_id, expires_at, **asked))

    def forget(self, what: Mapping[str, Any] | str | Sequence[str], **more: Any) -> Forgotten:
        """Forget memories, by a plan of `find` or by ids."""
        return self._seen(self._store.forget(what, **(more | self._speaker)))

    def restore(self, forgotten: str, **more: Any) -> Restorations:
        """Bring back what one request of this agent forgot; RefusedError for another's request."""
        forgetting = forgetting_of(self._store.reader, self.owner_id, forgotten)
        if (forgetting.data.speaker, forgetting.data.actor) != ("agent", self._actor):
            by_agent = forgetting.data.speaker == "agent"
            raise RefusedError("outranked", OF_ANOTHER if by_agent else OF_A_PERSON)
        asked = more | {"owner_id": self.owner_id, "actor": self._actor}
        return self._seen(self._store.restore(forgotten=forgotten, **asked))

    def unmerge(self, **named: Any) -> Unmerged:
        """Remove a join, named by its `decision_id`, `candidate_id` or `memory_id`."""
        return self._seen(self._store.unmerge(**(named | self._speaker)))

    def reinstate(self, decision_id: str, **more: Any) -> PutBack:
        """Take a reversal back."""
        return self._seen(self._store.reinstate(decision_id, **(more | self._speaker)))

    def end_session(self, session_id: str) -> Session:
        """Report that a conversation ended."""
        return self._store.end_session(self.owner_id, session_id, actor=self._actor)

    def compact_session(self, session_id: str) -> Session:
        """Report that a conversation was compacted."""
        return self._store.compact_session(self.owner_id, session_id, actor=self._actor)

    def _seen(self, answer: Answer) -> Answer:
        """An answer without forgotten texts, and without an `undo` that is for people only."""
        reader = self._store.reader
        answer = offered(reader, answer, self.owner_id, self._actor)
        return without(answer, forgotten_texts(reader.ledger(self.owner_id)))
