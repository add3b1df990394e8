"""Tokenises texts: tokens, windows of long texts, and words that the model cannot tell apart."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from palimpsest.streams.embedder.contract import Embedding

MAX_UNKNOWN = 16
"""Maximum number of unknown words of a text; the last of them represents the rest."""

MAX_WORD = 48
"""Maximum letters of an unknown word that is kept unchanged."""


WINDOW_SHARES = (4, 2)
"""Divisors of the model's input that give the size of the windows after the first: a quarter, or
half if there would be too many of them. In a larger window a sentence drowns.

Measured on 84 texts with a fact at the end, each queried among 50 memories: the text is among the
first three for 79 % with windows of 64 tokens, for 57 % with 128, and for about 43 % with 256 (a
separate run with 120 texts).
"""

MOST_WINDOWS = 192
"""If a text would have more, its windows are larger: half of the model's input, or all of it."""

OVERLAP_SHARE = 4
"""Windows overlap by a quarter, so that a sentence cut at the end of one is whole in the next."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """One text as the model reads it; `ids` has at most the reader's `max_length` tokens.

    `windows` are parts of the text that the model reads as separate texts: they begin a little
    before the end of `ids`, overlap, and reach to the end of the text. Empty for a text that fits.
    """

    ids: list[int]
    truncated: bool
    unknown: tuple[str, ...]
    windows: tuple[str, ...] = ()


class Tokeniser:
    """Turns texts into tokens with the model's own tokenizer, which it configures.

    `unknown` is its token for unknown words; None if it has tokens for every word.
    """

    def __init__(
        self, tokenizer: Tokenizer, max_length: int, unknown: str | None = "[UNK]"
    ) -> None:
        # The tokenizer's file has the settings of the training, which cut and pad to 128 tokens.
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_length)
        self._tokenizer = tokenizer
        self._max_length = max_length
        self._unknown = None if unknown is None else tokenizer.token_to_id(unknown)

    def read(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokenise all texts, on all cores, without holding the interpreter lock."""
        encodings = self._tokenizer.encode_batch_fast(list(texts))
        return [
            self._tokens(text, encoding) for text, encoding in zip(texts, encodings, strict=True)
        ]

    def _tokens(self, text: str, encoding: Encoding) -> Tokens:
        ids = encoding.ids
        truncated = len(ids) == self._max_length and bool(encoding.overflowing)
        if not truncated and self._unknown not in ids:
            return Tokens(ids, truncated, ())
        # Tokenised again, because the fast way does not give the positions of tokens in the text.
        encoding = self._tokenizer.encode(text)
        windows = self._windows(text, encoding) if truncated else ()
        return Tokens(ids, truncated, self._words(text, encoding), windows)

    def _words(self, text: str, encoding: Encoding) -> tuple[str, ...]:
        words = [
            text[start:end]
            for part in (encoding, *encoding.overflowing)
            for token, (start, end) in zip(part.ids, part.offsets, strict=True)
            if token == self._unknown
        ]
        return _bounded(list(dict.fromkeys(word.casefold() for word in words)))

    def _windows(self, text: str, encoding: Encoding) -> tuple[str, ...]:
        """The text after the first window, in parts that begin and end between words."""
        tokens = [
            (*span, word)
            for part in (encoding, *encoding.overflowing)
            for span, word in zip(part.offsets, part.word_ids, strict=True)
            if word is not None  # excludes the markers of the beginning and the end
        ]
        words = [at for at, token in enumerate(tokens) if at == 0 or token[2] != tokens[at - 1][2]]
        words.append(len(tokens))
        end = sum(word is not None for word in encoding.word_ids)
        marks = len(encoding.ids) - end
        size, room = self._window_of(len(tokens) - end, marks)
        windows: list[str] = []
        while end < len(tokens):
            begin = _last(words, end - size // OVERLAP_SHARE)
            if begin + room <= end:  # inside a very long word
                begin = end
            before, end = end, _last(words, begin + room)
            if end <= before:
                end = min(begin + room, len(tokens))
            windows.append(text[tokens[begin][0] : tokens[end - 1][1]])
        return tuple(windows)

    def _window_of(self, tokens: int, marks: int) -> tuple[int, int]:
        """The size of a text's windows, and the number of the text's tokens that fit into each."""
        for share in WINDOW_SHARES:
            size = self._max_length // share
            if tokens <= MOST_WINDOWS * (size - marks - size // OVERLAP_SHARE):
                return size, size - marks
        return self._max_length, self._max_length - marks


def embeddings(read: Sequence[Tokens], rows: NDArray[np.float16]) -> list[Embedding]:
    """The embeddings of some texts; `rows` are their vectors, then those of all their windows."""
    found: list[Embedding] = []
    after = len(read)
    for row, tokens in zip(rows, read, strict=False):
        end = after + len(tokens.windows)
        windows = rows[after:end] if tokens.truncated else None
        found.append(Embedding(row, tokens.truncated, tokens.unknown, windows=windows))
        after = end
    return found


def _last(words: Sequence[int], at: int) -> int:
    """The last start of a word at or before a token."""
    return words[bisect_right(words, at) - 1]


def _bounded(words: list[str]) -> tuple[str, ...]:
    """Bound the number and length of words, so that different words still give another result."""
    short = [word if len(word) <= MAX_WORD else _abridged(word) for word in words]
    if len(short) <= MAX_UNKNOWN:
        return tuple(short)
    return (*short[: MAX_UNKNOWN - 1], _abridged(" ".join(words[MAX_UNKNOWN - 1 :])))


def _abridged(words: str) -> str:
    digest = hashlib.blake2b(words.encode(), digest_size=8).hexdigest()
    return f"{words[: MAX_WORD // 2]}…{digest}"
