"""Ingests many rows: files in, a summary out (docs/commands.md, ingest)."""

from __future__ import annotations

import json
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from typing import Any
from uuid import uuid4

import orjson

from palimpsest.backends.writer import StoreWriter
from palimpsest.contracts.candidate import EXPIRY, UNDERSTOOD
from palimpsest.contracts.errors import InvalidInputError, RefusedError, UsageError, WrongFileError
from palimpsest.contracts.model import read_json, write_json
from palimpsest.jobs.wrong_files import advice
from palimpsest.streams.intake import (
    Form,
    Prepared,
    RawRow,
    RowCounter,
    RowReader,
    as_structured,
    binary_mode,
    in_both_forms,
    parse,
    understand,
)
from palimpsest.streams.intake.parsing import NO_RENAMES
from palimpsest.streams.log.dead_letters import DeadLetter, DeadLetters, Headers
from palimpsest.streams.write.inputs import Input, Outcome, Submission

KeepGoing = bool | Callable[[str], bool]
"""Whether to read a file whose first rows are all wrong; a function gets the reason."""
FIRST_ROWS = 100
NO_JSON = (
    "a candidate must be a mapping, such as a dict, of plain JSON values: str, int, float, bool,"
    " None, and lists and dicts of them"
)
MOST_OF_A_NAME = 64
NAMED = 20
"""How many invalid rows a summary names."""


@dataclass(slots=True)
class IngestProgress:
    """The progress of an ingest: `bytes_read` counts the bytes of the rows decided on so far.

    `bytes_total` is None if an input has no size.
    """

    rows: int
    bytes_read: int
    bytes_total: int | None
    decisions: Mapping[str, int]


@dataclass(slots=True)
class Summary:
    """The outcomes of the rows: decided, known already, invalid, heard, or published.

    `decisions` counts the new decisions by kind; `heard` counts reports of sessions and accesses;
    `invalid_rows` names the first invalid rows, and with several files each one's `file`, in which
    it has that number; `remarks` names files that are probably the wrong ones, and unknown fields.
    """

    rows: int = 0
    known: int = 0
    invalid: int = 0
    heard: int = 0
    published: int = 0
    decisions: Counter[str] = field(default_factory=Counter)
    invalid_rows: list[dict[str, Any]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    interrupted: bool = False
    seconds: float = 0.0

    def add(self, outcomes: Iterable[Outcome], numbers: Iterator[int] | None = None) -> None:
        """Count the outcomes of some rows; `numbers` are the rows' numbers, if not consecutive."""
        for outcome in outcomes:
            self.rows += 1
            number = self.rows if numbers is None else next(numbers)
            match outcome.result:
                case "known":
                    self.known += 1
                case "heard":
                    self.heard += 1
                case "published":
                    self.published += 1
                case "decided":
                    self.decisions[outcome.decision or ""] += 1
                case "invalid":
                    self.invalid += 1
                    if len(self.invalid_rows) < NAMED:
                        self.invalid_rows.append(
                            {
                                "row": number,
                                "reason": outcome.reason,
                                "detail": outcome.detail,
                                "dead_letter": outcome.decision_id,
                            }
                        )

    def document(self) -> dict[str, Any]:
        """The summary as JSON."""
        # asdict copies a Counter wrongly, as a Counter of its own items.
        return asdict(self) | {"decisions": dict(self.decisions)}


def to_inputs(
    rows: Iterable[object], source: str, submission: Submission | None = None
) -> list[Input]:
    """Python values as a producer's rows. A row without an id is new each time it is submitted.

    Warns of unknown fields, which are kept as metadata.
    """
    rows = [*rows]
    if unknown := {name for row in rows for name in _unknown_fields(row)}:
        told = f"{_kept(unknown)}; pass them as `metadata` if that is intended"
        warnings.warn(told, stacklevel=2)
    counter = RowCounter()
    reading = uuid4().hex
    inputs = []
    for values in rows:
        raw = _as_json(values)
        kept = raw or _shown(values)
        row = RawRow(kept, source, counter.count(kept), reading)
        meaning = understand(row) if raw else InvalidInputError("not_json", NO_JSON)
        inputs.append(Input(row, meaning, submission))
    return inputs


def _unknown_fields(row: object, renames: Mapping[str, str] = NO_RENAMES) -> set[str]:
    """The names of a candidate's unknown fields, which are kept as metadata."""
    match row:
        case {"specversion": _, "type": "palimpsest.candidate.v1", "data": Mapping() as fields}:
            unknown = fields.keys() - UNDERSTOOD
        case Mapping() if "specversion" not in row:
            unknown = row.keys() - UNDERSTOOD - renames.keys()
        case _:
            unknown = set()
    return {str(name)[:MOST_OF_A_NAME] for name in unknown}


def _kept(unknown: Iterable[str]) -> str:
    return f"unknown fields are kept as metadata: {', '.join(sorted(unknown)[:NAMED])}"


def _as_json(values: object) -> bytes | None:
    """A row as JSON bytes; None if JSON cannot express it.

    NaN and infinities are written by name, so that `understand` finds them; orjson writes null.
    """
    if not isinstance(values, Mapping):
        return None
    try:
        written = orjson.dumps(dict(values))
    except TypeError:
        return _as_python_writes(values)  # which handles what orjson cannot
    if b"null" in written:
        named = _as_python_writes(values) or b""
        return named if b"NaN" in named or b"Infinity" in named else written
    return written


def _as_python_writes(values: Mapping[Any, Any]) -> bytes | None:
    try:
        # A value such as a time becomes the text that orjson writes.
        return json.dumps(
            dict(values), default=lambda value: orjson.loads(orjson.dumps(value))
        ).encode()
    except (TypeError, ValueError, RecursionError):
        return None


def _shown(values: object) -> bytes:
    """A non-JSON value as Python shows it, for the dead letter."""
    try:
        return repr(values).encode(errors="backslashreplace")
    except Exception:  # noqa: BLE001 - a foreign __repr__ may raise anything
        return f"<{type(values).__name__}>".encode()


@dataclass(frozen=True, slots=True)
class Defaults:
    """The owner of bare rows without one, and the time to live, such as `7d`."""

    owner: str | None = None
    ttl: str | float | None = None

    def missing(self, known: Collection[str]) -> dict[str, str | float]:
        """The fields to add to a row that has the `known` ones."""
        given = {"owner_id": self.owner, "ttl": None if EXPIRY.intersection(known) else self.ttl}
        return {
            name: value for name, value in given.items() if value is not None and name not in known
        }


NO_DEFAULTS = Defaults()


@dataclass(frozen=True, slots=True)
class CheckedFiles:
    """Files whose first rows were checked; `remarks` name files that are probably wrong."""

    reader: RowReader
    source: str | None
    renames: dict[str, str]
    remarks: list[str]
    defaults: Defaults = NO_DEFAULTS


def check_files(
    files: Sequence[str],
    *,
    source: str | None,
    mapping: Mapping[str, str] | None,
    form: Form | None,
    keep_going: KeepGoing,
    defaults: Defaults = NO_DEFAULTS,
) -> CheckedFiles:
    """Check the first rows of files; writes nothing, and needs no store.

    Raises WrongFileError if the first `FIRST_ROWS` rows of a file are all wrong, unless
    `keep_going` allows it, and UsageError if the source's name is blank or a file cannot be read.
    """
    if source is not None and not source.strip():
        raise UsageError("the source's name is blank")
    renames = in_both_forms(mapping or {})
    reader = RowReader(files, reading=uuid4().hex, form=form, renames=renames)
    remarks = _remarks(reader, renames, defaults, keep_going)
    return CheckedFiles(reader, source, renames, remarks, defaults)


def _completed(row: RawRow, defaults: Defaults, renames: Mapping[str, str]) -> RawRow:
    """A bare row with its missing fields filled in, so that the log does not depend on options."""
    if defaults == NO_DEFAULTS:
        return row
    try:
        fields = read_json(row.raw)
    except orjson.JSONDecodeError:
        return row
    if not isinstance(fields, dict) or "specversion" in fields:
        return row
    known = {renames.get(name, name) for name, value in fields.items() if value is not None}
    missing = defaults.missing(known)
    if not missing:
        return row
    rest = {n: value for n, value in fields.items() if renames.get(n, n) not in missing}
    return replace(row, raw=write_json({**rest, **missing}))


def decide_on(
    writer: StoreWriter, files: CheckedFiles, progress: Callable[[IngestProgress], None] | None
) -> Summary:
    """Decide on the rows of checked files, and report `progress` after each window."""
    reader, source, renames = files.reader, files.source, files.renames
    ends: deque[tuple[int, int]] = deque()
    unknown: set[str] = set()

    def read() -> Iterator[Input]:
        for number, row in enumerate(reader, 1):
            named = _completed(row, files.defaults, renames)
            named = named if source is None else replace(named, source=source)
            ends.append((number, reader.done))
            meaning = understand(named, renames)
            if isinstance(meaning, Prepared) and meaning.candidate.metadata:
                unknown.update(_unknown_fields(orjson.loads(named.raw), renames))
            yield Input(named, meaning)

    decided = 0

    def report(summary: Summary) -> None:
        nonlocal decided
        while ends and ends[0][0] <= summary.rows:
            _, decided = ends.popleft()
        if progress is not None:
            progress(IngestProgress(summary.rows, decided, reader.total, summary.decisions))

    summary = summarise(writer.stream(read(), renames), report)
    summary.remarks = [*files.remarks]
    if len(reader.begun) > 1:
        _name_files(summary.invalid_rows, reader.begun)
    if unknown:
        summary.remarks.append(f"{_kept(unknown)}; --map renames a misspelt one")
    return summary


def _name_files(rows: Iterable[dict[str, Any]], begun: Sequence[tuple[int, str]]) -> None:
    """Number each row within its own file; `begun` has the rows before each file."""
    for row in rows:
        before, file = max(one for one in begun if one[0] < row["row"])
        row |= {"file": file, "row": row["row"] - before}


def _remarks(
    reader: RowReader, renames: Mapping[str, str], defaults: Defaults, keep_going: KeepGoing
) -> list[str]:
    """Check the first rows of each input; returns remarks on inputs that are wrong as a whole."""

    def is_right(row: RawRow) -> bool:
        completed = _completed(row, defaults, renames)
        return not isinstance(understand(completed, renames), InvalidInputError)

    remarks = []
    for path, first in reader.beginnings(FIRST_ROWS, is_right):
        if not first:
            remarks.append(f"{path} has no rows")
            continue
        if is_right(first[-1]):
            continue
        remark = f"{_wrong(len(first), path)}: {advice(first, renames)}"
        remarks.append(remark)
        if len(first) < FIRST_ROWS:
            continue
        if not (keep_going if isinstance(keep_going, bool) else keep_going(remark)):
            raise WrongFileError(f"{remark}. Nothing was kept; --keep-going reads it anyway")
    return remarks


def _wrong(count: int, path: str) -> str:
    if count == 1:
        return f"the only row of {path} is wrong"
    what = f"the first {count}" if count == FIRST_ROWS else f"the {count}"
    return f"none of {what} rows of {path} is right"


def summarise(
    outcomes: Generator[Sequence[Outcome], None, None],
    report: Callable[[Summary], None],
    numbers: Iterator[int] | None = None,
) -> Summary:
    """Count the outcomes of rows, and report the totals after each window; an interrupt ends it.

    `numbers` are the rows' numbers in the input, if they are not read in order.
    """
    begun = time.monotonic()
    summary = Summary()
    try:
        with closing(outcomes):
            for window in outcomes:
                summary.add(window, numbers)
                report(summary)
    except KeyboardInterrupt:
        summary.interrupted = True
    summary.seconds = time.monotonic() - begun
    return summary


def retry_dead_letters(
    writer: StoreWriter, letter_ids: Sequence[str] | None, mapping: Mapping[str, str] | None
) -> Summary:
    """Read dead letters again; those that are valid now become `retried`.

    If `letter_ids` is None, all open ones are read. Equal rows of an input are one dead letter,
    that of the first. A row without an id gets the same id as before, which comes from its bytes
    and its source. RefusedError for an unknown letter.
    """
    renames = in_both_forms(mapping or {})
    letters = DeadLetters(writer.reader.log)
    if letter_ids is None:
        letter_ids = [letter.id for letter in letters.all("open")]
    summary = Summary()
    for letter_id in letter_ids:
        letter, raw = letters.get(letter_id), letters.original(letter_id)
        if letter is None or raw is None:
            raise RefusedError("unknown_letter", f"there is no dead letter {letter_id}")
        outcome = _retry(writer, letter, raw, letters.headers(letter_id), renames)
        summary.add([outcome])
        if outcome.result != "invalid":
            with writer.reader.log.transaction():
                letters.mark(letter_id, "retried")
    return summary


def _retry(
    writer: StoreWriter,
    letter: DeadLetter,
    raw: bytes,
    headers: Headers,
    renames: Mapping[str, str],
) -> Outcome:
    """Retry one dead letter; an event in binary mode is read in structured mode."""
    if len(raw) < letter.size:
        return _still_invalid(letter, InvalidInputError("field", "not all of its bytes were kept"))
    try:
        attributes = binary_mode(headers)
        if attributes is None:
            return writer.retry(raw, letter.origin, renames)
        event = as_structured(attributes, raw)
        parse(event, source=letter.origin)
    except InvalidInputError as error:
        return _still_invalid(letter, error)
    return writer.retry(event, letter.origin, renames)


def _still_invalid(letter: DeadLetter, error: InvalidInputError) -> Outcome:
    return Outcome("invalid", decision_id=letter.id, reason=error.reason, detail=error.detail)
