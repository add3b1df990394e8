"""The tables of languages: how a text is known to be of one, and what follows from it."""

from __future__ import annotations

import pytest

from palimpsest.contracts.evidence import Cue
from palimpsest.streams.guard import compare, passes, read
from palimpsest.streams.guard.data.tables import TABLES
from tests.streams.guard.apart import APART
from tests.streams.guard.test_names import pairs
from tests.tables import each

LATIN = [table for table in TABLES.values() if table.script == "latin"]


def test_there_are_the_five_tables() -> None:
    assert sorted(TABLES) == ["de", "es", "fr", "ja", "zh"]


@each(
    ("text", "language"),
    [
        ("Ich trinke jeden Morgen Tee.", "de"),
        ("Elle n'aime pas le thé.", "fr"),
        ("Mi hermana vive en Lima.", "es"),
        ("她住在北京。", "zh"),
        ("彼女は東京に住んでいる。", "ja"),
        ("She drinks tea with her sister.", "en"),
        ("나는 東京에 산다", None),
        ("ฉันชอบ the music of the piano", None),
        ("Hij drinkt elke dag thee met zijn zus.", None),
        ("Ela mora em Lisboa com a irmã.", None),
        ("Lei vive a Roma con sua sorella.", None),
        ("Berlin", None),
        ("Ich wohne mit the cat in Bonn.", None),
        ("", None),
    ],
)
def test_a_text_is_of_a_language_if_nothing_speaks_against_it(
    text: str, language: str | None
) -> None:
    assert read(text).language == language


NAMES_ELSEWHERE = "Ben Sen Van Die Den Dan Al Ale Mai Han Da Yang Om Ito Una Ida Ser Jag".split()
"""Names, most of which begin sentences of other languages as another word."""


@each("name", NAMES_ELSEWHERE)
@each(
    "said",
    [
        "lives in Rome.",
        "has a big dog.",
        "is a baker.",
        "bought a car on Monday.",
        "and Ada live in Paris.",
        "Miller works at Google.",
        "often drinks tea.",
        "doesn't eat fish.",
        "was married to Eva.",
        "is allergic to peanuts.",
    ],
)
def test_a_name_as_the_first_word_is_no_other_language(name: str, said: str) -> None:
    assert read(f"{name} {said}").language == read(f"Ada {said}").language


def test_a_text_that_begins_with_such_a_name_has_the_english_edits() -> None:
    assert passes(read("Ben plays the cello."), read("Ben plays cello"))
    assert passes(read("Sen lives in a big castle."), read("Sen lives in a large castle."))
    assert passes(read("Al Pacino doesn't eat fish."), read("Al Pacino does not eat fish."))


@each(
    "text",
    [
        "Ben Roma'da yaşıyorum.",
        "Ben bir doktorum.",
        "Ben it ve kedi severim.",
        "Sen her zaman haklısın.",
        "Die Hand war kalt.",
        "Das Team war great.",
        "Das also war in Rom.",
        "Das Buch Pride and Prejudice war teuer.",
        "Der Film Into the Wild gefiel Ada.",
        "Het water was warm.",
        "Het week was in Rome.",
        "Dan was er water.",
        "Van water word je blij.",
        "Die of deze.",
        "Den er i Oslo.",
        "Hun had water.",
        "Han har hund.",
        "Dan saya suka kopi.",
        "Mai are un copil.",
        "Une amie is in Paris.",
        "ben lives in rome",
    ],
)
def test_sentences_that_begin_so_in_another_language_are_not_english(text: str) -> None:
    assert read(text).language != "en"


@each(
    ("one", "other", "cue"),
    [
        ("Er kommt mit zwei Hunden.", "Er kommt mit drei Hunden.", Cue.NUMBER),
        ("Er kommt am 3. März 2021 an.", "Er kommt am 4. März 2021 an.", Cue.DATE),
        ("Er kommt am Montag mit ihr.", "Er kommt am Dienstag mit ihr.", Cue.DATE),
        ("Er kommt nicht mit dem Zug.", "Er kommt mit dem Zug.", Cue.NEGATION),
        ("Elle aime le thé.", "Elle n'aime pas le thé.", Cue.NEGATION),
        ("Elle est née le 3 mars 1990.", "Elle est née le 3 mai 1990.", Cue.DATE),
        ("Vive con dos perros en casa.", "Vive con tres perros en casa.", Cue.NUMBER),
        ("Nunca vive en la casa.", "Vive en la casa.", Cue.NEGATION),
        ("她有三只猫。", "她有四只猫。", Cue.NUMBER),
        ("她喜欢茶。", "她不喜欢茶。", Cue.NEGATION),
        ("彼女は猫を三匹飼っている。", "彼女は猫を四匹飼っている。", Cue.NUMBER),
        ("彼女はお茶が好きだ。", "彼女はお茶が好きではない。", Cue.NEGATION),
    ],
)
def test_cues_are_seen_in_each_language(one: str, other: str, cue: Cue) -> None:
    assert cue in compare(read(one), read(other)).cues
    assert cue in compare(read(other), read(one)).cues


def test_the_same_date_in_words_or_short_is_no_cue() -> None:
    one, other = read("Er kommt am 3. März 2021 an."), read("Er kommt am 3. Mär. 2021 bald an.")
    assert Cue.DATE not in compare(one, other).cues


@pytest.mark.parametrize(
    ("one", "other"), [("彼女はお茶が好き", "彼女はお茶が好き。"), ("她有三只猫。", "她有3只猫。")]
)
def test_what_a_model_cannot_read_it_does_not_join(one: str, other: str) -> None:
    assert not passes(read(one), read(other))
    able = "multilingual-e5-small"
    assert passes(read(one, model=able), read(other, model=able))
    assert not passes(read(one, model=able), read(other, model="all-MiniLM-L6-v2"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Lei ha due cani e un gatto.", "Lei ha 2 cani e un gatto."),
        ("Ela tem dois cães e um gato.", "Ela tem 2 cães e um gato."),
        ("Hij heeft een kat", "hij heeft een kat"),
        ("그는 고양이 세 마리가 있다", "그는 고양이 3 마리가 있다"),
    ],
)
def test_a_language_without_a_table_has_the_full_stop_alone(one: str, other: str) -> None:
    able = "multilingual-e5-small"
    assert not passes(read(one, model=able), read(other, model=able))
    assert passes(read(one, model=able), read(one.rstrip(".") + ".", model=able))


@pytest.mark.parametrize("table", LATIN, ids=lambda table: table.code)
def test_months_are_those_of_cldr(table: object) -> None:
    babel = pytest.importorskip("babel", reason="babel is not installed")
    found = next(each for each in LATIN if each is table)
    for context in ("format", "stand-alone"):
        for width in ("wide", "abbreviated"):
            for number, name in babel.Locale(found.code).months[context][width].items():
                assert found.months[name.casefold().rstrip(".")] == number
        for name in babel.Locale(found.code).days[context]["wide"].values():
            assert name.casefold() in found.translations


TRICKY = (
    ("Sie hat sieben Leben und ist in Rom.", "Sie hat 7 leben und ist in Rom."),
    ("Wir sieben Mehl.", "Wir 7 Mehl."),
    ("Die zwei sind nicht da.", "Die 2 sind da."),
    ("Er hat zwei zwei Meter lange Hunde.", "Er hat 2 2 Meter lange Hunde."),
    ("Es ist halb drei und er isst.", "Es ist halb 3 und er isst."),
    ("Er hat zwanzig fünf Euro Noten und ist reich.", "Er hat 20 fünf Euro Noten und ist reich."),
    ("Der Preis ist zwei Komma fünf Euro.", "Der Preis ist 2 Komma fünf Euro."),
    ("Il a quatre vingt livres et une auto.", "Il a 4 vingt livres et une auto."),
    ("J'ai quatre vingts.", "J'ai 4 vingts."),
    ("Il a vingt et un ans et elle a dix ans.", "Il a 20 et un ans et elle a dix ans."),
    ("Il habite au 3 rue de mai.", "Il habite au 3 rue de mars."),
    ("Elle a cent deux livres dans le sac.", "Elle a cent 2 livres dans le sac."),
    ("Tiene treinta y dos años y vive en Lima.", "Tiene 30 y dos años y vive en Lima."),
    ("Vive en la calle once de abril.", "Vive en la calle 11 de abr."),
    ("Ella y los tres hermanos no están en casa.", "Ella y los 3 hermanos están en casa."),
    ("Es el uno de los dos y no el tres.", "Es el uno de los 2 y no el tres."),
    ("她有三十二本书。", "她有30二本书。"),
    ("她三岁。", "她3三岁。"),
    ("他是第三名。", "他是第3名。"),
    ("他有二三个朋友。", "他有2三个朋友。"),
    ("他有三千本书。", "他有3千本书。"),
    ("十二月三天", "12月三天"),
    ("彼は二十回以上行った。", "彼は2十回以上行った。"),
    ("彼は第三回に出た。", "彼は第3回に出た。"),
    ("彼は三、四人に会った。", "彼は3、四人に会った。"),
    ("彼は十一歳です。", "彼は十1歳です。"),
    ("彼は一人です。", "彼は1人です。"),
    ("Sie mag Tee.", "Sie mag Tee?"),
    ("彼は来る。", "彼は来る？"),
    ("他来了。", "他来了！"),
    ("Il aime le thé.", "Il aime le thé..."),
    ("Vive en la c/ Mayor 3.", "Vive en la c/ mayor 3."),
    ("Die Datei /tmp/drei ist da.", "Die Datei /tmp/3 ist da."),
)
"""Written to be joined wrongly: numbers beside numbers, ordinals, times, code, marks."""

SAME = (
    ("Sie hat seit fünf Jahren eine Katze.", "Sie hat seit 5 Jahren eine Katze"),
    ("wir sind am 12. Okt. in der Stadt", "Wir sind am 12. Oktober in der Stadt."),
    ("Elle a douze poules et un coq.", "Elle a 12 poules et un coq."),
    ("Il est à Lyon depuis le 5 févr. 2020.", "Il est à Lyon depuis le 5 février 2020."),
    ("Tiene once gatos y un perro.", "Tiene 11 gatos y un perro."),
    ("mis hermanos viven en la casa de Ana", "Mis hermanos viven en la casa de Ana."),
    ("他有两个孩子。", "他有2个孩子"),
    ("会议两小时后开始", "会议2小时后开始。"),
    ("兄弟が五人いる。", "兄弟が5人いる。"),
    ("週に三回走ります。", "週に3回走ります"),
    ("Ich habe drei Katzen.", "Ich habe 3 Katzen."),
    ("Lena hat fünf Kinder", "Lena hat 5 Kinder."),
    ("J'ai trois enfants.", "J'ai 3 enfants."),
    ("Tengo dos gatos.", "Tengo 2 gatos."),
)


@each(("one", "other"), TRICKY)
def test_a_number_beside_another_is_another(one: str, other: str) -> None:
    able = "multilingual-e5-small"
    assert not passes(read(one, model=able), read(other, model=able))
    assert not passes(read(other, model=able), read(one, model=able))


@pytest.mark.parametrize("code", APART)
def test_what_differs_in_a_language_is_joined_in_no_order(code: str) -> None:
    assert len(pairs(APART[code])) > 30
    for one, other in pairs(APART[code]):
        for model in (None, "multilingual-e5-small"):
            assert not passes(read(one, model=model), read(other, model=model)), (one, other)
            assert not passes(read(other, model=model), read(one, model=model)), (other, one)


@each(("one", "other"), SAME)
def test_what_a_table_licenses_is_joined_in_both_orders(one: str, other: str) -> None:
    able = "multilingual-e5-small"
    assert passes(read(one, model=able), read(other, model=able))
    assert passes(read(other, model=able), read(one, model=able))
