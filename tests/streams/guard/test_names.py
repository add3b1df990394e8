"""The names of an owner: by them the subject of a pair may differ, and by nothing else."""

from __future__ import annotations

from itertools import permutations
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from palimpsest.contracts.names import OwnerNames
from palimpsest.streams.guard import (
    compare,
    frame,
    frame_keys,
    guard_hash,
    kept_reading,
    kept_subject,
    passes,
    read,
    said_of_owner,
)
from palimpsest.streams.guard.names import called_alike, mentioned_name, speaks_of, subject_of
from tests.tables import each

NAMES = ("Ada", "the user", "I", "Ada Lovelace")
SAME = """
The user edits films. / Ada edits films.
The user sees a dentist. / I see a dentist.
The user receives a pension. / I receive a pension.
The user has two cats. / I have two cats.
The user's email is a@example.org. / My email is a@example.org.
The user's account is at Monzo. / My account is at Monzo.
The user is a nurse. / I'm a nurse.
Ada lives in Rome. / I live in Rome.
Ada lives in Rome. / The user lives in Rome.
Ada Lovelace lives in Rome. / Ada lives in Rome
I live in Rome / the user lives in Rome
I live in Rome. / Lives in Rome.
I am a baker. / Ada is a baker.
I'm a baker. / The user is a baker.
I have two cats. / Ada has two cats.
I've moved to Rome. / Ada has moved to Rome.
I moved to Rome in May. / The user moved to Rome in May.
I was born in Kent. / Ada was born in Kent.
I don't eat meat. / Ada does not eat meat.
I do not eat meat. / The user doesn't eat meat.
I haven't seen Rome. / Ada hasn't seen Rome.
I usually work from home. / Ada usually works from home.
I can't swim. / Ada cannot swim.
I never fly. / Ada never flies.
I'll move to Rome. / Ada will move to Rome.
I study law. / The user studies law.
I think Bob is right. / Ada thinks Bob is right.
My wife is called Bea. / Ada's wife is called Bea.
My wife is called Bea. / The user's wife is called Bea.
my wife's dog is called Rex / Ada's wife's dog is called Rex
User lives in Rome. / I live in Rome.
My stand-up is at 9:30. / Ada's stand-up is at 9:30.
User has two cats / Ada has two cats
User's wife is called Bea. / My wife is called Bea.
I no longer eat meat. / Ada no longer eats meat.
Ada thinks she is right. / The user thinks she is right.
Ada lives with her sister. / The user lives with her sister.
user lives in Rome / I live in Rome.
I close on Mondays. / Ada closes on Mondays.
I close on Mondays. / The user closes on Mondays.
I deglaze the pan. / Ada deglazes the pan.
I quickstep. / Ada quicksteps.
I became a baker. / Ada became a baker.
I went to Rome. / The user went to Rome.
User delivers bread. / I deliver bread.
User plans to move to Rome. / Ada plans to move to Rome.
User often works at night. / I often work at night.
"""
DIFFERENT = """
I told Ada a story. / Ada told me a story.
I told Ada a story. / Ada told Ada a story.
I told Bob a story. / Ada told me a story.
Ada told me a story. / The user told me a story.
I told the user a story. / Ada told the user a story.
I know Ada. / Ada knows Ada.
I am Ada. / The user is Ada.
I am Ada's sister. / The user is Ada's sister.
I live with Ada in Rome. / The user lives with Ada in Rome.
Bob lives in Rome. / Ada lives in Rome.
Bob lives in Rome. / I live in Rome.
Ada Byron lives in Rome. / Ada lives in Rome.
Ada Byron lives in Rome. / I live in Rome.
Adam lives in Rome. / I live in Rome.
Ada-Marie lives in Rome. / I live in Rome.
Ada and Bob live in Rome. / I live in Rome.
Ada, Bob's sister, lives in Rome. / I live in Rome.
Ada, who lives in Rome, sings. / I sing.
Bob likes Ada. / Bob likes the user.
Bob likes me. / Bob likes Ada.
Bob gave me a book. / Bob gave Ada a book.
Bob lives with me in Rome. / Bob lives with Ada in Rome.
Bob says Ada lives in Rome. / Bob says I live in Rome.
Bob says Ada lives in Rome. / Bob says the user lives in Rome.
I say Élise lost my job. / Ada says Élise lost her job.
I think she is right. / Ada thinks she is right.
I know he likes it. / Ada knows he likes it.
I live with my sister. / Ada lives with her sister.
I live with my sister. / Ada lives with my sister.
I like my job. / The user likes their job.
I made myself a tea. / Ada made herself a tea.
I love you. / Ada loves you.
We live in Rome. / Ada lives in Rome.
You live in Rome. / Ada lives in Rome.
She lives in Rome. / Ada lives in Rome.
Someone lives in Rome. / Ada lives in Rome.
The users live in Rome. / The user lives in Rome.
A user lives in Rome. / Ada lives in Rome.
The user's manual is long. / The user manual is long.
The user interface is slow. / Ada is slow.
The user Bob lives in Rome. / Ada lives in Rome.
The user who pays is right. / I pay.
User tests fail on Mondays. / I test fail on Mondays.
User needs change. / I need change.
Users live in Rome. / I live in Rome.
The user must confirm the order. / I must confirm the order.
The user should log in first. / Ada should log in first.
The user may cancel. / I may cancel.
I put the cup on the table. / Ada puts the cup on the table.
I put the cup on the table. / Ada put the cup on the table.
I read the paper at noon. / Ada reads the paper at noon.
I read the paper at noon. / Ada read the paper at noon.
I cut the grass. / Ada cuts the grass.
I lived in Rome. / Ada lives in Rome.
I live in Rome. / Ada lived in Rome.
I live in Rome. / Ada does not live in Rome.
I'd like tea. / Ada had like tea.
I'd moved to Rome. / Ada would moved to Rome.
I have a dog. / Ada had a dog.
I am a baker. / Ada was a baker.
I live in Rome. / Ada lives in Paris.
I have two cats. / Ada has three cats.
I never fly. / Ada often flies.
Does Ada live in Rome? / Do I live in Rome?
Ada lives in Rome? / I live in Rome?
Ada said "I live in Rome". / I said "Ada lives in Rome".
I said: I live in Rome. / Ada said: I live in Rome.
"I live in Rome" / Ada lives in Rome
I live in Rome. She sings. / Ada lives in Rome. She sings.
I live in Rome. I sing. / Ada lives in Rome. Ada sings.
I live in Rome; Bob pays. / Ada lives in Rome; Bob pays.
I live in Rome (near Bob). / Ada lives in Rome (near Bob).
I, Robot is a film. / Ada, Robot is a film.
I Am Legend is a film. / Ada Is Legend is a film.
Henry I lives in Rome. / Henry Ada lives in Rome.
My wife lives in Rome. / My husband lives in Rome.
My wife lives in Rome. / Bob's wife lives in Rome.
My wife lives in Rome. / Her wife lives in Rome.
My wife lives in Rome. / Ada lives in Rome.
My wife likes me. / Ada's wife likes her.
My wife says she sings. / Ada's wife says she sings.
My wife likes Ada. / The user's wife likes Ada.
My home in Rome / Ada's home in Rome
My home / Ada's home
My God / Ada's God
My, Ada sings. / Ada's, Ada sings.
Ada's running late. / My running late.
Ada's tall. / My tall.
Ada's a baker. / My a baker.
Ada's wife is called Bea. / Ada is called Bea.
Our house is old. / Ada's house is old.
Mine is red. / Ada's is red.
Ada Street is closed. / My street is closed.
Ada Lovelace Day is on Monday. / Ada Day is on Monday.
Run as I. / Run as Ada.
./ada lives in rome / I live in rome
I live in Rome `now`. / Ada lives in Rome `now`.
I fell trees. / Ada fells trees.
I found firms. / Ada founds firms.
I saw wood. / Ada saws wood.
I lay bricks. / Ada lays bricks.
I ground beans. / Ada grounds beans.
I wound clocks. / Ada wounds clocks.
I bore people. / Ada bores people.
I bound books. / Ada bounds books.
I quit on Mondays. / Ada quits on Mondays.
I knit a hat for Bob. / Ada knits a hat for Bob.
I podcast on Mondays. / Ada podcasts on Mondays.
I recut the film. / Ada recuts the film.
I slew cranes. / Ada slews cranes.
I once lived in Rome. / Ada onces lived in Rome.
I deglazed the pan. / Ada deglazes the pan.
I deglaze the pan. / Ada deglazed the pan.
I needed help. / Ada needs help.
I close on Mondays. / Bob closes on Mondays.
I close my shop. / Ada closes her shop.
User accounts close on Mondays. / I account close on Mondays.
User closes on Mondays. / I close on Mondays.
User plans for Rome. / I plan for Rome.
User plans to Rome. / I plan to Rome.
User only tests fail. / I only test fail.
Ada statues are old. / I statue are old.
The user clicks the button. / I click the button.
The user uploads a photo. / I upload a photo.
The user confirms the order. / I confirm the order.
The user verifies the email. / I verify the email.
The user deletes the post. / I delete the post.
The user edits the post. / I edit the post.
The user receives an email. / I receive an email.
The user sees a list. / I see a list.
The user adds an item. / I add an item.
The user is a guest. / I'm a guest.
The user is online. / I'm online.
The user has no access. / I have no access.
The user has two roles. / I have two roles.
The user's account is locked. / My account is locked.
The user's email is verified. / My email is verified.
The user's address is stored. / My address is stored.
The user's role is admin. / My role is admin.
The user's cart is empty. / My cart is empty.
The user logs in with a password. / I log in with a password.
The user can log in. / I can log in.
The user is logged out after an hour. / I am logged out after an hour.
The user will be asked for a name. / I will be asked for a name.
The user's session ends at nine. / My session ends at nine.
User already exists. / I already exist.
User is null. / I am null.
User is a table in the schema. / I am a table in the schema.
User likes are counted. / Likes are counted.
I have a dream is a speech. / Ada has a dream is a speech.
My girl is a song. / Ada's girl is a song.
I will survive is a song. / Ada will survive is a song.
"""
OTHERS = {
    ("April", "I"): "April was busy. / I was busy.",
    ("April", "the user"): "April is warm. / The user is warm.",
    ("Hope", "I"): "Hope is important. / I am important.",
    ("Will", "I"): "will live in Rome / I live in Rome",
    ("Ada", "Eve"): "I live in Rome. / Ada lives in Rome.",
    ("Ada", "I"): "The user lives in Rome. / I live in Rome.",
    ("Ada", "the user"): "User drives on the server. / Ada drives on the server.",
    ("the user", "I"): "Ada lives in Rome. / I live in Rome.",
    ("the customer", "I"): "The customer has to pay first. / I have to pay first.",
    ("the agent", "I"): "The agent logs in with a code. / I log in with a code.",
    ("Penny Lane", "I"): "Penny Lane is a song. / I am a song.",
}
"""By the owner's names, a pair that differs."""


def pairs(lines: str) -> list[tuple[str, str]]:
    return [(one, other) for one, _, other in (a.partition(" / ") for a in lines.split("\n") if a)]


def joined(one: str, other: str, names: tuple[str, ...]) -> bool:
    a, b = read(one, names=names), read(other, names=names)
    found = passes(a, b)
    assert passes(b, a) == found
    seen = compare(a, b)
    assert (seen.near_identical and not seen.cues) == found
    return found


@each(("one", "other"), pairs(SAME))
def test_by_its_names_an_owner_is_one_subject(one: str, other: str) -> None:
    assert joined(one, other, NAMES)


@each(("one", "other"), pairs(DIFFERENT))
def test_no_other_difference_is_a_name(one: str, other: str) -> None:
    assert not joined(one, other, NAMES)


@each(("names", "pair"), OTHERS.items())
def test_only_declared_names_count_and_none_that_is_another_word(
    names: tuple[str, ...], pair: str
) -> None:
    [(one, other)] = pairs(pair)
    assert not joined(one, other, names)


def test_user_is_no_part_of_another_noun_if_declared_as_a_name() -> None:
    one, other = "User studies law.", "I study law."
    assert not joined(one, other, NAMES)
    assert joined(one, other, (*NAMES, "User"))


def test_a_text_is_not_changed_where_nobody_has_names() -> None:
    for one, other in pairs(SAME + DIFFERENT):
        for text in (one, other):
            assert called_alike(text, ()) is None
            assert read(text, names=()) == read(text)
    assert guard_hash() == guard_hash(named=False) != guard_hash(named=True)


def test_the_order_of_the_names_says_nothing() -> None:
    for text in {text for pair in pairs(SAME + DIFFERENT) for text in pair}:
        assert len({called_alike(text, names) for names in permutations(NAMES)}) == 1


@given(
    st.text(max_size=80), st.sampled_from(["", "I ", "My ", "Ada ", "Ada's ", "the user ", "I'"])
)
def test_every_text_can_be_read_and_read_again(text: str, begins: str) -> None:
    """What is read by one name stays as it is when it is read again."""
    once = called_alike(begins + text, NAMES)
    assert once is None or called_alike(once, NAMES) == once


@each(
    ("one", "other"),
    [
        ("I say 李雷 lost my job.", "Ada says 李雷 lost her job."),
        ("I say დავით lost my job.", "Ada says დავით lost her job."),
        ("I say ﾀﾅｶ lost my job.", "Ada says ﾀﾅｶ lost her job."),
        ("I say Ｂｏｂ lost my job.", "Ada says Ｂｏｂ lost her job."),
        ("Ada likes tea more than 李雷.", "Ada prefers tea to 李雷."),
        ("Ada takes her coffee with 李雷.", "Ada drinks her coffee with 李雷."),
        ("Ada makes 李雷 cook every Sunday.", "Ada makes 李雷 cook on Sundays."),
    ],
)
def test_others_may_have_names_in_scripts_without_capitals(one: str, other: str) -> None:
    older, newer = (read(text, names=NAMES, model="multilingual-e5-small") for text in (one, other))
    assert not passes(older, newer)


def test_the_model_need_not_know_a_name_that_is_left_out() -> None:
    names = ("王", "Ada", "I")
    one = read("王 lives in Rome.", unknown=("王",), names=names)
    assert passes(one, read("I live in Rome.", names=names))
    assert not passes(read("王 lives in Rome.", unknown=("王",)), read("I live in Rome."))


def test_a_value_that_changed_is_of_one_frame_by_any_name() -> None:
    paris, rome = "Ada lives in Paris.", "I live in Rome."
    assert frame(read(paris, names=NAMES), read(rome, names=NAMES))
    assert not frame(kept_reading(paris), kept_reading(rome))
    assert not frame(read(paris, names=NAMES), read("Bob lives in Rome.", names=NAMES))


@pytest.mark.parametrize("name", ["José", "철수"])
def test_a_text_whose_accents_are_characters_of_their_own_is_of_its_owner(name: str) -> None:
    """As a file of a Mac has them; the name is kept in NFC however it was typed."""
    names, text = (name, "I"), f"{name} lives in Rome."
    apart = normalize("NFD", text)
    assert apart != text
    for reads in (called_alike, said_of_owner, subject_of, speaks_of):
        assert reads(apart, names) == reads(text, names)
    assert speaks_of(apart, names)


declared: TypeAdapter[tuple[str, ...]] = TypeAdapter(OwnerNames)


def test_names_are_words_that_name_one() -> None:
    assert declared.validate_python(()) == ()
    assert declared.validate_python(("i", "Ada O’Neill-Lovelace", "J. R. Hartley", "王明")) == (
        *("I", "Ada O'Neill-Lovelace", "J. R. Hartley", "王明"),
    )
    for name in ("José", "Müller-Ångström", "김철수"):
        assert declared.validate_python((normalize("NFD", name), "I")) == (name, "I")
    with pytest.raises(ValidationError, match="twice"):
        declared.validate_python(("José", normalize("NFD", "José")))
    for wrong in ["", "she", "ADA", "a  b", "7", "Ada.", " Ada", "A" * 101]:
        with pytest.raises(ValidationError):
            declared.validate_python(("Ada", wrong))
    for several in (("Ada",), tuple(f"n{letter}" for letter in "abcdefghijklmnopq")):
        with pytest.raises(ValidationError):
            declared.validate_python(several)


FRAMES = """
I use Zed as my editor. / Ada uses Vim as her editor.
I take my coffee with oat milk. / Ada takes her coffee black.
User works day shifts at St Mary's Hospital / Ada works night shifts at St Mary's Hospital.
I keep my keys in 1Password. / The user keeps his keys on a note in the kitchen.
My dentist is Dr. Lang. / Ada's dentist is Dr. Kern.
I'm using fish these days. / Ada uses zsh.
Since January Ada works from Rome. / I work from Oslo.
I got promoted to staff engineer. / Ada is a senior engineer.
My rent went up to 900 euros. / Ada's rent is 800 euros.
Ada has moved to Rome. / I live in Paris.
She moved to Rome. / I live in Paris.
He works at a bank in Rome. / Ada works at a bank in Oslo.
My lesson is on Fridays at 9. / Ada's lesson is on Tuesdays at 10.
"""


@each("pair", FRAMES.strip().splitlines())
def test_for_frames_alone_a_subject_is_told_with_less_care(pair: str) -> None:
    one, other = (read(said_of_owner(text, NAMES)) for text in pair.split(" / "))
    assert frame(one, other)
    assert {*frame_keys(one)} & {*frame_keys(other)}
    assert not passes(*(read(text, names=NAMES) for text in pair.split(" / ")))


def test_what_begins_with_no_name_is_read_as_it_is() -> None:
    for text in ("Bob takes his tea black.", "", "Is Ada here?", "We use my editor."):
        assert said_of_owner(text, ("Ada", "I")) == text


@each(
    ("text", "who"),
    [
        ("Ada lives in Rome.", "owner"),
        ("I live in Rome.", "owner"),
        ("User lives in Rome.", "owner"),
        ("Ada Lovelace lives in Rome.", "owner"),
        ("Ada's sister lives in Rome.", "sister"),
        ("My older brother lives in Rome.", "brother"),
        ("Ada's hotel is in Rome.", None),
        ("Rome is where Ada lives.", None),
        ("Ada Byron lives in Rome.", "other"),
        ("Bob lives in Rome.", "other"),
    ],
)
def test_of_whom_a_text_speaks(text: str, who: str | None) -> None:
    assert kept_subject(text, NAMES) == who


@pytest.mark.parametrize("user", ["the user", "The user", "User"])
def test_the_user_is_no_proper_name(user: str) -> None:
    names = ("Ada", user, "I")
    assert mentioned_name(f"What does {user} drink?", names) is None
    assert mentioned_name("What do I drink?", names) is None
    assert mentioned_name(f"What does {user}, who is Ada, drink?", names) == "Ada"
