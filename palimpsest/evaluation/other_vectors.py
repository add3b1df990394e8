"""An owner's history with one model's recorded vectors, even if another was in force."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import structs

from palimpsest.contracts.counting import counted
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
    """The events as if every text had come with its vector of this model.

    Events that set a policy or add a vector are left out. Raises UsageError if a text has vectors
    of other models only; a text without any keeps none.
    """
    recorded = [*_recorded(events)]
    vectors = {text: vector for text, vector in recorded if vector.model == model}
    if missing := {text for text, _ in recorded} - vectors.keys():
        raise UsageError(
            f"an owner has {counted(len(missing), 'text')} without a recorded vector of {model}:"
            f" run `palimpsest embed --model {model}` first"
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


def _recorded(events: Sequence[AnyEvent]) -> Iterator[tuple[str, Vector]]:
    """Each recorded vector with its text."""
    texts: dict[str, str] = {}
    for event in events:
        for key, content in contents(event):
            texts[key] = content.text
            if content.vector is not None:
                yield content.text, content.vector
        if isinstance(event, Embedded):
            yield texts[event.data.text_id or event.data.candidate_id], event.data.vector


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
    return structs.replace(content, vector=vectors.get(content.text))
