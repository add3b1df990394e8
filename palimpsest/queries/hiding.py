"""Hides forgotten texts from agents, wherever an answer has them."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from palimpsest.streams.core.ledger import Ledger

Answer = TypeVar("Answer")


def forgotten_texts(ledger: Ledger) -> set[str]:
    """Forgotten texts that no living memory has, composed texts included."""
    entries = ledger.entries.values()
    gone = [one for one in entries if one.forgotten is not None and not one.living]
    if not gone:
        return set()
    texts = {one.text for one in gone} | {
        text.content.text
        for edge in ledger.edges.values()
        for text in edge.texts.values()
        if any(ledger.entries[source].forgotten for source in text.sources)
    }
    living = {one.text for one in entries if one.living}
    return texts - living - {one.memory.face.text for one in entries if one.living}


def without(answer: Answer, texts: set[str]) -> Answer:
    """The answer with these texts replaced by ""."""
    return cast("Answer", _without(answer, texts)) if texts else answer


def _without(value: Any, texts: set[str]) -> Any:
    match value:
        case str():
            return "" if value in texts else value
        case dict():
            return {key: _without(one, texts) for key, one in value.items()}
        case list() | tuple():
            return [_without(one, texts) for one in value]
        case _:
            return value
