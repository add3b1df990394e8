"""Sentences about an owner in another order: what is turned keeps its meaning, the rest is left."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.streams.guard.names import called_alike
from palimpsest.streams.guard.turned import turned
from tests.streams.guard.test_names import NAMES, joined, pairs
from tests.tables import each

SAME = """
Rome is where Ada lives. / I live in Rome.
Rome is where Ada lives. / Rome is where I live.
Cape Town is where the user grew up. / Ada grew up in Cape Town.
Rome is where I was born. / Rome is Ada's birthplace.
Rome is where Ada is based. / I'm based in Rome.
Ada's birthplace is Rome. / I was born in Rome.
My birthplace is Rome. / Rome is the user's birthplace.
Bea is Ada's wife. / My wife is called Bea.
Bea is my wife / The user's wife is named Bea.
Dr Weber is my doctor. / Ada's doctor is Dr Weber.
Google is Ada's employer. / The user's employer is Google.
On Mondays Ada goes to the gym. / I go to the gym on Mondays.
On Tuesdays, I play five-a-side football. / Ada plays five-a-side football on Tuesdays.
In winter Ada paints. / I paint in winter.
On Mondays Ada paints fields. / I paint fields on Mondays.
In winter Ada drinks cocoa. / I drink cocoa in winter.
At church Ada teaches children. / I teach children at church.
In 2012 Ada won a silver medal. / The user won a silver medal in 2012.
In the morning I swim. / Ada swims in the morning.
Every day the user drinks tea. / I drink tea every day.
In 2019 I joined the company. / Ada joined the company in 2019.
I have one daughter. / The user has one daughter.
I live with one flatmate. / Ada lives with one flatmate.
I illustrate books. / Ada illustrates books.
User takes two pills. / I take two pills.
User drives a van. / Ada drives a van.
User gets migraines from red wine. / I get migraines from red wine.
"""
PLACES = """
Rome is not where Ada lives. / Ada lives in Rome.
Rome is where Ada lives. / Ada does not live in Rome.
Rome is where Ada lived. / Ada lives in Rome.
Rome is where Ada lives. / Ada lived in Rome.
Rome is where Ada lives. / Ada lives near Rome.
Rome is where Ada lives. / Ada lives at Rome.
Rome is where Ada lives. / Ada works in Rome.
Rome is where Ada works. / Ada lives in Rome.
Rome is where Ada works. / Ada works for Rome.
Rome is where Ada works. / Ada works at Rome.
Rome is where Bob lives. / Ada lives in Rome.
Rome is where she lives. / Ada lives in Rome.
Rome is where Ada Byron lives. / Ada lives in Rome.
Rome is where Ada and Bob live. / Ada lives in Rome.
Rome is where Ada's sister lives. / Ada lives in Rome.
Rome is where my sister lives. / I live in Rome.
Rome is where Ada lives now. / Ada lives in Rome.
Rome is where Ada usually lives. / Ada lives in Rome.
Rome is where Ada wants to live. / Ada lives in Rome.
Rome is where Ada will live. / Ada lives in Rome.
Rome is where Ada may live. / Ada lives in Rome.
Rome is where Ada should live. / Ada lives in Rome.
Rome is where Ada says she lives. / Ada lives in Rome.
Rome is where I think Ada lives. / Ada lives in Rome.
Bob says Rome is where Ada lives. / Ada lives in Rome.
Maybe Rome is where Ada lives. / Ada lives in Rome.
Is Rome where Ada lives? / Ada lives in Rome.
Rome is where Ada lives? / Ada lives in Rome.
Rome is where Ada lives. She sings. / Ada lives in Rome. She sings.
Rome was where Ada lives. / Ada lives in Rome.
Rome or Paris is where Ada lives. / Ada lives in Rome.
Rome, Ohio is where Ada lives. / Ada lives in Rome.
Rome is where Ada lives. / Ada lives in Paris.
Rome is where Ada lives. / Ada lives in New Rome.
Rome is where Ada lives. / Ada lives in Rome, Ohio.
Rome is when Ada lives. / Ada lives in Rome.
Rome is why Ada lives. / Ada lives in Rome.
Rome is what Ada lives for. / Ada lives in Rome.
Rome is who Ada lives with. / Ada lives in Rome.
Rome is where Ada lives with Bob. / Ada lives in Rome.
Rome is where Ada lives. / Ada lives in Rome with Bob.
Rome is where Ada was born. / Ada lives in Rome.
Rome is where Ada was born. / Ada was bored in Rome.
Rome is where Ada was born in May. / Ada was born in Rome.
Rome is where Ada was married. / Ada was born in Rome.
Rome is where Ada grew up. / Ada was born in Rome.
Rome is where Ada was raised. / Ada grew up in Rome.
Rome is where Ada grew. / Ada grew up in Rome.
Rome is where Ada is. / Ada lives in Rome.
Rome is where Ada is happy. / Ada is based in Rome.
Rome is Ada's home. / Ada lives in Rome.
Rome is Ada's birthday. / Ada was born in Rome.
Rome is Ada's sister's birthplace. / Ada was born in Rome.
Rome is Bob's birthplace. / Ada was born in Rome.
Rome is her birthplace. / Ada was born in Rome.
Rome is not Ada's birthplace. / Ada was born in Rome.
Rome was Ada's birthplace? / Ada was born in Rome.
Rome is Ada's second birthplace. / Ada was born in Rome.
Rome is the birthplace. / Ada was born in Rome.
Ada's birthplace is near Rome. / Ada was born in Rome.
Ada's birthplace is unknown. / Ada was born in unknown.
home is where Ada lives / Ada lives in Home
Home is where Ada lives. / Ada lives in home.
Town is where Ada works. / Ada works in town.
Reading is where Ada lives. / Ada lives in reading.
Bath is where Ada lives. / Ada lives in a bath.
"""
ROLES = """
Nobody is Ada's boss. / Ada's boss is Nobody.
Bea is Ada's sister. / Ada's friend is Bea.
Bea is Ada's friend. / Ada's friend was Bea.
Bea is Ada's colleague. / Ada's former colleague is Bea.
Bea is Ada's daughter. / Ada's goddaughter is Bea.
Bea is Ada's favourite. / Ada's favourite is Bea.
Bea is Ada's wife. / Ada's husband is Bea.
Bea is Ada's wife. / Bob's wife is Bea.
Bea is Bob's wife. / Ada's wife is Bea.
Bea is Bob's wife. / My wife is Bea.
Bea is her wife. / Ada's wife is Bea.
Bea is our boss. / Ada's boss is Bea.
Bea is your wife. / My wife is Bea.
Bea is the wife. / Ada's wife is Bea.
Bea is a wife. / Ada's wife is Bea.
Bea is Ada's. / Ada's wife is Bea.
Bea is Ada. / Ada is Bea.
Bea is Ada's first wife. / Ada's wife is Bea.
Bea is Ada's former boss. / Ada's boss is Bea.
Bea is Ada's ex-wife. / Ada's wife is Bea.
Bea is Ada's new boss. / Ada's boss is Bea.
Bea is Ada's wife now. / Ada's wife is Bea.
Bea is not Ada's wife. / Ada's wife is Bea.
Bea is Ada's wife. / Ada's wife is not Bea.
Bea isn't Ada's wife. / Ada's wife is Bea.
Bea was Ada's wife. / Ada's wife is Bea.
Bea is Ada's wife. / Ada's wife was Bea.
Bea will be Ada's wife. / Ada's wife is Bea.
Bea may be Ada's boss. / Ada's boss is Bea.
Bea is Ada's wife. / Ada's wife is Bee.
Bea is Ada's wife. / Ada's wife is Bea Weber.
Bea Weber is Ada's wife. / Ada's wife is Bea.
Mr Weber is Ada's boss. / Ada's boss is Mrs Weber.
Bea is Ada's wife's doctor. / Ada's wife is Bea.
Bea is Ada's wife's doctor. / Ada's doctor is Bea.
Bea is Ada's boss's wife. / Ada's wife is Bea.
Bea is Ada's wife. / Bea is called Ada's wife.
Bea is Ada's wife. / Ada's wife called Bea.
Ada's wife called Bea. / Ada's wife is called Bea.
Ada's wife is called Bea. / Ada's wife is calling Bea.
Ada's wife was called Bea. / Ada's wife is Bea.
Ada's wife is called Bea. / Ada's wife was Bea.
Ada's wife is called by Bea. / Ada's wife is Bea.
Ada's wife is called away. / Ada's wife is away.
Ada's wife is called Bea at work. / Ada's wife is Bea at work.
Ada's wife is not called Bea. / Ada's wife is Bea.
Ada's wife is called Bea? / Ada's wife is Bea.
Ada's boss is named boss. / Ada's boss is boss.
Ada's dog is called Rex. / Ada's dog is Rex.
Ada's street is called Broadway. / Ada's street is Broadway.
Ada's project is named Atlas. / Ada's project is Atlas.
Ada's doctor is called on Monday. / Ada's doctor is on Monday.
Bea and Bob are Ada's landlords. / Ada's landlord is Bea.
Bea, Ada's wife, sings. / Ada's wife is Bea.
Bob says Bea is Ada's wife. / Ada's wife is Bea.
Is Bea Ada's wife? / Ada's wife is Bea.
Bea is Ada's wife? / Ada's wife is Bea.
Bea is Ada's wife. Bob sings. / Ada's wife is Bea. Bob sings.
late is Ada's boss / Ada's boss is Late
Late is Ada's boss. / Ada's boss is late.
Rich is my boss. / My boss is rich.
Sunny is Ada's manager. / Ada's manager is sunny.
A doctor is Ada's wife. / Ada's wife is a doctor.
The mayor is Ada's boss. / Ada's boss is the mayor.
Bea is Ada's doctors. / Ada's doctor is Bea.
"""
TIMES = """
On Mondays Ada swims. / Ada swims on Tuesdays.
On Mondays Ada swims. / Ada swims on Monday.
On Monday Ada swam. / Ada swims on Monday.
On Mondays Bob swims. / Ada swims on Mondays.
On Mondays she swims. / Ada swims on Mondays.
On Mondays my sister swims. / I swim on Mondays.
On Mondays Ada's sister swims. / Ada swims on Mondays.
On Mondays Ada and Bob swim. / Ada swims on Mondays.
On Mondays Ada does not swim. / Ada swims on Mondays.
On Mondays Ada never swims. / Ada never swims on Mondays.
On Mondays Ada swims. / Ada never swims on Mondays.
On Mondays Ada only swims. / Ada only swims on Mondays.
On Mondays Ada just works. / Ada just works on Mondays.
On Mondays Ada often plays chess. / Ada often plays chess on Mondays.
On Mondays Ada swims and reads. / Ada swims and reads on Mondays.
On Mondays Ada swims or runs. / Ada swims or runs on Mondays.
On Mondays Ada swims but hates it. / Ada swims but hates it on Mondays.
On Mondays Ada drinks no tea. / Ada drinks no tea on Mondays.
On Mondays Ada drinks all tea. / Ada drinks all tea on Mondays.
On Mondays Ada eats most meals. / Ada eats most meals on Mondays.
On Mondays Ada said Bob drove. / Ada said Bob drove on Mondays.
On Mondays Ada knows Bob swims. / Ada knows Bob swims on Mondays.
On Mondays Ada likes tea. / Ada likes tea on Mondays.
On Mondays Ada is at home. / Ada is at home on Mondays.
On Monday Ada ate the cake of Bob. / Ada ate the cake of Bob on Monday.
On Monday Ada met the man from Rome. / Ada met the man from Rome on Monday.
On Monday Ada bought the book about Bob. / Ada bought the book about Bob on Monday.
In 2019 Ada sang about the war. / Ada sang about the war in 2019.
In 2019 Ada sold the house by the lake. / Ada sold the house by the lake in 2019.
In 2019 Ada won the prize for art. / Ada won the prize for art in 2019.
In 2019 Ada joined the club with Bob. / Ada joined the club with Bob in 2019.
In 2019 Ada left. / Ada left in 2020.
In 2019 Ada planned the party. / Ada planned the party in 2019.
In 2019 Ada predicted a crash. / Ada predicted a crash in 2019.
In 2019 Ada described the war. / Ada described the war in 2019.
In 2019 Ada wanted to move. / Ada wanted to move in 2019.
In May Ada went off. / Ada went off in May.
In the morning Ada went on. / Ada went on in the morning.
In the morning Ada drove off. / Ada drove off in the morning.
In the morning Ada goes in. / Ada goes in in the morning.
In 2019 Ada sold houses built cheaply. / Ada sold houses built cheaply in 2019.
In 2015 Ada bought wine bottled there. / I bought wine bottled there in 2015.
In 1990 Ada met people born there. / Ada met people born there in 1990.
In winter Ada paints fields. / I paint fields in winter.
At church Ada paints angels. / I paint angels at church.
At night Ada paints houses. / I paint houses at night.
In the evening Ada draws boats. / I draw boats in the evening.
At night Ada prefers driving. / I prefer driving at night.
At work Ada prefers men. / Ada prefers men at work.
At home Ada left Bob. / I left Bob at home.
For dinner Ada left Bob. / Ada left Bob for dinner.
For supper Ada sings. / I sing for supper.
For lunch Ada works. / Ada works for lunch.
Every day Ada slept in. / Ada slept in every day.
Every day Ada plays along. / Ada plays along every day.
Every day Ada plays. / Ada plays the day.
Every week Ada plays. / Ada plays every day.
Every Monday Ada swims. / Ada swims every morning.
In 2012 Ada won a medal. / Ada won a medal in 2021.
In 2012 Ada won a medal. / Ada won the medal in 2012.
In 2012 Ada won a medal. / Ada won a medal by 2012.
In 2012 Ada won a medal. / Ada won a medal since 2012.
In 2012 Ada won a medal. / Ada won no medal in 2012.
In Rome Ada swims. / Ada swims in May.
In March Ada swims. / Ada swims in May.
At noon Ada swims. / Ada swims at midnight.
Until Monday Ada works. / Ada works on Monday.
By Monday Ada won. / Ada won on Monday.
On Monday Ada swims? / Ada swims on Monday.
Does Ada swim on Mondays? / On Mondays Ada swims.
On Mondays Ada swims. Bob runs. / Ada swims on Mondays. Bob runs.
On Mondays Ada must work. / Ada must work on Mondays.
On Mondays Ada should train. / Ada should train on Mondays.
On Mondays Ada can swim. / Ada can swim on Mondays.
On Mondays, Ada, Bob swims. / Ada swims on Mondays.
On Mondays Ada plays chess when Bob sleeps. / Ada plays chess when Bob sleeps on Mondays.
On Mondays Ada teaches what Bob wrote. / Ada teaches what Bob wrote on Mondays.
On Mondays Ada watches Bob swim. / Ada watches Bob swim on Tuesdays.
"""
SUBJECTS = """
I have one. / Ada has two.
I have one who sings. / Ada has a who sings.
I think one is right. / Ada thinks one is right.
I know one likes tea. / Ada knows one likes tea.
I hope one day to fly. / Ada hopes two day to fly.
I like the one in Rome. / Ada likes the two in Rome.
I have one daughter. / Ada has two daughters.
I have one daughter. / Bob has one daughter.
I have one and she sings. / Ada has one and she sings.
I live with one who snores. / Ada lives with one who snores.
I have one is enough. / Ada has one is enough.
User tests in progress. / I test in progress.
User drives on the server. / I drive on the server.
User cycles in the report. / I cycle in the report.
User visits to the site doubled. / I visit to the site doubled.
User tests the team wrote. / I test the team wrote.
User needs the team knows. / I need the team knows.
User stories the team wrote. / I story the team wrote.
User plays. / I play.
User works. / I work.
User tests fail. / I test fail.
User tests 5 and 6 are slow. / I test 5 and 6 are slow.
User drives a van. / Bob drives a van.
User drives a van. / I drive the van.
User drives a van. / I drove a van.
User takes two pills. / I take 3 pills.
"""
APART = {"places": PLACES, "roles": ROLES, "times": TIMES, "subjects": SUBJECTS}


@each(("one", "other"), pairs(SAME))
def test_an_order_that_says_the_same_is_turned(one: str, other: str) -> None:
    assert joined(one, other, NAMES)


@pytest.mark.parametrize("kind", APART)
def test_what_says_another_thing_stays_apart(kind: str) -> None:
    found = [pair for pair in pairs(APART[kind]) if joined(*pair, NAMES)]
    assert found == []


def test_there_are_sixty_pairs_of_each_order() -> None:
    assert all(len(pairs(lines)) >= 60 for lines in (PLACES, ROLES, TIMES))


def test_of_an_owner_without_names_nothing_is_turned() -> None:
    for one, other in pairs(SAME):
        assert turned(one, ()) is turned(other, ()) is None


BEGINS = ("Rome is where ", "Bea is ", "On Mondays ", "In 2019 ", "Every day, ", "")
MIDDLES = ("Ada ", "Ada's ", "the user ", "I ", "my ", "Bob ")
ENDS = ("lives.", "wife", "birthplace.", "is called Bea.", "swims", "goes to the gym.", "'s", "")


@given(st.sampled_from([*product(BEGINS, MIDDLES, ENDS)]), st.text(max_size=20))
def test_what_is_turned_is_turned_no_more(parts: tuple[str, str, str], more: str) -> None:
    for text in ("".join(parts), "".join(parts) + more, more + "".join(parts)):
        once = called_alike(text, NAMES)
        assert once is None or called_alike(once, NAMES) == once
