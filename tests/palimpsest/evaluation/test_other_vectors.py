"""A history with the vectors of one model, even if they came after their texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.events import AnyEvent, Decided, Embedded
from palimpsest.evaluation.other_vectors import with_vectors_of
from palimpsest.streams.embedder import DEFAULT_MODEL
from tests.streams.write.test_vectors import LONG, NEAR, Plug, embed, rows_of, runtime


def events_around_an_outage(folder: Path) -> list[AnyEvent]:
    """A text that came while the model was down, its later vector, and a text with its own."""
    plug = Plug()
    with runtime(folder, plug) as one:
        one.submit(*rows_of(LONG))
        plug.plugged = True
        embed(one)
        one.submit(*rows_of(NEAR))
        return [each.event for each in one.log.of_owner("ann")]


def test_a_text_that_came_while_the_model_was_down_has_its_later_vector(tmp_path: Path) -> None:
    events = events_around_an_outage(tmp_path)
    late, at_once = (event for event in events if isinstance(event, Decided))
    [later] = (event.data.vector for event in events if isinstance(event, Embedded))
    assert late.data.content.vector is None
    found = with_vectors_of(DEFAULT_MODEL, events)
    assert [event.data.content.vector for event in found if isinstance(event, Decided)] == [
        later,
        at_once.data.content.vector,
    ]


def test_a_text_without_a_vector_of_the_model_is_refused(tmp_path: Path) -> None:
    events = events_around_an_outage(tmp_path)
    with pytest.raises(
        UsageError, match="an owner has 2 texts without a recorded vector of another"
    ):
        with_vectors_of("another", events)
