"""Every table, and what all of them know."""

from __future__ import annotations

from palimpsest.streams.guard.data.cue_words import NEGATORS
from palimpsest.streams.guard.data.language_table import LanguageTable
from palimpsest.streams.guard.data.languages import de, es, fr, ja, zh

TABLES: dict[str, LanguageTable] = {
    module.TABLE.code: module.TABLE for module in (de, es, fr, ja, zh)
}
"""Every table, by the language's code."""

NUMBERS: dict[str, str] = {
    word: value for table in TABLES.values() for word, value in table.numbers.items()
}
"""The number words of all tables, to figures."""

MONTHS = frozenset(name for table in TABLES.values() for name in table.months)
"""The names of months of all tables."""

NEGATING: dict[str | None, frozenset[str]] = {
    code: NEGATORS | table.negators for code, table in TABLES.items() if table.script == "latin"
}
"""The negators of texts in each language, and those of English, which may be quoted."""
