"""What the guard needs of one text: each part is worked out when it is first needed, and kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from palimpsest.streams.guard.clues import Clues, clues_of
from palimpsest.streams.guard.language import is_english
from palimpsest.streams.guard.tokeniser import Kind, Token, is_code, layout, plain, tokenise


@dataclass(frozen=True)
class Reading:
    """One text as the guard compares it; equal texts give equal readings."""

    text: str
    """The text in NFC, trimmed."""
    unknown: frozenset[str] = frozenset()
    """Words that the model's tokenizer does not know."""
    truncated: bool = False
    """Whether the model saw only the beginning."""

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """Its tokens in order, as written."""
        return tuple(tokenise(self.text))

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """What two tokens have to share to be the same: a stop in code is no full stop."""
        code = Kind.CODE
        return tuple("`" + t.text if t.kind is code else t.text for t in self.tokens)

    @cached_property
    def lows(self) -> tuple[str, ...]:
        """The words in lower case; of what is no word, its key."""
        word = Kind.WORD
        pairs = zip(self.tokens, self.keys, strict=True)
        return tuple(t.text.casefold() if t.kind is word else key for t, key in pairs)

    @cached_property
    def inside(self) -> frozenset[str]:
        """What stands inside of sentences, as written."""
        return frozenset(
            t.text
            for t in self.tokens
            if t.kind is not Kind.SIGN
            and not (t.opens and (len(t.text) == 1 or t.text[1:].islower()))
        )

    @cached_property
    def layout(self) -> tuple[str, ...]:
        """Its white space where that counts."""
        return layout(self.text, list(self.tokens))

    @cached_property
    def holds_code(self) -> bool:
        """Whether a path, a command or code stands in it."""
        return any(t.kind is Kind.CODE and is_code(t.text) for t in self.tokens)

    @cached_property
    def is_english(self) -> bool:
        """Whether it is English for certain."""
        return is_english([token.text for token in self.tokens if token.kind is Kind.WORD])

    @cached_property
    def sentences(self) -> int:
        """How many sentences it has."""
        return sum(token.opens and token.kind is not Kind.SIGN for token in self.tokens)

    @cached_property
    def clues(self) -> Clues:
        """Its facts, names and negations: what a question to the judge names."""
        return clues_of(self.text)


def read(text: str, *, truncated: bool = False, unknown: tuple[str, ...] = ()) -> Reading:
    """Read ``text`` for comparison; linear in its length, total on every string.

    ``unknown`` are the words that the model's tokenizer maps to its unknown token; ``truncated``
    says that the model saw only the beginning of the text.
    """
    return Reading(plain(text), frozenset(unknown), truncated)
