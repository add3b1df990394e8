"""What a text says is so now, and the statements of its clauses; for frames alone."""

from __future__ import annotations

import pytest

from palimpsest.streams.guard import (
    frame,
    kept_for_frames,
    kept_saying,
    kept_statements,
    said_of_owner,
)
from tests.tables import each

NAMES = ("Ada", "the user", "I")


@each(
    ("text", "said"),
    [
        ("I'm running the shop as of May.", "The user runs the shop."),
        ("I'm beginning a course.", "The user begins a course."),
        ("Ada is transferring to Leeds.", "The user transfers to Leeds."),
        ("Ada is travelling to Leeds.", "The user travels to Leeds."),
        ("Ada is visiting Leeds.", "The user visits Leeds."),
        ("These days, Ada plays chess.", "The user plays chess."),
        ("Ada has become a nurse.", "The user is a nurse."),
        ("My weight is down to 61 kg.", "The user's weight is 61 kg."),
        ("Ada moved to Leeds.", "The user lives in Leeds."),
        ("Ada moved to tears by a song left.", "The user moved to tears by a song left."),
        ("Ada is going to Leeds.", "The user is going to Leeds."),
        ("Ada became ill, and moved to Leeds.", "The user became ill, and moved to Leeds."),
        ("Bob moved to Leeds these days.", "Bob moved to Leeds these days."),
    ],
)
def test_a_change_is_read_as_what_it_led_to(text: str, said: str) -> None:
    assert said_of_owner(text, NAMES) == said


def test_what_is_said_of_the_owner_is_the_same_by_whatever_name() -> None:
    said = [
        kept_saying(text, NAMES)
        for text in (
            "I host the meetings in my cellar.",
            "Ada hosts the meetings in her cellar.",
            "The user hosts the meetings in their cellar.",
        )
    ]
    assert len({*said}) == 1
    assert kept_saying("Bob hosts the meetings in his cellar.", NAMES) not in said


def test_a_year_since_which_something_is_so_is_a_value() -> None:
    since = "Ada has worked at Acme since 2019."
    other = "Ada has worked at Acme since 2021."
    assert kept_saying(since, NAMES).same != kept_saying(other, NAMES).same
    assert frame(kept_for_frames(since, NAMES), kept_for_frames(other, NAMES))


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("Bo quit, so I report to Al Ny.", ["I report to Al Ny."]),
        (
            "The old tent is gone; mine is the red one.",
            ["The old tent is gone", "mine is the red one."],
        ),
        ("The old tent is blue; mine is the red one.", []),  # no change
        ("Ada's boss is Dr. Kern now.", []),
        ("I live in Rome.", []),
        ("a, b and c", []),
    ],
)
def test_a_clause_states_something_of_its_own(text: str, clauses: list[str]) -> None:
    assert kept_statements(text, NAMES) == (text, *clauses)
    assert kept_statements(text, ()) == (text,)
    assert kept_statements(f"{text} {'x' * 200}", NAMES) == (f"{text} {'x' * 200}",)
