"""Finds memories that mention a name or an identifier, in any of their wordings."""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Literal, NamedTuple

from palimpsest.streams.core.ledger import Distinct, Entry, Ledger, Memory, Scope
from palimpsest.streams.core.mentions import canonical, mentions, words_of

MOST_KEPT = 64
"""Number of owners whose texts are kept in canonical form."""
RARE, FEW = 0.05, 3
"""The share of an owner's texts that may contain an identifier, and a number that always may."""
MOST_IDENTIFIERS = 64
_IDENTIFIER = re.compile(r"\d|\w[@_/]\w|[a-z][A-Z]")
"""INC-1007, ada@example.org, MAX_SIZE, src/core, camelCase."""
_NO_DIGITS = re.compile(r"\D")

Why = Literal["word", "alias"]


class Mentioned(NamedTuple):
    """A memory, whether its face or another wording (`alias`) mentions the query, and that text.

    `candidate_id` has the text; None for a composed one.
    """

    memory: Memory
    why: Why
    text: str
    candidate_id: str | None


def identifiers(question: str) -> list[str]:
    """The identifiers among the words of a question."""
    words = filter(_IDENTIFIER.search, dict.fromkeys(question.split()))
    return [*islice(words, MOST_IDENTIFIERS)]


class MentionIndex:
    """The texts of a ledger in canonical form; it indexes new ones at the next query."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._texts: dict[str, tuple[list[str], list[str]]] = {}

    def find(self, query: str, namespace: str | None = None) -> list[Mentioned]:
        """The living memories that mention a query, by arrival; matches in the face come first."""
        found: dict[str, Mentioned] = {}
        for memory in self._composed():
            text = memory.face.text
            if namespace in (None, memory.namespace) and mentions(query, text):
                found[memory.id] = Mentioned(memory, "word", text, None)
        for entry in self._entries(query, namespace):
            memory = entry.memory
            if memory.id not in found:
                found[memory.id] = _mentioned(memory, entry, query)
        return sorted(
            found.values(), key=lambda found: (found.why == "alias", found.memory.members[0].place)
        )

    def of_identifiers(self, question: str) -> dict[str, int]:
        """The memories that mention an identifier of a question: id and rank.

        The first rank is 0. One weighs the more, the fewer texts contain it, and nothing if it is
        in many; memories of equal weight have one rank. Plain words are left to the meaning: mixed
        in, they gave the first place of 24 questions to the right memory 10 times instead of 14.
        """
        scopes = self.ledger.scopes.values()
        texts = sum(len(scope.rows) for scope in scopes)
        most = min(max(FEW, int(texts * RARE)), texts // 2)
        weights: dict[str, float] = {}
        for word in identifiers(question):
            found = (self._containing(scope, *_needles(word)) for scope in scopes)
            rows = [*islice(chain.from_iterable(found), most + 1)]
            if len(rows) > most:
                continue
            for memory_id in {entry.memory.id for entry in _mentioning(word, rows)}:
                weights[memory_id] = weights.get(memory_id, 0.0) + math.log(1 + texts / len(rows))
        ranks = {weight: rank for rank, weight in enumerate(sorted({*weights.values()})[::-1])}
        return {memory_id: ranks[weight] for memory_id, weight in weights.items()}

    def _composed(self) -> Iterator[Memory]:
        """The living memories with a composed face."""
        for edge in dict.fromkeys(self.ledger.composed_by.values()):
            memory = edge.newer.memory
            if memory.living and memory.face.composition is not None:
                yield memory

    def _entries(self, query: str, namespace: str | None) -> Iterator[Entry]:
        for scope in self.ledger.scopes.values():
            if namespace in (None, scope.namespace):
                yield from _mentioning(query, self._containing(scope, *_needles(query)))

    def _containing(
        self, scope: Scope, letters: list[str], digits: list[str]
    ) -> Iterator[Distinct]:
        """The texts of a scope that contain all of these, of which there is one at least."""
        plain, numbers = self._texts.setdefault(scope.namespace, ([], []))
        for row in scope.rows[len(plain) :]:
            plain.append(canonical(row.members[0].text))
            numbers.append(_NO_DIGITS.sub("", plain[-1]))
        needles = [(plain, needle) for needle in dict.fromkeys(letters)]
        needles += [(numbers, needle) for needle in dict.fromkeys(digits)]
        if not needles:
            return
        (texts, first), *others = needles
        for number, text in enumerate(texts):
            if first in text and all(needle in told[number] for told, needle in others):
                yield scope.rows[number]


def _mentioning(query: str, rows: Iterable[Distinct]) -> Iterator[Entry]:
    for row in rows:
        entry = row.representative
        if entry is not None and mentions(query, entry.text):
            yield entry


def _needles(query: str) -> tuple[list[str], list[str]]:
    """What any text that mentions the query must contain: letters, and digits without separators.

    For an address or a link, only the part that canonical forms leave unchanged.
    """
    parts = words_of(query).parts
    digits = [_NO_DIGITS.sub("", part) for part in parts if part[-1:].isdigit()]
    letters = [part.partition("@")[2] or part for part in parts if not part[-1:].isdigit()]
    return letters, [digit for digit in digits if digit]


def _mentioned(memory: Memory, entry: Entry, query: str) -> Mentioned:
    face = memory.face
    if face.speaker is entry and face.composition is None:
        return Mentioned(memory, "word", entry.text, entry.id)
    if face.composition is None and mentions(query, face.text):
        return Mentioned(memory, "word", face.text, face.speaker.id)
    return Mentioned(memory, "alias", entry.text, entry.id)


class MentionIndexes:
    """The indexes of the owners that were asked about most recently."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, MentionIndex] = OrderedDict()

    def of(self, ledger: Ledger) -> MentionIndex:
        """The index of a ledger."""
        found = self._kept.pop(ledger.owner_id, None)
        if found is None or found.ledger is not ledger:
            found = MentionIndex(ledger)
        self._kept[ledger.owner_id] = found
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return found
