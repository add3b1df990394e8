"""Separations: statements about pairs, and memories that were split (docs/design.md).

The latest statement of the highest rank holds. Nothing automatic unites a separated pair.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import chain
from operator import attrgetter

from palimpsest.contracts.events import RANKS, Composition, Rank
from palimpsest.streams.core.ledger import Edge, Entry, Ledger, Memory, SplitMemory, Statement


def state(ledger: Ledger, a: str, b: str, statement: Statement) -> None:
    """Add a statement about a pair to the earlier ones."""
    stated = ledger.statements.setdefault(a, {}).setdefault(b, [])
    ledger.statements.setdefault(b, {})[a] = stated
    stated.append(statement)


def withdraw(ledger: Ledger, a: str, b: str, event_id: str) -> None:
    """Withdraw an event's statement about a pair, so that earlier statements hold again.

    If the event is a join, this includes the statement made by reinstating it.
    """
    for statement in ledger.statements.get(a, {}).get(b, ()):
        if event_id in (statement.event_id, statement.back):
            statement.withdrawn = True


def statement_on(ledger: Ledger, a: str, b: str, *, without: str | None = None) -> Statement | None:
    """The explicit statement about a pair that holds; None if there is none.

    `without` ignores an event's statement, and the statement made by reinstating its join.
    """
    holds: Statement | None = None
    for statement in ledger.statements.get(a, {}).get(b, ()):
        if statement.withdrawn or (
            without is not None and without in (statement.event_id, statement.back)
        ):
            continue
        if statement.text is not None and not text_stands(ledger, statement.text):
            continue
        if holds is None or RANKS[statement.rank] >= RANKS[holds.rank]:
            holds = statement
    return holds


def agreed(ledger: Ledger, edge: Edge) -> Statement | None:
    """The statement that a join's pair is the same, unless it only takes a reversal back."""
    stated = statement_on(ledger, edge.newer.id, edge.older.id)
    if stated is None or stated.separated or stated.only_takes_back:
        return None
    return stated


def separation(
    ledger: Ledger, a: Entry, b: Entry, *, without: str | None = None
) -> Statement | None:
    """The standing separation of two candidates, by a statement or by a split memory."""
    stated = statement_on(ledger, a.id, b.id, without=without)
    if stated is not None and stated.separated:
        return stated
    if a.apart and b.apart and a.distinct.said != b.distinct.said:
        for word in a.apart:
            if word in b.apart and (stated is None or stated.order < word.order):
                return Statement(word.cause, word.order, True, word.rank)
    return None


def separated_pair(ledger: Ledger, a: Memory, b: Memory) -> tuple[Entry, Entry] | None:
    """A pair of separated candidates, one in each memory, if there is one."""
    return next(separated_pairs(ledger, a, b), None)


def separated_pairs(ledger: Ledger, a: Memory, b: Memory) -> Iterator[tuple[Entry, Entry]]:
    """Every pair of separated candidates, one in each of two memories."""
    yield from stated_pairs(ledger, a, b)
    small, big = by_size(a, b)
    if small.divided and big.divided:
        place = attrgetter("place")
        yield from _apart(ledger, sorted(small.divided, key=place), sorted(big.divided, key=place))


def stated_pairs(ledger: Ledger, a: Memory, b: Memory) -> Iterator[tuple[Entry, Entry]]:
    """The pairs, one in each of two memories, that a statement separates."""
    small, big = by_size(a, b)
    for entry in small.members:
        for other_id in ledger.statements.get(entry.id, ()):
            other = ledger.entries[other_id]
            stated = statement_on(ledger, entry.id, other_id) if other.memory is big else None
            if stated is not None and stated.separated:
                yield entry, other


def is_separated_beside(ledger: Ledger, edge: Edge) -> bool:
    """Whether a pair between the two memories of a join, other than its own, is separated."""
    a, b = edge.older.memory, edge.newer.memory
    if a is b:
        return False
    small, big = by_size(a, b)
    apart = _apart(ledger, small.divided or (), big.divided or ())
    pairs = chain(stated_pairs(ledger, a, b), apart)
    return any({*pair} != {edge.older, edge.newer} for pair in pairs)


def by_size(a: Memory, b: Memory) -> tuple[Memory, Memory]:
    """The smaller memory first; pairs are searched from there."""
    return (a, b) if len(a.members) <= len(b.members) else (b, a)


def _apart(
    ledger: Ledger, ones: Collection[Entry], others: Collection[Entry]
) -> Iterator[tuple[Entry, Entry]]:
    """The pairs separated not by a statement, but by a request that split a memory."""
    for entry in ones:
        for other in others:
            stated = statement_on(ledger, entry.id, other.id)
            if not (stated and stated.separated) and separation(ledger, entry, other):
                yield entry, other


def text_stands(ledger: Ledger, text_id: str) -> bool:
    """Whether a composed text may still speak: its join stands and its sources share a memory."""
    found = composed(ledger, text_id)
    if found is None or not found[0].standing:
        return False
    memory = found[0].newer.memory
    return all(ledger.entries[source].memory is memory for source in found[1].sources)


def composed(ledger: Ledger, text_id: str) -> tuple[Edge, Composition] | None:
    """A composed text and its join; if that was reversed, the join that has had it since."""
    edge = ledger.composed_by.get(text_id)
    while edge is not None and not edge.standing and text_id in ledger.recomposed:
        text_id = ledger.recomposed[text_id]
        edge = ledger.composed_by[text_id]
    return None if edge is None else (edge, edge.texts[text_id])


def same_text(ledger: Ledger, text: Composition) -> str | None:
    """The event that brought the same text from the same sources; one that stands, if any does."""
    of_it = (text.content.hash, text.sources)
    found: str | None = None
    for text_id, edge in ledger.composed_by.items():
        standing = edge.texts[text_id]
        if (standing.content.hash, standing.sources) == of_it:
            if text_stands(ledger, text_id):
                return text_id
            found = found or text_id
    return found


def take_apart(ledger: Ledger, edge: Edge, cause: str, rank: Rank) -> SplitMemory:
    """Record that a request is about to take this join out of its memory.

    All candidates whose joins one request takes out of a memory are separated from one another.
    """
    memory = edge.newer.memory
    apart = memory.apart
    if apart is None or apart.cause != cause:
        apart = memory.apart = SplitMemory(cause, rank)
    apart.order = ledger.seen
    for entry in (edge.newer, edge.older):
        if apart.ends[entry.id] == 0:
            entry.apart += (apart,)
            memory.divided = memory.divided or set()
            memory.divided.add(entry)
        apart.ends[entry.id] += 1
    return apart


def put_back(edge: Edge, apart: SplitMemory) -> None:
    """Remove a join from a split memory, because its reversal was taken back."""
    for entry in (edge.newer, edge.older):
        apart.ends[entry.id] -= 1
        if apart.ends[entry.id] == 0:
            entry.apart = tuple(other for other in entry.apart if other is not apart)
            if not entry.apart and entry.memory.divided:
                entry.memory.divided.discard(entry)
