"""Words in every script: what `find` and recall by words find, with dictionaries and without."""

from __future__ import annotations

import random
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from palimpsest.projections.recall import by_words, mentions
from palimpsest.projections.recall.by_words import ranked_by_words
from palimpsest.projections.recall.mentions import MentionIndex
from palimpsest.streams.core.ledger import Ledger
from tests.streams.core.spec import given, retract, say

needs_package = pytest.mark.skipif(
    find_spec("lindera") is None, reason="lindera-python-cjk is not installed"
)


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if the extra were not installed."""
    for module in (mentions, by_words):
        monkeypatch.setattr(module, "are_installed", lambda: False)
    mentions._base_forms.cache_clear()
    yield
    mentions._base_forms.cache_clear()


def ledger(*texts: str) -> Ledger:
    return given(*(say(f"c{number}", text) for number, text in enumerate(texts))).ledger


def found(of: Ledger, query: str) -> list[str]:
    return [hit.text for hit in MentionIndex(of).find(query)]


EITHER_WAY = [
    ("Tee", "Ada trinkt gern Tee.", "Ada hat eine Teetasse."),
    ("STRASSE", "Ada wohnt in der Straße.", "Ada wohnt am Platz."),
    ("école", "Elle va à l'école.", "Elle va aux écoles."),
    ("l'école", "C'est une école.", "Elle va aux écoles."),
    ("猫", "彼女は猫を飼っている。", "彼女は犬を飼っている。"),
    ("お茶", "お茶が好きです。", "紅茶が好きです。"),
    ("空港", "関西国際空港から飛ぶ。", "東京駅から行く。"),
    ("アン", "アンは元気だ。", "アンナは元気だ。"),
    ("タイ", "タイに住む。", "ネクタイを買う。"),
    ("上海", "她住在上海。", "她住在北京。"),
    ("周五", "她周五十点开会。", "她周六十点开会。"),
    ("张三", "张三一直住在北京。", "李四一直住在北京。"),
    ("고양이", "나는 고양이를 좋아한다", "고양시에 산다"),
    ("고양이", "집에 고양이가 있다", "고양시에 산다"),
    ("istanbul", "İSTANBUL'da yaşıyor", "Ankara'da yaşıyor"),
    ("ISPARTA", "ısparta'ya gitti", "Sparta'ya gitti"),
    ("Ankara'da", "Ankara'dan geldi", "Bursa'dan geldi"),
    ("ב-Google", "היא עברה מ-Google", "היא עברה מ-Amazon"),
]
"""A query, a text that it finds and one that it does not."""
BY_DICTIONARY = [
    ("3時", "午後3時に会う。", "3時間かかる。"),
    ("みか", "みかは元気だ。", "みかんを食べる。"),
    ("さくら", "さくらの家。", "さくらんぼの味。"),
    ("そば", "そば屋に行く。", "そばかすがある。"),
    ("コーヒー", "アイスコーヒーを飲む。", "紅茶を飲む。"),
    ("ｺｰﾋｰ", "アイスコーヒーを飲む。", "紅茶を飲む。"),
    ("飲む", "お茶を飲んだ。", "お茶を買った。"),
    ("京都", "京都に住む。", "東京都に住む。"),
    ("飼う", "猫を飼っている。", "猫を買っている。"),
    ("食べる", "魚を食べなかった。", "魚を釣った。"),
    ("먹다", "점심을 먹었다", "점심을 샀다"),
]
"""The same, as only a dictionary tells them."""


@pytest.mark.parametrize(("query", "text", "other"), EITHER_WAY)
def test_what_was_written_is_found(without: None, query: str, text: str, other: str) -> None:
    assert found(ledger(text, other), query) == [text]


@needs_package
@pytest.mark.parametrize(("query", "text", "other"), [*EITHER_WAY, *BY_DICTIONARY])
def test_whole_words_are_found_with_the_dictionaries(query: str, text: str, other: str) -> None:
    assert found(ledger(text, other), query) == [text]


@needs_package
def test_an_inflected_query_is_found_as_it_is_written() -> None:
    """It may be a name: 지은 is one, and a form of *to build*."""
    assert found(ledger("지은이 왔다", "집을 지었다"), "지은") == ["지은이 왔다"]
    assert found(ledger("魚を食べた。", "魚を食べない。"), "食べた") == ["魚を食べた。"]


@needs_package
def test_words_of_a_query_stand_one_after_the_other_in_base_forms() -> None:
    of = ledger("猫を飼っている。", "猫が魚を食べるのを見た犬を飼っている。")
    assert found(of, "猫を飼う") == ["猫を飼っている。"]


@needs_package
@pytest.mark.parametrize("seed", range(5))
def test_an_index_that_goes_on_finds_what_one_finds_that_is_built_anew(seed: int) -> None:
    """Whatever was asked when, and what was retracted in between."""
    draw = random.Random(seed)
    words = [
        "猫",
        "を",
        "飼って",
        "いる",
        "飼う",
        "東京",
        "都",
        "京都",
        "に",
        "住む",
        "고양이",
        "가",
        " ",
    ]
    texts = ["".join(draw.choices(words, k=5)) for _ in range(40)]
    history = given(say("first", "猫を飼う"))
    index = MentionIndex(history.ledger)
    for number, text in enumerate(texts):
        history.do(say(f"c{number}", text))
        if draw.random() < 0.2:
            history.do(retract(f"c{draw.randrange(number + 1)}"))
        query = draw.choice(["飼う", "猫を飼う", "京都", "고양이", "東京"])
        assert index.find(query) == MentionIndex(history.ledger).find(query)


def test_an_identifier_is_told_from_the_words_around_it() -> None:
    """Where no space parts them, or something is attached."""
    texts = [f"INC-100{number} was closed on Monday." for number in range(9)]
    index = MentionIndex(ledger(*texts))
    [closed] = index.of_identifiers("INC-1007")
    questions = (
        "INC-1007はどうなった？",
        "INC-1007为什么关闭",
        "INC-1007을 누가 닫았나",
        "l'INC-1007",
        "INC-1007'yi kim",
    )
    for question in questions:
        assert [*index.of_identifiers(question)] == [closed]


def ranked(question: str, *texts: str) -> list[tuple[str, float]]:
    return [(hit.memory.face.text, hit.score) for hit in ranked_by_words(ledger(*texts), question)]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Wo wohnt Ada?", "Ada wohnt in Bonn."),
        ("l'école de Lyon", "Une école à Lyon"),
        ("istanbul", "İstanbul'da yaşıyor"),
        ("ISPARTA", "ısparta'da"),
        ("東京", "彼女は東京に住んでいる"),
        ("猫を飼う", "彼女は猫が好きです"),
        ("고양이는", "나는 고양이를 좋아한다"),
        ("喝茶", "她不喜欢喝茶。"),
    ],
)
@pytest.mark.parametrize("installed", [pytest.param(True, marks=needs_package), False])
def test_recall_by_words_finds_words_of_every_script(
    monkeypatch: pytest.MonkeyPatch, question: str, text: str, installed: bool
) -> None:
    monkeypatch.setattr(by_words, "are_installed", lambda: installed)
    [(face, score), *_] = ranked(question, "The boat is red.", text)
    assert face == text
    assert score > 0


@needs_package
def test_recall_by_words_knows_inflections() -> None:
    assert ranked("猫を飼う", "猫を飼っている", "犬を見た") == [("猫を飼っている", 1.0)]
    assert ranked("京都大学", "京都に住む", "京都大学に通う")[0][0] == "京都大学に通う"


def test_english_is_recalled_as_before() -> None:
    texts = ("Ada doesn't drink tea.", "Ada drinks tea.", "The IMAGE is in it")
    assert ranked("does not", *texts) == [("Ada doesn't drink tea.", 1.0)]
    assert ranked("image", *texts) == [("The IMAGE is in it", 1.0)]
