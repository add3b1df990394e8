"""Texts as the model reads them: token ids, what was cut off, and words it cannot tell apart."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from tokenizers import Encoding, Tokenizer

from streams.embedder.contract import ModelUnusable
from streams.embedder.model_folder import ModelFolder

MAX_UNKNOWN = 16
"""At most so many unknown words are kept of one text; the last then stands for all the rest."""

_MAX_WORD = 48


@dataclass(frozen=True, slots=True)
class Tokens:
    """One text as the model reads it; `ids` are at most the model's `max_length`."""

    ids: list[int]
    truncated: bool
    unknown: tuple[str, ...]


class Reader:
    """Turns texts into tokens with the model's own tokenizer."""

    def __init__(self, folder: ModelFolder) -> None:
        """Read tokenizer.json; raise ModelUnusable where it cannot be read."""
        try:
            self._tokenizer = Tokenizer.from_file(str(folder.tokenizer))
        except Exception as error:  # the library raises a bare Exception
            raise ModelUnusable(f"{folder.tokenizer} cannot be read: {error}") from error
        # The file's own settings are of the model's training: texts cut at 128, padded to 128.
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(folder.max_length)
        self._max_length = folder.max_length
        self._unknown = self._tokenizer.token_to_id("[UNK]")

    def read(self, texts: Sequence[str]) -> list[Tokens]:
        """Read all texts, on all cores, with the interpreter free for other threads."""
        encodings = self._tokenizer.encode_batch_fast(list(texts))
        return [self._tokens(text, one) for text, one in zip(texts, encodings, strict=True)]

    def _tokens(self, text: str, encoding: Encoding) -> Tokens:
        ids = encoding.ids
        truncated = len(ids) == self._max_length and bool(encoding.overflowing)
        return Tokens(ids, truncated, self._words(text) if self._unknown in ids else ())

    def _words(self, text: str) -> tuple[str, ...]:
        encoding = self._tokenizer.encode(text)
        places = zip(encoding.ids, encoding.offsets, strict=True)
        words = (
            text[start:end].casefold() for token, (start, end) in places if token == self._unknown
        )
        return _bounded(list(dict.fromkeys(words)))


def _bounded(words: list[str]) -> tuple[str, ...]:
    """Keep few and short words, so that two texts still differ here where their words differed."""
    short = [word if len(word) <= _MAX_WORD else _abridged(word) for word in words]
    if len(short) <= MAX_UNKNOWN:
        return tuple(short)
    return (*short[: MAX_UNKNOWN - 1], _abridged(" ".join(words[MAX_UNKNOWN - 1 :])))


def _abridged(words: str) -> str:
    digest = hashlib.blake2b(words.encode(), digest_size=8).hexdigest()
    return f"{words[: _MAX_WORD // 2]}…{digest}"
