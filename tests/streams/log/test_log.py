"""The log keeps what it was given, in order, and says where it is damaged."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from msgspec import structs

from palimpsest.contracts.errors import StoreError, UsageError
from palimpsest.contracts.events import (
    AnyEvent,
    Compacted,
    OnSessionData,
    PolicySet,
    PolicySetData,
    Refused,
    RefusedData,
)
from palimpsest.contracts.identity import candidate_id, event_id
from palimpsest.contracts.wire import encode
from palimpsest.streams.log import database
from palimpsest.streams.log.import_log import import_lines
from palimpsest.streams.log.log import CHUNK, Log

AT = datetime(2026, 1, 2, tzinfo=UTC)


def refused(number: int, owner_id: str = "ann", because: str | None = None) -> Refused:
    """An event that may follow any other: it names nothing that has to be there."""
    subject = candidate_id(owner_id, "test", str(number))
    data = RefusedData(command="access", reason="unknown_candidate", detail="", because=because)
    return Refused(
        id=event_id(subject, "refused"),
        subject=subject,
        time=AT,
        partitionkey=owner_id,
        data=data,
    )


def policy_set(name: str) -> PolicySet:
    data = PolicySetData(hash=name, policy={"name": name})
    event = event_id(candidate_id("", "policy", name), "set")
    return PolicySet(id=event, subject=name, time=AT, partitionkey="", data=data)


def compacted(session: str, owner_id: str = "ann", number: int = 0) -> Compacted:
    event = event_id(candidate_id(owner_id, session, str(number)), "compacted")
    data = OnSessionData(session_id=session)
    return Compacted(id=event, subject=session, time=AT, partitionkey=owner_id, data=data)


def append(log: Log, *events: AnyEvent) -> list[int]:
    with log.transaction():
        return log.append(events)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with Log.create(tmp_path / "log.sqlite") as made:
        yield made


def test_events_come_back_in_order_as_they_were(log: Log) -> None:
    events = [refused(n, because=f"söme\n\x00 text {n}") for n in range(5)]
    assert append(log, *events[:3]) == [1, 2, 3]
    assert append(log, *events[3:]) == [4, 5]
    assert [recorded.position for recorded in log.after(0)] == [1, 2, 3, 4, 5]
    assert [recorded.event for recorded in log.after(0)] == events
    assert log.lines_after(0) == [(n + 1, encode(event)) for n, event in enumerate(events)]
    assert (log.head(), log.count()) == (5, 5)


def test_an_empty_log_has_nothing(log: Log) -> None:
    assert (log.head(), log.count(), log.after(0), list(log.owners())) == (0, 0, [], [])
    assert (log.last_policy(), list(log.of_owner("ann")), append(log)) == (None, [], [])


def test_after_is_limited_and_exclusive(log: Log) -> None:
    append(log, *(refused(n) for n in range(10)))
    assert [recorded.position for recorded in log.after(3, 4)] == [4, 5, 6, 7]
    assert log.after(10) == []


def test_a_policy_that_was_rolled_back_is_not_remembered(log: Log) -> None:
    with suppress(ZeroDivisionError), log.transaction():
        log.append([policy_set("withdrawn")])
        assert log.last_policy() == policy_set("withdrawn")
        raise ZeroDivisionError
    assert log.last_policy() is None
    append(log, policy_set("in force"))
    assert log.last_policy() == policy_set("in force")


def test_lines_come_across_chunks(log: Log) -> None:
    count = 2 * CHUNK + 1
    append(log, *(refused(n) for n in range(count)))
    assert [position for position, _ in log.lines()] == list(range(1, count + 1))
    assert [position for position, _ in log.lines(after=count - 1)] == [count]


def test_an_owner_is_read_alone(log: Log) -> None:
    append(log, *(refused(n, f"owner {n % 3}") for n in range(9)))
    assert [recorded.position for recorded in log.of_owner("owner 1")] == [2, 5, 8]
    assert [recorded.position for recorded in log.of_owner("owner 1", upto=5)] == [2, 5]
    assert [recorded.position for recorded in log.of_owner("owner 1", after=2)] == [5, 8]
    assert list(log.of_owner("owner")) == []


def test_an_owner_is_read_across_chunks(log: Log) -> None:
    append(log, *(refused(n, "ab"[n % 2]) for n in range(2 * CHUNK + 4)))
    assert [r.position for r in log.of_owner("b")] == list(range(2, 2 * CHUNK + 5, 2))


def test_events_appended_while_an_owner_is_read_are_not_part_of_it(log: Log) -> None:
    append(log, refused(0), refused(1))
    reading = log.of_owner("ann")
    first = next(reading)
    append(log, refused(2))
    assert [first.position, *(recorded.position for recorded in reading)] == [1, 2]


def test_owners_are_listed_once_and_counted(log: Log) -> None:
    append(log, refused(1, "b"), refused(2, "a"), refused(3, "ö"), policy_set("p"))
    append(log, refused(4, "b"))
    assert list(log.owners()) == ["a", "b", "ö"]
    assert list(log.owners(after="a")) == ["b", "ö"]
    assert [log.count_of(owner, 9) for owner in ("", "a", "b", "ö", "c")] == [1, 1, 2, 1, 0]


def test_owners_with_events_between_two_positions_are_named(log: Log) -> None:
    append(log, refused(1, "b"), refused(2, "a"), refused(3, "b"), refused(4, "c"))
    assert sorted(log.owners_since(0, upto=4)) == ["a", "b", "c"]
    assert log.owners_since(1, upto=2) == ["a"]
    assert log.owners_since(4, upto=9) == []


def test_an_event_is_found_by_its_id(log: Log) -> None:
    event = refused(7, "bob")
    append(log, refused(1), event)
    found = log.find(event.id)
    assert found is not None
    assert (found.position, found.event) == (2, event)
    assert log.owner_of(event.id) == "bob"


@pytest.mark.parametrize("event_id", [refused(99).id, "", "no uuid", "' OR 1=1 --"])
def test_an_id_that_is_not_there_is_not_found(log: Log, event_id: str) -> None:
    append(log, refused(1))
    assert log.find(event_id) is None
    assert log.owner_of(event_id) is None


def test_the_last_compaction_of_an_owners_session_is_found(log: Log) -> None:
    quoted = refused(1, because='"palimpsest.compacted.v1"')
    append(log, compacted("s"), quoted, compacted("s", number=1), compacted("t"))
    append(log, compacted("s", "bob"), refused(2))
    assert log.compacted_at("ann", "s") == 3
    assert log.compacted_at("ann", "t") == 4
    assert log.compacted_at("bob", "t") == 0
    assert log.compacted_at("nobody", "s") == 0


def test_the_last_policy_is_found(log: Log) -> None:
    append(log, policy_set("one"), refused(1))
    append(log, refused(2), policy_set("two"), refused(3))
    found = log.last_policy()
    assert found is not None
    assert found.data.hash == "two"


def test_the_policy_at_a_position_is_the_last_up_to_and_including_it(log: Log) -> None:
    append(log, refused(1), policy_set("one"), refused(2), policy_set("two"))
    hashes = [found and found.data.hash for found in map(log.last_policy, range(6))]
    assert hashes == [None, None, "one", "one", "two", "two"]


def test_an_id_that_is_there_is_a_bug_and_nothing_is_kept(log: Log) -> None:
    append(log, refused(1))
    with pytest.raises(sqlite3.IntegrityError):
        append(log, refused(2), refused(1))
    assert log.head() == 1
    assert append(log, refused(2)) == [2]


def test_an_error_in_a_transaction_takes_all_of_it_back(log: Log) -> None:

    def interrupted() -> None:
        with log.transaction():
            log.append([refused(1, "new owner")])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (log.head(), list(log.owners())) == (0, [])
    assert append(log, refused(1, "another"), refused(1, "new owner")) == [1, 2]
    assert list(log.owners()) == ["another", "new owner"]
    assert [recorded.position for recorded in log.of_owner("another")] == [1]


def test_appending_outside_a_transaction_is_a_bug(log: Log) -> None:
    with pytest.raises(RuntimeError):
        log.append([refused(1)])


def test_what_was_committed_is_seen_by_others_and_nothing_before(log: Log) -> None:
    with Log.open(log.path) as other:
        with log.transaction():
            log.append([refused(1)])
            assert other.head() == 0
        assert other.head() == 1


def test_a_log_belongs_to_its_thread(log: Log) -> None:
    caught: list[BaseException] = []

    def use() -> None:
        try:
            log.head()
        except sqlite3.ProgrammingError as error:
            caught.append(error)
        with Log.open(log.path) as own:
            assert own.head() == 0

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert len(caught) == 1


def test_a_log_moves_and_copies(log: Log, tmp_path: Path) -> None:
    append(log, refused(1))
    log.close()
    (tmp_path / "new place").mkdir()
    copy = Path(shutil.copy(tmp_path / "log.sqlite", tmp_path / "new place"))
    with Log.open(copy) as moved:
        assert moved.after(0)[0].event == refused(1)


# -- opening ------------------------------------------------------------------------------------


def test_creating_is_opening_where_a_log_is(log: Log) -> None:
    append(log, refused(1))
    with Log.create(log.path) as again:
        assert again.head() == 1


def test_a_log_that_is_not_there_is_reported_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store at"):
        Log.open(tmp_path / "log.sqlite")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_creation_is_reported_and_can_be_finished(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    path.touch()
    with pytest.raises(StoreError, match="empty"):
        Log.open(path)
    with Log.create(path) as log:
        assert append(log, refused(1)) == [1]


@pytest.mark.parametrize("make", [Log.open, Log.create])
def test_what_is_no_database_is_reported_and_left_alone(tmp_path: Path, make: type[Log]) -> None:
    path = tmp_path / "log.sqlite"
    path.write_bytes(b"a letter to a friend " * 100)
    with pytest.raises(StoreError, match="not a Palimpsest log"):
        make(path)
    assert path.read_bytes() == b"a letter to a friend " * 100


@pytest.mark.parametrize("make", [Log.open, Log.create])
def test_a_foreign_database_is_reported_and_left_alone(tmp_path: Path, make: type[Log]) -> None:
    path = tmp_path / "log.sqlite"
    with closing(sqlite3.connect(path)) as foreign, foreign:
        foreign.execute("CREATE TABLE recipes (name TEXT)")
    foreign.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        make(path)
    assert path.read_bytes() == before


def test_requests_of_an_older_replica_are_found_whatever_their_ids_are(log: Log) -> None:
    """An id that is no UUID is left out, as it is when it is appended."""
    named = structs.replace(refused(1), requestid=str(UUID(int=7)))
    other = structs.replace(refused(2), requestid="a request")
    append(log, named, other)
    log.execute("INSERT INTO followed VALUES ('memory.decisions', 0, 'id', 2)")
    log.execute(f"PRAGMA user_version={database.REQUESTS_SINCE - 1}")
    log.close()
    with Log.open(log.path) as upgraded:
        assert [one.event for one in upgraded.of_request(str(UUID(int=7)))] == [named]
        assert upgraded.row("SELECT count(*) FROM requests") == (1,)


def test_nothing_has_a_request_that_is_no_uuid(log: Log) -> None:
    append(log, refused(1))
    assert log.of_request("end-7") == []


def test_a_newer_format_is_reported(log: Log) -> None:
    log.execute(f"PRAGMA user_version={database.SCHEMA_VERSION + 1}")
    log.close()
    with pytest.raises(StoreError, match="newer palimpsest"):
        Log.open(log.path)


def test_a_reader_cannot_write(log: Log) -> None:
    append(log, refused(1))
    with Log.open(log.path, read_only=True) as reader:
        assert reader.head() == 1
        with pytest.raises(StoreError, match="read-only"):
            append(reader, refused(2))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="cannot be opened for writing"):
        Log.create(tmp_path / "log.sqlite")


# -- damage -------------------------------------------------------------------------------------


def overwrite(path: Path, old: bytes, new: bytes) -> None:
    content = path.read_bytes()
    assert content.count(old) == 1
    path.write_bytes(content.replace(old, new))


def test_one_changed_letter_is_reported_with_its_position(log: Log) -> None:
    append(log, *(refused(n, because=f"reason number {n}.") for n in range(9)))
    log.close()
    overwrite(log.path, b"reason number 5.", b"reason numbed 5.")
    with Log.open(log.path) as damaged:
        assert len(damaged.after(0, 5)) == 5
        with pytest.raises(StoreError, match="position 6 is damaged"):
            damaged.after(0)
        with pytest.raises(StoreError, match="position 6 is damaged"):
            list(damaged.of_owner("ann"))


def test_a_broken_page_is_reported_with_the_last_position_before_it(log: Log) -> None:
    append(log, *(refused(n, because="x" * 2000) for n in range(200)))
    log.close()
    content = bytearray(log.path.read_bytes())
    page = content.index(encode(refused(150, because="x" * 2000))) // database.PAGE_BYTES
    start = page * database.PAGE_BYTES
    content[start : start + 64] = b"\xee" * 64
    log.path.write_bytes(content)
    with Log.open(log.path) as damaged, pytest.raises(StoreError, match=r"after position 1[45]"):
        damaged.after(0)


def test_a_log_cut_short_is_reported(log: Log) -> None:
    append(log, *(refused(n, because="x" * 2000) for n in range(200)))
    log.close()
    size = log.path.stat().st_size
    os.truncate(log.path, size // 2 // database.PAGE_BYTES * database.PAGE_BYTES)
    with pytest.raises(StoreError), Log.open(log.path) as damaged:
        list(damaged.lines())


def test_no_words_of_a_damaged_event_are_shown(log: Log) -> None:
    append(log, refused(1, because="the secret of the house"))
    log.execute("UPDATE events SET line = replace(line, 'secret', 'sacred')")
    with pytest.raises(StoreError) as error:
        log.after(0)
    assert "house" not in str(error.value)


def test_a_full_disk_is_reported_and_nothing_of_the_batch_is_kept(log: Log) -> None:
    append(log, refused(0))
    pages = log.row("PRAGMA page_count")
    assert pages is not None
    log.execute(f"PRAGMA max_page_count={pages[0]}")
    with pytest.raises(StoreError, match="is full"):
        append(log, *(refused(n, because="x" * 2000) for n in range(1, 50)))
    assert log.head() == 1
    log.execute("PRAGMA max_page_count=1000000")
    assert append(log, refused(1)) == [2]


# -- export and import --------------------------------------------------------------------------


def test_an_import_is_the_export_byte_for_byte(log: Log, tmp_path: Path) -> None:
    append(log, *(refused(n, f"owner {n % 7}") for n in range(CHUNK + 10)), policy_set("p"))
    exported = [line + b"\n" for _, line in log.lines()]
    told: list[int] = []
    with Log.create(tmp_path / "copy.sqlite") as copy:
        assert import_lines(copy, exported, told.append) == CHUNK + 11
        assert [line + b"\n" for _, line in copy.lines()] == exported
        assert copy.last_policy() == policy_set("p")
        assert [*copy.owners()] == [*log.owners()]
    assert told == [CHUNK, CHUNK + 11]


def test_only_an_empty_log_is_filled(log: Log) -> None:
    append(log, refused(1))
    with pytest.raises(UsageError, match="empty log"):
        import_lines(log, [encode(refused(2))])
    assert log.head() == 1


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"no json, but words", "line 3 is not an event"),
        (b'{"specversion":"1.0","type":"palimpsest.accessed.v9"}', "line 3 is not an event"),
        (b"", "line 3 is not an event"),
        (encode(refused(1)), "has the id of an earlier line"),
    ],
)
def test_an_import_is_all_or_nothing(log: Log, line: bytes, told: str) -> None:
    with pytest.raises(StoreError, match=told) as error:
        import_lines(log, [encode(refused(0)), encode(refused(1)), line])
    assert "words" not in str(error.value)
    assert log.head() == 0
    assert list(log.owners()) == []


# -- many processes -----------------------------------------------------------------------------

WRITER = """
import sys
from pathlib import Path
from palimpsest.streams.log.log import Log
from tests.streams.log.test_log import refused
with Log.create(Path(sys.argv[1])) as log:
    for number in range(40):
        with log.transaction():
            log.append([refused(number, sys.argv[2]), refused(-number - 1, sys.argv[2])])
"""


def test_many_processes_make_and_fill_one_log(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    root = Path(__file__).parents[3]
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, path, owner], cwd=root)
        for owner in ("ann", "bob", "cid")
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    with Log.open(path) as log:
        assert [recorded.position for recorded in log.after(0)] == list(range(1, 241))
        for owner in ("ann", "bob", "cid"):
            assert len(list(log.of_owner(owner))) == 80
