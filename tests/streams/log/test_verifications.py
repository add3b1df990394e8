"""What waits for the judge follows from the events, in whatever way they came into the log."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palimpsest.backends import projector_service as following
from palimpsest.backends.projector_service import ProjectedReplica
from palimpsest.contracts.commands import Redecide
from palimpsest.contracts.errors import RefusedError, StoreError
from palimpsest.contracts.events import Refused, Reversed
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.policy import CosineCheck, Policy, Zone
from palimpsest.contracts.requests import SettleRequest
from palimpsest.contracts.wire import decode, encode
from palimpsest.streams.cluster.topics import Topics
from palimpsest.streams.cluster.worker.replica import Replica
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.embedded.session import append
from palimpsest.streams.log import import_log as importing
from palimpsest.streams.log.database import SCHEMA_VERSION, VERIFICATIONS_SINCE
from palimpsest.streams.log.log import Log
from palimpsest.streams.log.verifications import Kind, Waiting
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write.owners import Owners
from palimpsest.streams.write.serve import execute
from palimpsest.streams.write.writer import Writer
from tests.laws.checks import must_not_be_asked, texts_to_compose
from tests.laws.histories import (
    ASKING,
    COMPOSED,
    Act,
    OnCandidate,
    OnJoin,
    Playback,
    losses,
    policies,
    questions,
    stories,
)
from tests.streams.cluster.followed import Unprojected, offsets, records
from tests.streams.core.spec import KEEP, History, combine, composition, redecide, say, unmerge
from tests.streams.core.spec import given as told_by_hand
from tests.streams.write.runtime import Runtime
from tests.streams.write.written import Written

COMMITS = 3
"""Commands that are committed together."""
asking = st.just(ASKING)
histories = st.one_of(
    st.tuples(policies(), stories), st.tuples(asking, questions), *[st.tuples(asking, losses)] * 4
)
few = settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
FILE = "log.sqlite"
LOSING: list[Act] = [*COMPOSED, OnJoin(0)]
"""A text composed of four, whose oldest source leaves."""


GRAY = load_policy("standard").model_copy(
    update={
        "checks": (CosineCheck(check="cosine", zones=(Zone(at_least=0.4, action="pending"),)),),
        "name": "gray",
    }
)
IDENTITY = {"memory.decisions": "id"}


class Dies(Exception):
    """Stands for a kill: what comes after it does not happen."""


def to_settle(ledger: Ledger) -> set[str]:
    """Living candidates that are not one memory with a neighbour that nobody answered about."""
    return {entry.id for entry in ledger.entries.values() if entry.open}


def waits(ledger: Ledger) -> set[tuple[str, str]]:
    """What waits, as the ledger has it."""
    settle = {("settle", candidate_id) for candidate_id in to_settle(ledger)}
    return settle | {("compose", edge_id) for edge_id in texts_to_compose(ledger)}


def imported(folder: Path, lines: Sequence[bytes]) -> Log:
    """As an import takes them, a few lines at a time."""
    with ExitStack() as unless_imported:
        log = unless_imported.enter_context(Log.create(folder / FILE))
        unless_imported.enter_context(patch.object(importing, "CHUNK", 4))
        importing.import_lines(log, (line + b"\n" for line in lines))
        unless_imported.pop_all()
        return log


def followed(folder: Path, lines: Sequence[bytes]) -> Log:
    """As a store that follows a cluster takes them, a few records at a time."""
    topics = Topics("", 1)
    with patch.object(following, "Projector", Unprojected):
        replica = ProjectedReplica(folder, topics)
        for start in range(0, len(lines), 4):
            some = records(topics, lines[start : start + 4], start)
            replica.take(some, offsets(topics, start + len(some)), IDENTITY)
        replica.close()
    return Replica.open(folder / FILE)


def of_version(version: int) -> Callable[[Path, Sequence[bytes]], Log]:
    """A log of an earlier version, opened by this one."""

    def made(folder: Path, lines: Sequence[bytes]) -> Log:
        imported(folder, lines).close()
        with closing(sqlite3.connect(folder / FILE)) as database, database:
            if version == 1:
                database.execute("DROP TABLE verifications")
            database.execute("UPDATE verifications SET position = 7" if version > 1 else "SELECT 1")
            for column in ("size", "headers", "times"):
                database.execute(f"ALTER TABLE dead_letters DROP COLUMN {column}")
            database.execute(f"PRAGMA user_version={version}")
        database.close()
        return Log.open(folder / FILE)

    return made


WAYS = {
    "imported": imported,
    "followed": followed,
    "of version 1": of_version(1),
    "of version 2": of_version(2),
}


@contextmanager
def log_of(policy: Policy, story: list[Act], folder: Path) -> Iterator[Log]:
    """A log that a writer fills command by command; the table is right after each commit."""
    with Log.create(folder / FILE) as log:
        appends = partial(append, log)
        world = Written(
            policy,
            lambda clock: Writer(
                log, Owners(log), appends, policy, must_not_be_asked, clock, lambda _: None
            ),
        )
        playback = Playback(world)
        for number, act in enumerate(story, 1):
            playback.follow(act)
            if number % COMMITS == 0 or number == len(story):
                world.writer.commit()
                found = log.verifications.waiting(10**6)
                assert {(one.kind, one.subject) for one in found} == waits(world.ledger)
        yield log


def test_a_text_that_a_batch_run_composed_and_that_lost_a_source_waits_after_an_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an owner about whom the judge was never asked anything, long before the last lines."""
    monkeypatch.setattr(importing, "CHUNK", 1)
    history = told_by_hand(
        *(say(name, text) for name, text in zip("abc", ("Tea", "Chai", "Mate"), strict=True)),
        combine("a", "c"),
        combine("a", "b", "llm_merge", text="Tea, chai or mate", sources="a b c"),
        unmerge("c"),
    )
    assert len(history.ledger.composing) == 1
    with imported(tmp_path, [encode(event) for event in history.log]) as log:
        [waiting] = log.verifications.waiting(9)
    assert (waiting.kind, waiting.subject) == ("compose", history.join("b").id)


def test_a_text_that_came_by_a_redecision_and_that_lost_a_source_waits_after_an_import(
    tmp_path: Path,
) -> None:
    def redecided(history: History) -> Redecide:
        command = redecide("c", "llm_merge", "a", after="x", face="text", text="Tea")(history)
        assert isinstance(command, Redecide)
        text = composition(history, "Tea, chai or mate", "a b c")
        return command.model_copy(update={"composition": text})

    history = told_by_hand(
        *(say(name, text) for name, text in zip("ab", ("Tea", "Chai"), strict=True)),
        combine("a", "b"),
        say("x", "Milk", {"a": KEEP}),
        say("c", "Mate"),
        unmerge("x"),
        redecided,
        unmerge("b"),
    )
    assert len(history.ledger.composing) == 1
    with imported(tmp_path, [encode(event) for event in history.log]) as log:
        [waiting] = log.verifications.waiting(9)
    assert (waiting.kind, waiting.subject) == ("compose", history.join("c").id)


def test_what_the_last_version_kept_by_its_rules_is_found_anew(tmp_path: Path) -> None:
    with log_of(ASKING, LOSING, tmp_path) as log:
        kept = log.verifications.waiting(9)
        log.execute("UPDATE verifications SET position = 1")
        log.execute(f"PRAGMA user_version={VERIFICATIONS_SINCE - 1}")
    for _ in range(2):
        with Log.open(tmp_path / FILE) as log:
            assert log.verifications.waiting(9) == kept
            assert log.row("PRAGMA user_version") == (SCHEMA_VERSION,)


@few
@given(history=histories)
def test_it_is_what_the_ledger_says_however_the_events_came(
    history: tuple[Policy, list[Act]],
) -> None:
    with TemporaryDirectory() as folder:
        with log_of(*history, Path(folder)) as log:
            lines = [line for _, line in log.lines()]
            kept = log.verifications.waiting(10**6)
        for way, make in WAYS.items():
            (Path(folder) / way).mkdir()
            with make(Path(folder) / way, lines) as log:
                assert log.verifications.waiting(10**6) == kept, way
                assert log.verifications.count() == len(kept)


@pytest.mark.parametrize("version", [1, 2])
def test_a_log_of_an_earlier_version_has_the_indexes_of_a_new_one(
    tmp_path: Path, version: int
) -> None:
    query = "SELECT type, sql FROM sqlite_master WHERE tbl_name = 'verifications' ORDER BY name"
    for folder in (old := tmp_path / "old", new := tmp_path / "new"):
        folder.mkdir()
    with of_version(version)(old, ()) as earlier, Log.create(new / FILE) as made:
        assert list(earlier.rows(query)) == list(made.rows(query))


def test_they_stand_where_the_event_stands_that_made_them_wait(tmp_path: Path) -> None:
    """The first one that did: what waits already keeps its place."""
    with log_of(ASKING, [*LOSING, OnCandidate("retract", 1)], tmp_path) as log:
        events = {position: decode(line) for position, line in log.lines()}
        waiting = [one for one in log.verifications.waiting(9) if one.kind == "compose"]
        assert [type(events[one.position]) for one in waiting] == [Reversed]


def test_what_waits_already_keeps_its_place(tmp_path: Path) -> None:
    """Its question changes: it is about fewer, say."""
    with Log.create(tmp_path / FILE) as log, log.transaction():
        log.execute("INSERT INTO owners (owner_no, owner_id) VALUES (1, 'ada')")
        for position, subject in ((3, "a"), (4, "b"), (5, "a")):
            log.verifications.add("settle", subject, 1, position)
        waiting = [(one.subject, one.position) for one in log.verifications.waiting(9)]
    assert waiting == [("a", 3), ("b", 4)]


def test_what_is_not_all_there_is_not_imported(tmp_path: Path) -> None:
    with log_of(ASKING, LOSING, tmp_path) as log:
        lines = [line for _, line in log.lines()]
    (tmp_path / "other").mkdir()
    with pytest.raises(StoreError, match="line 1 names"):
        imported(tmp_path / "other", lines[2:])
    with Log.open(tmp_path / "other" / FILE) as log:
        assert log.head() == 0


def test_verdicts_about_another_pair_answer_nothing(tmp_path: Path) -> None:
    with Runtime(tmp_path / FILE, policy=GRAY) as runtime:
        rows = ({"owner_id": "ann", "text": text} for text in ("red boat", "blue boat", "a tree"))
        _, gray, other = runtime.submit(*rows)
        assert (gray.decision, other.decision) == ("pending", "stored")
        verdict = Verdict(neighbour_id=other.candidate_id or "", answer="same")
        settle = SettleRequest(
            request_id=str(uuid4()), candidate_id=gray.candidate_id or "", verdicts=(verdict,)
        )
        with pytest.raises(RefusedError, match="nobody asked"):
            execute(runtime.writer, settle)
        runtime.writer.commit()
        assert isinstance(decode(runtime.lines()[-1]), Refused)
        assert [one.subject for one in runtime.log.verifications.waiting(9)] == [gray.candidate_id]


@pytest.mark.parametrize("effect", ["replica:append", "replica:committed"])
def test_a_follower_killed_beside_its_commit_is_followed_by_another(
    effect: str, tmp_path: Path
) -> None:
    topics = Topics("", 1)
    with log_of(ASKING, LOSING, tmp_path) as log:
        lines = [line for _, line in log.lines()]
        kept = log.verifications.waiting(9)

    def dies(what: str) -> None:
        if what == effect:
            raise Dies

    (tmp_path / "other").mkdir()
    with patch.object(following, "Projector", Unprojected):
        first = ProjectedReplica(tmp_path / "other", topics, dies)
        with pytest.raises(Dies):
            first.take(records(topics, lines, 0), offsets(topics, len(lines)), IDENTITY)
        first.log.close()
        second = ProjectedReplica(tmp_path / "other", topics)
        [start] = second.starts(IDENTITY).values()
        if lines[start:]:
            some = records(topics, lines[start:], start)
            second.take(some, offsets(topics, len(lines)), IDENTITY)
        second.close()
    with Replica.open(tmp_path / "other" / FILE) as log:
        assert log.verifications.waiting(9) == kept
        assert [one.kind for one in kept] == ["compose"]


def test_what_waits_for_its_vector_is_counted_by_itself(tmp_path: Path) -> None:
    with Log.create(tmp_path / FILE) as log, log.transaction():
        log.execute("INSERT INTO owners (owner_no, owner_id) VALUES (1, 'ada'), (2, 'bob')")
        kinds: tuple[Kind, ...] = ("settle", "embed", "compose", "embed")
        for position, kind in enumerate(kinds, 1):
            log.verifications.add(kind, f"c{position}", 1, position)
        log.verifications.add("settle", "c5", 2, 5)
        assert log.verifications.owners_unembedded() == {"ada": 2}
        owners = (None, "ada", "bob")
        assert [log.verifications.unembedded(owner) for owner in owners] == [2, 2, 0]
        assert log.verifications.count() == 3


def test_it_is_read_in_parts(tmp_path: Path) -> None:
    with Log.create(tmp_path / "log.sqlite") as log:
        with log.transaction():
            log.execute("INSERT INTO owners (owner_no, owner_id) VALUES (1, 'ada')")
            for number in range(7):
                log.verifications.add("settle", f"c{number}", 1, number // 3 + 1)
            log.verifications.add("compose", "d", 1, 2)
        found: list[Waiting] = []
        while some := log.verifications.waiting(2, found[-1] if found else None):
            found += some
        assert found == log.verifications.waiting(100)
        assert len(found) == 8


def test_a_failed_transaction_leaves_nothing_waiting(tmp_path: Path) -> None:
    with Log.create(tmp_path / "log.sqlite") as log:
        with pytest.raises(RuntimeError, match="inside a transaction"):
            log.verifications.add("settle", "c", 1, 1)
        assert log.verifications.count() == 0
