"""Reads producers' input, from bytes to candidates; an invalid row is reported, never skipped."""

from palimpsest.streams.intake.meaning import (
    Meaning,
    Prepared,
    matches_former_fingerprint,
    meaning_of,
    prepare,
    understand,
)
from palimpsest.streams.intake.parsing import (
    Notice,
    as_structured,
    binary_mode,
    parse,
    parse_binary,
)
from palimpsest.streams.intake.reading import Form, RowReader
from palimpsest.streams.intake.rows import (
    MAX_KEPT_BYTES,
    MAX_ROW_BYTES,
    RawRow,
    RowCounter,
    in_both_forms,
    refuse_repeated_names,
    written_as,
)

__all__ = [
    "MAX_KEPT_BYTES",
    "MAX_ROW_BYTES",
    "Form",
    "Meaning",
    "Notice",
    "Prepared",
    "RawRow",
    "RowCounter",
    "RowReader",
    "as_structured",
    "binary_mode",
    "in_both_forms",
    "matches_former_fingerprint",
    "meaning_of",
    "parse",
    "parse_binary",
    "prepare",
    "refuse_repeated_names",
    "understand",
    "written_as",
]
