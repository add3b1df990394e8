"""The neighbours of a newcomer, best first, and the guard's findings on each."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from operator import itemgetter

from msgspec import structs

from palimpsest.contracts.commands import Admit
from palimpsest.contracts.events import Vector
from palimpsest.contracts.evidence import BLIND, Cue, Neighbour
from palimpsest.contracts.policy import Policy, Similar
from palimpsest.streams.core.exact import is_protected
from palimpsest.streams.core.ledger import Entry, Ledger
from palimpsest.streams.guard import (
    Comparison,
    Reading,
    Tables,
    compare,
    differ_at_sight,
    guard_hash,
    kept_reading,
    passes,
    speaks_of,
    tables_of,
)


class NeighbourLookup:
    """Looks up what is known about each neighbour while one candidate is decided on.

    Neighbours that are not current, or that only a person may join, cannot be chosen but stay in
    the evidence. Ties go to the earlier candidate, whatever order a search returned.
    """

    def __init__(self, ledger: Ledger, admit: Admit, policy: Policy) -> None:
        self._ledger = ledger
        self._faces = policy.search == "memories"
        self._content = admit.content
        self._tables = tables_of(policy.languages)
        self._known = {n.candidate_id: n for n in admit.neighbours}
        self._compared: dict[str, Comparison] = {}
        self._unlike: set[str] = set()
        self._uncovered: set[str] = set()
        self._entries = {known: ledger.entries[known] for known in self._known}
        protected = policy.protected_categories
        free = admit.candidate.category not in protected
        self._eligible = [
            n
            for known, n in self._known.items()
            if free
            and self._is_current(self._entries[known])
            and not is_protected(self._entries[known].distinct, protected)
        ]
        cosines = [(n, n.cosine) for n in self._eligible if n.cosine is not None]
        self._nearest = self._ranked(cosines)

    def _is_current(self, entry: Entry) -> bool:
        """Whether a candidate is current; under `search: memories`, living in a current memory."""
        expired = entry.expired and not (self._faces and entry.memory.current)
        return entry.living and not expired

    @cached_property
    def _reading(self) -> Reading:
        content, names = self._content, self._ledger.names
        return reading_of(content.text, content.vector, names, self._tables)

    def entry(self, neighbour: Neighbour) -> Entry:
        """The neighbour's entry in the ledger."""
        return self._ledger.entries[neighbour.candidate_id]

    def by_cosine(self, top: int) -> list[Neighbour]:
        """The eligible neighbours with a cosine, nearest first."""
        return self._nearest[:top]

    def beyond(self, top: int) -> list[Neighbour]:
        """The neighbours after the `top` nearest; none if the owner has no names.

        Texts that differ only in what they call the owner may be far apart.
        """
        return self._nearest[top:] if self._ledger.names else []

    def by_jaccard(self, top: int) -> list[Neighbour]:
        """The eligible neighbours with a Jaccard score, nearest first."""
        found = [(n, n.jaccard) for n in self._eligible if n.jaccard is not None]
        return self._ranked(found)[:top]

    def _ranked(self, scored: Iterable[tuple[Neighbour, float]]) -> list[Neighbour]:
        """The highest score first; neighbours found only by their frame are left out."""
        keyed = [
            (-score, self._entries[n.candidate_id].place, n)
            for n, score in scored
            if n.frame != "only"
        ]
        keyed.sort(key=_before)
        return [n for *_, n in keyed]

    def passes(self, neighbour: Neighbour, at_least: float | None = None) -> bool:
        """Whether the guard accepts joining the pair without a judge.

        For a join by cosine, `at_least` is the score that each window of the two has to reach.
        """
        seen = self._compare(neighbour)
        covers = at_least is None or self._covers(neighbour, at_least)
        return seen.near_identical and not seen.cues and covers

    def says_the_same(self, neighbour: Neighbour) -> bool:
        """Whether the guard finds the two near-identical and without a cue; a quick check.

        If not, the evidence records that, but no cues: another guard may find others, and a replay
        must reach the same decision.
        """
        if neighbour.near_identical is not None:
            return neighbour.near_identical and not neighbour.cues
        text, _ = self._text_of(neighbour)
        told = not self._ledger.names and differ_at_sight(text, self._reading)
        same = not told and passes(self._reading_of(neighbour), self._reading)
        if not same:
            self._unlike.add(neighbour.candidate_id)
        return same

    def blind(self, neighbour: Neighbour, at_least: float) -> bool:
        """Whether the model cannot tell the two apart, so that their cosine says nothing.

        It also says nothing if a window of either has no counterpart at a cosine of `at_least`.
        """
        seen = self._compare(neighbour)
        return not (self._covers(neighbour, at_least) and BLIND.isdisjoint(seen.cues))

    def _covers(self, neighbour: Neighbour, at_least: float) -> bool:
        """Whether each window of the two texts has a counterpart in the other."""
        vectors = (self._content.vector, self._text_of(neighbour)[1])
        if not any(vector is not None and vector.truncated for vector in vectors):
            return True
        if neighbour.covered is not None and neighbour.covered >= at_least:
            return True
        self._uncovered.add(neighbour.candidate_id)
        return False

    def _text_of(self, neighbour: Neighbour) -> tuple[str, Vector | None]:
        """The text that the newcomer is compared with, and its vector."""
        entry = self._entries[neighbour.candidate_id]
        if self._faces and (face := entry.memory.face).speaker is entry:
            return face.text, face.vector
        return entry.text, entry.distinct.vector

    def _reading_of(self, neighbour: Neighbour) -> Reading:
        return reading_of(*self._text_of(neighbour), self._ledger.names, self._tables)

    def _compare(self, neighbour: Neighbour) -> Comparison:
        found = self._compared.get(neighbour.candidate_id)
        if found is None and neighbour.near_identical is not None:
            found = Comparison(neighbour.cues, neighbour.near_identical)
            self._compared[neighbour.candidate_id] = found
        if found is None:
            other = self._reading_of(neighbour)
            found = self._compared[neighbour.candidate_id] = compare(other, self._reading)
        return found

    def gray(self, neighbours: Iterable[Neighbour], most: int) -> tuple[str, ...]:
        """The ids handed to the judge, nearest first."""
        unique = {n.candidate_id: n for n in neighbours}
        best = sorted(unique.values(), key=lambda n: (-(n.cosine or 0.0), self.entry(n).place))
        return tuple(n.candidate_id for n in best[:most])

    def of_owner(self, nearest: list[Neighbour], at_least: float) -> tuple[str, ...]:
        """The id of the nearest neighbour for which either text speaks of the owner, if any.

        Its cosine has to be at least `at_least`.
        """
        names = self._ledger.names
        own = bool(names) and speaks_of(self._content.text, names)
        for neighbour in nearest if names else ():
            if (neighbour.cosine or 0.0) < at_least:
                break
            if own or speaks_of(self._text_of(neighbour)[0], names):
                return (neighbour.candidate_id,)
        return ()

    def framed(self) -> tuple[str, ...]:
        """The ids of the neighbours that share the newcomer's frame, latest said first."""
        mates = [n for n in self._eligible if n.frame is not None]
        mates.sort(key=lambda n: self.entry(n).distinct.members[-1].place, reverse=True)
        return tuple(n.candidate_id for n in mates)

    def similar(self, rule: Similar | None) -> tuple[str, ...] | None:
        """The ids of similar facts, most similar first; None if there are none."""
        if rule is None:
            return None
        current = (n for n in self._known.values() if self._is_current(self.entry(n)))
        scored = [(n, similarity(n)) for n in current]
        near = [(n, score) for n, score in scored if score >= rule.at_least]
        return tuple(n.candidate_id for n in self._ranked(near)[: rule.most]) or None

    def evidence(self) -> tuple[Neighbour, ...]:
        """Every neighbour that was compared, nearest first, with the guard's findings."""
        seen = sorted(
            self._known.values(),
            key=lambda n: (-(n.cosine or 0.0), -(n.jaccard or 0.0), self.entry(n).place),
        )
        return tuple(self._annotated(neighbour) for neighbour in seen)

    @property
    def guard(self) -> str | None:
        """The hash of the guard, if it was asked about any neighbour."""
        asked = self._compared or self._unlike
        return guard_hash(self._tables, named=bool(self._ledger.names)) if asked else None

    def _annotated(self, neighbour: Neighbour) -> Neighbour:
        found = self._compared.get(neighbour.candidate_id)
        if found is None:
            unlike = neighbour.candidate_id in self._unlike
            return structs.replace(neighbour, near_identical=False) if unlike else neighbour
        cues = with_truncated(found.cues, uncovered=neighbour.candidate_id in self._uncovered)
        return structs.replace(neighbour, near_identical=found.near_identical, cues=cues)


_before = itemgetter(0, 1)


def similarity(neighbour: Neighbour) -> float:
    """The higher of its two scores."""
    return max(neighbour.cosine or 0.0, neighbour.jaccard or 0.0)


def with_truncated(cues: tuple[Cue, ...], *, uncovered: bool) -> tuple[Cue, ...]:
    """The cues of a pair, plus `truncated` if a window of either text has no counterpart."""
    return tuple(sorted({*cues, Cue.TRUNCATED})) if uncovered else cues


def reading_of(text: str, vector: Vector | None, names: tuple[str, ...], tables: Tables) -> Reading:
    """A text as the guard compares it, with what its model could not read; cached.

    `names` are its owner's, `tables` the policy's. Whether windows have counterparts is a property
    of a pair, not of a text.
    """
    if vector is None:
        return kept_reading(text, names=names, tables=tables)
    return kept_reading(
        text,
        truncated=not vector.covers_text,
        unknown=vector.unknown,
        names=names,
        model=vector.model,
        tables=tables,
    )
