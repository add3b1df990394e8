"""What the guard needs of one text: each part is worked out when it is first needed, and kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from palimpsest.streams.guard.clues import Clues, clues_of
from palimpsest.streams.guard.data.en import NUMBERS
from palimpsest.streams.guard.fixed import fixed_of
from palimpsest.streams.guard.language import is_english
from palimpsest.streams.guard.tokeniser import (
    Kind,
    is_code,
    layout,
    openers_of,
    plain,
    tokenise,
)


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
    def tokens(self) -> tuple[tuple[str, ...], tuple[Kind, ...]]:
        """Its tokens in order, as written, and what each of them is."""
        return tokenise(self.text)

    @property
    def texts(self) -> tuple[str, ...]:
        """Its tokens as written."""
        return self.tokens[0]

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """What each token is."""
        return self.tokens[1]

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """What two tokens have to share to be the same: a stop in code is no full stop."""
        texts, kinds = self.tokens
        code = Kind.CODE
        if code not in kinds:
            return texts
        return tuple("`" + t if k is code else t for t, k in zip(texts, kinds, strict=True))

    @cached_property
    def lows(self) -> tuple[str, ...]:
        """The words in lower case; of what is no word, its key."""
        if Kind.CODE not in self.kinds:
            return tuple(map(str.casefold, self.texts))
        pairs = zip(self.keys, self.kinds, strict=True)
        return tuple(key.casefold() if kind is Kind.WORD else key for key, kind in pairs)

    @cached_property
    def fixed(self) -> tuple[str, ...]:
        """What no edit changes in it."""
        if (
            Kind.CODE in self.kinds
            or Kind.NUMBER in self.kinds
            or not NUMBERS.keys().isdisjoint(self.lows)
        ):
            return fixed_of(*self.tokens, self.lows)
        return ()

    @cached_property
    def openers(self) -> frozenset[int]:
        """The places of the tokens with which sentences begin."""
        return openers_of(self.texts, self.kinds)

    @cached_property
    def inside(self) -> frozenset[str]:
        """What stands inside of sentences, as written."""
        openers = self.openers
        return frozenset(
            text
            for at, (text, kind) in enumerate(zip(self.texts, self.kinds, strict=True))
            if kind is not Kind.SIGN
            and not (at in openers and (len(text) == 1 or text[1:].islower()))
        )

    @cached_property
    def layout(self) -> tuple[str, ...]:
        """Its white space where that counts."""
        return layout(self.text, self.kinds)

    @cached_property
    def holds_code(self) -> bool:
        """Whether a path, a command or code stands in it."""
        pairs = zip(self.texts, self.kinds, strict=True)
        return Kind.CODE in self.kinds and any(k is Kind.CODE and is_code(t) for t, k in pairs)

    @cached_property
    def is_english(self) -> bool:
        """Whether it is English for certain."""
        pairs = zip(self.texts, self.kinds, strict=True)
        return is_english([text for text, kind in pairs if kind is Kind.WORD])

    @cached_property
    def sentences(self) -> int:
        """How many sentences it has."""
        return sum(self.kinds[at] is not Kind.SIGN for at in self.openers)

    @cached_property
    def clues(self) -> Clues:
        """Its facts, names and negations: what a question to the judge names."""
        return clues_of(self.text, *self.tokens)


def read(text: str, *, truncated: bool = False, unknown: tuple[str, ...] = ()) -> Reading:
    """Read ``text`` for comparison; linear in its length, total on every string.

    ``unknown`` are the words that the model's tokenizer maps to its unknown token; ``truncated``
    says that the model saw only the beginning of the text.
    """
    return Reading(plain(text), frozenset(unknown), truncated)
