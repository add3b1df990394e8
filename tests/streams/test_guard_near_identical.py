"""What counts as the same words in the same order, and what never does."""

from __future__ import annotations

import pytest

from palimpsest.streams.guard import compare, read
from palimpsest.streams.guard.comparison import MOST_TERMS

SAME = [
    ("Plays the cello.", "plays cello"),
    ("He's a baker.", "He is a baker"),
    ("User is a baker in Lyon.", "Is a baker in Lyon"),
    ("The user likes jazz.", "Likes jazz"),
    ("What a day! User likes tea.", "What a day! Likes tea."),
    ("Milk or tea? The user likes tea.", "Milk or tea? Likes tea."),
    ("There is a lamp on the gateway.", "A lamp is on the gateway."),
    ("A lamp that is on the gateway", "A lamp is positioned on the gateway."),
    ("Her favourite colour is teal.", "Her favorite color is teal"),
    ("Bought a new couch.", "Purchased a new sofa"),
    ("The mill is next to the ford.", "The mill is beside the ford."),
    ("The mill is close to the ford.", "The mill is near the ford."),
    ("A kid friendly inn", "A child-friendly inn"),
    ("Swims every day.", "Swims daily."),
    ("A monk standing at a gate", "A monk stands at a gate"),
    ("A lot of geese on ice", "Many geese are on the ice."),
    ("On Monday she swam in the lake.", "She swam in the lake on Monday."),
    ("On Monday she walks reading a map.", "She walks on Monday reading a map."),
    ("A monk reading a map is sitting on a wall.", "A monk sitting on a wall, reading a map."),
    ("It is not impossible.", "It is possible."),
    ("The gateway is not stable.", "The gateway is unstable."),
    ("An inn called Stella is on the quay.", "An inn named Stella is located on the quay."),
    ("There is an inn named Stella on the quay.", "Stella is an inn on the quay."),
    ("Stella is an inn. It is near the mill.", "Stella is near the mill. It is an inn."),
    ("Bo, born in Bonn, plays chess with Ana.", "Bo, born in Bonn, with Ana plays chess."),
    ("Likes tea as well as mate.", "Likes tea and mate."),
    ("お茶が好きです。", "お茶が好きです"),
    ("ist schön", "Ist schön!"),
]

OTHER = [
    ("Was a baker.", "Is a baker."),
    ("Has a dog.", "Has dogs."),
    ("The cup is on the gateway.", "The cup is under the gateway."),
    ("Likes tea.", "Loves tea."),
    ("The user interface is slow.", "Interface is slow."),
    ("I asked about tea.", "The user asked about tea."),
    ("Bo's user is locked.", "Bo's is locked."),
    ("Is tea good?", "Tea is good."),
    ("Tea or coffee", "Tea and coffee"),
    ("Learns C++.", "Learns C."),
    ("Learns C#.", "Learns C++."),
    ("Likes 🍕", "Likes 🍣"),
    ("schon", "schön"),
    ("Born in Bonn in 1901, died in Rome in 1955.", "Born in Rome in 1901, died in Bonn in 1955."),
    ("The nun with a map saw the monk.", "The monk with a map saw the nun."),
    ("A nun carrying tea near a monk holding bread.",
     "A nun holding bread near a monk carrying tea."),
    ("The tall nun and the short monk", "The short nun and the tall monk"),
    ("The nun sits on a wall and the monk stands by a gate.",
     "The nun stands on a wall and the monk sits by a gate."),
    ("Speed is vital and comfort is nice.", "Speed is nice and comfort is vital."),
    ("Two nuns are in a hall while a monk is singing on stage.",
     "Two nuns are singing on stage while a monk is in a hall."),
    ("It is invaluable.", "It is not valuable."),
    ("Met the friend of Ada.", "Met the friend for Ada."),
    ("कि", "की"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_never_changes_the_meaning_is_passed_over(one: str, other: str) -> None:
    seen = compare(read(one), read(other))
    assert seen.near_identical
    assert compare(read(other), read(one)).near_identical


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_what_may_change_the_meaning_is_not(one: str, other: str) -> None:
    assert not compare(read(one), read(other)).near_identical
    assert not compare(read(other), read(one)).near_identical


def test_the_order_ratio_sees_order_and_is_rounded() -> None:
    one, other = read("Ana trained Bo"), read("Bo trained Ana")
    assert compare(one, one).order_ratio == 1.0
    assert compare(one, other).order_ratio == 0.3333


def test_a_long_text_is_near_identical_only_in_the_same_order() -> None:
    body = " ".join(f"word{at}" for at in range(300))
    one, other = read(f"On Monday, {body}"), read(f"{body} on Monday")
    assert not compare(one, other).near_identical
    assert compare(one, read(f"on Monday {body}.")).near_identical


@pytest.mark.parametrize(("words", "moved"), [(MOST_TERMS - 4, True), (MOST_TERMS - 3, False)])
def test_parts_may_move_in_texts_that_the_model_sees_whole(words: int, moved: bool) -> None:
    body = " ".join(["tea"] * words)
    one, other = read(f"On Monday she drank {body}."), read(f"She drank {body} on Monday.")
    assert len(one.terms) == words + 4
    assert compare(one, other).near_identical is moved
