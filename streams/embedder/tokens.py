"""Texts as the model reads them: token ids, what was cut off, and words it cannot tell apart."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from tokenizers import Encoding, Tokenizer

MAX_UNKNOWN = 16
"""So many unknown words of a text are kept at most; the last of them then stands for the rest."""

MAX_WORD = 48
"""Letters of an unknown word that is kept as it is."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """One text as the model reads it; `ids` are not more than the reader's `max_length`."""

    ids: list[int]
    truncated: bool
    unknown: tuple[str, ...]


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
        return Tokens(ids, truncated, self._words(text) if self._unknown in ids else ())

    def _words(self, text: str) -> tuple[str, ...]:
        # Read once more, because the fast way does not say where in the text a token stands.
        encoding = self._tokenizer.encode(text)
        tokens = zip(encoding.ids, encoding.offsets, strict=True)
        words = [text[start:end] for token, (start, end) in tokens if token == self._unknown]
        return _bounded(list(dict.fromkeys(word.casefold() for word in words)))


def _bounded(words: list[str]) -> tuple[str, ...]:
    """Keep few and short words, so that two texts still differ here where their words do."""
    short = [word if len(word) <= MAX_WORD else _abridged(word) for word in words]
    if len(short) <= MAX_UNKNOWN:
        return tuple(short)
    return (*short[: MAX_UNKNOWN - 1], _abridged(" ".join(words[MAX_UNKNOWN - 1 :])))


def _abridged(words: str) -> str:
    digest = hashlib.blake2b(words.encode(), digest_size=8).hexdigest()
    return f"{words[: MAX_WORD // 2]}…{digest}"
