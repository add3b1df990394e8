"""Words that the model cannot tell apart are named, few and short, and still tell texts apart."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer

from palimpsest.streams.embedder.model_folder import ModelFolder
from palimpsest.streams.embedder.tokens import MAX_UNKNOWN, MAX_WORD, Reader


@pytest.fixture(scope="module")
def reader(folder: ModelFolder) -> Reader:
    return Reader(Tokenizer.from_file(str(folder.tokenizer)), folder.max_length)


def unknown(reader: Reader, text: str) -> tuple[str, ...]:
    return reader.read([text])[0].unknown


def test_each_word_once_in_order_of_appearance(reader: Reader) -> None:
    assert unknown(reader, "🍣 then 🍕, and 🍣 🦀🦀 again") == ("🍣", "🍕", "🦀🦀")


def test_case_makes_no_other_word(reader: Reader) -> None:
    assert unknown(reader, "🍣Ok 🍣OK") == ("🍣ok",)


def test_characters_outside_the_plane_do_not_shift_the_words(reader: Reader) -> None:
    assert unknown(reader, "𝒳 is é, 你 and 🦀") == ("𝒳", "你", "🦀")


def test_many_words_are_bounded_and_still_distinguish_texts(reader: Reader) -> None:
    crowd = [chr(0x1F400 + n) for n in range(MAX_UNKNOWN + 4)]
    one, other = (unknown(reader, " ".join([*crowd, last])) for last in "🦀🍣")
    assert len(one) == len(other) == MAX_UNKNOWN
    assert one[:-1] == other[:-1] == tuple(crowd[: MAX_UNKNOWN - 1])
    assert one != other


def test_sixteen_words_are_all_kept(reader: Reader) -> None:
    crowd = [chr(0x1F400 + n) for n in range(16)]
    assert unknown(reader, " ".join(crowd)) == tuple(crowd)


def test_a_long_word_is_bounded_and_still_distinguishes_texts(reader: Reader) -> None:
    one, other = (unknown(reader, "🦀" * 90 + last) for last in "🍕🍣")
    assert one != other
    assert len(one[0]) <= MAX_WORD


def test_a_cut_text_is_marked(reader: Reader) -> None:
    (tokens,) = reader.read(["tea " * 1000 + "🦀"])
    assert tokens.truncated
    assert len(tokens.ids) == 256
    assert tokens.unknown == ()
