"""Hides forgotten texts from agents, wherever an answer has them."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from palimpsest.contracts.shown import Happened, History
from palimpsest.streams.core.ledger import Ledger

Answer = TypeVar("Answer")

TEXTS = frozenset(
    "assertion because face joined_text newer_text older_text one_text other_text reasoning text"
    " words".split()
)
"""Fields of answers that hold a text, or what somebody wrote about one.

All other fields hold words of the store, ids and names, which may be equal to a forgotten text.
"""


def forgotten_texts(ledger: Ledger) -> set[str]:
    """Forgotten texts that no living memory has, composed texts included."""
    entries = ledger.entries.values()
    gone = [entry for entry in entries if entry.forgotten is not None and not entry.living]
    if not gone:
        return set()
    texts = {entry.text for entry in gone} | {
        text.content.text
        for edge in ledger.edges.values()
        for text in edge.texts.values()
        if any(ledger.entries[source].forgotten for source in text.sources)
    }
    living = {entry.text for entry in entries if entry.living}
    return texts - living - {entry.memory.text for entry in entries if entry.living}


def without(answer: Answer, texts: set[str]) -> Answer:
    """The answer with "" instead of these texts, in the fields that hold texts."""
    return cast("Answer", _without(answer, texts, "")) if texts else answer


def without_texts(history: History) -> History:
    """The history of a hidden memory for an agent: what happened, without texts or reasonings."""
    texts = ("text", "face", "reasoning")
    events = [{k: v for k, v in event.items() if k not in texts} for event in history["events"]]
    return {**history, "face": "", "events": cast("list[Happened]", events)}


def _without(value: Any, texts: set[str], field: str) -> Any:
    match value:
        case str():
            return "" if field in TEXTS and value in texts else value
        case dict() if field != "metadata":
            return {key: _without(inner, texts, key) for key, inner in value.items()}
        case list() | tuple():
            return [_without(inner, texts, field) for inner in value]
        case _:
            return value
