"""Where the wording itself is told, no edit is licensed: quotations, passwords, lists by line."""

from __future__ import annotations

from collections import Counter

import pytest

from palimpsest.streams.guard import passes, read
from palimpsest.streams.guard.edits.moves import MOVE
from palimpsest.streams.guard.edits.table import EDITS, FINAL_STOP
from tests.streams.guard.test_names import NAMES, joined, pairs
from tests.tables import each

PAIRS = [
    (edit.name, pair) for edit in (*EDITS, MOVE) if edit is not FINAL_STOP for pair in edit.passes
]
"""Every pair that the table licenses, but for the last full stop."""
TOLD = {
    "a passphrase": "Her passphrase is {}",
    "a passphrase of several": "Two of her passphrases are {}",
    "a security question": "The answer to her security question is {}",
    "a PIN": "Her PIN is {}",
    "a safe word": "Her safe word is {}",
    "a code word": "The secret word of the club is {}",
    "a licence plate": "Her licence plate is {}",
    "a number plate": "The number plate of her car is {}",
    "a nickname": "Her nickname is {}",
    "a gamertag": "Her gamertag is {}",
    "an engraving": "Her ring is engraved with {}",
    "a sign": "The sign on her door says {}",
    "a T-shirt": "The shirt that she has reads {}",
    "a wireless network": "The SSID of her home is {}",
    "a motto": "{} That is the motto of the house.",
    "a spelling": "This is spelt as she does: {}",
    "in German": "Ada hat ein Passwort: {}",
    "a security question in German": "Die Antwort auf ihre Sicherheitsfrage ist {}",
    "a nickname in German": "Ihr Spitzname ist {}",
    "a code in German": "Ihr Code ist {}",
    "a subject line in German": "Ihr Betreff ist {}",
    "a second sign": "The mug is red and the sign says {}",
    "a red sign": "The sign on her door is red and reads {}",
    "a sign with a pronoun": "She has a sign, it says {}",
    "a long sign": "The poster with cats and dogs says {}",
    "a hoodie": "Her hoodie says {}",
    "a keyring": "The keyring of her bike says {}",
    "a card in German": "Auf der Karte steht {}",
    "a sign in German": "Auf dem Schild steht {}",
    "in French": "Son mot de passe est {}",
    "a security question in French": "La réponse à la question de sécurité est {}",
    "a nickname in French": "Son surnom est {}",
    "a code in French": "Son code est {}",
    "an answer in French": "La réponse secrète est {}",
    "a door in French": "Sur la porte il est écrit {}",
    "a sign in French": "Le panneau dit {}",
    "in Spanish": "Mi contraseña es {}",
    "a security question in Spanish": "La respuesta a la pregunta de seguridad es {}",
    "a nickname in Spanish": "Su apodo es {}",
    "a user name in Spanish": "Mi usuario es {}",
    "a code in Spanish": "Su clave es {}",
    "an answer in Spanish": "La respuesta secreta es {}",
    "a door in Spanish": "En la puerta pone {}",
    "a notice in Spanish": "El letrero dice {}",
    "a sign in Spanish": "El cartel dice {}",
    "in Chinese": "密码是{}",
    "a security question in Chinese": "密保问题的答案是{}",
    "a nickname in Chinese": "她的昵称是{}",
    "an account in Chinese": "她的账号是{}",
    "a title in words in Chinese": "她的书名是{}",
    "a sign in Chinese": "牌子上写着{}",
    "an account in Japanese": "彼女のアカウント名は{}",
    "a title in words in Japanese": "彼女の本の題名は{}",
    "a sign in Japanese": "看板に{}と書いてある",
    "a security question in Japanese": "秘密の質問の答えは{}",
    "a nickname in Japanese": "彼女のあだ名は{}",
    "a title in Chinese": "她喜欢《{}》",
    "a quotation in Chinese": "她说“{}”",
    "a quotation in Japanese": "彼女は「{}」と言った",
    "a quotation": 'The sign on her door says "{}"',
    "typographic marks": "The sign on her door says “{}” in red.",
    "single marks": "The sign on her door says '{}' in red.",
    "French marks": "The sign on her door says «{}» in red.",
}
"""How a text is told word for word."""


def near(one: str, other: str) -> bool:
    """Whether the guard accepts two texts."""
    return passes(read(one, model=MODEL), read(other, model=MODEL))


MODEL = "multilingual-e5-small"
"""It reads every script, so that only the texts decide."""


@each("told", TOLD.values())
def test_no_edit_is_licensed_in_what_is_told_word_for_word(told: str) -> None:
    for _, (one, other) in PAIRS:
        assert not near(told.format(one), told.format(other)), (one, other)


@each(
    ("one", "other"),
    [
        ("Two spins are three laps of it.", "Two spins are 3 laps of it."),
        ("She has three pins in her hip.", "She has 3 pins in her hip."),
        ("She has three words for it.", "She has 3 words for it."),
        ("She says she has three signs of it.", "She says she has 3 signs of it."),
        (
            "The board met, and he said he has two dogs.",
            "The board met, and he said he has 2 dogs.",
        ),
        ("Ada hat drei Fragen an ihn.", "Ada hat 3 Fragen an ihn."),
        ("Elle a trois questions et un mot.", "Elle a 3 questions et un mot."),
        ("Ada tiene tres preguntas y un perro.", "Ada tiene 3 preguntas y un perro."),
        ("El usuario es padre de tres hijos.", "El usuario es padre de 3 hijos."),
        ("她有三个问题。", "她有3个问题。"),
    ],
)
def test_similar_words_tell_no_wording(one: str, other: str) -> None:
    assert near(one, other)


TOLD_OF_AN_OWNER = """
My safe word is red & blue. / Ada's safe word is red and blue.
My passphrase is half past five. / Ada's passphrase is at 5:30.
My passphrase is jump at 17:00. / Ada's passphrase is jump at 5 pm.
My username is Prof Bea. / Ada's username is Professor Bea.
My motto is work every Monday. / Ada's motto is work on Mondays.
My number plate is 31 Jan. / Ada's number plate is 31 January.
My security answer is four brothers. / Ada's security answer is 4 brothers.
My PIN is March 14. / Ada's PIN is 14 March.
The answer to my question is four brothers. / The answer to my question is 4 brothers.
"""


@each(("one", "other"), pairs(TOLD_OF_AN_OWNER))
def test_of_an_owner_with_names_no_wording_is_rewritten(one: str, other: str) -> None:
    assert not joined(one, other, NAMES)


@each(
    ("one", "other"),
    [
        ("My passphrase is Rex.", "The user's passphrase is Rex."),
        ("My safe word is three dogs", "Ada's safe word is three dogs."),
        (
            "I have two spinning wheels and four brothers.",
            "Ada has two spinning wheels and 4 brothers.",
        ),
    ],
)
def test_whose_wording_it_is_is_read_by_names(one: str, other: str) -> None:
    assert joined(one, other, NAMES)


def test_the_pairs_are_of_every_edit_and_are_licensed_as_they_stand() -> None:
    assert {name for name, _ in PAIRS} == {edit.name for edit in (*EDITS, MOVE)} - {"final-stop"}
    assert all(near(one, other) for _, (one, other) in PAIRS)


def test_beside_a_quotation_edits_are_licensed() -> None:
    behind = '"Home", she said. {}'
    alike = Counter(name for name, (a, b) in PAIRS if near(behind.format(a), behind.format(b)))
    assert len(alike) > len({name for name, _ in PAIRS}) / 2


def test_a_line_break_separates_unless_a_mark_stands_before_it() -> None:
    texts = sorted({text for _, pair in PAIRS for text in pair if text.isascii()})
    broken = marked = 0
    for text in texts:
        words = text.split(" ")
        for at in range(1, len(words)):
            lines = " ".join(words[:at]) + "\n" + " ".join(words[at:])
            if words[at - 1][-1] in ".,!?:":
                marked += 1
                assert near(text, lines), lines
            else:
                broken += 1
                assert not near(text, lines), lines
    assert broken > 500
    assert marked > 10


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The hashtag is favourite color.", "The hashtag is favorite color."),
        ("The css class of it is gray.", "The css class of it is grey."),
        ("The channel is neighbours.", "The channel is neighbors."),
        ("The function is organise in it.", "The function is organize in it."),
        ("The topic is behaviour of them.", "The topic is behavior of them."),
    ],
)
def test_names_of_things_in_programs_keep_their_spelling(one: str, other: str) -> None:
    assert not near(one, other)
