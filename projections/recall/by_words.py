"""Recall by words: for texts without a vector, and for queries while the model is down."""

from __future__ import annotations

from palimpsest.projections.recall.from_ledger import DECIMALS
from palimpsest.projections.recall.hits import Ranked, in_order
from palimpsest.streams.core.ledger import Entry, Ledger, Memory
from palimpsest.streams.guard import tokens


def ranked_by_words(ledger: Ledger, question: str, *, unembedded: bool = False) -> list[Ranked]:
    """The living memories with a word of a question, those with most of them in one text first.

    The score is the share of the question's content words, each counted once; ties go to the older
    memory. `unembedded`: match only texts without a vector.
    """
    wanted = frozenset(token for token in tokens(question) if any(map(str.isalnum, token)))
    scored = [
        Ranked(memory, _score(memory, wanted, unembedded))
        for memory in ledger.memories()
        if memory.living
    ]
    return sorted((ranked for ranked in scored if ranked.score > 0.0), key=in_order)


def _score(memory: Memory, wanted: frozenset[str], unembedded: bool) -> float:
    texts = {entry.text for entry in memory.members if _is_searched(entry, unembedded)}
    if texts and not unembedded:
        texts.add(memory.face.text)
    shares = (len(wanted & tokens(text)) / len(wanted) for text in texts if wanted)
    return round(max(shares, default=0.0), DECIMALS)


def _is_searched(entry: Entry, unembedded: bool) -> bool:
    return entry.living and not (unembedded and entry.distinct.vector is not None)
