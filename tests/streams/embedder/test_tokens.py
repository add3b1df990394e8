"""Words that the model cannot tell apart are named, few and short, and still tell texts apart."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from palimpsest.streams.embedder.formats.model_folder import ModelFolder
from palimpsest.streams.embedder.sentence_transformers_engine import reader_of
from palimpsest.streams.embedder.tokens import MAX_UNKNOWN, MAX_WORD, MOST_WINDOWS, Tokeniser


@pytest.fixture(scope="module")
def reader(folder: ModelFolder) -> Tokeniser:
    return Tokeniser(folder.read_tokenizer(), folder.max_length)


def unknown(reader: Tokeniser, text: str) -> tuple[str, ...]:
    return reader.read([text])[0].unknown


def test_each_word_once_in_order_of_appearance(reader: Tokeniser) -> None:
    assert unknown(reader, "🍣 then 🍕, and 🍣 🦀🦀 again") == ("🍣", "🍕", "🦀🦀")


def test_case_makes_no_other_word(reader: Tokeniser) -> None:
    assert unknown(reader, "🍣Ok 🍣OK") == ("🍣ok",)


def test_characters_outside_the_plane_do_not_shift_the_words(reader: Tokeniser) -> None:
    assert unknown(reader, "𝒳 is é, 你 and 🦀") == ("𝒳", "你", "🦀")


def test_many_words_are_bounded_and_still_distinguish_texts(reader: Tokeniser) -> None:
    crowd = [chr(0x1F400 + n) for n in range(MAX_UNKNOWN + 4)]
    one, other = (unknown(reader, " ".join([*crowd, last])) for last in "🦀🍣")
    assert len(one) == len(other) == MAX_UNKNOWN
    assert one[:-1] == other[:-1] == tuple(crowd[: MAX_UNKNOWN - 1])
    assert one != other


def test_sixteen_words_are_all_kept(reader: Tokeniser) -> None:
    crowd = [chr(0x1F400 + n) for n in range(16)]
    assert unknown(reader, " ".join(crowd)) == tuple(crowd)


def test_a_long_word_is_bounded_and_still_distinguishes_texts(reader: Tokeniser) -> None:
    one, other = (unknown(reader, "🦀" * 90 + last) for last in "🍕🍣")
    assert one != other
    assert len(one[0]) <= MAX_WORD


def test_a_cut_text_is_marked(reader: Tokeniser) -> None:
    (tokens,) = reader.read(["tea " * 1000 + "🦀"])
    assert tokens.truncated
    assert len(tokens.ids) == 256


def test_windows_overlap_and_reach_from_the_first_to_the_end(reader: Tokeniser) -> None:
    words = [f"word{n}" for n in range(700)]
    [tokens] = reader.read([" ".join(words)])
    runs = [window.split() for window in tokens.windows]
    seen = next(n for n in range(700) if reader.read([" ".join(words[: n + 1])])[0].truncated)
    end = seen
    for run in runs:
        begin = words.index(run[0])
        assert run == words[begin : begin + len(run)], "cut between words"
        assert begin < end < begin + len(run), "each begins before the end of what was seen"
        end = begin + len(run)
    assert end == len(words)


@pytest.mark.parametrize(
    "text",
    ["!" * 32_768, "ab " * 10_900, "语言" * 3_000, "tea " * 255, "naïve café, 50 €\n" * 1_800],
    ids=["signs", "short words", "no spaces", "just beyond", "accents"],
)
def test_every_window_fits_and_there_are_not_too_many(reader: Tokeniser, text: str) -> None:
    [tokens] = reader.read([text])
    assert 0 < len(tokens.windows) <= MOST_WINDOWS
    assert not any(one.truncated for one in reader.read(tokens.windows))
    assert text.rstrip().endswith(tokens.windows[-1])
    assert all(window in text for window in tokens.windows)


def test_a_text_that_fits_has_no_windows(reader: Tokeniser) -> None:
    assert reader.read(["tea " * 254])[0].windows == ()


def test_what_the_model_cannot_tell_is_named_in_the_tail_too(reader: Tokeniser) -> None:
    [tokens] = reader.read(["tea " * 1000 + "🦀"])
    assert tokens.unknown == ("🦀",)


def test_a_model_that_knows_every_word_has_no_unknown_ones() -> None:
    """Its tokenizer has no token for them, but one for the word *None*."""
    words = Tokenizer(WordLevel({"None": 0, "of": 1, "them": 2}))
    words.pre_tokenizer = Whitespace()
    model = SimpleNamespace(
        tokenizer=SimpleNamespace(backend_tokenizer=words, unk_token=None), max_seq_length=8
    )
    [read] = reader_of("any", model).read(["None of them"])
    assert (read.ids, read.unknown) == ([0, 1, 2], ())
