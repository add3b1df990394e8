"""Aligns two texts token by token: the edits that lead from one to the other, if licensed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import takewhile

from palimpsest.streams.guard.edits.around import kind, low
from palimpsest.streams.guard.edits.edit import ADDED, FIGURES, Edit
from palimpsest.streams.guard.edits.moves import MOVE, without_front
from palimpsest.streams.guard.edits.table import EDITS
from palimpsest.streams.guard.reading import Reading
from palimpsest.streams.guard.text.tokeniser import CODE, NUMBER

MOST_EDITS = 32
"""Texts with more edits between them are not near-identical."""


def explain(one: Reading, other: Reading) -> tuple[Edit, ...] | None:
    """The edits that explain every difference of two texts, in order; None if no edits do.

    Takes time linear in the length of the texts: it first compares what no edit changes, which
    rules out most pairs, then skips equal tokens and follows chains of at most `MOST_EDITS` edits.
    """
    if one.text == other.text:
        return ()
    if one.fixed != other.fixed or one.layout != other.layout:
        return None
    found = _explained(one, other)
    if found is not None:
        return found
    for mine, theirs in ((without_front(one), other), (one, without_front(other))):
        if mine is not None and theirs is not None:
            found = _explained(mine, theirs)
            if found is not None:
                return (MOVE, *found)
    return None


def unlicensed(one: Reading, other: Reading) -> tuple[str, str] | None:
    """The words of each text that no edit explains; None if edits explain every difference.

    They begin where the attempt that gets furthest stops, and end before the texts' common ending.
    """
    if explain(one, other) is not None:
        return None
    i, j = max(_tried(one, other), key=sum)
    endings = zip(reversed(one.keys[i:]), reversed(other.keys[j:]), strict=False)
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], endings))
    ends = len(one.texts) - alike, len(other.texts) - alike
    return " ".join(one.texts[i : ends[0]]), " ".join(other.texts[j : ends[1]])


def _tried(one: Reading, other: Reading) -> set[tuple[int, int]]:
    """The places that edits lead to: the first differences after them."""
    seen: set[tuple[int, int]] = set()
    waiting = [(0, 0)]
    while waiting and len(seen) < MOST_EDITS * MOST_EDITS:
        i, j = waiting.pop()
        i, j = _past_equal(one.keys, i, other.keys, j)
        if (i, j) not in seen:
            seen.add((i, j))
            waiting += [(i + m, j + n) for _, m, n in _fitting(one, i, other, j)]
    return seen


def _explained(one: Reading, other: Reading) -> tuple[Edit, ...] | None:
    """Search depth first: at each first difference try every edit that fits, in both directions."""
    seen: set[tuple[int, int]] = set()
    waiting: list[tuple[int, int, tuple[Edit, ...]]] = [(0, 0, ())]
    while waiting:
        i, j, edits = waiting.pop()
        i, j = _past_equal(one.keys, i, other.keys, j)
        if i == len(one.keys) and j == len(other.keys):
            return edits
        if len(edits) == MOST_EDITS or (i, j) in seen:
            continue
        seen.add((i, j))
        waiting += [(i + m, j + n, (*edits, edit)) for edit, m, n in _fitting(one, i, other, j)][
            ::-1
        ]
    return None


def _past_equal(mine: tuple[str, ...], i: int, theirs: tuple[str, ...], j: int) -> tuple[int, int]:
    while i < len(mine) and j < len(theirs) and mine[i] == theirs[j]:
        i, j = i + 1, j + 1
    return i, j


def _fitting(one: Reading, i: int, other: Reading, j: int) -> Iterator[tuple[Edit, int, int]]:
    for edit in _beginning_with(*_starts(one, i), *_starts(other, j)):
        found = edit.match(one, i, other, j)
        if found is None:
            back = edit.match(other, j, one, i)
            found = (back[1], back[0]) if back else None
        if not found or not (edit.any_language or (one.is_english and other.is_english)):
            continue
        if _may(edit, one, i, found[0]) and _may(edit, other, j, found[1]):
            yield edit, *found


def _starts(text: Reading, at: int) -> tuple[str, ...]:
    """The words that an edit may begin with at a place: its word or sign, `FIGURES` or `ADDED`."""
    if kind(text, at) in (NUMBER, CODE):
        return (FIGURES,)
    word = low(text, at)
    return (word, ADDED) if word in text.tables.begin else (word,)


@lru_cache(maxsize=4096)
def _beginning_with(*words: str) -> tuple[Edit, ...]:
    """The edits that any of these words can begin, in the table's order."""
    return tuple(e for e in EDITS if not e.begins or not e.begins.isdisjoint(words))


def _may(edit: Edit, text: Reading, at: int, length: int) -> bool:
    """Whether an edit is allowed at a place.

    Most are not allowed in quotations, beside code, or in a text about how something is written.
    """
    if edit.in_code:
        return True
    if text.is_verbatim or not text.quoted.isdisjoint(range(at, at + max(length, 1))):
        return False
    return not (text.holds_code or _is_code(text, at - 1) or _is_code(text, at + length))


def _is_code(text: Reading, at: int) -> bool:
    return 0 <= at < len(text.kinds) and text.kinds[at] is CODE
