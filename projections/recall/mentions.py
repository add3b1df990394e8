"""Finds memories that mention a name or an identifier, in any of their wordings.

With the extra `cjk`, a query in Chinese, Japanese or Korean matches only whole words, and a verb in
its base form finds its inflections. Without it, the query matches wherever it occurs.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, islice
from typing import Literal, NamedTuple

from palimpsest.contracts.patterns import compile_later
from palimpsest.streams.core.ledger import Distinct, Entry, Ledger, Memory, Scope
from palimpsest.streams.core.mentions import asked_of, canonical
from palimpsest.streams.core.mentions import mentions as stands_in
from palimpsest.streams.search.morphemes import (
    CJK,
    HANGUL,
    UNSPACED,
    Morpheme,
    are_installed,
    cuts_words,
    has_kana,
    morphemes_of,
    plain,
)

RARE, FEW = 0.05, 3
"""An identifier counts if at most this share of an owner's texts has it, or this number of them,
but at most half."""
MOST_IDENTIFIERS = 64
_IDENTIFIER = compile_later(r"\d|\w[@_/]\w|[a-z][A-Z]")
"""INC-1007, ada@example.org, MAX_SIZE, src/core, camelCase."""
_NO_DIGITS = compile_later(r"\D")
_HANGUL = compile_later(f"[{HANGUL}]")
_PARTICLES = compile_later(rf"(?<=[a-z0-9])[{HANGUL}]+$", re.IGNORECASE)
"""Hangul written directly after an identifier."""

Why = Literal["word", "alias"]


class Mentioned(NamedTuple):
    """A memory, and its text that mentions the query: the face, or another wording (`alias`).

    `candidate_id` is the candidate with the text; None if the text is composed.
    """

    memory: Memory
    why: Why
    text: str
    candidate_id: str | None


def identifiers(question: str) -> list[str]:
    """The identifiers among the words of a question."""
    words = (_PARTICLES.sub("", word) for word in UNSPACED.sub(" ", question).split())
    return [*islice(filter(_IDENTIFIER.search, dict.fromkeys(words)), MOST_IDENTIFIERS)]


def mentions(query: str, text: str) -> bool:
    """Whether a text mentions a query as whole words, including inflected ones."""
    base = _base_forms(query)
    if stands_in(query, text) and (base is None or not cuts_words(query, text, _morphemes(text))):
        return True
    words = tuple(word.base for word in _morphemes(text)) if base else ()
    return bool(base and _contains(words, base))


@lru_cache(maxsize=256)
def _base_forms(query: str) -> tuple[str, ...] | None:
    """The words of a query, if all are in their dictionary form.

    Empty if the query is only sought as it is written: because a word is inflected, so that it may
    be a name, or because all are in Han, where words do not inflect. None for another script, or
    without the extra.
    """
    query = plain(query)
    if CJK.search(query) is None or not are_installed():
        return None
    if not (has_kana(query) or _HANGUL.search(query)):
        return ()
    words = list(morphemes_of(query))
    return tuple(word.base for word in words) if all(word.as_written for word in words) else ()


@lru_cache(maxsize=4096)
def _morphemes(text: str) -> tuple[Morpheme, ...]:
    return tuple(morphemes_of(text))


def _contains(words: tuple[str, ...], needle: tuple[str, ...]) -> bool:
    size = len(needle)
    return any(words[at : at + size] == needle for at in range(len(words) - size + 1))


class _BaseForms:
    """The rows of a scope, by the dictionary forms of the words in their texts."""

    def __init__(self) -> None:
        self._seen = 0
        self._rows: dict[str, list[Distinct]] = {}

    def containing(self, scope: Scope, words: tuple[str, ...]) -> Iterator[Distinct]:
        """The rows that have all of these words, by arrival; needs at least one word."""
        for row in scope.rows[self._seen :]:
            text = row.members[0].text
            if CJK.search(text) is not None:
                for word in {word.base for word in morphemes_of(text)}:
                    self._rows.setdefault(word, []).append(row)
        self._seen = len(scope.rows)
        rarest, *others = sorted((self._rows.get(word, []) for word in words), key=len)
        found = [set(map(id, rows)) for rows in others]
        return (row for row in rarest if all(id(row) in rows for rows in found))


class MentionIndex:
    """The texts of a ledger in canonical form; it indexes new ones at the next query."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._texts: dict[str, tuple[list[str], list[str]]] = {}
        self._base_forms: defaultdict[str, _BaseForms] = defaultdict(_BaseForms)

    def find(self, query: str, namespace: str | None = None) -> list[Mentioned]:
        """The living memories that mention a query, by arrival; matches in the face come first."""
        found: dict[str, Mentioned] = {}
        for memory in self._composed():
            text = memory.text
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

        The first rank is 0. An identifier weighs more the fewer texts contain it, and nothing if
        many do; memories of equal weight have the same rank. Plain words are left to the search by
        meaning: with them, 10 of 24 questions had the right memory first, instead of 14.
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
        base, needles = _base_forms(query), _needles(query)
        for scope in self.ledger.scopes.values():
            if namespace in (None, scope.namespace):
                rows = self._containing(scope, *needles)
                if base:
                    inflected = self._base_forms[scope.namespace].containing(scope, base)
                    rows = iter({id(row): row for row in chain(rows, inflected)}.values())
                yield from _mentioning(query, rows)

    def _containing(
        self, scope: Scope, letters: list[str], digits: list[str]
    ) -> Iterator[Distinct]:
        """The texts of a scope that contain all of these; no text if nothing is asked for."""
        plain, numbers = self._texts.setdefault(scope.namespace, ([], []))
        for row in scope.rows[len(plain) :]:
            plain.append(_undotted(canonical(row.members[0].text)))
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

    For an address or a link, this is only the part that canonical forms leave unchanged.
    """
    parts = asked_of(query).parts
    digits = [_NO_DIGITS.sub("", part) for part in parts if part[-1:].isdigit()]
    letters = [part.partition("@")[2] or part for part in parts if not part[-1:].isdigit()]
    return [*map(_undotted, letters)], [digit for digit in digits if digit]


def _undotted(text: str) -> str:
    """A canonical text with i in place of ı, because a capital I may stand for either."""
    return text if text.isascii() else text.replace("ı", "i")


def _mentioned(memory: Memory, entry: Entry, query: str) -> Mentioned:
    face = memory.face
    if face.speaker is entry and face.composition is None:
        return Mentioned(memory, "word", entry.text, entry.id)
    if face.composition is None and mentions(query, face.text):
        return Mentioned(memory, "word", face.text, face.speaker.id)
    return Mentioned(memory, "alias", entry.text, entry.id)
