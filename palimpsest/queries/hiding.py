"""Hides forgotten texts from agents, wherever an answer has them."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from palimpsest.streams.core.ledger import Ledger

Answer = TypeVar("Answer")


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
    """The answer with these texts replaced by ""."""
    return cast("Answer", _without(answer, texts)) if texts else answer


def _without(value: Any, texts: set[str]) -> Any:
    match value:
        case str():
            return "" if value in texts else value
        case dict():
            return {key: _without(inner, texts) for key, inner in value.items()}
        case list() | tuple():
            return [_without(inner, texts) for inner in value]
        case _:
            return value
