"""By which names the texts of an owner are presumed to call the owner, if none are declared."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest

from palimpsest.projections.recall.from_ledger import Recollection
from palimpsest.projections.recall.hits import Ranked, RecallOptions
from palimpsest.projections.recall.presumed import PresumedNames
from tests.streams.core.spec import History, given
from tests.streams.dedupe.test_by_tokens import at
from tests.tables import each

SHARED = [
    "Bea lives in Paris.",
    "I live in Paris.",
    "Bea has two cats.",
    "I have two cats.",
    "Bea's hobby is chess.",
]
OTHER_FORMS = [
    ("I'm a nurse.", "Bea is a nurse."),
    ("I also like tea.", "Bea also likes tea."),
    ("I've sold my car.", "Bea has sold her car."),
    ("I jog.", "Bea jogs."),
    ("I moved to Rome.", "Bea moved to Rome."),
]
THIRD = "My hobby is chess."


def presumed(*texts: str) -> tuple[str, ...]:
    history = given(*(at(str(number), text, number) for number, text in enumerate(texts)))
    return PresumedNames(history.ledger).now()


@each(
    ("texts", "names"),
    [
        (["I live in Paris.", "The user has a dog."], ("I", "the user")),
        (["My dog barks.", "User's cat sleeps."], ("I", "the user")),
        (["I live in Paris.", "My dog barks."], ()),
        (["Bea lives in Paris.", "Bea has a dog."], ()),
        (["Bea lives in Paris.", "I have a dog."], ()),
        (["Ada lives in Paris.", "I have a dog."], ("Ada", "I")),
        (["Bea lives in Paris.", "My name is Bea."], ("Bea", "I")),
        (["Bea Lund lives in Paris.", "Name: Bea Lund"], ()),
        (["Bea Lund lives in Paris.", "My name is Bea Lund."], ("Bea Lund", "I")),
        (["Bea lives in Paris.", "The user is called Bea Lund."], ("Bea", "the user")),
        (["Bea lives in Paris.", "My wife is called Bea."], ()),
        (["Bea lives in Paris.", "I'm married to Bea."], ()),
        (["She lives in Paris.", "I have a dog."], ()),
        (SHARED, ()),
        ([*SHARED, THIRD], ("Bea", "I")),
        ([THIRD, *SHARED], ("Bea", "I")),
        ([*SHARED, *SHARED], ()),
        ([*SHARED, THIRD, "I live with Bea."], ()),
        ([*(text.replace("Bea", "Élise") for text in SHARED), THIRD], ("I", "Élise")),
        ([*(text.replace("Bea", "Élise") for text in SHARED), THIRD, "I live with Élise."], ()),
        (["Élise Žák lives in Paris.", "My name is Élise Žák."], ("I", "Élise Žák")),
        (["Ich wohne in Paris.", "Ada hat einen Hund."], ("Ada", "ich")),
        (["Mein Hund bellt.", "Die Nutzerin wohnt in Paris."], ("die Nutzerin", "ich")),
        (["私はパリに住んでいる", "ユーザーは犬を飼っている"], ("ユーザー", "私")),
        (["僕はパリに住んでいる", "俺の犬は三歳だ"], ("俺", "僕")),
        (["J'habite à Paris.", "Ada a deux chats."], ("Ada", "je")),
        (["Je travaille à Paris.", "L'utilisatrice a deux chats."], ("je", "l'utilisatrice")),
        (["Vivo en París.", "Ada tiene dos gatos."], ("Ada", "yo")),
        (["El usuario vive en París.", "Yo tengo dos gatos."], ("el usuario", "yo")),
        (["Jean habite à Paris.", "Ma mère a deux chats."], ()),
        (["Vivonne est à Paris.", "Tengo Sushi is in Paris."], ()),
    ],
)
def test_names(texts: list[str], names: tuple[str, ...]) -> None:
    assert presumed(*texts) == names
    assert presumed(*reversed(texts)) == names


@each("pairs", [*combinations(OTHER_FORMS, 3)])
def test_a_statement_is_the_same_of_both_in_any_form(pairs: tuple[tuple[str, str], ...]) -> None:
    assert presumed(*chain.from_iterable(pairs)) == ("Bea", "I")
    assert presumed(*chain.from_iterable(pairs[1:])) == ()


@pytest.mark.parametrize(
    ("owner", "texts", "names"),
    [
        ("élodie", ["Élodie habite à Paris.", "J'ai deux chats."], ("je", "Élodie")),
        ("élodie", ["Élodie étudie à Paris.", "J'ai deux chats."], ("je", "Élodie")),
        ("健太", ["健太はパリに住んでいる。", "私は猫を飼っている。"], ("健太", "私")),
        ("max", ["maximale Größe ist 3", "Ich wohne in Bonn."], ()),
        ("李娜", ["李娜住在成都。", "我有两只猫。"], ("我", "李娜")),
        ("李娜", ["王芳住在成都。", "我有两只猫。"], ()),
    ],
)
def test_an_owners_id_is_a_name_in_every_script(
    owner: str, texts: list[str], names: tuple[str, ...]
) -> None:
    history = History(owner_id=owner)
    history.do(*(at(str(number), text, number) for number, text in enumerate(texts)))
    assert PresumedNames(history.ledger).now() == names


def test_names_follow_the_ledger() -> None:
    history = given(at("a", "I live in Paris.", 0))
    kept = PresumedNames(history.ledger)
    assert kept.now() == ()
    history.do(at("b", "The user has a dog.", 1))
    assert kept.now() == ("I", "the user") == PresumedNames(history.ledger).now()
    history.do(at("c", "Bea likes tea.", 2))
    history.do(at("d", "My name is Bea.", 3))
    assert kept.now() == ("Bea", "I", "the user") == PresumedNames(history.ledger).now()


def test_what_replaces_a_hit_is_found_without_a_vector_too() -> None:
    history = given(at("a", "Ada lives in Rome.", 0), at("b", "I live in Oslo.", 1))
    rome, oslo = (history.ledger.entries[history.id(name)].memory for name in "ab")
    others = [Ranked(rome, 0.9), Ranked(oslo, 0.2)]
    found = Recollection(history.ledger, 3).recall(
        np.ones(3, np.float32), RecallOptions(1), ("Ada", "I"), others
    )
    assert [hit["face"] for hit in found] == ["I live in Oslo."]
