"""Texts as the model reads them: tokens, windows of long texts, and words it cannot tell apart."""

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
"""So many unknown words of a text are kept at most; the last of them then stands for the rest."""

MAX_WORD = 48
"""Letters of an unknown word that is kept as it is."""


WINDOW_SHARES = (4, 2)
"""A window after the first is a quarter of the model's input: in more, one sentence drowns.

Measured on 84 texts, each with a fact at its end that is asked for among 50 memories: windows of 64
tokens have it in the first three of 79 %, of 128 in those of 57 %, of 256 tokens in about 43 %
(a separate run of 120 texts).
"""

MOST_WINDOWS = 192
"""Where a text would have more, its windows are larger: half of the input, or all of it."""

OVERLAP_SHARE = 4
"""Two windows share a quarter of one, so that what the end of one cuts is whole in the next."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """One text as the model reads it; `ids` are not more than the reader's `max_length`.

    `windows` are parts of the text that the model reads as texts of their own: they begin a little
    before the end of `ids`, overlap, and reach to the end of the text. None of one that fits.
    """

    ids: list[int]
    truncated: bool
    unknown: tuple[str, ...]
    windows: tuple[str, ...] = ()


class Reader:
    """Turns texts into tokens with the model's own tokenizer, which it sets for itself."""

    def __init__(self, tokenizer: Tokenizer, max_length: int, unknown: str = "[UNK]") -> None:
        # The file's own settings are those of the training: texts cut and padded to 128 tokens.
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_length)
        self._tokenizer = tokenizer
        self._max_length = max_length
        self._unknown = tokenizer.token_to_id(unknown)

    def read(self, texts: Sequence[str]) -> list[Tokens]:
        """Read all texts, on all cores, with the interpreter free for other threads."""
        encodings = self._tokenizer.encode_batch_fast(list(texts))
        return [self._tokens(text, one) for text, one in zip(texts, encodings, strict=True)]

    def _tokens(self, text: str, encoding: Encoding) -> Tokens:
        ids = encoding.ids
        truncated = len(ids) == self._max_length and bool(encoding.overflowing)
        if not truncated and self._unknown not in ids:
            return Tokens(ids, truncated, ())
        # Read once more, because the fast way does not say where in the text a token stands.
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
            if word is not None  # one that only marks the beginning or the end
        ]
        words = [at for at, one in enumerate(tokens) if at == 0 or one[2] != tokens[at - 1][2]]
        words.append(len(tokens))
        end = sum(word is not None for word in encoding.word_ids)
        marks = len(encoding.ids) - end
        size, room = self._window_of(len(tokens) - end, marks)
        windows: list[str] = []
        while end < len(tokens):
            begin = _last(words, end - size // OVERLAP_SHARE)
            if begin + room <= end:  # within one very long word
                begin = end
            before, end = end, _last(words, begin + room)
            if end <= before:
                end = min(begin + room, len(tokens))
            windows.append(text[tokens[begin][0] : tokens[end - 1][1]])
        return tuple(windows)

    def _window_of(self, tokens: int, marks: int) -> tuple[int, int]:
        """The size of the windows of a text, and how many of its own tokens each has room for."""
        for share in WINDOW_SHARES:
            size = self._max_length // share
            if tokens <= MOST_WINDOWS * (size - marks - size // OVERLAP_SHARE):
                return size, size - marks
        return self._max_length, self._max_length - marks


def embeddings(read: Sequence[Tokens], rows: NDArray[np.float16]) -> list[Embedding]:
    """What was made of some texts; `rows` are their vectors, then those of all their windows."""
    found: list[Embedding] = []
    after = len(read)
    for row, tokens in zip(rows, read, strict=False):
        end = after + len(tokens.windows)
        windows = rows[after:end] if tokens.truncated else None
        found.append(Embedding(row, tokens.truncated, tokens.unknown, windows=windows))
        after = end
    return found


def _last(words: Sequence[int], at: int) -> int:
    """The last start of a word that is not after a token."""
    return words[bisect_right(words, at) - 1]


def _bounded(words: list[str]) -> tuple[str, ...]:
    """Keep few and short words, so that two texts still differ here where their words do."""
    short = [word if len(word) <= MAX_WORD else _abridged(word) for word in words]
    if len(short) <= MAX_UNKNOWN:
        return tuple(short)
    return (*short[: MAX_UNKNOWN - 1], _abridged(" ".join(words[MAX_UNKNOWN - 1 :])))


def _abridged(words: str) -> str:
    digest = hashlib.blake2b(words.encode(), digest_size=8).hexdigest()
    return f"{words[: MAX_WORD // 2]}…{digest}"
