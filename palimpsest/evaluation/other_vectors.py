"""An owner's history with one model's recorded vectors, even if another was in force."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import structs

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.events import (
    AnyEvent,
    Composition,
    Content,
    Decided,
    Embedded,
    PolicySet,
    Vector,
)


def with_vectors_of(model: str, events: Sequence[AnyEvent]) -> list[AnyEvent]:
    """The events as if every text had had its vector of this model when it came.

    UsageError if a text has none: `palimpsest embed --model` records them.
    """
    texts: dict[str, str] = {}
    vectors: dict[str, Vector] = {}
    for event in events:
        for key, content in contents(event):
            texts[key] = content.text
            _note(vectors, model, content.text, content.vector)
        if isinstance(event, Embedded):
            text = texts[event.data.text_id or event.data.candidate_id]
            _note(vectors, model, text, event.data.vector)
    needed = {c.text for event in events for _, c in contents(event) if c.vector is not None}
    if missing := len(needed - vectors.keys()):
        raise UsageError(
            f"{missing:,} texts of an owner have no recorded vector of {model}: run"
            f" `palimpsest embed --model {model}` first"
        )
    kept = (event for event in events if not isinstance(event, Embedded | PolicySet))
    return [_with(event, vectors) for event in kept]


def contents(event: AnyEvent) -> Iterator[tuple[str, Content]]:
    """The texts that an event brings: a candidate's and a composed one, each with its id."""
    if isinstance(event, Decided):
        yield event.subject, event.data.content
    composition = getattr(event.data, "composition", None)
    if isinstance(composition, Composition):
        yield event.id, composition.content


def _note(vectors: dict[str, Vector], model: str, text: str, vector: Vector | None) -> None:
    if vector is not None and vector.model == model:
        vectors[text] = vector


def _with(event: AnyEvent, vectors: dict[str, Vector]) -> AnyEvent:
    changed: dict[str, Any] = {}
    if isinstance(event, Decided):
        changed["content"] = _renewed(event.data.content, vectors)
    composition = getattr(event.data, "composition", None)
    if isinstance(composition, Composition):
        content = _renewed(composition.content, vectors)
        changed["composition"] = structs.replace(composition, content=content)
    if not changed:
        return event
    data: Any = structs.replace(event.data, **changed)
    return structs.replace(event, data=data)


def _renewed(content: Content, vectors: dict[str, Vector]) -> Content:
    """A text with its vector of the model, even if it had none before; a repeat has none."""
    if content.vector is None:
        return content
    return structs.replace(content, vector=vectors[content.text])
