"""Reads the rows of a Parquet file as JSON, like all other rows."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from functools import partial
from math import isnan
from typing import Any

import orjson

from palimpsest.contracts.errors import UsageError
from palimpsest.streams.intake.rows import refuse_repeated_names

BATCH = 1000
INT96_UNIT = "us"
"""Microseconds: Spark writes INT96 times whose nanoseconds since 1970 do not fit into 64 bits."""


def parquet_rows(path: str) -> Iterator[tuple[bytes, float]]:
    """Each row as JSON with sorted keys, and the share of the file read so far.

    Times become text, in UTC if they have a zone; null and NaN fields are left out.
    """
    for row, share in read_parquet(path):
        yield _encoded(row), share


def read_parquet(path: str) -> Iterator[tuple[dict[str, Any], float]]:
    """Each row as Python values (`values_of`), and the share of the file read so far.

    Raises UsageError for a file that is not Parquet, or is damaged.
    """
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    done = 0
    try:
        with ParquetFile(path, coerce_int96_timestamp_unit=INT96_UNIT) as file:
            refuse_repeated_names(file.schema_arrow.names, path)
            total = file.metadata.num_rows
            for batch in file.iter_batches(BATCH):
                for row in values_of(pa.Table.from_batches([batch])):
                    done += 1
                    yield row, done / total
    except (pa.ArrowException, OSError) as error:
        raise UsageError(
            f"{path} is not a Parquet file, or is damaged, after row {done}"
        ) from error


def values_of(table: Any) -> list[dict[str, Any]]:
    """The rows of an Arrow table as Python values; times as text, bad UTF-8 as bytes."""
    try:
        return _values(table)
    except UnicodeDecodeError:  # one value among a thousand rows: only its row is invalid
        return _values(_cast(table, _as_bytes))


def _values(table: Any) -> list[dict[str, Any]]:
    """Like `values_of`, if all text is UTF-8.

    In maps, large lists and lists of fixed size, times stay Python's own values if Python can
    represent all times of the row. Older versions accepted only such rows, and the hashes of these
    must not change.
    """
    rows: list[dict[str, Any]]
    try:
        rows = _with_text(table, deep=False).to_pylist()
    except UnicodeDecodeError:
        raise
    except (ValueError, OverflowError):
        if table.num_rows > 1:
            return [row for n in range(table.num_rows) for row in _values(table.slice(n, 1))]
        rows = _with_text(table, deep=True).to_pylist()
    return rows


def _with_text(table: Any, *, deep: bool) -> Any:
    return _cast(_cast(table, _in_utc, deep=deep), _as_text, deep=deep)


def _cast(table: Any, change: Any, *, deep: bool = True) -> Any:
    import pyarrow as pa

    fields = [field.with_type(_changed(field.type, change, deep=deep)) for field in table.schema]
    return table.cast(pa.schema(fields), safe=False)


def _changed(kind: Any, change: Any, *, deep: bool) -> Any:
    """A type with `change` applied to it, or to the types inside, also in maps if `deep`."""
    import pyarrow as pa

    changed = partial(_changed, change=change, deep=deep)
    if pa.types.is_dictionary(kind):
        if pa.types.is_string_view(kind.value_type):  # Arrow cannot yet decode these in one step
            return pa.dictionary(kind.index_type, pa.string())
        return changed(kind.value_type)
    if pa.types.is_map(kind) and deep:
        return pa.map_(changed(kind.key_type), changed(kind.item_type))
    sorts = (pa.types.is_large_list, pa.types.is_fixed_size_list) if deep else ()
    if any(is_list(kind) for is_list in (pa.types.is_list, *sorts)):
        # not views of lists: Arrow casts these wrongly
        return pa.list_(
            kind.value_field.with_type(changed(kind.value_type)), getattr(kind, "list_size", -1)
        )
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(changed(field.type)) for field in kind])
    return change(kind)


def _in_utc(kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", tz="UTC" if kind.tz else None)
    if pa.types.is_duration(kind):
        return pa.duration("us")
    return pa.time64("us") if pa.types.is_time64(kind) else kind


def _as_text(kind: Any) -> Any:
    """Times as text, because Arrow can write times that Python cannot represent."""
    import pyarrow as pa

    return pa.string() if pa.types.is_timestamp(kind) or pa.types.is_date(kind) else kind


def _as_bytes(kind: Any) -> Any:
    import pyarrow as pa

    texts = pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view
    return pa.binary() if any(is_text(kind) for is_text in texts) else kind


def _encoded(row: dict[str, Any]) -> bytes:
    values = {
        name: value for name, value in row.items() if value is not None and not _is_nan(value)
    }
    return orjson.dumps(
        values, default=_plain, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
    )


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and isnan(value)


def _plain(value: Any) -> Any:
    """A value that JSON has no type for, as text; bytes that are not text make the row invalid."""
    if not isinstance(value, bytes):
        return str(value)
    try:
        return value.decode()
    except UnicodeDecodeError:
        return orjson.Fragment(b'"' + base64.b64encode(value) + b'\xff"')
