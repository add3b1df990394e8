"""A log that was changed behind our back is said to be, with the position, before it is folded."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from uuid import uuid4

import orjson
import pytest
from hypothesis import given, settings
from msgspec import structs

from palimpsest.contracts.commands import Merge, Reinstate, Unmerge
from palimpsest.contracts.errors import StoreError
from palimpsest.contracts.events import AnyEvent, Reversed
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.wire import Recorded, decode, encode
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.log.checking import check_log
from palimpsest.streams.log.damage import Checker, DamagedEventError, in_order
from palimpsest.streams.log.import_log import import_lines
from palimpsest.streams.log.log import Log
from palimpsest.streams.write.owners import Owners, fold_owner
from tests.laws.histories import Act, losses, play, policies, stories
from tests.long import examples
from tests.projections.histories import History
from tests.recorded.replay import FOLDER
from tests.streams.core.test_events import everything
from tests.tables import each

SECRET = "violin"


def events_of_two_owners() -> list[AnyEvent]:
    """Two owners; a join that is taken out, put back and taken out once more; a composed text."""
    history = History()
    history.nobody()
    bob = history.admit("bob", "A lantern hangs in the barn.")
    a = history.admit("ada", f"She plays the {SECRET}.")
    b = history.admit("ada", f"The {SECRET} is hers.", (a, 0.8))
    composing = history.verdict("ada", b)
    while composing.composition is None:
        composing = history.verdict("ada", b)
    history.run(composing)
    c = history.admit("ada", "An orchard grows behind the house.")
    join = history.run(Merge(command_id=history.fresh(), owner_id="ada", a=a, b=c))[0].id
    for kind in (Unmerge, Reinstate, Unmerge):
        history.run(kind(command_id=history.fresh(), owner_id="ada", decision_id=join))
    history.admit("bob", "The barn was sold.", (bob, 0.75))
    return [event.event for event in history.log.events]


EVENTS = events_of_two_owners()
NUMBER = {name: n for n, name in enumerate("policy invalid bob a b text c join out".split(), 1)}
"""Where in EVENTS what is."""


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with Log.create(tmp_path / "log.sqlite") as made:
        with made.transaction():
            made.append(EVENTS)
        yield made


def remove(log: Log, position: int) -> None:
    """Take an event out, and close the gap."""
    for table in ("events", "policies"):
        log.execute(f"DELETE FROM {table} WHERE position = ?", (position,))
        log.execute(f"UPDATE {table} SET position = -position WHERE position > ?", (position,))
        log.execute(f"UPDATE {table} SET position = -position - 1 WHERE position < 0")


def write(log: Log, position: int, line: bytes) -> None:
    """Another line under a checksum that is right."""
    sql = "UPDATE events SET line = ?, checksum = ? WHERE position = ?"
    log.execute(sql, (line, zlib.crc32(line), position))


def line_at(log: Log, position: int) -> bytes:
    return log.lines_after(position - 1, 1)[0][1]


def edit(log: Log, position: int, *path: str, value: object) -> None:
    """Another value in an event."""
    event = orjson.loads(line_at(log, position))
    inner = event
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    write(log, position, orjson.dumps(event))


def swap(log: Log, one: int, other: int) -> None:
    """Two events in each other's place, found as they were by owner and id."""
    columns = "owner_no, id, checksum, line"
    rows = [log.row(f"SELECT {columns} FROM events WHERE position = ?", (p,)) for p in (one, other)]
    log.execute("DELETE FROM events WHERE position IN (?, ?)", (one, other))
    for position, row in zip((other, one), rows, strict=True):
        assert row is not None
        log.execute(
            f"INSERT INTO events (position, {columns}) VALUES (?,?,?,?,?)", (position, *row)
        )


def give(log: Log, position: int, owner_id: str) -> None:
    """An event to another owner, in its line and where it is filed."""
    edit(log, position, "partitionkey", value=owner_id)
    number = "(SELECT owner_no FROM owners WHERE owner_id = ?)"
    log.execute(f"UPDATE events SET owner_no = {number} WHERE position = ?", (owner_id, position))


N = NUMBER
VISIBLE: dict[str, tuple[Callable[[Log], object], int, str]] = {
    "an event that others name is removed": (lambda log: remove(log, N["a"]), N["a"], "names"),
    "a join that is taken out is removed": (lambda log: remove(log, N["join"]), N["join"], "names"),
    "a reinstatement is removed": (lambda log: remove(log, 10), 10, "reversed already"),
    "a reversal is removed": (lambda log: remove(log, N["out"]), N["out"], "stands already"),
    "events are swapped": (lambda log: swap(log, N["a"], N["b"]), N["a"], "names"),
    "a join after its reversal": (lambda log: swap(log, N["join"], N["out"]), N["join"], "names"),
    "an event is given away": (
        lambda log: give(log, N["b"], "bob"),
        N["b"],
        "(names|admits a candidate)",
    ),
    "a candidate that nobody names is given away": (
        lambda log: give(log, N["bob"], "ada"),
        N["bob"],
        "another owner",
    ),
    "a text is changed": (
        lambda log: edit(log, N["c"], "data", "content", "text", value="Nothing grows there."),
        N["c"],
        "another text .*nfkc-casefold-space/1",
    ),
    "a composed text is changed": (
        lambda log: edit(
            log, N["text"], "data", "composition", "content", "text", value="The piano is hers."
        ),
        N["text"],
        "another text",
    ),
    "a composed text has a source of another owner": (
        lambda log: edit(
            log,
            N["text"],
            "data",
            "composition",
            "sources",
            value=[EVENTS[N[name] - 1].subject for name in ("bob", "b")],
        ),
        N["text"],
        "names the candidate",
    ),
    "a hash is by rules that nobody knows": (
        lambda log: edit(log, N["c"], "data", "content", "normaliser", value="rot13/1"),
        N["c"],
        "normaliser rot13/1",
    ),
    "an event has another id": (
        lambda log: edit(log, N["c"], "id", value=EVENTS[0].id),
        N["c"],
        "another id",
    ),
    "a candidate has another id": (
        lambda log: edit(log, N["c"], "subject", value=EVENTS[0].id),
        N["c"],
        "another id",
    ),
    "a reversal names another pair": (
        lambda log: edit(log, N["out"], "data", "joined_to", value=EVENTS[N["b"] - 1].subject),
        N["out"],
        "other candidates than",
    ),
}
"""What also shows in an export: what is done, the position that is named, and what is said."""
FILED: dict[str, tuple[Callable[[Log], object], int, str]] = {
    "an event is missing": (
        lambda log: log.execute("DELETE FROM events WHERE position = ?", (N["c"],)),
        N["c"],
        "is missing",
    ),
    "the first event is missing": (
        lambda log: log.execute("DELETE FROM events WHERE position = 1"),
        1,
        "is missing",
    ),
    "an event is filed under another id": (
        lambda log: log.execute("UPDATE events SET id = zeroblob(16) WHERE position = 5"),
        5,
        "filed under another id",
    ),
    "an event is filed under another owner": (
        lambda log: log.execute(
            "UPDATE events SET owner_no = (SELECT owner_no FROM owners WHERE owner_id = 'bob')"
            " WHERE position = ?",
            (N["c"],),
        ),
        N["c"],
        "belongs to another owner",
    ),
    "an event is filed under no owner": (
        lambda log: log.execute("UPDATE events SET owner_no = 99 WHERE position = 7"),
        7,
        "under no owner",
    ),
    "a policy is not listed": (lambda log: log.execute("DELETE FROM policies"), 1, "not listed"),
    "a row that is not a policy is listed as one": (
        lambda log: log.execute("INSERT INTO policies VALUES (4)"),
        4,
        "but is not one",
    ),
    "a checksum is wrong": (
        lambda log: log.execute("UPDATE events SET checksum = checksum + 1 WHERE position = 6"),
        6,
        "damaged",
    ),
}
"""What shows in the file alone."""


def test_a_sound_log_is_read_to_its_end(log: Log) -> None:
    events_of_two_owners: list[float] = []
    assert check_log(log, lambda _, share: events_of_two_owners.append(share)) == len(EVENTS)
    assert events_of_two_owners == sorted(events_of_two_owners)


def test_what_is_appended_meanwhile_is_left_out(log: Log) -> None:
    history = History()
    history.nobody()
    policy = structs.replace(history.log.events[0].event, id=str(uuid4()))
    later = [policy]

    def meanwhile(_what: str, _share: float) -> None:
        with log.transaction():
            log.append([later.pop()] if later else [])

    assert check_log(log, meanwhile) == len(EVENTS)
    assert check_log(log) == len(EVENTS) + 1


def test_an_empty_log_is_sound(tmp_path: Path) -> None:
    with Log.create(tmp_path / "empty.sqlite") as empty:
        assert check_log(empty) == 0


@pytest.mark.parametrize("name", [*VISIBLE, *FILED])
def test_the_log_is_reported_as_damaged_with_the_position(log: Log, name: str) -> None:
    damage, position, what = (VISIBLE | FILED)[name]
    damage(log)
    with pytest.raises(StoreError, match=f"position {position} .*{what}.*restore") as error:
        check_log(log)
    assert SECRET not in str(error.value)


@pytest.mark.parametrize("name", VISIBLE)
def test_it_is_not_imported(log: Log, name: str, tmp_path: Path) -> None:
    damage, position, what = VISIBLE[name]
    damage(log)
    lines = [line for _, line in log.lines()]
    with Log.create(tmp_path / "other.sqlite") as other:
        with pytest.raises(StoreError, match=f"line {position} .*({what}|came before)") as error:
            import_lines(other, lines)
        assert SECRET not in str(error.value)
        assert (other.head(), list(other.owners())) == (0, [])


def test_an_index_that_is_not_its_tables_is_damage(log: Log) -> None:
    log.execute("PRAGMA writable_schema=ON")
    log.execute("UPDATE sqlite_schema SET sql = 'CREATE INDEX events_by_owner ON events (id)'"
                " WHERE name = 'events_by_owner'")  # fmt: skip
    log.execute("PRAGMA writable_schema=RESET")
    with pytest.raises(StoreError, match=r"is damaged .*index"):
        check_log(log)


def folds_or_is_damaged(events: Sequence[AnyEvent]) -> bool:
    """Whether a history folds; it ends with nothing but a DamagedEventError where it does not."""
    ledger = Ledger("ada")
    recorded = (Recorded(n, event) for n, event in enumerate(events, 1))
    try:
        for one in in_order(recorded, "ada"):
            evolve(ledger, one.event)
    except DamagedEventError:
        return False
    return True


def test_whatever_is_taken_out_or_swapped_nothing_else_is_raised() -> None:
    """Of any one event, and any two neighbours."""
    found = [False, False]
    for seed in range(6):
        history = History(seed).steps(60, owners=1)
        events = [e.event for e in history.log.events if e.event.owner_id]
        own = [structs.replace(e, partitionkey="ada") for e in events]
        assert folds_or_is_damaged(own)
        for at in range(len(own)):
            found[0] |= not folds_or_is_damaged([*own[:at], *own[at + 1 :]])
            swapped = [*own[:at], *own[at : at + 2][::-1], *own[at + 2 :]]
            found[1] |= not folds_or_is_damaged(swapped)
    assert found == [True, True]


def test_an_owner_is_not_folded_from_a_damaged_log(log: Log) -> None:
    remove(log, N["join"])
    with pytest.raises(StoreError, match=f"position {N['join']} names the join"):
        fold_owner(log, "ada")
    fold_owner(log, "bob")


def test_a_candidate_is_not_folded_twice(log: Log) -> None:
    """Under another id, so that the index of ids does not refuse it."""
    again = structs.replace(EVENTS[N["c"] - 1], id=EVENTS[0].id[:-4] + "beef")
    with log.transaction():
        log.append([again])
    with pytest.raises(StoreError, match=f"position {len(EVENTS) + 1} admits .* once more"):
        fold_owner(log, "ada")


def test_what_another_process_damaged_meanwhile_is_reported(log: Log) -> None:
    owners = Owners(log)
    owners.get("ada")
    word = EVENTS[N["out"] - 1]
    assert isinstance(word, Reversed)
    data = structs.replace(word.data, decision_id=EVENTS[0].id)
    with log.transaction():
        log.append([structs.replace(word, id=EVENTS[0].id[:-4] + "beef", data=data)])
    with pytest.raises(StoreError, match=f"position {len(EVENTS) + 1} names the join"):
        owners.catch_up()


@given(policies(), stories | losses)
@settings(max_examples=examples(200))
def test_what_the_core_writes_is_sound(policy: Policy, story: list[Act]) -> None:
    checker = Checker()
    for position, event in enumerate(play(policy, story).world.log, 1):
        checker.check(position, decode(encode(event), position))


@each("file", sorted(FOLDER.glob("*.jsonl")))
def test_what_was_ever_recorded_is_sound(file: Path) -> None:
    checker = Checker()
    for position, line in enumerate(file.read_bytes().splitlines(), 1):
        checker.check(position, decode(line, position))


def test_every_candidate_and_decision_that_the_fold_looks_up_is_checked() -> None:
    """Else a changed log would end with a bug's error, and not with the event's position."""
    failed = set()
    for event in everything().log:
        try:
            evolve(Ledger(event.owner_id), event)
        except KeyError:
            failed.add(event.type)
            with pytest.raises(DamagedEventError, match="names"):
                [*in_order([Recorded(1, event)], event.owner_id)]
    assert len(failed) > 10
