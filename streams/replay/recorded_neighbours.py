"""A newcomer's neighbours in a history that is decided again, from the record if it has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal

from msgspec import structs

from palimpsest.contracts.commands import Admit
from palimpsest.contracts.events import Decided
from palimpsest.contracts.evidence import Evidence, Neighbour
from palimpsest.contracts.policy import Policy, TokenCheck
from palimpsest.streams.core.expiry import advance
from palimpsest.streams.core.ledger import Distinct, Ledger
from palimpsest.streams.replay.without import Search
from palimpsest.streams.search.scope_index import Reach

COMPARED = (None, "tokens", "session", "cosine")
"""The checks of decisions whose evidence has all neighbours that were found."""

Words = Literal["same", "more", "other"]
"""What a search by words finds, compared with another: the same texts, more, or other ones."""


@dataclass(frozen=True, slots=True)
class _RecordedSearch:
    """What the record shows of a search, which finds some texts by words and others by cosine.

    `near`: whether both policies search in the same way by cosine, apart from the floor. `words`:
    what the policy finds by words, compared with the record. `by_cosine` and `by_words` are the
    policy with only that part of the search.
    """

    was: Reach
    now: Reach
    near: bool
    words: Words
    by_cosine: Policy
    by_words: Policy

    @classmethod
    def of(cls, recorded: Policy, policy: Policy, namespace: str) -> _RecordedSearch | None:
        """None if a policy searches faces, or if the two policies differ in model or frames."""
        was, now = Reach.of(recorded, namespace), Reach.of(policy, namespace)
        if was.faces or now.faces or (was.model, was.frames) != (now.model, now.frames):
            return None
        near = replace(was, cosine=now.cosine, tokens=now.tokens, jaccard=now.jaccard) == now
        judge = policy.judge.model_copy(update={"frames": 0})
        by_cosine, by_words = (
            policy.model_copy(update={"judge": judge, "checks": checks})
            for checks in (
                tuple(c for c in policy.checks if not isinstance(c, TokenCheck)),
                tuple(c for c in policy.checks if isinstance(c, TokenCheck)),
            )
        )
        return cls(was, now, near, _words(was, now), by_cosine, by_words)

    def proves(self, evidence: Evidence) -> bool:
        """Whether a search by cosine would find exactly the neighbours recorded as found by one.

        If the policy's floor is lower than the recorded one, that is so if as many neighbours are
        recorded as a search returns at most, or if the nearest text of all is below the floor. If
        it is not lower, that is so if all recorded neighbours reach it.
        """
        if not self.near or self.words == "other":
            return False
        found = [
            neighbour.cosine
            for neighbour in evidence.neighbours
            if neighbour.frame != "only" and (neighbour.cosine or 0.0) >= self.was.cosine
        ]
        if self.now.cosine >= self.was.cosine:
            return all((cosine or 0.0) >= self.now.cosine for cosine in found)
        best = evidence.nearest.cosine if evidence.nearest is not None else None
        return len(found) >= self.now.cosine_top or (best is not None and best < self.now.cosine)


def _words(was: Reach, now: Reach) -> Words:
    if (was.tokens, was.jaccard) == (now.tokens, now.jaccard):
        return "same"
    if now.tokens is None or now.jaccard > was.jaccard:
        return "other"
    among = {(t.tokenizer, t.among, t.top) for t in (was.tokens, now.tokens) if t is not None}
    return "more" if len(among) == 1 else "other"


def _with_frame(
    found: Iterable[Neighbour], recorded: tuple[Neighbour, ...]
) -> tuple[Neighbour, ...]:
    """The neighbours that were found, as found last, and those of the recorded frame."""
    seen = {n.candidate_id: structs.replace(n, frame=None) for n in found}
    for mate in recorded:
        if mate.frame is not None:
            near = seen.get(mate.candidate_id)
            seen[mate.candidate_id] = (
                structs.replace(near, frame="also")
                if near is not None
                else Neighbour(candidate_id=mate.candidate_id, cosine=mate.cosine, frame="only")
            )
    return tuple(seen.values())


class RecordedNeighbours:
    """Neighbours in the `other` history of an owner, under a policy.

    They are the recorded ones if both histories have the same texts to find, and if the recorded
    policy searched in the same way; otherwise they are searched for.
    """

    def __init__(
        self,
        real: Ledger,
        other: Ledger,
        recorded: Mapping[str, Policy],
        policy: Policy,
        search: Search,
    ) -> None:
        self._real = real
        self._other = other
        self._recorded = recorded
        self._policy = policy
        self._search = search
        self._known: dict[tuple[str, str], _RecordedSearch | None] = {}
        self._same_texts: dict[str, _SameTexts] = {}

    def of(self, event: Decided, admit: Admit) -> tuple[Neighbour, ...]:
        """The neighbours for the policy's checks; to be called before the event is folded."""
        evidence, key = event.data.evidence, (event.data.evidence.policy, admit.candidate.namespace)
        if key not in self._known:
            self._known[key] = _RecordedSearch.of(self._recorded[key[0]], self._policy, key[1])
        known = self._known[key]
        advance(self._real, self._real.at(event.time))
        if known is None or evidence.check not in COMPARED or not self._has_the_same(admit):
            return self._search(self._other, admit, self._policy)
        recorded = evidence.neighbours
        if (near_too := known.proves(evidence)) and known.words == "same":
            return recorded
        near = (
            (neighbour for neighbour in recorded if neighbour.frame != "only")
            if near_too
            else self._search(self._other, admit, known.by_cosine)
        )
        by_words = (
            (neighbour for neighbour in recorded if neighbour.jaccard is not None)
            if known.words == "same"
            else self._search(self._other, admit, known.by_words)
        )
        return _with_frame(chain(near, by_words), recorded)

    def _has_the_same(self, admit: Admit) -> bool:
        """Whether both histories have the same texts in the newcomer's scope."""
        namespace = admit.candidate.namespace
        here, there = self._real.scope(namespace), self._other.scope(namespace)
        same = self._same_texts.setdefault(namespace, _SameTexts())
        if (len(self._real.entries), len(here.rows)) != (len(self._other.entries), len(there.rows)):
            return False
        rows = {*here.changed[same.changed[0] :], *there.changed[same.changed[1] :]}
        rows.update(range(same.seen, len(here.rows)))
        same.seen, same.changed = len(here.rows), (len(here.changed), len(there.changed))
        for row in rows:
            differs = _found_as(here.rows[row]) != _found_as(there.rows[row])
            (same.differing.add if differs else same.differing.discard)(row)
        return not same.differing


@dataclass(slots=True)
class _SameTexts:
    """How far the rows of a scope are compared in both histories, and which of them differ."""

    seen: int = 0
    changed: tuple[int, int] = (0, 0)
    differing: set[int] = field(default_factory=set)


def _found_as(distinct: Distinct) -> tuple[object, ...]:
    """All of a text that a search uses or returns."""
    members = [(entry.id, entry.living, entry.expired) for entry in distinct.members]
    return distinct.hash, members, distinct.vector, distinct.beside
