"""What the guard needs to know about one text; most of it is computed on first use, and kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from typing import NamedTuple

from palimpsest.streams.guard.clues import Clues, clues_of
from palimpsest.streams.guard.data.closed_class import OTHERS, VERBATIM_IN_RUNS
from palimpsest.streams.guard.data.frame_words import NOW
from palimpsest.streams.guard.data.language_table import LanguageTable
from palimpsest.streams.guard.data.tables import BUILT_IN, Tables
from palimpsest.streams.guard.names import called_alike
from palimpsest.streams.guard.text.fixed import fixed_of, is_told_verbatim
from palimpsest.streams.guard.text.language import Language, language_of
from palimpsest.streams.guard.text.tokeniser import (
    CODE,
    PLAIN,
    QUOTES,
    SIGN,
    WORD,
    Kind,
    is_code,
    layout,
    openers_of,
    plain,
    tokenise,
)
from palimpsest.streams.guard.text.verbs import may_be_verb
from palimpsest.streams.guard.values import Key, is_in_a_table, value_keys


class StatedTokens(NamedTuple):
    """The tokens that make up a text's statement, in the form that `Reading` has them."""

    texts: tuple[str, ...]
    lows: tuple[str, ...]
    kinds: tuple[Kind, ...]


@dataclass
class Reading:
    """One text as the guard compares it; equal texts give equal readings."""

    text: str
    """The text in NFC, trimmed."""
    unknown: frozenset[str] = frozenset()
    """Words that the model's tokenizer does not know."""
    truncated: bool = False
    """Whether the model saw only the beginning."""
    every_script: bool = False
    """Whether the model reads every script, and not only the Latin one."""
    tables: Tables = field(default=BUILT_IN, repr=False)
    """The tables of languages other than English."""
    texts: tuple[str, ...] = field(init=False, compare=False, repr=False)
    """Its tokens in order, as written."""
    kinds: tuple[Kind, ...] = field(init=False, compare=False, repr=False)
    """The kind of each token."""
    keys: tuple[str, ...] = field(init=False, compare=False, repr=False)
    """The forms in which tokens are compared; those in code are marked, so that a stop in code is
    not a full stop."""
    lows: tuple[str, ...] = field(init=False, compare=False, repr=False)
    """The tokens in lower case; those in code as their keys."""
    has_identifiers: bool = field(init=False, compare=False, repr=False)
    """Whether it has tokens other than words and signs: numbers, units, identifiers."""

    def __post_init__(self) -> None:
        """Compute what every comparison needs."""
        texts, kinds = self.texts, self.kinds = tokenise(self.text)
        self.has_identifiers = not PLAIN.issuperset(kinds)
        keys, lows = list(texts), list(map(str.casefold, texts))
        if CODE in kinds:
            for at, kind in enumerate(kinds):
                if kind is CODE:
                    keys[at] = lows[at] = "`" + texts[at]
        self.keys, self.lows = tuple(keys), tuple(lows)

    @cached_property
    def fixed(self) -> frozenset[str]:
        """The words, signs and values that no edit changes."""
        return fixed_of(self.lows, self.kinds, self.tables)

    @cached_property
    def sure_words(self) -> tuple[str, ...]:
        """Words that every near-identical text has unchanged, except for capitals."""
        return tuple(word for word in self.fixed if word.isascii() and word.isalpha())

    @cached_property
    def openers(self) -> frozenset[int]:
        """The places of the tokens that sentences begin with."""
        return openers_of(self.texts, self.kinds)

    @cached_property
    def inside(self) -> frozenset[str]:
        """The tokens as written, without first words whose case says nothing (*The*, not *IT*)."""
        words = list(self.texts)
        for at in self.openers:
            if len(words[at]) == 1 or words[at][1:].islower():
                words[at] = ""
        return frozenset(words)

    @cached_property
    def layout(self) -> tuple[str, ...]:
        """Its white space, if that matters."""
        return layout(self.text, self.kinds)

    @cached_property
    def is_verbatim(self) -> bool:
        """Whether it may tell how something is written, such as a password."""
        if is_told_verbatim(self.lows, self.text):
            return True
        runs = self.table is not None and self.table.script != "latin"
        return runs and any(word in self.text for word in VERBATIM_IN_RUNS)

    @cached_property
    def quoted(self) -> frozenset[int]:
        """The places of quotation marks and of all between them, or to the end if one is open."""
        marks = [at for at, text in enumerate(self.texts) if text in QUOTES]
        single = [at for at, text in enumerate(self.texts) if text == "'"]
        if len(single) > 1:
            marks = sorted(marks + single)
        ends = [*marks[1::2], len(self.texts)]
        return frozenset(
            at for a, z in zip(marks[::2], ends, strict=False) for at in range(a, z + 1)
        )

    @cached_property
    def holds_code(self) -> bool:
        """Whether it contains a path, a command or code."""
        pairs = zip(self.texts, self.kinds, strict=True)
        return CODE in self.kinds and any(k is CODE and is_code(t) for t, k in pairs)

    @cached_property
    def language(self) -> Language | None:
        """Its language, if that is certain and is English or has a table."""
        pairs = zip(self.texts, self.kinds, strict=True)
        words = [text for text, kind in pairs if kind is WORD]
        return language_of(words, self.text, self.tables)

    @property
    def is_english(self) -> bool:
        """Whether it is certainly English."""
        return self.language == "en"

    @property
    def table(self) -> LanguageTable | None:
        """The table of its language; None for English, and for a language without a table."""
        tables = self.tables
        english = OTHERS.isdisjoint(self.lows) and tables.own.isdisjoint(self.lows)
        if english and self.text.isascii():
            return None  # the usual case, without determining the language
        return tables.by_code.get(self.language or "")

    @cached_property
    def sentences(self) -> int:
        """The number of its sentences."""
        return sum(self.kinds[at] is not SIGN for at in self.openers)

    @cached_property
    def statement(self) -> StatedTokens:
        """Its tokens without a last full stop or exclamation mark, and without words for *now*."""
        end = len(self.lows) - (self.lows[-1:] in ((".",), ("!",)))
        texts, lows, kinds = self.texts[:end], self.lows[:end], self.kinds[:end]
        if NOW.isdisjoint(lows):
            return StatedTokens(texts, lows, kinds)
        said = [low not in NOW for low in lows]
        return StatedTokens(
            tuple(compress(texts, said)), tuple(compress(lows, said)), tuple(compress(kinds, said))
        )

    @cached_property
    def opening(self) -> tuple[str, ...] | None:
        """The words up to and including the first verb; None if no word may be a verb.

        Texts that share a frame with this one begin with these words, except for the kinds of
        frames that have rules of their own.
        """
        _, lows, kinds = self.statement
        for at in range(len(lows)):
            if may_be_verb(lows, kinds, at):
                return lows[: at + 1]
        return None

    @cached_property
    def values(self) -> frozenset[Key]:
        """The keys that `value_keys` gives for its statement; empty for English."""
        _, lows, kinds = self.statement
        if not is_in_a_table(self.text, lows) or self.is_english:
            return frozenset()
        return frozenset(value_keys(self.text, lows, kinds))

    @cached_property
    def clues(self) -> Clues:
        """Its facts, names and negations, from which the cues of a pair follow."""
        return clues_of(self.text, self.texts, self.lows, self.has_identifiers, self.table)


READS_EVERY_SCRIPT = frozenset({"multilingual-e5-small"})
"""Models that tell texts apart in every script; others are assumed to read only Latin."""


def read(
    text: str,
    *,
    truncated: bool = False,
    unknown: tuple[str, ...] = (),
    names: tuple[str, ...] = (),
    model: str | None = None,
    tables: Tables = BUILT_IN,
) -> Reading:
    """Read ``text`` for comparison; takes linear time, and never fails.

    ``unknown`` are the words that the model's tokenizer maps to its unknown token; ``truncated``
    says that the model saw only the beginning of the text. ``names`` are those of the owner: as
    subjects they are equivalent. ``model`` is the model's name; ``tables`` are those of the
    policy's languages.
    """
    text, legible = plain(text), model in READS_EVERY_SCRIPT
    if names and (called := called_alike(text, names)) is not None:
        # The name that the text used is not compared, so the model need not know it.
        unseen = (word for word in unknown if not any(word in name.casefold() for name in names))
        return Reading(called, frozenset(unseen), truncated, legible, tables)
    return Reading(text, frozenset(unknown), truncated, legible, tables)
