"""What the guard knows about a language other than English (CONTRIBUTING.md: how to add one)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from palimpsest.contracts.language import Language

Script = Literal["latin", "han", "kana"]
Pairs = tuple[tuple[str, str], ...]
TableEdit = Literal["number", "month", "start", "numeral"]
"""The edits that a table may license."""


class EditPairs(NamedTuple):
    """Pairs that an edit makes near-identical, and pairs that only look like it."""

    passes: Pairs
    fails: Pairs


HAN = r"\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
KANA = r"\u3041-\u30ff\u31f0-\u31ff"
NUMERALS = "一二两三四五六七八九十百千万萬億亿零〇"
"""Han characters for numbers; a numeral next to such a character is part of another number."""

_BEFORE_LABELS = "第周期拜初高老小张"
"""Characters before a numeral that is no amount: an ordinal, a weekday, a grade or a name."""

_ENGLISH_MONTHS = (
    "january february march april may june july august september october november december"
).split()
_ENGLISH_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()


@dataclass(frozen=True)
class LanguageTable:
    """What the guard knows about a language; all words are in small letters."""

    code: str
    script: Script = "latin"
    words: frozenset[str] = frozenset()
    """Function words and a few everyday ones, which identify a text's language."""
    numbers: dict[str, str] = field(default_factory=dict)
    """Number words without another meaning, with their figures."""
    number_parts: frozenset[str] = frozenset()
    """Words that turn a number beside them into another number, a time or the like."""
    months: dict[str, int] = field(default_factory=dict)
    """Names and abbreviations of months, with their numbers."""
    negators: frozenset[str] = frozenset()
    starts: frozenset[str] = frozenset()
    """Words that begin sentences and are not names."""
    translations: dict[str, str] = field(default_factory=dict)
    """Words for numbers, months and weekdays, with the figures or English words that they are
    compared as."""
    numeral: re.Pattern[str] | None = None
    """A number before a counter, in a script without spaces."""
    digits: dict[str, str] = field(default_factory=dict)
    """Numerals of that script, with their figures."""
    edits: dict[TableEdit, EditPairs] = field(default_factory=dict)
    """The edits that it licenses, each with the pairs that it is tested with."""

    def in_figures(self, text: str) -> str:
        """A text in a script without spaces, with the numbers before counters in figures."""
        if self.numeral is None:
            return text
        return self.numeral.sub(lambda found: f" {self._figure(found[0])} ", text)

    def _figure(self, numeral: str) -> str:
        return self.digits.get(numeral) or str(int(numeral))


def language_table(
    code: str,
    *,
    negators: str,
    edits: dict[TableEdit, EditPairs],
    script: Script = "latin",
    words: str = "",
    numbers: str = "",
    number_parts: str = "",
    months: Sequence[str] = (),
    days: Sequence[str] = (),
    starts: str = "",
    digits: str = "",
    counters: str = "",
) -> LanguageTable:
    """A table from lists of words, with spaces between them.

    `numbers` and `digits` have the form *zwei=2 drei=3*. `months` and `days` begin with January and
    Monday; each item has all names and abbreviations of its month or day.
    """
    figures, numerals = _figures(numbers), _figures(digits)
    month_numbers = {
        name: number for number, names in enumerate(months, 1) for name in _words(names)
    }
    translations = dict(figures)
    translations |= {name: _ENGLISH_MONTHS[at - 1] for name, at in month_numbers.items()}
    translations |= {
        name: _ENGLISH_DAYS[at] for at, names in enumerate(days) for name in _words(names)
    }
    return LanguageTable(
        code=code,
        script=script,
        words=frozenset(_words(words)) | figures.keys(),
        numbers=figures,
        number_parts=frozenset(_words(number_parts)),
        months=month_numbers,
        negators=frozenset(_words(negators)),
        starts=frozenset(_words(starts)),
        translations=translations,
        numeral=_numeral(numerals, counters.split()) if numerals else None,
        digits=numerals,
        edits=edits,
    )


def table_of(language: Language) -> LanguageTable:
    """The table of a language that a user added."""
    return language_table(
        language.code,
        words=" ".join(language.words),
        numbers=" ".join(f"{word}={value}" for word, value in language.numbers.items()),
        number_parts=" ".join(language.number_parts),
        months=[" ".join(names) for names in language.months],
        days=[" ".join(names) for names in language.days],
        negators=" ".join(language.negators),
        starts=" ".join(language.starts),
        edits={},
    )


def _words(written: str) -> list[str]:
    """The words in the form in which texts are compared: *dreißig* is *dreissig*."""
    return written.casefold().split()


def _figures(written: str) -> dict[str, str]:
    return dict(word.split("=") for word in _words(written))


def _numeral(digits: dict[str, str], counters: list[str]) -> re.Pattern[str]:
    written = "|".join(sorted(digits, key=len, reverse=True))
    counter = "|".join(sorted(counters, key=len, reverse=True))
    return re.compile(rf"(?<![{NUMERALS}{_BEFORE_LABELS}\d.,])(?:{written}|\d{{1,2}})(?={counter})")
