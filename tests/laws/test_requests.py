"""Laws over histories of requests: L16, and an oracle that shares no code with the product."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from sqlite3 import IntegrityError
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest.contracts.answers import Answer
from palimpsest.contracts.requests import AnyRequest
from palimpsest.streams.write import answered
from palimpsest.streams.write import serve as requests
from palimpsest.streams.write.commit import Answered
from palimpsest.streams.write.writer import Writer
from tests.laws.asking import KINDS, Story

Patch = Callable[[pytest.MonkeyPatch], None]
STEPS = 60
DRAWN = max(20, settings().max_examples // 10)
SAME = range(12)
"""Stories that are the same on every run: what they are made of is asserted."""


def played(seed: int, steps: int = STEPS) -> Counter[str]:
    """What happened in a story in which no law was broken."""
    with TemporaryDirectory() as folder:
        story = Story(Path(folder), seed)
        story.play(steps)
        return story.happened


def all_played() -> Counter[str]:
    """What happened in all of the stories that are always the same."""
    return sum((played(seed) for seed in SAME), Counter())


@settings(max_examples=DRAWN)
@given(seed=st.integers(min_value=1_000))
def test_a_request_means_one_thing_once_and_a_text_lives_once(seed: int) -> None:
    played(seed)


def test_the_stories_have_everything_that_they_should() -> None:
    happened = all_played()
    for kind in KINDS:
        assert happened[f"{kind} done"] + happened[f"{kind} refused"] > 0, kind
    least = {
        "again done": 40,
        "again refused": 8,
        "other": 30,
        "say decided": 200,
        "say invalid": 1,
        "restart": 4,
        "move": 4,
        "set_policy done": 8,
        "forget done": 5,
        "restore done": 5,
    }
    assert {name: happened[name] for name, count in least.items() if happened[name] < count} == {}


def forgets_answers(patch: pytest.MonkeyPatch) -> None:
    """The writer executes what comes again."""
    patch.setattr(requests, "earlier_answer", lambda _writer, _request: None)


def ignores_what_is_asked(patch: pytest.MonkeyPatch) -> None:
    """The id alone counts."""
    patch.setattr(answered, "digest_of", lambda _request: "0" * 32)


def notes_nothing(patch: pytest.MonkeyPatch) -> None:
    """A request without an event is answered, and leaves none."""
    real = answered.record_answer

    def recorded(writer: Writer, request: AnyRequest, answer: Answer, start: int) -> None:
        if start < len(writer.pending.events):
            real(writer, request, answer, start)
        else:
            name = request.request_id
            writer.pending.answered[name] = Answered(answered.digest_of(request), answer)

    patch.setattr(requests, "record_answer", recorded)


@pytest.mark.parametrize("broken", [forgets_answers, ignores_what_is_asked, notes_nothing])
def test_a_break_is_noticed(broken: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch)
    with pytest.raises((AssertionError, IntegrityError)):
        all_played()
