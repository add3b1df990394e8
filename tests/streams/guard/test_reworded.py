"""What is said of an owner in two ways is compared in one; what says another thing stays apart."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from palimpsest.streams.guard.names import called_alike
from tests.streams.guard.test_names import NAMES, joined, pairs
from tests.tables import each

SAME = """
Ada has a peanut allergy. / I'm allergic to peanuts.
Ada has a penicillin allergy. / The user is allergic to penicillin.
I have an allergy to cats. / Ada is allergic to cats.
Ada has an egg allergy. / I am allergic to eggs.
Ada has a fear of heights. / I am afraid of heights.
Ada is scared of dogs. / The user is afraid of dogs.
Ada suffers from asthma. / I have asthma.
Ada is employed by Google. / Google is Ada's employer.
Google is my employer. / The user is employed by Google.
Ada comes from Izmir. / I am from Izmir.
Ada is planning to visit Kyoto in April. / I plan to visit Kyoto in April.
I'm hoping to move. / Ada hopes to move.
Ada is a volunteer at the animal shelter. / I volunteer at the animal shelter.
Ada is a mentor to two juniors. / The user mentors two juniors.
Ada is a collector of old sea charts. / I collect old sea charts.
Ada is the owner of a sailing school. / I own a sailing school.
Ada is the owner of two cats. / I have two cats.
Ada owns a dog. / The user has a dog.
Ada likes green best of all colours. / My favourite colour is green.
Ada likes Radiohead best of all bands. / The user's favorite band is Radiohead.
Radiohead is Ada's favourite band. / My favourite band is Radiohead.
Kaan is the name of Ada's brother. / My brother is called Kaan.
Ada's dog's name is Rex. / Rex is the name of my dog.
Oslo is home to Ada's sister. / My sister lives in Oslo.
Oslo is where my sister Eve lives. / Ada's sister Eve lives in Oslo.
Denver, Colorado is where Ada lives. / I live in Denver, Colorado.
Mr. Keller is Ada's landlord. / My landlord is Mr. Keller.
My therapist is Dr. Brandt. / The user's therapist is Dr. Brandt.
I report to Mr. Yamada. / Ada reports to Mr. Yamada.
My email is ada@example.org. / The user's email is ada@example.org.
speaks French and Italian / Ada speaks French and Italian.
Dislikes cilantro / I dislike cilantro.
gets sick on coaches / The user gets sick on coaches.
User supports Aston Villa. / I support Aston Villa.
I bank with Monzo. / Ada banks with Monzo.
Tom is Ada's boyfriend. / My boyfriend is Tom.
Wout is Ada's brother. / I have a brother named Wout.
Rex is my dog / The user has a dog called Rex
Ada has a boss called Eve. / Eve is Ada's boss.
Eve is Ada's closest friend. / My closest friend is Eve.
Rome is my hometown. / Ada's hometown is Rome.
3 May is Ada's birthday. / My birthday is on 3 May.
Ada's date of birth is 3 May 1991. / I was born on 3 May 1991.
Ada's dog is named Captain. / My dog is called Captain.
39 is Ada's shoe size. / My shoe size is 39.
Green is Ada's favourite colour. / My favorite color is green.
Tea is my favourite drink. / Ada's favourite drink is tea.
Ada's home is Rome. / My home is in Rome.
Ada resides in Rome. / I live in Rome.
My email address is ada@example.org. / Ada's email is ada@example.org.
I am a vegetarian. / Ada is vegetarian.
"""
DIFFERENT = """
Ada has a food allergy. / Ada is allergic to food.
Ada takes coffee with sugar to Bob. / Ada takes her coffee with sugar to Bob.
Ada's successor is named Bob. / Ada's successor is called Bob.
My captain is named Bob. / Ada's captain is called Bob.
My brother is named Captain. / Ada's brother is called Captain.
Ada is a registered nurse. / Ada works as a registered nurse.
Ada is a licensed electrician. / I work as a licensed electrician.
Ada is a chartered accountant. / I work as a chartered accountant.
Ada likes cooking apples. / Ada likes to cook apples.
Ada likes baking potatoes. / I like to bake potatoes.
Ada likes sailing boats. / Ada likes to sail boats.
Ada loves working dogs. / I love to work dogs.
Ada hates flying planes. / I hate to fly planes.
Ada enjoys cooking apples. / I like to cook apples.
The user has to log in. / I have to log in.
The user needs to log in. / I need to log in.
User has to log in. / I have to log in.
The user is required to log in. / I am required to log in.
The user does not have to log in. / I do not have to log in.
The user doesn't need to log in. / I don't need to log in.
The user is prompted to log in. / I am prompted to log in.
Ada has a food allergy. / Ada is allergic to foods.
Ada has a skin allergy. / I am allergic to skin.
Ada has a severe peanut allergy. / Ada is allergic to peanuts.
Ada has a peanut allergy. / Ada is not allergic to peanuts.
Ada has no peanut allergy. / Ada is allergic to peanuts.
Ada had a peanut allergy. / Ada is allergic to peanuts.
Ada has a peanut allergy and asthma. / Ada is allergic to peanuts.
Ada has a mild allergy to cats. / Ada is allergic to cats.
Ada has a peanut allergy. / Ada is allergic to walnuts.
Ada's son has a peanut allergy. / Ada is allergic to peanuts.
Bob has a peanut allergy. / Ada is allergic to peanuts.
Ada treats a peanut allergy. / Ada is allergic to peanuts.
Ada has a peanut allergy test. / Ada is allergic to peanuts.
Ada has a fear of dogs. / Ada likes dogs.
Ada has no fear of dogs. / Ada is afraid of dogs.
Ada had a fear of dogs. / Ada is afraid of dogs.
Ada has the fear of dogs. / Ada is afraid of dogs.
Ada is terrified of dogs. / Ada is afraid of dogs.
Ada is not scared of dogs. / Ada is afraid of dogs.
Ada is scared of dogs. / Ada is afraid for dogs.
Ada was scared of dogs. / Ada is afraid of dogs.
Ada's son is scared of dogs. / Ada is afraid of dogs.
Ada suffers from Bob. / Ada has Bob.
Ada suffers from doubts about Bob. / Ada has doubts about Bob.
Ada suffers from asthma at night. / Ada has asthma at night.
Ada suffered from asthma. / Ada has asthma.
Ada suffers from asthma. / Ada has no asthma.
Ada is employed by Google. / Ada works at Google.
Ada was employed by Google. / Ada's employer is Google.
Ada is employed by Google Cloud. / Google is Ada's employer.
Ada is employed by a bank. / Ada's employer is a bank in Rome.
Ada is self-employed. / Ada's employer is Ada.
Ada came from Izmir. / Ada is from Izmir.
Ada comes from work. / Ada is from work.
Ada comes from Izmir by bus. / Ada is from Izmir by bus.
Ada comes from Izmir. / Ada lives in Izmir.
Ada comes from Izmir. / Ada was born in Izmir.
Ada comes to Izmir. / Ada is from Izmir.
Ada is planning a trip. / Ada plans to trip.
Ada is planning to move. / Ada planned to move.
Ada is planning to move. / Ada hopes to move.
Ada was planning to move. / Ada plans to move.
Ada is not planning to move. / Ada plans to move.
Ada is a volunteer at the shelter. / Ada volunteered at the shelter.
Ada is a volunteer for the shelter. / Ada volunteers at the shelter.
Ada was a volunteer at the shelter. / Ada volunteers at the shelter.
Ada is no volunteer at the shelter. / Ada volunteers at the shelter.
Ada is a former volunteer at the shelter. / Ada volunteers at the shelter.
Ada is a lover of Bob. / Ada loves Bob.
Ada is a student of law. / Ada studies law.
Ada is a fan of Villa. / Ada supports Villa.
Ada is a co-owner of a school. / Ada owns a school.
Ada is an owner of a school. / Ada owns a school.
Ada is an owner of a school. / Ada is the owner of a school.
Ada is the owner of a school. / Ada has a school.
Ada is the owner of two cats. / Ada has three cats.
Ada owns two houses. / Ada has two houses.
Ada owns a dog bed. / Ada has a dog bed.
Ada owns a school. / Ada runs a school.
Ada likes green best of all colours. / Ada's favourite fruit is green.
Ada likes green best of all. / Ada's favourite colour is green.
Ada likes green. / Ada's favourite colour is green.
Ada likes green best of some colours. / Ada's favourite colour is green.
Ada liked green best of all colours. / Ada's favourite colour is green.
Ada likes green least of all colours. / Ada's favourite colour is green.
Ada likes green and red best of all colours. / Ada's favourite colour is green.
Ada does not like green best of all colours. / Ada's favourite colour is green.
Radiohead is Ada's favourite band. / Radiohead is Ada's favourite.
Radiohead is Ada's least favourite band. / Ada's favourite band is Radiohead.
Radiohead is a favourite band of Ada. / Ada's favourite band is Radiohead.
Radiohead was Ada's favourite band. / Ada's favourite band is Radiohead.
Radiohead is Bob's favourite band. / Ada's favourite band is Radiohead.
Kaan is the name of Ada's brother. / Ada's brother is Bob.
Kaan is the name of Ada's brother. / Ada's cousin is called Kaan.
Kaan is the name of Bob's brother. / Ada's brother is called Kaan.
Kaan is the name of Ada's brother's dog. / Ada's brother is called Kaan.
Kaan was the name of Ada's dog. / Ada's dog is called Kaan.
Kaan is a name of Ada's brother. / Ada's brother is called Kaan.
Kaan is the nickname of Ada's brother. / Ada's brother is called Kaan.
Ada's dog's name is Rex. / Ada's name is Rex.
Ada's dog's name is short. / Ada's dog is called short.
Ada's dog's name is Rex. / Ada's cat is called Rex.
Oslo is home to Ada's sister. / Oslo is home to Ada's brother.
Oslo is home to Ada's sister. / Ada lives in Oslo.
Oslo is home to Ada's parents. / Ada's parent lives in Oslo.
Oslo is home to Ada's firm. / Ada's firm is in Oslo.
Oslo was home to Ada's sister. / Ada's sister lives in Oslo.
Oslo is home for Ada's sister. / Ada's sister works in Oslo.
Oslo is home to Bob's sister. / Ada's sister lives in Oslo.
Oslo is where my sister Eve lives. / Ada's sister lives in Oslo.
Oslo is where my sister Eve lives. / My aunt Eve lives in Oslo.
Oslo is where my sister works. / My sister lives in Oslo.
Oslo, Ohio is where my sister lives. / My sister lives in Oslo.
Denver, Colorado is where Ada lives. / Ada lives in Denver.
Mr. Keller is Ada's landlord. / Ada's landlord is Mrs. Keller.
I report to Mr. Yamada. He is kind. / Ada reports to Mr. Yamada. He is kind.
My email is ada@example.org. / Ada's email is ada@example.com.
My email is ada@example.org. / Bob's email is ada@example.org.
speaks French / Bob speaks French.
speaks French / Ada spoke French.
speaks French / Ada does not speak French.
Speaks with me on Monday. / Ada speaks with me on Monday.
Lost in Tokyo / Ada lost in Tokyo.
Broke in Tokyo / Ada broke in Tokyo.
Drinks at the bar on Friday / I drink at the bar on Friday.
Calls on Monday / I call on Monday.
Depends on Bob. / I depend on Bob.
Goes without saying. / I go without saying.
Keeps well in the fridge. / I keep well in the fridge.
Takes two hours. / I take two hours.
Is where Ada sings. / Ada is where Ada sings.
User reports Tuesday. / I report Tuesday.
User visits fall. / I visit fall.
User supports Aston Villa. / Bob supports Aston Villa.
I bank on Bob. / Ada banks with Bob.
Wout is Ada's brother. / Ada has a brother called Bob.
Wout is Ada's brother. / Ada has a sister called Wout.
Wout is Ada's brother. / Bob has a brother called Wout.
Wout is Ada's brother. / Ada had a brother called Wout.
Wout was Ada's brother. / Ada has a brother called Wout.
Wout is not Ada's brother. / Ada has a brother called Wout.
Wout is Ada's half-brother. / Ada has a brother called Wout.
Wout is Ada's brother's dog. / Ada has a brother called Wout.
Wout is like Ada's brother. / Ada has a brother called Wout.
Nobody is Ada's friend. / Ada has a friend called Nobody.
Everybody is Ada's friend. / Ada has a friend called Everybody.
He is Ada's brother. / Ada has a brother called He.
This is Ada's dog. / Ada has a dog called This.
A Boxer is Ada's dog. / Ada has a dog called A Boxer.
Late is Ada's brother. / Ada has a late brother.
Eve is Ada's close friend. / Ada's close friend is Eve.
Eve is Ada's older sister. / Ada's older sister is Eve.
Eve is Ada's oldest friend. / Ada's oldest friend is Bea.
Eve is Ada's oldest friend. / Ada's youngest friend is Eve.
Eve is Ada's oldest friend. / Ada's friend is Eve.
Rich is Ada's oldest friend. / Ada's oldest friend is rich.
Rome is Ada's hometown. / Ada lives in Rome.
Rome is Bob's hometown. / Ada's hometown is Rome.
3 May is Ada's birthday. / Ada's birthday is 8 May.
3 May is Ada's deadline for Rome. / Ada's deadline is 3 May.
3 May was Ada's birthday. / Ada's birthday is 3 May.
Ada's date of birth is unknown. / Ada was born on unknown.
Ada's date of birth is 3 May 1991. / Ada was born on 3 May 1994.
Ada's son's date of birth is 3 May 1991. / Ada was born on 3 May 1991.
39 is Ada's shoe size. / Ada's shoe size is 38.
39 is Ada's age. / Ada's shoe size is 39.
Green is Ada's favourite artist. / Ada's favourite artist is green.
Green is Ada's favourite colour. / Ada's favourite fruit is green.
Green was Ada's favourite colour. / Ada's favourite colour is green.
Green is not Ada's favourite colour. / Ada's favourite colour is green.
Tea is Ada's least favourite drink. / Ada's favourite drink is tea.
Ada's home is Rome. / Ada's home is near Rome.
Ada's home is clean. / Ada's home is in clean.
Ada's home is a boat. / Ada's home is in a boat.
Ada's home was Rome. / Ada's home is in Rome.
Ada's home is Rome. / Ada lives in Rome.
Ada resides in Rome. / Ada was born in Rome.
Ada resided in Rome. / Ada lives in Rome.
Ada resides in fear. / Ada lives in fear.
Ada's email address is long. / Ada's email is long.
Ada's email address is ada@example.org. / Ada's email is ada@example.com.
Ada is no vegetarian. / Ada is vegetarian.
Ada was a vegetarian. / Ada is vegetarian.
Ada is a vegetarian cook. / Ada is vegetarian.
"""


@each(("one", "other"), pairs(SAME))
def test_what_is_said_in_two_ways_is_one(one: str, other: str) -> None:
    assert joined(one, other, NAMES)


@each(("one", "other"), pairs(DIFFERENT))
def test_what_says_another_thing_stays_apart(one: str, other: str) -> None:
    assert not joined(one, other, NAMES)


def test_of_an_owner_without_names_nothing_is_reworded() -> None:
    """But for what the table of edits has for everybody."""
    found = [pair for pair in pairs(SAME) if joined(*pair, ())]
    assert found == []


WHO = ("Ada", "I", "The user", "Ada's dog", "My sister", "Oslo", "speaks", "User")
SAYS = (
    " has a cat allergy",
    " is the owner of a dog",
    " is the owner of the owner of a cat",
    " is scared of",
    " likes tea best of all teas",
    "'s name's name is Rex",
    " is the name of my dog",
    " is home to Ada's sister",
    " comes from Rome",
    " is planning to be",
    " Rome",
)


@given(st.sampled_from([*product(WHO, SAYS)]), st.text(max_size=20))
def test_what_is_reworded_is_reworded_no_more(parts: tuple[str, str], more: str) -> None:
    for text in ("".join(parts), "".join(parts) + more, more + "".join(parts)):
        once = called_alike(text, NAMES)
        assert once is None or called_alike(once, NAMES) == once
