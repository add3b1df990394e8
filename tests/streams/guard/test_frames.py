"""Frames: what differs in one value only, what does not, and that the order never matters."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from palimpsest.streams.guard import (
    Reading,
    begins_otherwise,
    compare,
    frame,
    frame_keys,
    kept_reading,
    read,
)
from palimpsest.streams.guard import frames as looking
from tests.long import examples
from tests.tables import each

FRAMES = """
Ada is saving for a down payment on a house. / Ada is saving for a trip to Patagonia.
Ada has a Samsung Galaxy S21. / Ada has a Google Pixel 9.
Ada uses an iPhone 12. / Ada has a Google Pixel 9.
Ada's phone is an iPhone 12. / Ada has a Google Pixel 9.
Ada has a MacBook Air. / Ada has a Dell XPS 13.
Ada's laptop is a MacBook Air. / Ada uses a Dell XPS 13.
Ada lives in Paris. / Ada lives in Rome.
Lives in Paris / Lives in Rome
I live in Paris. / I live in New York.
Ada works at Google. / Ada now works at Meta.
Works at Google / Works at Meta
Ada has two cats. / Ada has three cats.
Ada has one cat. / Ada has two cats.
The team has 12 members. / The team has 14 members
Ada's phone number is +49 170 555 0101. / Ada's phone number is +43 660 555 0199.
Ada's address is 12 Mill Road. / Ada's address is 9 High Street.
She lives in Paris, France. / She lives in Rome, Italy.
The user follows a vegetarian diet. / The user follows a vegan diet.
The meeting is on Monday at 10:00. / The meeting is on Friday at 10:00.
The service runs on Python 3.9. / The service runs on Python 3.12.
User prefers dark mode. / User prefers light mode.
Prefers tea / Prefers coffee
I prefer tea. / I prefer coffee over tea.
Ada is a nurse. / Ada is a paramedic.
Ada is an accountant. / Ada is a senior data engineer.
Ada prefers green tea over coffee. / Ada prefers black coffee over green tea.
Ada prefers tea to coffee in the morning. / Ada prefers coffee in the morning.
Ada prefers trains rather than planes. / Ada prefers planes.
Ben uses Vim as his editor. / Ben uses Zed as his editor.
Her dog is called Rex. / Her dog is called Max.
Ada likes her tea with sugar. / Ada likes her tea with honey.
The bank of choice is ING. / The bank of choice is Bank of Ireland.
Ada's dentist is Dr. Kern. / Ada's dentist is Dr. Lang.
Ada sees Dr. Kern for therapy. / Ada sees Dr. Lang for therapy.
The user takes their coffee black. / The user takes their coffee with oat milk.
home airport: Porto / home airport: Faro.
Miles & More: silver / Miles & More: gold
Phone: 555 0101 / Phone: +43 660 555 0199
"""
NO_FRAMES = """
Ada has a Pixel 9. / Bob has an iPhone 12.
Ada has a Pixel 9. / Ada has a Galaxy Watch.
Ada has a Pixel 9. / Ada has a case for an iPhone.
Ada has a Pixel 9. / Ada has no iPhone.
Ada has a Pixel 9. / Ada has a MacBook Air.
Ada has a MacBook Air. / Ada has a laptop bag.
Ada has a MacBook Air. / Ada has a sleeve for a ThinkPad.
Ada has a MacBook Air. / Bob has a Dell XPS 13.
Ada has a MacBook Air. / Ada repairs a ThinkPad.
Ada has a Pixel 9. / Ada's wallpaper is a galaxy.
Ada is saving for a car with Bob. / Bob is saving for a trip to Patagonia.
Ada is saving for a down payment on a house. / Ada is not saving for a trip to Patagonia.
Ada likes tea. / Ada does not like tea.
Ada never works on Monday. / Ada never works on Friday.
Ada has no cats. / Ada has two cats.
Ada doesn't eat pork at home. / Ada doesn't eat fish at home.
Ada lived in Rome. / Ada lives in Rome.
Ada is in Rome now. / Ada was in Rome now.
Ada lives in Rome. / Bob lives in Rome.
My sister lives in Rome. / My brother lives in Rome.
Ada's sister lives in Rome. / Ada's brother lives in Rome.
Room 12 is booked on Monday. / Room 13 is booked on Monday.
In 2019 she lived in Rome. / In 2020 she lived in Rome.
Ada likes tea. / Ada likes coffee.
I like tea. / I like coffee.
Ada speaks French. / Ada speaks German.
Ada is tall. / Ada is happy.
Ada has a dog. / Ada has a cat.
Ada likes tea a lot. / Ada hates tea a lot.
Ada prefers tea over coffee. / Ada prefers dark mode.
Ada is a nurse. / Ada is a mother.
Ada is a nurse. / Ada is not a paramedic.
Ada is a nurse. / Ada was a paramedic.
Ada is a nurse. / Ada's sister is a paramedic.
Ada is a nurse. / Bob is a paramedic.
Ada is a nurse. / Is Ada a paramedic?
Ada is a nurse. / Ada is a paramedic in Rome.
Ada is a nurse. / Ada is married to a paramedic.
Ada is a nurse. / Ada is a friend of a paramedic.
Ada prefers tea over coffee in the morning. / Ada prefers dark mode in the morning.
Ada prefers tea over coffee. / Ada's sister prefers coffee over tea.
Ada prefers tea over coffee. / Bob prefers coffee over tea.
Ada prefers tea over coffee. / Ada does not prefer coffee over tea.
Ada prefers tea over coffee. / Ada preferred coffee over tea.
Ada prefers tea over coffee. / Does Ada prefer coffee over tea?
Nobody is a nurse. / Nobody is a paramedic.
No airport: Porto / No airport: Faro
Ada takes their coffee black. / Ada takes their coffee without milk.
Ada prefers tea over coffee. / Ada likes coffee.
Ada prefers the train over the car. / Ada prefers the theatre over the cinema.
Ada prefers tea over coffee. She works in Rome. / Ada prefers coffee. She works in Rome.
Ada can cook on Monday. / Ada will cook on Monday.
Ada wants to buy a car. / Ada wants to sell a car.
Ada has started the report. / Ada has finished the report.
The meeting is on Monday. / The meeting is at noon.
The shop opens before lunch on Monday. / The shop opens after lunch on Monday.
Ada says she lives in Rome. / Ada says he lives in Rome.
Ada has a dog. / Ada has a brown dog.
Ada moved to Berlin in 2021. / Ada moved to Lisbon in 2024.
Ada lives in a small house by the sea. / Ada lives in Rome.
Ada has a big dog at her house. / Ada has a large dog at her house.
The user takes their coffee black. / The user takes their tea with oat milk.
The user takes their coffee black. / The user drinks their coffee with oat milk.
The user takes their coffee black. / The user never takes their coffee with oat milk.
Does Ada live in Paris? / Does Ada live in Rome?
The user works. The office is in Rome. / The user works. The flat is in Rome.
home airport: Porto / home town: Porto
Note: tea with Bob / Note: tea with Eve
Ada: likes tea / Ada: hates coffee
allergies: none / allergies: nuts
Zij woont niet in Parijs. / Zij woont niet in Rome.
Ada lives in Rome. / Ada lives in Rome.
"""


def pairs(table: str) -> list[list[str]]:
    return [line.split(" / ") for line in table.strip().splitlines()]


@each(("one", "other"), pairs(FRAMES))
def test_texts_of_one_frame(one: str, other: str) -> None:
    assert frame(read(one), read(other))
    assert not begins_otherwise(one, read(other))
    assert not begins_otherwise(other, read(one))
    assert {*frame_keys(read(one))} & {*frame_keys(read(other))}


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ("Bob lives in Rome.", "Ada lives in Paris", True),
        ("ada works in Rome", "Ada lives in Rome", True),
        ("Now Ada lives in Rome", "Ada lives in Paris", False),
        ('"Ada" lives in Rome', "Ada lives in Paris", False),
        ("Ada lives in Rome", "The cold weather", True),
        ("\u0410da lives in Rome", "Ada lives in Paris", False),
    ],
)
def test_where_a_text_begins_otherwise_is_told_before_it_is_read(
    one: str, other: str, told: bool
) -> None:
    assert begins_otherwise(one, read(other)) == told


@each(("one", "other"), pairs(NO_FRAMES))
def test_texts_of_no_frame(one: str, other: str) -> None:
    assert not frame(read(one), read(other))


@each(
    ("one", "other"),
    [
        ("Ada likes tea.", "Ada likes cats."),
        ("I like green tea.", "I like old films."),
        ("She is at work.", "She is at school."),
    ],
)
def test_texts_that_begin_alike_and_say_little_share_no_key(one: str, other: str) -> None:
    """An owner has many of them: each would be compared with all others."""
    assert {*frame_keys(read(one))}.isdisjoint(frame_keys(read(other)))


BEFORE = st.sampled_from(
    [
        "Ada lives in",
        "Ada's dog is",
        "The user",
        "I have",
        "The user takes their tea",
        "She works. Her boss is",
        "",
        "Is Ada in",
        "home town:",
        "Likes tea:",
    ]
)
VALUES = st.sampled_from(
    "Paris,New York,three,two cats,not Rome,a,the,never,Ada says no,at noon,in May,was,bought,her,"
    "+49 170,walking,Paris. She lives in Rome,東京,mit,12,cat,cats,now,doesn't,?".split(",")
)
AFTER = st.sampled_from(["", "today.", "with Bob", "cats", "cat", "?", "is not here", "now", "и"])


SHOUTED = st.sampled_from([str, str.title, str.upper, str.lower])


@given(BEFORE, VALUES, VALUES, AFTER, AFTER, SHOUTED, SHOUTED)
@example("Ada resides in", "Köln und Bonn", "Rome", "today.", "today.", str, str)
@settings(max_examples=examples(200))
def test_a_frame_is_the_same_in_both_directions_and_joins_nothing(
    before: str,
    one: str,
    other: str,
    after: str,
    behind: str,
    said: Callable[[str], str],
    again: Callable[[str], str],
) -> None:
    text = said(f"{before} {one} {after}")
    a, b = read(text), read(again(f"{before} {other} {behind}"))
    assert frame(a, b) == frame(b, a)
    assert not (frame(a, b) and begins_otherwise(text, b))
    assert not frame(a, b) or {*frame_keys(a)} & {*frame_keys(b)}
    assert not (frame(a, b) and compare(a, b).near_identical)


def test_a_rule_that_looks_at_one_side_alone_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    unclear = looking._is_unclear
    seen: list[bool] = []

    def hasty(text: Reading) -> bool:
        """Look at the second of two texts only: so the example above depends on their order."""
        seen.append(True)
        return len(seen) % 2 == 0 and unclear(text)

    monkeypatch.setattr(looking, "_is_unclear", hasty)
    with pytest.raises(AssertionError):
        test_a_frame_is_the_same_in_both_directions_and_joins_nothing()


@given(st.text(max_size=60), st.text(max_size=60))
def test_it_is_total(one: str, other: str) -> None:
    assume(one != other)
    assert frame(kept_reading(one), kept_reading(other)) == frame(read(other), read(one))


@pytest.mark.parametrize("often", ["7 ", ", ", '" '])
def test_a_long_series_is_no_value(often: str) -> None:
    """Otherwise a text of 32 KiB would have 16,000 keys, of 16,000 words each."""
    assert len(frame_keys(read("Ada plays tennis at " + often * 2000))) < 20
