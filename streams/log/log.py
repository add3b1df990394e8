"""The log of the embedded runtime: append-only events, found by owner, id or position."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from heapq import merge
from operator import attrgetter
from pathlib import Path

from palimpsest.contracts.errors import StoreError
from palimpsest.contracts.events import AnyEvent, Compacted, JudgeSet, PolicySet
from palimpsest.contracts.policy import Policy, recorded_policy
from palimpsest.contracts.wire import Envelope, Recorded, decode, encode, envelope_of
from palimpsest.streams.core.touched import Touched
from palimpsest.streams.log.acknowledged import Acknowledged
from palimpsest.streams.log.damage import in_order
from palimpsest.streams.log.database import DamagedError, Database, Row
from palimpsest.streams.log.verifications import MARKS, Verifications, touched_by

Line = tuple[int, bytes]
"""A position and the event's line, as written."""
Lines = Sequence[tuple[AnyEvent, bytes]]
"""Events with their lines, as written."""

CHUNK = 500
"""Rows read at once. No query stays open between chunks, so the writer can checkpoint its file."""

OWNERS_KEPT = 100_000
"""Maximum number of owners whose numbers are kept in memory."""

_LINES = "SELECT position, checksum, line FROM events"


class Log(Database):
    """The events of a store, at positions 1, 2, 3 and so on."""

    def __init__(
        self, path: Path, *, create: bool = False, read_only: bool = False, shared: bool = False
    ) -> None:
        self._numbers: dict[str, int] = {}
        self._model_changes: list[Recorded] = []
        self._policies_until = 0
        self._policy: Recorded | None = None
        self._judge: JudgeSet | None = None
        self._judge_until = 0
        self.verifications = Verifications(self)
        self._acknowledged: Acknowledged | None = None
        super().__init__(path, create=create, read_only=read_only, shared=shared)

    def append(self, events: Sequence[AnyEvent]) -> list[int]:
        """Append events; returns their positions. Needs a transaction.

        An id that exists raises sqlite3.IntegrityError: `decide` was not idempotent.
        """
        return self.append_lines([(event, encode(event)) for event in events])

    def append_lines(self, events: Sequence[tuple[AnyEvent | Envelope, bytes]]) -> list[int]:
        """Like `append`, for events together with their lines, as written."""
        self.require_transaction()
        first = self.head() + 1
        positions = list(range(first, first + len(events)))
        if len(self._numbers) > OWNERS_KEPT:
            self._numbers.clear()
        self.execute_many(
            "INSERT INTO events (position, owner_no, id, checksum, line) VALUES (?, ?, ?, ?, ?)",
            [
                (position, self._number_of(event.owner_id), _key(event.id), zlib.crc32(line), line)
                for position, (event, line) in zip(positions, events, strict=True)
            ],
        )
        self.execute_many(
            "INSERT INTO policies (position) VALUES (?)",
            [
                (position,)
                for position, (event, _) in zip(positions, events, strict=True)
                if event.type == PolicySet.type
            ],
        )
        self._note_requests(
            (position, event.requestid)
            for position, (event, _) in zip(positions, events, strict=True)
        )
        return positions

    def take_over(self, lines: Lines) -> list[Recorded]:
        """Append events that were written elsewhere, byte for byte; needs a transaction.

        Their questions to the judge must then be passed to `follow_touched`.
        """
        positions = self.append_lines(lines)
        return [
            Recorded(position, event) for position, (event, _) in zip(positions, lines, strict=True)
        ]

    def follow_touched(self, owner_id: str, touched: Touched, position: int) -> None:
        """Update the lists of pending questions and of texts without vectors, after a fold."""
        if touched.questions or touched.texts or touched.unembedded:
            self.verifications.follow(touched, self._number_of(owner_id), position)

    def find_questions(self, owner_ids: Iterable[str]) -> None:
        """Like `follow_touched`, for all events of some owners, folding one owner after another."""
        for owner_id in owner_ids:
            for position, touched in touched_by(owner_id, self.of_owner(owner_id)):
                self.follow_touched(owner_id, touched, position)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Like `Database.transaction`; on success, records what is acknowledged from then on."""
        try:
            with super().transaction():
                yield
        except BaseException:
            self._numbers.clear()
            raise
        if self._acknowledged is not None:
            self._acknowledged.record()

    def require_acknowledged(self, *, accept_loss: bool = False) -> None:
        """Raise StoreError if acknowledged events are missing, unless `accept_loss`.

        From then on every commit is recorded as acknowledged.
        """
        self._acknowledged = Acknowledged(self)
        self._acknowledged.require(accept_loss=accept_loss)

    def close(self) -> None:
        """Like `Database.close`."""
        if self._acknowledged is not None:
            self._acknowledged.close()
        super().close()

    def _number_of(self, owner_id: str) -> int:
        """The owner's number; assigns one if necessary."""
        number = self._numbers.get(owner_id)
        if number is None:
            number = self._owner_number(owner_id)
            if number is None:
                sql = "INSERT INTO owners (owner_id) VALUES (?)"
                number = self.execute(sql, (owner_id,)).lastrowid
            assert number is not None
            self._numbers[owner_id] = number
        return number

    def _owner_number(self, owner_id: str) -> int | None:
        return self.number("SELECT owner_no FROM owners WHERE owner_id = ?", (owner_id,)) or None

    def head(self) -> int:
        """The position of the last event; 0 in an empty log."""
        return self.number("SELECT max(position) FROM events")

    def end(self) -> tuple[int, tuple[int, ...] | None]:
        """The last position, and the next offset of each partition if it follows a cluster.

        Both are read from one state of the log, even while others write to it.
        """
        followed = [
            *self.rows(
                "SELECT next_offset, (SELECT max(position) FROM events) FROM followed"
                " WHERE topic LIKE '%memory.decisions' ORDER BY partition"
            )
        ]
        if not followed:
            return self.head(), None
        return followed[0][1] or 0, tuple(offset for offset, _ in followed)

    def count(self) -> int:
        """The number of events; reads an index from end to end."""
        return self.number("SELECT count(*) FROM events")

    def lines_after(self, position: int, limit: int = CHUNK) -> list[Line]:
        """Up to `limit` lines after `position`; raises StoreError that names a damaged one."""
        return self._read(
            "WHERE position > ? ORDER BY position LIMIT ?", (position, limit), position
        )

    def after(self, position: int, limit: int = CHUNK) -> list[Recorded]:
        """Up to `limit` events after `position`."""
        return _decoded(self.lines_after(position, limit))

    def lines(self, after: int = 0) -> Iterator[Line]:
        """Every line after a position, in order."""
        while chunk := self.lines_after(after):
            yield from chunk
            after = chunk[-1][0]

    def of_owner(
        self, owner_id: str, *, after: int = 0, upto: int | None = None, chunk: int = CHUNK
    ) -> Iterator[Recorded]:
        """The events of one owner in order, after `after`, up to and including `upto`.

        They are read `chunk` at a time. The owner `""` has the events about the store, and about
        inputs with an unknown owner. Every other owner also has the store's events that change the
        vectors by which texts are compared. A read from the start raises DamagedEventError at the
        first event that cannot be folded.
        """
        events = self._of_owner(owner_id, after, upto, chunk)
        if not after:
            events = in_order(events, owner_id)
        if owner_id and (changes := self.model_changes(after, upto)):
            events = merge(events, changes, key=attrgetter("position"))
        yield from events

    def _of_owner(
        self, owner_id: str, after: int, upto: int | None, most: int
    ) -> Iterator[Recorded]:
        number = self._owner_number(owner_id)
        if number is None:
            return
        last = self.head() if upto is None else upto
        where = "WHERE owner_no = ? AND position > ? AND position <= ? ORDER BY position LIMIT ?"
        count = most
        while count == most:  # a shorter chunk is the last one
            chunk = self._read(where, (number, after, last, most), after)
            yield from _decoded(chunk)
            count = len(chunk)
            after = chunk[-1][0] if chunk else after

    def at(self, positions: Sequence[int]) -> list[Recorded]:
        """The events at some positions, in order."""
        found: list[Recorded] = []
        for begun in range(0, len(positions), CHUNK):
            some = tuple(positions[begun : begun + CHUNK])
            marks = ", ".join("?" * len(some))
            found += _decoded(
                self._read(f"WHERE position IN ({marks}) ORDER BY position", some, None)
            )
        return found

    def compacted_at(self, owner_id: str, session_id: str) -> int:
        """The position of the last compaction of an owner's session; 0 if there is none."""
        number = self._owner_number(owner_id)
        where = "WHERE owner_no = ? AND instr(line, ?) ORDER BY position DESC"
        kind = b'"palimpsest.compacted.v1"'
        for position, line in self._read(where, (number, kind), None):
            event = decode(line, position)
            if isinstance(event, Compacted) and event.data.session_id == session_id:
                return position
        return 0

    def owners(self, after: str = "") -> Iterator[str]:
        """The ids of owners with events, in the order of their bytes, without `""`."""
        sql = "SELECT owner_id FROM owners WHERE owner_id > ? ORDER BY owner_id LIMIT ?"
        while chunk := [row[0] for row in self.rows(sql, (after, CHUNK))]:
            yield from chunk
            after = chunk[-1]

    def owners_with_long_texts(self) -> list[str]:
        """The ids of owners with texts longer than their model's input; reads the whole log."""
        long = "SELECT owner_no FROM events WHERE instr(line, CAST('\"truncated\":true' AS BLOB))"
        sql = f"SELECT owner_id FROM owners WHERE owner_no IN ({long}) ORDER BY owner_id"  # noqa: S608 - no values
        return [row[0] for row in self.rows(sql)]

    def owners_since(self, position: int, *, upto: int) -> list[str]:
        """The ids of owners with events after a position, up to and including another.

        All owners so far, if one of these events changes the vectors by which texts are compared.
        """
        position = 0 if self.model_changes(position, upto) else position
        numbers = "SELECT DISTINCT owner_no FROM events WHERE position > ? AND position <= ?"
        sql = f"SELECT owner_id FROM owners WHERE owner_no IN ({numbers})"  # noqa: S608 - no values
        return [row[0] for row in self.rows(sql, (position, upto))]

    def count_of(self, owner_id: str, most: int) -> int:
        """The number of an owner's events, counted up to `most`."""
        number = self._owner_number(owner_id)
        counted = "SELECT count(*) FROM (SELECT 1 FROM events WHERE owner_no = ? LIMIT ?)"
        return self.number(counted, (number, most))

    def find(self, event_id: str) -> Recorded | None:
        """The event with this id; None if it is unknown, or not an id."""
        key = _key_or_none(event_id)
        found = [] if key is None else self._read("WHERE id = ?", (key,), None)
        return _decoded(found)[0] if found else None

    def of_request(self, request_id: str) -> list[Recorded]:
        """The events that a request caused, in order; empty if it is unknown."""
        where = "WHERE position IN (SELECT position FROM requests WHERE id = ?) ORDER BY position"
        return _decoded(self._read(where, (_key_or_none(request_id),), None))

    def owner_of(self, event_id: str) -> str | None:
        """The owner of the event with this id; None if it is unknown."""
        row = self.row(
            "SELECT owner_id FROM events JOIN owners USING (owner_no) WHERE id = ?",
            (_key_or_none(event_id),),
        )
        return None if row is None else row[0]

    def last_policy(self, upto: int = sys.maxsize) -> PolicySet | None:
        """The policy in force, now or at a position, if any, found without reading the log.

        It is cached once decoded, because each call of a store asks for it several times.
        """
        last = self.number("SELECT max(position) FROM policies WHERE position <= ?", (upto,))
        if not last:
            return None
        found = self._policy
        if found is None or found.position != last or self.in_transaction:
            [found] = _decoded(self._read("WHERE position = ?", (last,), None))
            # After a rollback, another event may get the position.
            self._policy = None if self.in_transaction else found
        assert isinstance(found.event, PolicySet)
        return found.event

    def last_judge(self) -> JudgeSet | None:
        """The judge that answered last; reads the store's own events, and each only once."""
        head = self.head()
        where = "WHERE owner_no = ? AND position > ? AND instr(line, ?) ORDER BY position DESC"
        kind = f'"{JudgeSet.type}"'.encode()
        found = self._read(where, (self._owner_number(""), self._judge_until, kind), None)
        events = (decode(line, position) for position, line in found)
        self._judge = next((e for e in events if isinstance(e, JudgeSet)), self._judge)
        self._judge_until = head
        return self._judge

    def model_changes(self, after: int, upto: int | None = None) -> list[Recorded]:
        """The events after a position that change the vectors by which texts are compared.

        Policies are few, and are read again only after a new one has arrived.
        """
        last = self.number("SELECT max(position) FROM policies")
        if self._policies_until != last:
            self._model_changes = [
                Recorded(position, event)
                for position, event in self._policies_set()
                if event.data.changes_models
            ]
            self._policies_until = last
        return [
            recorded
            for recorded in self._model_changes
            if after < recorded.position and (upto is None or recorded.position <= upto)
        ]

    def policies(self) -> dict[str, Policy]:
        """Every policy that was ever in force, by the hash that decisions refer to."""
        return {event.data.hash: recorded_policy(event.data) for _, event in self._policies_set()}

    def _policies_set(self) -> Iterator[tuple[int, PolicySet]]:
        found = self._read("WHERE position IN (SELECT position FROM policies)", (), None)
        for position, event in _decoded(found):
            if isinstance(event, PolicySet):
                yield position, event

    def _upgrade(self) -> None:
        """Fill the table of pending questions, which older versions filled differently."""
        conditions = " OR ".join(f"instr(line, CAST('{words}' AS BLOB))" for words in MARKS)
        asking = f"SELECT owner_no FROM events WHERE {conditions}"  # noqa: S608 - our own words
        sql = f"SELECT owner_id FROM owners WHERE owner_no IN ({asking}) ORDER BY owner_id"  # noqa: S608
        self.find_questions([row[0] for row in self.rows(sql)])

    def _find_requests(self) -> None:
        """Fill the table of requests, which an older version omitted for a cluster's events."""
        if self.row("SELECT 1 FROM followed LIMIT 1") is None:
            return
        marked = 'instr(line, CAST(\'"requestid":"\' AS BLOB))'
        rows = self.rows(f"SELECT position, line FROM events WHERE {marked}")  # noqa: S608 - only our own words
        found = [(position, envelope_of(line).requestid) for position, line in rows]
        self._note_requests(found)

    def _note_requests(self, found: Iterable[tuple[int, str | None]]) -> None:
        """Note the requests of events, by position; an id that is no UUID is never looked up."""
        self.execute_many(
            "INSERT INTO requests (id, position) VALUES (?, ?)",
            [(key, position) for position, name in found if name and (key := _key_or_none(name))],
        )

    def _read(self, where: str, parameters: Row, after: int | None) -> list[Line]:
        """Read lines and check them; `after` is the position before them, if they are in order."""
        found: list[Line] = []
        try:
            for position, checksum, line in self.rows(f"{_LINES} {where}", parameters):
                if not isinstance(line, bytes) or zlib.crc32(line) != checksum:
                    raise StoreError(
                        f"the event at position {position} is damaged: restore"
                        f" {self.path} from a copy"
                    )
                found.append((position, line))
        except DamagedError as error:
            if after is None:
                raise
            last = found[-1][0] if found else after
            raise DamagedError(f"{error} (the damage is after position {last})") from error
        return found


def _decoded(lines: Iterable[Line]) -> list[Recorded]:
    return [Recorded(position, decode(line, position)) for position, line in lines]


def _key(event_id: str) -> bytes:
    """A UUID as 16 bytes, less than half the size of its text; raises ValueError for all else."""
    key = bytes.fromhex(event_id.replace("-", ""))
    if len(key) != 16:
        raise ValueError("not a uuid")
    return key


def _key_or_none(event_id: str) -> bytes | None:
    try:
        return _key(event_id)
    except ValueError:
        return None
