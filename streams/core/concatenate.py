"""Concatenated texts, which are recomposed when a source leaves. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from palimpsest.contracts.candidate import MAX_TEXT_BYTES
from palimpsest.contracts.events import Composition
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.core.moment import by_moment
from palimpsest.streams.core.settle import usable
from palimpsest.streams.core.text import content_of

ENDS = (".", "!", "?", "…", "。", "！", "？")
"""Marks that end a sentence; after them no full stop is added."""


class Recomposition(NamedTuple):
    """A text to recompose: its join, and the candidates that it is made of, oldest first."""

    decision_id: str
    text: str
    sources: tuple[str, ...]


def one_after_the_other(texts: Sequence[str]) -> str:
    """Join several texts into one, "A. B", with a full stop between them unless one is there."""
    *before, last = (text.strip() for text in texts)
    return " ".join([*(text if text.endswith(ENDS) else f"{text}." for text in before), last])


def concatenated(
    ledger: Ledger, namespace: str, text: str, sources: tuple[str, ...]
) -> Composition | None:
    """The text with its sources; None if it is too long, or another memory has it already."""
    content = content_of(text)
    made = Composition(content=content, sources=sources)
    fits = len(text.encode()) <= MAX_TEXT_BYTES
    return made if fits and usable(ledger, made, namespace) else None


def recompositions(ledger: Ledger) -> Iterator[Recomposition]:
    """The concatenated texts that lost a source, made again from the sources that are left.

    Texts that cannot be kept are left out. No judge is asked: the same rule makes them again.
    """
    for decision_id, lost in list(ledger.composing.items()):
        edge = ledger.edges[decision_id]
        if edge.decision != "concatenated":
            continue
        left = sorted((ledger.entries[source] for source in lost.sources), key=by_moment)
        text = one_after_the_other([entry.text for entry in left])
        sources = tuple(entry.id for entry in left)
        if concatenated(ledger, edge.newer.fields.namespace, text, sources):
            yield Recomposition(decision_id, text, sources)
