"""Laws over histories of requests: L16, and an oracle that shares no code with the product."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from sqlite3 import IntegrityError
from tempfile import TemporaryDirectory
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest.contracts.answers import Answer
from palimpsest.contracts.requests import AnyRequest
from palimpsest.streams.core import expand, expiry
from palimpsest.streams.write import answered, serve
from palimpsest.streams.write import writer as write
from palimpsest.streams.write.commit import DigestedAnswer
from palimpsest.streams.write.writer import Writer
from tests.laws import doors
from tests.laws.asking import KINDS, LOOKS, UNRECORDED, Story
from tests.long import elsewhere

Patch = Callable[[pytest.MonkeyPatch], None]
STEPS = 60
DRAWN = max(20, elsewhere() // 10)
SAME = range(24)
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


def test_the_stories_know_every_request() -> None:
    """One that is missing there would be under no law, and nobody would notice."""
    kinds = {
        name: kind
        for kind in get_args(get_args(AnyRequest)[0])
        for name in get_args(kind.model_fields["request"].annotation)
    }
    assert KINDS.keys() | UNRECORDED == kinds.keys()
    assert {*LOOKS} == {name for name, kind in kinds.items() if "dry_run" in kind.model_fields}


@pytest.mark.long
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
        "embedded": 4,
        "partition": 3,
        "killed": 8,
        "look done": 8,
        "look refused": 2,
        "submit": 8,
        "submit again": 5,
        "together": 10,
        "say forgotten": 1,
        "composed of three": 1,
        "set_policy done": 5,
        "forget done": 5,
        "restore done": 5,
        "set_expiry done": 5,
        "set_expiry refused": 2,
        "set_names done": 5,
        "expired": 5,
    }
    assert {name: happened[name] for name, count in least.items() if happened[name] < count} == {}


def forgets_answers(patch: pytest.MonkeyPatch) -> None:
    """The writer executes what comes again."""
    patch.setattr(serve, "earlier_answer", lambda _writer, _request: None)


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
            writer.pending.answered[name] = DigestedAnswer(answered.digest_of(request), answer)

    patch.setattr(serve, "record_answer", recorded)


def counts_who_asks(patch: pytest.MonkeyPatch) -> None:
    """The same request of another actor is another one."""
    patch.setattr(answered, "NOT_ASKED", {"request_id"})


def records_looks(patch: pytest.MonkeyPatch) -> None:
    """A dry run is recorded, and has its id from then on."""
    patch.setattr(answered, "is_dry_run", lambda _request: False)


def forgets_submissions(patch: pytest.MonkeyPatch) -> None:
    """Rows under a key are decided on whenever they come."""
    patch.setattr(write, "earlier_outcomes", lambda _writer, _submission: None)


def leaves_out_what_was_done_before(patch: pytest.MonkeyPatch) -> None:
    """A bulk request that was cut short names what it did in the end."""
    patch.setattr(expand, "_done", lambda _ledger, _request, _target: False)


def skips_the_catching_up(patch: pytest.MonkeyPatch) -> None:
    """A worker decides on what its replica had before it died."""
    patch.setattr(doors, "take_over", lambda _logs, _records, _identity: None)


def lets_nothing_expire(patch: pytest.MonkeyPatch) -> None:
    """Nobody expires whose time comes later."""
    patch.setattr(expiry, "heappush", lambda _heap, _item: None)


@pytest.mark.parametrize(
    "broken",
    [
        forgets_answers,
        ignores_what_is_asked,
        notes_nothing,
        counts_who_asks,
        records_looks,
        forgets_submissions,
        leaves_out_what_was_done_before,
        skips_the_catching_up,
        lets_nothing_expire,
    ],
)
def test_a_break_is_noticed(broken: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch)
    with pytest.raises((AssertionError, IntegrityError)):
        all_played()
