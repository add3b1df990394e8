"""`palimpsest.clean`: rows or a dataframe without their duplicates (docs/clean.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from palimpsest.cleaning.clean import Keep, Rules, find_duplicates
from palimpsest.cleaning.columns import Columns
from palimpsest.cleaning.documents import duplicates_of, summary_of
from palimpsest.cleaning.files import TEXT, batch_values, rows_kept
from palimpsest.cleaning.separated import SeparatedPair
from palimpsest.cleaning.within import LEAST_WITHIN
from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.policy import Policy
from palimpsest.process.parameters import check_arguments
from palimpsest.streams.embedder import Engine, Progress, ignore_progress
from palimpsest.streams.intake import refuse_repeated_names
from palimpsest.streams.policies import load_policy


@dataclass(frozen=True, slots=True)
class CleanedTable:
    """Rows without duplicates.

    `rows` are those that stay: a list, or an Arrow table if the input was a dataframe; `kept` are
    their numbers, from 0, in order. `duplicates` has an entry for each removed row, with its
    partner, the score, the rule and the whole texts; `summary` has the counts, as in
    `palimpsest clean --json`.
    """

    rows: Any
    kept: list[int]
    duplicates: list[dict[str, Any]]
    summary: dict[str, Any]


@check_arguments
def clean(
    data: Any,
    *,
    text: str | None = None,
    by: str | Sequence[str] = (),
    policy: str | Policy = "standard",
    within: Annotated[float, Field(ge=LEAST_WITHIN, le=1)] | None = None,
    keep: Keep = "first",
    separate: Iterable[tuple[str, str]] = (),
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> CleanedTable:
    """Remove the duplicates from rows or from a dataframe; nothing is written.

    `data` is an iterable of texts or of rows (dictionaries), or any table, or series of texts, that
    Arrow's PyCapsule interface reads: pandas (from 2.2), polars, DuckDB, pyarrow. `text` is the
    column of the texts; if it is not given, it is guessed. Only rows that are equal in the columns
    `by` are joined. `policy` is a preset, a file's name or a `Policy`. `within` also joins by
    cosine alone, from this similarity on. `keep` says which row of a group stays: `first`, `newest`
    or `longest`. The pairs of texts in `separate` stay apart. Rows that cannot be read stay, and
    are named in the summary. Raises UsageError for an argument that is wrong, ModelError if the
    model is missing.
    """
    rows, table = _rows_of(data)
    wanted = Columns(text, (by,) if isinstance(by, str) else tuple(by))
    columns = wanted.found(_values(rows), needs_moment=keep == "newest")
    pairs = [_pair_of(pair) for pair in separate]
    known = load_policy(policy) if isinstance(policy, str) else policy
    rules = Rules(known, within, keep, pairs)

    def load() -> Engine:
        if engine is not None:
            return engine
        from palimpsest.streams import embedder

        return embedder.load_engine(known.model)

    found = find_duplicates(
        map(columns.row, _values(rows)), rules, load, progress or ignore_progress
    )
    kept = [row for row in range(len(found.texts.of)) if row not in found.stays]
    return CleanedTable(
        rows=[rows[row] for row in kept] if table is None else rows_kept(table, kept),
        kept=kept,
        duplicates=[*duplicates_of(found, first=0)],
        summary=summary_of(found, rules, first=0),
    )


def _rows_of(data: Any) -> tuple[Any, Any]:
    """The rows, and the Arrow table that they are; None if the data is not a table."""
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        table = _table_of(data)
        return table, table
    if isinstance(data, str | bytes | Mapping):
        raise UsageError("data should be several texts or rows, not a single one")
    try:
        return [*data], None
    except TypeError:
        what = type(data).__name__
        raise UsageError(f"data should be texts, rows or a table, not {what}") from None


def _table_of(data: Any) -> Any:
    """An Arrow table of a dataframe, or of a series, which becomes the only column."""
    import pyarrow as pa

    try:
        if hasattr(data, "__arrow_c_stream__"):
            columns = pa.chunked_array(data)
        else:
            columns = pa.chunked_array([pa.array(data)])
        if pa.types.is_struct(columns.type):
            table = pa.table(data)
            refuse_repeated_names(table.column_names, "the table")
            return table
        return pa.table({TEXT: columns})
    except (pa.ArrowException, TypeError, ValueError) as error:
        what = type(error).__name__
        raise UsageError(f"Arrow cannot read the table ({what}): give its rows instead") from None


def _pair_of(pair: Any) -> SeparatedPair:
    match pair:
        case (str() as text, str() as other):
            return SeparatedPair(text, other)
        case _:
            raise UsageError("`separate` should have pairs of texts")


def _values(rows: Any) -> Iterator[Any]:
    """Each row as an object: a text becomes a row with only that text."""
    if isinstance(rows, list):
        yield from ({TEXT: row} if isinstance(row, str) else row for row in rows)
        return
    for batch in rows.to_batches():
        yield from batch_values(batch)
