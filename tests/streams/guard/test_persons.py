"""A name that is also a word is its owner only where the subject can only be a person."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.streams.guard import frame, passes, read, said_of_owner
from palimpsest.streams.guard.data.name_words import WORDS
from palimpsest.streams.guard.names import called_alike
from palimpsest.streams.guard.text.persons import is_said_of_somebody
from tests.streams.guard.test_names import joined, pairs
from tests.tables import each

SAME = """
Grace lives in Rome. / I live in Rome.
Grace lives with her aunt in Yaba. / The user lives with her aunt in Yaba.
Rose works at a garden centre in Norwich. / I work at a garden centre in Norwich.
Rose is allergic to bee stings. / The user has an allergy to bee stings.
Rose has three grandchildren. / I have 3 grandchildren.
Rose's mum is called Edith. / Edith is my mother.
Rose's favourite dish is risotto. / My favourite dish is risotto.
Every morning Rose takes thyroxine. / User takes thyroxine each morning.
Rose sings alto in a choir. / I sing alto in a choir.
May is a nurse at Copernicus Hospital. / I'm a nurse at Copernicus Hospital.
May has two younger brothers. / The user has 2 younger brothers.
May's boss is Eve. / My boss is Eve.
April speaks Dutch and French. / I speak French and Dutch.
Hope wants to learn to swim. / I'd like to learn to swim.
Hope is saving for a camera. / I'm saving up for a camera.
Joy drinks tea. / I drink tea.
Joy hates mushrooms. / I hate mushrooms.
Faith subscribes to Hulu. / I have a subscription to Hulu.
Will was born in Tulsa. / I was born in Tulsa.
Will is 34. / I'm 34 years old.
Bill's rent is $900. / My rent is $900.
Ivy plays the cello. / I play the cello.
Olive studies at the University of Lagos. / I study at the University of Lagos.
Summer graduated from Yale. / I graduated from Yale.
Dawn has asthma. / I have asthma.
Paris lives in Rome. / I live in Rome.
Charlotte has two brothers. / I have two brothers.
Ruby's mum is called Edith. / My mum is called Edith.
Rose bought a piano. / I bought a piano.
Mark lives in Denver. / I live in Denver.
Frank drives a van. / I drive a van.
"""
DIFFERENT = """
Grace is a virtue. / I am a virtue.
Grace is important. / I am important.
Grace period is ten days. / I period is ten days.
Grace period ends in May. / The user period ends in May.
Grace lives in every heart. / I live in every heart.
Grace has its price. / I have its price.
Grace has an end. / I have an end.
Grace's end is near. / My end is near.
Grace's effect on parents is known. / My effect on parents is known.
Grace was said before dinner. / I was said before dinner.
Grace comes at night. / I come at night.
Hope is fading. / I am fading.
Hope is learning itself. / I am learning itself.
Hope lives in books. / I live in books.
Hope moves people. / I move people.
Hope takes courage. / I take courage.
Hope drove him to Rome. / I drove him to Rome.
Hope is from God. / I am from God.
Joy comes in the morning. / I come in the morning.
Joy has many faces. / I have many faces.
Faith moves mountains. / I move mountains.
Faith works wonders. / I work wonders.
Faith works at times. / I work at times.
Faith plays a role. / I play a role.
Art is a trade. / I am a trade.
Art speaks volumes. / I speak volumes.
Art has no purpose. / I have no purpose.
Art's purpose is to move. / My purpose is to move.
Art lives in museums. / I live in museums.
Art is taking over. / I am taking over.
Rose is a colour. / I am a colour.
Rose smells sweet. / I smell sweet.
Rose grows in the garden. / I grow in the garden.
Rose is pink. / I am pink.
Dawn breaks at six. / I break at six.
Dawn was early. / I was early.
May was busy. / I was busy.
May is warm. / I am warm.
May has 31 days. / I have 31 days.
May starts well. / I start well.
May's rent is 900 euros. / My rent is 900 euros.
May's exams start on Monday. / My exams start on Monday.
May's budget is 900 euros. / My budget is 900 euros.
May has exams. / I have exams.
May's favourite dish is soup. / My favourite dish is soup.
In May I move. / I move in May.
April was cold. / I was cold.
April is going well. / I am going well.
Summer is over. / I am over.
Summer has three months. / I have three months.
Summer is planning season. / I am planning season.
Summer calls for ice. / I call for ice.
Summer goes by. / I go by.
Ivy likes shade. / I like shade.
Ivy grows on the wall. / I grow on the wall.
Basil prefers sun. / I prefer sun.
Basil's favourite place is a window. / My favourite place is a window.
Olive is a colour. / I am a colour.
Will the parcel come? / I the parcel come?
Will be late. / I am late.
Will was signed in May. / I was signed in May.
Will has been updated. / I have been updated.
Bill is due on Monday. / I am due on Monday.
Bill was paid. / I was paid.
Grant was approved. / I was approved.
Grant received in May. / I received in May.
Mark the date. / I mark the date.
Mark the date. / Marks the date.
Frank talk helps. / I talk helps.
Rob a bank. / I rob a bank.
Pat the dog. / I pat the dog.
Jack is up the car. / Jack up the car.
Drew a picture. / I drew a picture.
Chase the dog. / I chase the dog.
Guy called about the car. / I called about the car.
Ruby is from Japan. / I am from Japan.
Ruby uses YJIT. / I use YJIT.
Harmony has a sound. / I have a sound.
Penny is a coin. / I am a coin.
Violet is a colour. / I am a colour.
Judge called about the trial. / I called about the trial.
Dean called about the exam. / I called about the exam.
Rose has a Latin name. / I have a Latin name.
Rose takes water every day. / I take water every day.
Ruby has a JIT compiler. / I have a JIT compiler.
Ruby uses a GIL. / I use a GIL.
Ruby was born in Japan. / I was born in Japan.
Chase pays 2 percent. / I pay 2 percent.
Chase is based in New York. / I am based in New York.
Chase bought a bank. / I bought a bank.
Chase plans to buy Apple. / I plan to buy Apple.
Honor is based in Shenzhen. / I am based in Shenzhen.
Patience is a good teacher. / I am a good teacher.
Hope is a bad lawyer. / I am a bad lawyer.
Charity works in Rome are free. / I work in Rome are free.
May is 31. / I am 31.
Max is 10. / I am 10.
Paris has two airports. / I have two airports.
Paris is expensive. / I am expensive.
Jordan is hot in summer. / I am hot in summer.
Cash is king. / I am king.
River runs through Rome. / I run through Rome.
Chelsea lost to Arsenal. / I lost to Arsenal.
Bob told Grace. / Bob told me.
Bob lives with Rose. / Bob lives with me.
"""


NO_WORDS = frozenset("chase drew frank jack mark pat rob".split())
"""Words that cannot be a subject with a verb in the third person, so the verb tells."""


def names_for(pair: tuple[str, str]) -> tuple[str, ...]:
    """The names of an owner who is called by the first of these words that the first text has."""
    words = pair[0].replace("'s", "").rstrip(".").split(" ")
    name = next(word for word in words if word.casefold() in WORDS | NO_WORDS)
    return (name, "the user", "I")


@each("pair", pairs(SAME))
def test_as_a_subject_of_whom_only_a_person_can_be_said_it_is_the_owner(
    pair: tuple[str, str],
) -> None:
    assert joined(*pair, names_for(pair))


@each("pair", pairs(DIFFERENT))
def test_as_a_word_it_is_nobody(pair: tuple[str, str]) -> None:
    assert not joined(*pair, names_for(pair))


def test_without_names_none_of_them_is_one() -> None:
    assert [pair for pair in pairs(SAME) if joined(*pair, ())] == []


@given(st.sampled_from(sorted(WORDS)), st.text(max_size=40), st.sampled_from(["", " ", "'s "]))
def test_a_text_is_read_by_such_a_name_or_not_at_all(name: str, rest: str, sign: str) -> None:
    """Nothing but a sentence of the lists is exchanged, and read again it stays as it is."""
    name = name.capitalize()
    names = (name, "the user", "I")
    called = called_alike(name + sign + rest, names)
    if not is_said_of_somebody(name, sign + rest):
        assert called is None
    assert called is None or called_alike(called, names) == called


@pytest.mark.parametrize("name", ["Rose", "Grace", "May", "Will"])
def test_no_text_is_read_by_a_name_that_is_a_word(name: str) -> None:
    """*I grow in the garden* may not become *Rose grows in the garden*."""
    grows = read(f"{name} grows in the garden.", names=(name, "I"))
    assert not passes(grows, read("I grow in the garden.", names=(name, "I")))
    assert called_alike(f"{name} lives in Rome.", (name, "Joy")) is None


def test_for_frames_any_verb_of_such_a_subject_will_do() -> None:
    names = ("Grace", "the user", "I")
    one, other = "Grace keeps bees in Rome.", "I keep bees in Oslo."
    assert frame(*(read(said_of_owner(text, names)) for text in (one, other)))
    assert said_of_owner("Grace period is ten days.", names) == "Grace period is ten days."
