"""Each cue is found in both directions, and only where a fact may differ."""

from __future__ import annotations

import pytest

from palimpsest.contracts.evidence import STRONG_CUES, Cue
from palimpsest.streams.guard import Comparison, compare, read
from palimpsest.streams.guard.text.calendar import is_year
from palimpsest.streams.guard.text.measures import spelled
from tests.tables import each

FOUND = [
    (Cue.NUMBER, "Keeps 3 hens in the garden.", "Keeps 4 hens in the garden."),
    (Cue.NUMBER, "Keeps three hens.", "Keeps thirty hens."),
    (Cue.NUMBER, "Her flat is on the second floor.", "Her flat is on the 3rd floor."),
    (Cue.NUMBER, "Rows 5 km in 30 minutes.", "Rows 30 km in 5 minutes."),
    (Cue.NUMBER, "Pays $1,200 in rent.", "Pays $1,250 in rent."),
    (Cue.NUMBER, "Plays with GPT-3 at work.", "Plays with GPT-4 at work."),
    (Cue.NUMBER, "It was -4 outside.", "It was 4 outside."),
    (Cue.NUMBER, "Takes 2.5 mg.", "Takes 25 mg."),
    (Cue.NUMBER, "Has hens.", "Has 3 hens."),
    (Cue.NUMBER, "Keeps two dozen and three hens.", "Keeps 27 hens."),
    (Cue.DATE, "The visa ends on 3 March 2031.", "The visa ends on 4 March 2031."),
    (Cue.DATE, "The visa ends on 2031-03-03.", "The visa ends on 2031-04-03."),
    (Cue.DATE, "Moved to Porto in 2019.", "Moved to Porto in 2020."),
    (Cue.DATE, "The choir meets on Tuesdays.", "The choir meets on Thursdays."),
    (Cue.DATE, "Call the plumber tomorrow.", "Call the plumber today."),
    (Cue.DATE, "The train leaves at 7 pm.", "The train leaves at 7 am."),
    (Cue.DATE, "The train leaves at 19:05.", "The train leaves at 19:50."),
    (Cue.DATE, "The gate shuts at 12 am.", "The gate shuts at 12 pm."),
    (Cue.DATE, "The gate shuts at 12:30 am.", "The gate shuts at 12:30."),
    (Cue.DATE, "Moved in May.", "Moved in June."),
    (Cue.DATE, "Plans for 1500.", "Plans for 2099."),
    (Cue.NUMBER, "Plans for 1499.", "Plans for 2100."),
    (Cue.UNIT, "The parcel weighs 4 kg.", "The parcel weighs 4 pounds."),
    (Cue.UNIT, "The ticket costs $40.", "The ticket costs €40."),
    (Cue.UNIT, "Ran a 5-km race.", "Ran a 5-mile race."),
    (Cue.UNIT, "The trial lasts 6 weeks.", "The trial lasts 6 months."),
    (Cue.UNIT, "Sugar fell by 3.", "Sugar fell by 3%."),
    (Cue.VERSION, "Runs postgres 15.4.1 in staging.", "Runs postgres 15.4.2 in staging."),
    (Cue.VERSION, "Upgraded to v2.", "Upgraded to v3."),
    (Cue.VERSION, "tool: Update to version 136.0.1-1", "tool: Update to version 136.0.1-2"),
    (Cue.VERSION, "The driver is version 7.", "The driver is version 8."),
    (Cue.NEGATION, "Eats fish.", "Does not eat fish."),
    (Cue.NEGATION, "Eats fish.", "Doesn't eat fish."),
    (Cue.NEGATION, "Eats fish.", "Never eats fish."),
    (Cue.NEGATION, "Works at the mill.", "No longer works at the mill."),
    (Cue.NEGATION, "Passed the exam.", "Failed to pass the exam."),
    (Cue.NEGATION, "Travels with luggage.", "Travels without luggage."),
    (Cue.NEGATION, "Is happy with the new writer.", "Is unhappy with the new writer."),
    (Cue.NEGATION, "The form is complete.", "The form is incomplete."),
    (Cue.NEGATION, "Is fit.", "Is unfit."),
    (Cue.NEGATION, "The nurse was careful.", "The nurse was careless."),
    (Cue.NEGATION, "The village has water.", "The village lacks water."),
    (Cue.NEGATION, "Signs the lease.", "Refuses to sign the lease."),
    (Cue.NEGATION, "Hears the bell.", "Hardly hears the bell."),
    (Cue.NEGATION, "Admits the mistake.", "Denies the mistake."),
    (Cue.NEGATION, "Smokes and drinks.", "Neither smokes nor drinks."),
    (Cue.NEGATION, "Wont come, does eat.", "Wont come, doesnt eat."),
    (Cue.SWAPPED_ORDER, "Ana trained Bo.", "Bo trained Ana."),
    (Cue.SWAPPED_ORDER, "The red kite hit the blue van.", "The blue kite hit the red van."),
    (Cue.SWAPPED_ORDER, "Flew from Oslo to Rome.", "Flew from Rome to Oslo."),
    (Cue.SWAPPED_ORDER, "The well is behind the barn.", "The barn is behind the well."),
    (Cue.NAME, "Her tutor is Doctor Imre Nagy.", "Her tutor is Doctor Pal Nagy."),
    (Cue.NAME, "Writes code in PyTorch.", "Writes code in TensorFlow."),
    (Cue.NAME, "Lives on Ash Road.", "Lives on Ash Street."),
    (Cue.ANTONYM, "The ridge is in the north.", "The ridge is in the south."),
    (Cue.ANTONYM, "Wants the window open.", "Wants the window closed."),
    (Cue.ANTONYM, "Drives a green van.", "Drives a grey van."),
    (Cue.ANTONYM, "Loves opera.", "Hates opera."),
    (Cue.UNKNOWN_TOKEN, "Любит чай.", "Любит чай."),
    (Cue.CASE, "She left IT early.", "She left it early."),
    (Cue.CASE, "The plant gives 4 MW.", "The plant gives 4 mW."),
    (Cue.NUMBER, "Uses Go 1.3.", "Uses Go 1.30."),
    (Cue.NUMBER, "Takes .5 of it.", "Takes 5 of it."),
    (Cue.NUMBER, "Lives at 9a.", "Lives at 9."),
    (Cue.UNKNOWN_TOKEN, "Likes чай.", "Likes tea."),
    (Cue.NEGATION, "Was useless.", "Was use."),
    (Cue.UNKNOWN_TOKEN, "お茶が好きです", "お茶が嫌いです"),
]

NOT_FOUND = [
    (Cue.NAME, "Met Frau Voß at the mill.", "Frau VOSS came to the mill."),
    (Cue.NUMBER, "Has three hens.", "Has 3 hens."),
    (Cue.NUMBER, "Owes two hundred and fifty five euros.", "Owes 255 euros."),
    (Cue.NUMBER, "The town has 3 million people.", "The town has 3,000,000 people."),
    (Cue.NUMBER, "Came third.", "Came 3rd."),
    (Cue.NUMBER, "The parcel weighs 3.50 kg.", "The parcel weighs 3.5 kg."),
    (Cue.NUMBER, "Is twenty-one.", "Is 21."),
    (Cue.NUMBER, "Weighs 0.0005 thousand tons.", "Weighs 0.5 tons."),
    (Cue.DATE, "Born on March 10th, 1987.", "Born on 10 March 1987."),
    (Cue.DATE, "Born on 1987-03-10.", "Born on 10 March 1987."),
    (Cue.DATE, "Born on the 10th of March 1987.", "Born on 10 March 1987."),
    (Cue.DATE, "Runs at 3 p.m.", "Runs at 15:00."),
    (Cue.DATE, "The gate shuts at 12:30 am.", "The gate shuts at 0:30."),
    (Cue.DATE, "The gate shuts at 12 a.m.", "The gate shuts at 0:00."),
    (Cue.DATE, "The gate shuts at 12:30 pm.", "The gate shuts at 12:30."),
    (Cue.DATE, "The gate shuts at 12 pm.", "The gate shuts at 12:00."),
    (Cue.DATE, "They may march in protest.", "They may march, in protest."),
    (Cue.UNIT, "Pays 20 dollars.", "Pays $20."),
    (Cue.UNIT, "Ran 5 kilometers.", "Ran 5km."),
    (Cue.UNIT, "Ran a 5-kilometre race.", "Ran a 5 km race."),
    (Cue.UNIT, "Rose 5 percent.", "Rose 5%."),
    (Cue.VERSION, "Runs v1.2.3.", "Runs 1.2.3."),
    (Cue.NEGATION, "Doesn’t eat fish.", "Does not eat fish."),
    (Cue.NEGATION, "It is not impossible.", "It is possible."),
    (Cue.NEGATION, "The bus never stopped.", "On Monday the bus never stopped."),
    (Cue.NEGATION, "Waits inside.", "Waits at the side."),
    (Cue.NEGATION, "Is not sad.", "Is not late."),
    (Cue.NEGATION, "Has an inox pan.", "Has an ox pan."),
    (Cue.NEGATION, "Met the bless.", "Met the b."),
    (Cue.NUMBER, "Has 5 dogs and 6 cats.", "Has 6 dogs and 5 cats."),
    (Cue.NAME, "Says I'm in Oslo.", "Says in Oslo."),
    (Cue.NAME, 'He said "Bread is cold."', "He said that it is cold."),
    (Cue.NAME, "An inn of the name 'Bread'.", "An inn of the name."),
    (Cue.UNKNOWN_TOKEN, "A 2º piso, 5 µm.", "A 1ª vez, 5 µm."),
    (Cue.UNKNOWN_TOKEN, "Ｏslo.", "Oslo."),
    (Cue.NAME, "A red sign hangs there.", "The red sign hangs there."),
    (Cue.NAME, "THE RED SIGN HANGS THERE.", "The red sign hangs there."),
    (Cue.NAME, "SHE SOLD HER BOAT.", "SHE SOLD HER SHIP."),
    (Cue.UNKNOWN_TOKEN, "Likes café crème.", "Likes tea."),
]


def both_ways(one: str, other: str) -> Comparison:
    forth, back = compare(read(one), read(other)), compare(read(other), read(one))
    assert forth == back
    return forth


@each(("cue", "one", "other"), FOUND)
def test_a_cue_is_found_in_both_directions(cue: Cue, one: str, other: str) -> None:
    assert cue in both_ways(one, other).cues


@each(("cue", "one", "other"), FOUND)
def test_a_pair_with_a_cue_is_never_joined_by_its_words(cue: Cue, one: str, other: str) -> None:
    seen = both_ways(one, other)
    assert not seen.near_identical or cue is Cue.UNKNOWN_TOKEN or cue is Cue.NAME


@each(("cue", "one", "other"), NOT_FOUND)
def test_another_spelling_of_a_fact_shows_no_cue(cue: Cue, one: str, other: str) -> None:
    assert cue not in both_ways(one, other).cues


@pytest.mark.parametrize(
    ("figures", "expected"), [("1499", False), ("1500", True), ("2099", True), ("2100", False)]
)
def test_four_figures_of_six_centuries_are_a_year(figures: str, expected: bool) -> None:
    assert is_year(figures) == expected


def test_every_cue_has_an_example() -> None:
    assert {cue for cue, _, _ in FOUND} == set(Cue) - {Cue.TRUNCATED}


def test_cues_are_sorted_and_each_stands_once() -> None:
    cues = both_ways("Sold 3 kg of tea in 2019.", "Never sold 4 pounds of tea in 2020.").cues
    assert cues == (Cue.DATE, Cue.NEGATION, Cue.NUMBER, Cue.UNIT)
    assert set(cues) <= STRONG_CUES


def test_a_truncated_text_says_so_even_beside_itself() -> None:
    cut, whole = read("Likes tea.", truncated=True), read("Likes tea.")
    assert compare(cut, cut).cues == (Cue.TRUNCATED,)
    assert compare(cut, whole).cues == compare(whole, cut).cues == (Cue.TRUNCATED,)


def test_unknown_words_are_a_cue_only_where_they_differ() -> None:
    pizza = read("Likes 🍕", unknown=("🍕",))
    sushi = read("Likes 🍣", unknown=("🍣",))
    assert compare(pizza, pizza).cues == ()
    assert Cue.UNKNOWN_TOKEN in compare(pizza, sushi).cues
    assert not compare(pizza, sushi).near_identical


@pytest.mark.parametrize(
    ("text", "numbers", "dates"),
    [
        ("hundred cats", ["#100"], []),
        ("two thousand three hundred cats", ["#2300"], []),
        ("twenty zero", ["#0", "#20"], []),
        ("september 31", [], ["@?-9-31"]),
        ("september 45", ["#45"], ["@?-9-?"]),
        ("march of 1867", [], ["@1867-3-?"]),
        ("12 pm", [], ["@12:00"]),
        ("120 pm", ["#120"], []),
    ],
)
def test_numbers_and_dates_are_read_as_people_write_them(
    text: str, numbers: list[str], dates: list[str]
) -> None:
    found = read(text).clues.facts
    assert ([*found.numbers], [*found.dates]) == (numbers, dates)


@each(
    ("text", "terms"),
    [
        ("one hundred and five geese", "#105 geese"),
        ("one hundred and geese", "#100 geese"),
        ("five and six geese", "#5 #6 geese"),
        ("two dozen and three", "#24 #3"),
        ("twenty-one", "#21"),
        ("five hundred-one", "#500 #1"),
        ("twenty thirty", "#20 #30"),
        ("thirty eleven", "#30 #11"),
        ("one two", "#1 #2"),
        ("1,200 geese", "#1200 geese"),
        ("5.50 geese", "#5.5 geese"),
        ("$3, £5, €6, ¥7 and ₹8", "#3 ~dollar #5 ~£ #6 ~euro #7 ~yen #8 ~₹"),
        ("£ sign", "£ sign"),
        ("5 - km", "#5 ~km"),
        ("21st floor", "#21th floor"),
        ("5 pm", "@17:00"),
        ("12 am", "@0:00"),
        ("12:30 pm", "@12:30"),
        ("Jan. 5, 2020", "@2020-1-5"),
        ("March 10 of 1867", "@1867-3-10"),
        ("May of 2020", "@2020-5-?"),
        ("3/4/20", "@3/4/20"),
        ("version 7", "^7"),
        ("next - to the mill", "next to mill"),
        ("no-longer works", "no longer works"),
        ("Hi! the user likes tea", "hi user likes tea"),
        ("user asked", "user asked"),
        ("'s tea", "tea"),
        ("n't go", "not go"),
    ],
)
def test_cues_are_seen_by_the_terms_of_a_text(text: str, terms: str) -> None:
    assert " ".join(read(text).clues.terms) == terms


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        (f"{'9' * 29} thousand", [f"#{'9' * 29}000"]),
        (f"{'9' * 30} thousand", ["#1000", f"#{'9' * 30}"]),
        ("hundred " * 15, [f"#{10**30}"]),
        ("hundred " * 16, ["#100", f"#{10**30}"]),
    ],
)
def test_a_number_of_thirty_figures_grows_no_more(text: str, numbers: list[str]) -> None:
    assert [*read(text).clues.facts.numbers] == numbers


def test_a_sign_alone_is_no_fact() -> None:
    assert read("# 5 and #").clues.facts.numbers == ("#5",)
    assert read("# 5 and #").clues.facts.measures == ("#5 #",)


@pytest.mark.parametrize("after", ["zero", "ten", "geese"])
def test_a_hyphen_belongs_to_a_number_only_before_one_to_nine(after: str) -> None:
    assert spelled(["twenty", "-", after], 0) == ("20", 1)
    assert spelled(["twenty", "-", "nine"], 0) == ("29", 3)


def test_a_negator_before_a_preposition_negates_no_word() -> None:
    assert read("Never on Monday, not tea.").clues.negations == ("never ", "not tea")


def test_a_word_of_several_leaves_nothing_empty() -> None:
    assert read("n't go").clues.words == ("not", "go")
    assert read("'s tea").clues.words == ("tea",)


def test_an_and_before_no_number_is_none_of_it() -> None:
    assert spelled(["hundred", "and", "geese"], 0) == ("100", 1)
    assert spelled(["hundred", "and", "two"], 0) == ("102", 3)
