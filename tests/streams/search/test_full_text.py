"""The full-text search against SQLite's FTS5, and the content words that it searches."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest.streams.search import FullTextIndex, TokenIndex
from palimpsest.streams.search.content import STOPWORDS, content_tokens, jaccard, terms
from tests.long import examples
from tests.tables import each

WORDS = [f"word{i}" for i in range(10)]
texts = st.lists(st.sampled_from(WORDS), max_size=9)
rows = st.lists(texts, max_size=25)


@pytest.fixture(scope="module", name="fts5")
def opened() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as database:
        yield database


def ranked(
    database: sqlite3.Connection, there: dict[int, Sequence[str]], query: Sequence[str], limit: int
) -> list[int]:
    """The rows that FTS5 finds, terms by OR, as its bm25() ranks them."""
    if not query:
        return []
    database.execute("DROP TABLE IF EXISTS texts")
    database.execute("CREATE VIRTUAL TABLE texts USING fts5(text)")
    for row, words in there.items():
        database.execute("INSERT INTO texts (rowid, text) VALUES (?, ?)", (row, " ".join(words)))
    match = " OR ".join(f'"{term}"' for term in dict.fromkeys(query))
    found = database.execute(
        "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY round(bm25(texts), 9), rowid LIMIT ?",
        (match, limit),
    )
    return [row for (row,) in found]


@given(rows, texts, st.integers(1, 6), st.data())
@settings(max_examples=examples(200))
def test_it_ranks_as_fts5_does(
    fts5: sqlite3.Connection,
    said: list[list[str]],
    query: list[str],
    limit: int,
    data: st.DataObject,
) -> None:
    index = FullTextIndex()
    for row, words in enumerate(said):
        assert index.append(words) == row
    there: dict[int, Sequence[str]] = dict(enumerate(said))
    assert index.best(query, limit) == ranked(fts5, there, query, limit)
    for row in data.draw(st.lists(st.sampled_from(range(len(said))), max_size=4)) if said else ():
        if data.draw(st.booleans()):
            index.remove(row)
            there.pop(row, None)
        else:
            there[row] = data.draw(texts)
            index.replace(row, there[row])
    assert index.best(query, limit) == ranked(fts5, there, query, limit)


def test_a_rare_term_weighs_more_than_two_common_ones() -> None:
    index = FullTextIndex()
    for words in ["tea in the shed", "tea by the shed", "tea and cake", "a boat", "boat and oar"]:
        index.append(words.split())
    assert index.best(["tea", "oar"], 2) == [4, 2]
    assert index.best(["kettle"], 2) == []


def test_a_row_that_is_not_there() -> None:
    index = FullTextIndex()
    index.append(["tea"])
    with pytest.raises(IndexError):
        index.remove(1)
    with pytest.raises(IndexError):
        index.replace(-1, ["tea"])
    assert len(index) == 1


def test_jaccard_among_some_rows() -> None:
    index = TokenIndex()
    for words in ("tea shed", "tea", "boat", ""):
        index.append(frozenset(words.split()))
    query = frozenset({"tea", "oar"})
    assert [(hit.row, hit.score) for hit in index.among(query, [2, 1, 0], 0.3)] == [
        (1, 0.5),
        (0, 0.3333),
    ]
    assert index.among(frozenset(), [3], 0.1) == []


# -- content words -------------------------------------------------------------------------------


def test_lower_case_words_between_white_space() -> None:
    assert content_tokens("Grip_force=12.5N  works\tBest!") == {
        "grip_force=12.5n",
        "works",
        "best!",
    }
    assert terms("Grip_force=12.5N works, works") == ("grip", "force", "12", "5n", "works", "works")


@each("word", sorted(STOPWORDS))
def test_stopwords_in_both_languages_and_categories_are_left_out(word: str) -> None:
    assert content_tokens(f"{word} tea") == {"tea"}
    assert terms(word) == ()


def test_two_texts_without_a_content_word_share_nothing() -> None:
    assert jaccard(content_tokens("the decision"), content_tokens("is of the")) == 0.0


def test_chinese_is_segmented() -> None:
    assert content_tokens("我喜欢喝绿茶，她的茶。") == {"我", "喜欢", "喝", "绿", "茶", "她"}
    assert "的" not in terms("她的茶")


def test_numbers_beside_chinese_stay_whole() -> None:
    assert {"12.5", "力度"} <= content_tokens("力度12.5牛最适合抓杯子")


def test_japanese_is_segmented_by_its_own_model() -> None:
    assert content_tokens("今日は天気です。") == {"今日は", "天気です"}


def test_segmented_texts_of_two_languages_are_compared_by_words() -> None:
    once, again = content_tokens("我喜欢喝绿茶"), content_tokens("我喜欢喝红茶")
    assert 0.3 < jaccard(once, again) < 1.0
