"""The tables of all languages but English, and the words of all of them together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from palimpsest.contracts.language import Language
from palimpsest.streams.guard.data.closed_class import AMBIGUOUS, CONTENT, ENGLISH, SHARED
from palimpsest.streams.guard.data.language_table import LanguageTable, table_of
from palimpsest.streams.guard.data.languages import de, es, fr, ja, zh


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables of a policy: those of the guard, and those that a user added."""

    by_code: Mapping[str, LanguageTable]
    added: tuple[LanguageTable, ...] = ()
    numbers: dict[str, str] = field(init=False)
    """The number words of all tables, with their figures."""
    months: frozenset[str] = field(init=False)
    """The names of months of all tables."""
    own: frozenset[str] = field(init=False)
    """Words of the added languages that are not English."""
    begin: frozenset[str] = field(init=False)
    """Words of the added languages with which an edit may begin."""

    def __post_init__(self) -> None:
        """Gather the words of all tables."""
        tables, added = self.by_code.values(), self.added
        set_field = object.__setattr__
        set_field(self, "numbers", {w: n for table in tables for w, n in table.numbers.items()})
        set_field(self, "months", _all(table.months for table in tables))
        english = ENGLISH | CONTENT | AMBIGUOUS | SHARED
        set_field(self, "own", _all(table.words for table in added) - english)
        set_field(self, "begin", _all((*table.months, *table.starts) for table in added))


def _all(words: Iterable[Iterable[str]]) -> frozenset[str]:
    return frozenset(word for some in words for word in some)


TABLES: dict[str, LanguageTable] = {
    module.TABLE.code: module.TABLE for module in (de, es, fr, ja, zh)
}
"""The guard's own tables, by the language's code."""
BUILT_IN = Tables(TABLES)


def tables_of(languages: Iterable[Language] = ()) -> Tables:
    """The tables of a policy that adds these languages."""
    return _tables_of(tuple(language.text for language in languages)) if languages else BUILT_IN


@lru_cache(maxsize=64)
def _tables_of(texts: tuple[str, ...]) -> Tables:
    added = tuple(table_of(Language.model_validate_json(text)) for text in texts)
    return Tables(TABLES | {table.code: table for table in added}, added)
