"""Recall by words: for texts without a vector, and for questions while the model is down."""

from __future__ import annotations

from palimpsest.projections.recall import DECIMALS, Recalled, shown_memory
from palimpsest.projections.sessions import own_of
from palimpsest.projections.wordings import Weighing
from palimpsest.streams.core.ledger import Entry, Ledger, Memory
from palimpsest.streams.guard import tokens


def recall_by_words(
    ledger: Ledger,
    question: str,
    k: int,
    namespace: str | None = None,
    session_id: str | None = None,
    weighing: Weighing | None = None,
    *,
    unembedded: bool = False,
) -> list[Recalled]:
    """The `k` living memories with most words of a question in one text; ties to the older memory.

    The score is the share of the question's content words, each counted once. `unembedded`: only
    by texts that have no vector. Memories that only the session said are left out, as by meaning.
    """
    wanted = frozenset(one for one in tokens(question) if any(map(str.isalnum, one)))
    own = own_of(ledger, session_id) if session_id is not None else set()
    scored = [
        (_score(memory, wanted, unembedded), memory)
        for memory in ledger.memories()
        if memory.living and namespace in (None, memory.namespace) and memory.id not in own
    ]
    found = [
        (score, memory)
        for score, memory in scored
        if score > 0.0 and (weighing is None or weighing.keeps(memory))
    ]
    found.sort(key=lambda one: -one[0])
    return [shown_memory(memory, score, weighing) for score, memory in found[:k]]


def _score(memory: Memory, wanted: frozenset[str], unembedded: bool) -> float:
    texts = {entry.text for entry in memory.members if _is_searched(entry, unembedded)}
    if texts and not unembedded:
        texts.add(memory.face.text)
    shares = (len(wanted & tokens(text)) / len(wanted) for text in texts if wanted)
    return round(max(shares, default=0.0), DECIMALS)


def _is_searched(entry: Entry, unembedded: bool) -> bool:
    return entry.living and not (unembedded and entry.distinct.vector is not None)
