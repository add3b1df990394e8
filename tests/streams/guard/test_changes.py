"""What says, by its words, that something is no longer as it was; and what does not."""

from __future__ import annotations

import pytest

from palimpsest.streams.guard import (
    is_note,
    kept_saying,
    read,
    shares_a_word,
    tells_change,
    tells_deed,
    tells_past,
)
from tests.tables import each

CHANGES = """
Ada moved to Rome.
I've relocated to Rome.
Ada is now with Meta.
I switched to cycling.
Ada no longer eats meat.
I don't drink coffee anymore.
The user quit smoking.
Ada turned 35.
Ada has a new phone number: 555 0199.
New phone number: 555 0199
The deadline was pushed to Friday.
My rent went up to 900 euros.
The user's doctor isn't Dr Kern but Dr Lang.
Ada has finished her thesis.
I write Go these days.
Ada got a puppy.
I'm leaving Google.
Ada had a second daughter.
I'm up to nine chickens.
Ada is down to two cigarettes a day.
Ever since the accident Ada works from home.
Hotel in Vienna: the Sacher instead of the Ritz
Ada works from home since January.
Old Rex's gone; my puppy is called Tarn.
Ada's been reassigned to Ennerdale.
I had to put my prices up to $75.
Ada accepted a position at ETH Zurich.
"""
NO_CHANGES = """
Ada lives in Rome.
Ada lives in New York.
I have a scar on my left hand.
Did Ada move to Rome?
Has Ada moved to Rome?
Ada works at Google.
Ada's phone number is 555 0101.
Ada has a red bike.
Ada likes tea but prefers coffee.
The hall has room for up to fifty guests.
Ada lives on the second floor.
Ada's dog is black.
"""


@each("text", CHANGES.strip().splitlines())
def test_a_text_that_tells_of_a_change(text: str) -> None:
    assert tells_change(read(text))


@each("text", NO_CHANGES.strip().splitlines())
def test_a_text_that_tells_of_none(text: str) -> None:
    assert not tells_change(read(text))


@each(
    ("text", "told"),
    [
        ("Ada planted pears in her orchard.", True),
        ("I dug up the roses.", False),
        ("My brother built a shed.", True),
        ("Ada sang at the opera.", True),
        ("Ada is retired.", False),
        ("Ada has painted the door.", False),
        ("Ada likes baked beans.", False),
        ("The red barn is Ada's.", False),
        ("Ada's married sister lives in Rome.", True),
        ("Planted pears.", False),
        ("Who planted pears?", False),
    ],
)
def test_a_text_that_tells_what_somebody_did(text: str, told: bool) -> None:
    assert tells_deed(read(text)) == told


@pytest.mark.parametrize(
    ("text", "past"),
    [
        ("Ada used to be a baker.", True),
        ("Ada was a baker.", True),
        ("Ada was promoted to team lead.", False),
        ("I was diagnosed with asthma.", False),
        ("Ada is a baker.", False),
        ("The user is used to noise.", False),
        ("Ada moved to Rome.", False),
        ("Ada lives in the house in which her mother was born.", False),
    ],
)
def test_what_was_so_once_cannot_change(text: str, past: bool) -> None:
    assert tells_past(read(text)) == past


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("home airport: Porto", True),
        ("prefers tea", True),
        ("no pets", True),
        ("Lives in Rome.", True),
        ("Bob lives in Rome.", False),
        ("The flat is in Rome.", False),
        ("They said on Monday: we have no time.", False),
        ("A long walk along the sea with Bob, Eve and two of their dogs", False),
    ],
)
def test_a_note_leaves_out_of_whom_it_speaks(text: str, note: bool) -> None:
    assert is_note(read(text)) == note


def test_a_story_tells_of_no_change() -> None:
    assert not tells_change(read("Ada moved to Rome. " + "She saw the sea and the hills. " * 5))


def test_a_word_in_common_is_no_name_and_no_verb() -> None:
    names = ("Ada Lovelace", "the user")
    pairs = {
        ("I cycle to work.", "Ada takes the train to work."): True,
        ("Ada Lovelace moved.", "Ada Lovelace has a cat."): False,
        ("The user has moved.", "The user has become a baker."): False,
        ("Ada wants tea.", "Ada wants rest."): False,
        ("Ada has two children.", "Ada had a third child."): True,
        ("Ada's cats are black.", "Ada lost her cat."): False,
        ("Ada's kittens are black.", "Ada lost her kitten."): True,
    }
    for (one, other), shared in pairs.items():
        assert shares_a_word(read(one), read(other), names) == shared
        assert shares_a_word(read(other), read(one), names) == shared


NAMES = ("Ada", "the user", "I")


@pytest.mark.parametrize(
    "pair",
    [
        ("Ada saves 400 shillings with her club.", "Monthly club savings: 400 shillings"),
        ("My rent is 950 euros.", "Ada pays €950 for her flat in Rome."),
        ("I swim on Mondays.", "Ada is at the pool on Mondays."),
        ("I take a dinghy to work.", "The user gets to her work by dinghy."),
    ],
)
def test_texts_of_the_same_numbers_or_words_have_one_gist(pair: tuple[str, str]) -> None:
    one, other = (kept_saying(text, NAMES).gist for text in pair)
    assert one == other != ()


@each(
    "pair",
    [
        ("Ada saves 400 shillings with her club.", "Ada saves 600 shillings with her club."),
        ("I swim on Mondays.", "I swim on Tuesdays."),
        ("My passport expires in 2027.", "My sister's passport expires in 2027."),
        ("My passport expires in 2027.", "Bob has a passport that expires in 2027."),
        ("I take a dinghy to work.", "I take a dinghy to school."),
        ("Ada sings.", "I dance."),
        ("I baked bread for my friends today.", "Today I went for a run with friends."),
        ("I need one more thing for the garden.", "I dug one hole in the garden."),
        ("I have 3 hens" + " and a coop for hens" * 6, "I have 3 hens" + " and feed for hens" * 8),
    ],
)
def test_other_numbers_words_and_people_have_another_gist_or_none(pair: tuple[str, str]) -> None:
    one, other = (kept_saying(text, NAMES).gist for text in pair)
    assert one != other or one == ()


def test_without_names_no_text_has_a_gist() -> None:
    assert kept_saying("I swim on Mondays.", ()).gist == ()
