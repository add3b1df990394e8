"""The joins of a policy whose every rule asks the guard, for which few texts need vectors.

The guard finds two texts near-identical only if everything that no edit changes is equal in both
(`fixed` and `layout` of their readings: `guard.edits.alignment.explain` compares these first).
Texts that are equal in these parts form a block, and only texts of the same block are compared: no
pair that could join is missed. Only the few pairs that pass the guard need vectors. They are
decided on as in `core.checks`, but their cosine need not be among the `top` highest of the scope
(docs/decisions/0030).
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from palimpsest.cleaning.texts import RowJoin, Texts
from palimpsest.cleaning.vectors import TextVectors
from palimpsest.contracts.counting import counted
from palimpsest.contracts.policy import CosineCheck, Policy, SessionCheck, TokenCheck
from palimpsest.streams.embedder import Embedding, Progress
from palimpsest.streams.guard import Reading, kept_reading, passes, read, tables_of, tokens
from palimpsest.streams.search import SearchHit, TokenIndex
from palimpsest.streams.search.exact import cosine, covered

_EACH = 2_000
"""Texts between two reports of progress."""


def decides_by_words(policy: Policy) -> bool:
    """Whether each join of a policy needs the guard, so that blocks contain all pairs that join.

    Rows have no session, so the check of sessions joins nothing.
    """
    waits = policy.judge.enabled or policy.judge.unavailable == "keep"
    plain = policy.search == "candidates" and policy.exact == "verbatim" and waits
    return plain and all(map(_is_guarded, policy.active))


def _is_guarded(check: object) -> bool:
    match check:
        case TokenCheck():
            words = check.tokenizer == "words" and check.among == "scope"
            return check.guard and words and check.threshold > 0
        case CosineCheck():
            return all(zone.guard or zone.action == "pending" for zone in check.zones_of(""))
        case SessionCheck():
            return True
        case _:
            return False


class Partner(NamedTuple):
    """An earlier text that a text could join, with the decision and the score."""

    text: int
    decision: str
    score: float


def block_of(reading: Reading) -> bytes:
    """A digest of everything that no edit changes in a text."""
    said = repr((sorted(reading.fixed), reading.layout))
    return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@dataclass(slots=True)
class _Near:
    """The texts near-identical to a text, before unknown words are considered.

    `by_tokens` has the scores of those that the token check compares, best first.
    """

    text: int
    others: list[int]
    by_tokens: list[tuple[int, float]] = field(default_factory=list)


def join_by_rule(
    texts: Texts, policy: Policy, vectors: TextVectors, progress: Progress
) -> list[list[RowJoin]]:
    """The possible joins of each text to earlier ones, in the policy's order.

    Each join is between the rows in which the two texts appear first.
    """
    near = _near_identical(texts, policy, progress)
    near.sort(key=lambda one: texts.first[one.text])
    vectors.prepare(number for one in near for number in (one.text, *one.others))
    first = texts.first
    found = [
        [
            RowJoin(first[one.text], first[partner.text], partner.decision, partner.score)
            for partner in _partners(one, texts.texts, policy, vectors)
        ]
        for one in near
    ]
    return [joins for joins in found if joins]


def _near_identical(texts: Texts, policy: Policy, progress: Progress) -> list[_Near]:
    found: list[_Near] = []
    done = 0
    for numbers in texts.scopes.values():
        earlier = _EarlierTexts(texts.texts, policy)
        for number in numbers:
            if done % _EACH == 0:
                progress(f"comparing {counted(len(texts.texts), 'text')}", done / len(texts.texts))
            done += 1
            near = earlier.near_identical(number)
            if near.others:
                found.append(near)
    return found


class _EarlierTexts:
    """The texts of a scope that were compared so far, by number."""

    def __init__(self, texts: Sequence[str], policy: Policy) -> None:
        self._texts, self._model = texts, policy.model
        self._tables = tables_of(policy.languages)
        self._blocks: dict[bytes, list[int]] = defaultdict(list)
        checks = (check for check in policy.active if isinstance(check, TokenCheck))
        self._check = next(checks, None)
        self._index = TokenIndex()
        self._indexed: list[int] = []
        """The text of each row of the index."""

    def near_identical(self, number: int) -> _Near:
        """The texts near-identical to the next one, which is then added."""
        text = self._texts[number]
        block = self._blocks[block_of(read(text, tables=self._tables))]
        others: list[int] = []
        if block:
            reading = self._reading(number)
            others = [other for other in block if passes(self._reading(other), reading)]
        block.append(number)
        return _Near(number, others, self._by_tokens(number, others))

    def _by_tokens(self, number: int, others: Sequence[int]) -> list[tuple[int, float]]:
        """Those of the others that the token check compares; the text is added to the index."""
        if self._check is None:
            return []
        words = tokens(self._texts[number])
        hits: list[SearchHit] = []
        if others:
            hits = self._index.above(words, self._check.threshold, limit=self._check.top)
        scored = [(self._indexed[hit.row], hit.score) for hit in hits]
        self._index.append(words)
        self._indexed.append(number)
        return [(other, score) for other, score in scored if other in others]

    def _reading(self, number: int) -> Reading:
        return kept_reading(self._texts[number], model=self._model, tables=self._tables)


def _partners(
    near: _Near, texts: Sequence[str], policy: Policy, vectors: TextVectors
) -> list[Partner]:
    mine = _reading(texts[near.text], vectors[near.text], policy)
    others = [
        other
        for other in near.others
        if passes(_reading(texts[other], vectors[other], policy), mine)
    ]
    found: dict[int, Partner] = {}
    for check in policy.active:
        match check:
            case TokenCheck():
                more = [
                    Partner(other, "token_reject", score)
                    for other, score in near.by_tokens
                    if other in others and (score > check.threshold or not check.exclusive)
                ]
            case CosineCheck() if len(texts[near.text]) >= check.min_characters:
                more = _by_cosine(check, vectors[near.text], others, vectors)
            case _:
                more = []
        for partner in more:
            found.setdefault(partner.text, partner)
    return [*found.values()]


def _by_cosine(
    check: CosineCheck, mine: Embedding, others: Sequence[int], vectors: TextVectors
) -> list[Partner]:
    """The texts that the check would join, nearest first; ties go to the earliest."""
    scored = sorted((-cosine(vectors[n].vector, mine.vector), n) for n in others)
    zones = check.zones_of("")
    found = []
    for negative, number in scored:
        score = -negative
        zone = next((zone for zone in zones if score >= zone.at_least), None)
        floor = check.near_identical
        if zone is not None and zone.action != "pending":
            floor = zone.at_least
        if floor is not None and score >= floor and _covers(mine, vectors[number], floor):
            action = zone.action if zone is not None else "pending"
            decision = "auto_reject" if action == "pending" else action
            found.append(Partner(number, decision, score))
    return found


def _covers(one: Embedding, other: Embedding, at_least: float) -> bool:
    """Whether each window of two texts has its counterpart, as `NeighbourLookup` asks."""
    if not (one.truncated or other.truncated):
        return True
    return covered(_windows(one), _windows(other)) >= at_least


def _windows(one: Embedding) -> NDArray[np.float16]:
    rows = [one.vector[None]] if one.windows is None else [one.vector[None], one.windows]
    return np.concatenate(rows)


def _reading(text: str, embedding: Embedding, policy: Policy) -> Reading:
    cut = embedding.truncated and embedding.windows is None
    return kept_reading(
        text,
        truncated=cut,
        unknown=embedding.unknown,
        model=policy.model,
        tables=tables_of(policy.languages),
    )
