"""The writer decides each input once, embeds no text twice, and commits all of a window or none."""

from __future__ import annotations

import gc
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from palimpsest.contracts.errors import StoreError, UsageError
from palimpsest.contracts.events import Decided, Invalid, PolicySet
from palimpsest.contracts.identity import digest, invalid_id
from palimpsest.contracts.policy import Judge
from palimpsest.contracts.wire import decode
from palimpsest.jobs.ingest import Summary
from palimpsest.streams.embedded import pipeline
from palimpsest.streams.embedded.inbox import Inbox
from palimpsest.streams.embedded.pipeline import decide_all
from palimpsest.streams.embedder import Embedding
from palimpsest.streams.intake import understand
from palimpsest.streams.log.dead_letters import DeadLetters
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write.inputs import OTHER_REQUEST, Input, Outcome, Submission
from palimpsest.streams.write.writer import MANY, Writer
from tests.reliability.rows import BROKEN, lines, rows
from tests.streams.write.runtime import Row, Runtime, inputs, memories
from tests.stub_engine import StubEngine


def row(text: str, number: object = None, owner: str = "ann", **more: object) -> Row:
    named = {} if number is None else {"id": str(number)}
    return {"owner_id": owner, "text": text, **named, **more}


def decisions(runtime: Runtime) -> list[str]:
    return [r.event.data.decision for r in runtime.log.after(0) if isinstance(r.event, Decided)]


@pytest.fixture
def log_path(tmp_path: Path) -> Path:
    return tmp_path / "log.sqlite"


# -- Python's collector ----------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "rests"), [(MANY - 1, False), (MANY, True)])
def test_the_collector_rests_while_many_are_decided_on(
    log_path: Path, count: int, rests: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    decide = Writer._decide_input

    def watched(writer: Writer, *one: Any) -> Outcome:
        seen.append(gc.isenabled())
        return decide(writer, *one)

    monkeypatch.setattr(Writer, "_decide_input", watched)
    with Runtime(log_path) as runtime:
        runtime.submit(*(row(f"Ada owns book {n}", n) for n in range(count)))
    assert seen == [not rests] * count
    assert gc.isenabled()


@pytest.mark.usefixtures("set_aside")
@pytest.mark.parametrize("again", [False, True])
def test_deciding_leaves_the_collector_nothing_to_find(log_path: Path, again: bool) -> None:
    """So it may rest, however long a stream is."""
    with Runtime(log_path) as runtime:
        runtime.submit(*(row(f"Ada owns book {n}", n) for n in range(MANY)))
        runtime.submit(*BROKEN)
        gc.collect()
        gc.disable()
        try:
            names = (f"Ada owns book {n if again else n + MANY}" for n in range(MANY))
            runtime.submit(*(row(name, f"again {n}") for n, name in enumerate(names)), *BROKEN)
            assert gc.collect() == 0
        finally:
            gc.enable()


# -- embedding -----------------------------------------------------------------------------------


def test_an_exact_repeat_is_never_embedded(log_path: Path) -> None:
    with Runtime(log_path) as runtime:
        runtime.submit(row("Ada plays chess", 1))
        engine = runtime.engine
        assert isinstance(engine, StubEngine)
        runtime.submit(row("Ada plays chess", 2), row(" Ada plays\u200b chess", 3))
        runtime.submit(row("Ada plays chess", 1))
        assert engine.embedded == ["Ada plays chess"]
        assert decisions(runtime) == ["stored", "hash_exact", "hash_exact"]


def test_a_repeat_is_not_embedded_by_a_restarted_writer(log_path: Path) -> None:
    with Runtime(log_path) as runtime:
        runtime.submit(row("Ada plays chess", 1))
    with Runtime(log_path) as again:
        again.submit(row("Ada plays chess", 2))
        assert isinstance(again.engine, StubEngine)
        assert again.engine.embedded == []


@pytest.mark.parametrize("window", [1, 2, 512])
def test_no_text_of_an_owner_is_embedded_twice(
    log_path: Path, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither within a window nor while an earlier window with it is on its way."""
    monkeypatch.setattr(pipeline, "WINDOW", window)
    texts = ["one text", "another", "one text", "one text", "another", "a third"] * 3
    with Runtime(log_path) as runtime:
        runtime.stream(row(text, number) for number, text in enumerate(texts))
        assert isinstance(runtime.engine, StubEngine)
        assert runtime.engine.embedded == ["one text", "another", "a third"]


def test_the_same_text_of_two_owners_is_embedded_once_while_it_is_recent(log_path: Path) -> None:
    with Runtime(log_path) as runtime:
        runtime.submit(row("a text", 1, "ann"), row("a text", 1, "bob"))
        assert isinstance(runtime.engine, StubEngine)
        assert runtime.engine.embedded == ["a text"]
        assert decisions(runtime) == ["stored", "stored"]


def test_a_text_whose_first_candidate_is_refused_is_embedded_when_it_is_needed(
    log_path: Path,
) -> None:
    """The second waits for the first's vector, but the first's id is known with other content."""
    with Runtime(log_path) as runtime:
        first, second, third = runtime.submit(
            row("taken", 1), row("new text", 1), row("new text", 2)
        )
        assert (first.decision, second.reason, third.decision) == (
            "stored",
            "id_conflict",
            "stored",
        )
        assert isinstance(runtime.engine, StubEngine)
        assert runtime.engine.embedded.count("new text") == 1
        assert runtime.ledger_matches_log()


# -- windows (law L15) ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mixed() -> Sequence[Row]:
    return [*lines(rows(240, owners=3), BROKEN)]


@pytest.fixture(scope="module")
def expected(mixed: Sequence[Row], tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    with Runtime(tmp_path_factory.mktemp("whole") / "log.sqlite") as runtime:
        runtime.stream(mixed)
        counts = Counter(decisions(runtime))
        assert counts["hash_exact"] > 20
        assert counts["token_reject"] > 5
        assert counts["pending"] > 5
        return runtime.lines()


@pytest.mark.parametrize("window", [1, 7, 512])
def test_the_size_of_a_window_changes_no_byte_of_the_log(
    window: int,
    mixed: Sequence[Row],
    expected: list[bytes],
    log_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pipeline, "WINDOW", window)
    with Runtime(log_path) as runtime:
        runtime.stream(mixed)
        assert runtime.lines() == expected


def test_one_by_one_changes_no_byte_of_the_log(
    mixed: Sequence[Row], expected: list[bytes], log_path: Path
) -> None:
    with Runtime(log_path) as runtime:
        runtime.submit(*mixed[:100])
        for item in inputs(mixed)[100:]:
            runtime.writer.close_window(runtime.writer.open_window([item]))
        assert runtime.lines() == expected


def test_owners_that_leave_memory_come_back_the_same(
    mixed: Sequence[Row], expected: list[bytes], log_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "WINDOW", 16)
    with Runtime(log_path) as runtime:
        runtime.writer.owners.most = 1
        runtime.stream(mixed)
        assert runtime.lines() == expected
        assert len(runtime.writer.owners) == 1


def test_a_writer_that_restarts_after_each_window_decides_the_same(
    mixed: Sequence[Row], expected: list[bytes], log_path: Path
) -> None:
    for start in range(0, len(mixed), 61):
        with Runtime(log_path) as runtime:
            for item in inputs(mixed)[start : start + 61]:
                runtime.writer.close_window(runtime.writer.open_window([item]))
    with Runtime(log_path) as runtime:
        assert runtime.lines() == expected


# -- once ----------------------------------------------------------------------------------------


def test_the_same_input_again_adds_nothing(mixed: Sequence[Row], log_path: Path) -> None:
    with Runtime(log_path) as runtime:
        first = runtime.stream(mixed)
        lines_before, letters = runtime.lines(), DeadLetters(runtime.log).count()
        again = runtime.stream(mixed)
        assert runtime.lines() == lines_before
        assert DeadLetters(runtime.log).count() == letters == len(BROKEN)
    assert {outcome.result for outcome in again} == {"known", "invalid"}
    assert [o.decision_id for o in again] == [o.decision_id for o in first]


def test_a_repeat_inside_a_window_joins_the_first(log_path: Path) -> None:
    with Runtime(log_path) as runtime:
        first, second, same = runtime.submit(
            row("Ben paints boats", 1), row(" Ben paints boats", 2), row("Ben paints boats", 1)
        )
    assert (first.decision, second.decision, second.joined_to) == (
        "stored",
        "hash_exact",
        first.candidate_id,
    )
    assert (same.result, same.candidate_id) == ("known", first.candidate_id)


def test_what_is_settled_at_once_is_reported_as_settled(
    log_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody is asked where the judge is off: `pending` was over before anybody heard of it.

    No call failed, and no warning says so.
    """
    rules = load_policy("standard")
    off = rules.model_copy(update={"judge": Judge(enabled=False, unavailable="keep")})
    with Runtime(log_path, policy=off) as runtime:
        _, gray = outcomes = runtime.submit(
            row("Ada paints 2 wooden boats in the harbour", 1),
            row("Ada paints 3 wooden boats in the harbour", 2),
        )
        settled = decode(runtime.lines()[-1])
    assert (gray.decision, gray.decision_id, gray.joined_to) == ("fallback_keep", settled.id, None)
    summary = Summary()
    summary.add(outcomes)
    assert summary.decisions == {"stored": 1, "fallback_keep": 1}
    assert caplog.messages == []


# -- what is invalid -----------------------------------------------------------------------------


def test_an_id_with_other_content_is_invalid_and_kept(log_path: Path) -> None:
    with Runtime(log_path) as runtime:
        runtime.submit(row("a text", 1))
        [outcome] = runtime.submit(row("another text", 1))
        assert (outcome.result, outcome.reason) == ("invalid", "id_conflict")
        assert outcome.decision_id is not None
        assert runtime.log.find(outcome.decision_id) is not None
        original = DeadLetters(runtime.log).original(outcome.decision_id)
        assert original is not None
        assert b"another text" in original
        assert runtime.ledger_matches_log()


@pytest.mark.parametrize(
    ("recorded", "result"), [("2025-03-04", "known"), ("2025-03-05", "invalid"), (None, "known")]
)
def test_an_event_that_was_read_with_its_envelopes_time_is_known_again(
    log_path: Path, recorded: str | None, result: str
) -> None:
    """Earlier versions recorded the envelope's `time` as when it happened."""
    event = {
        "specversion": "1.0",
        "type": "palimpsest.candidate.v1",
        "source": "test",
        "id": "1",
        "time": "2025-03-04T00:00:00Z",
        "data": {"owner_id": "ann", "text": "a text"},
    }
    with Runtime(log_path) as runtime:
        runtime.submit({"owner_id": "ann", "text": "a text", "id": "1", "occurred_at": recorded})
        [outcome] = runtime.submit(event)
        assert outcome.result == result


def test_what_an_event_says_of_when_it_happened_goes_before_its_envelope(log_path: Path) -> None:
    """Only where its data say nothing is it what an earlier version recorded."""
    event: Row = {
        "specversion": "1.0",
        "type": "palimpsest.candidate.v1",
        "source": "test",
        "id": "1",
        "time": "2025-03-04T00:00:00Z",
        "data": {"owner_id": "ann", "text": "a text", "occurred_at": "2025-03-05"},
    }
    with Runtime(log_path) as runtime:
        runtime.submit(row("a text", 1, occurred_at="2025-03-04"))
        [outcome] = runtime.submit(event)
        assert (outcome.result, outcome.reason) == ("invalid", "id_conflict")


def test_the_same_conflict_again_and_inside_a_window_is_one_event(log_path: Path) -> None:
    with Runtime(log_path) as runtime:
        runtime.submit(row("a text", 1), row("another", 1), row("another", 1))
        again = runtime.submit(row("another", 1))
        assert [outcome.reason for outcome in again] == ["id_conflict"]
        assert [isinstance(r.event, Invalid) for r in runtime.log.after(0)].count(True) == 1
        assert DeadLetters(runtime.log).count() == 1


def test_the_same_unreadable_bytes_again_and_inside_a_window_are_one_event(log_path: Path) -> None:
    with Runtime(log_path) as runtime:
        outcomes = [*runtime.submit(b"no row", b"no row"), *runtime.submit(b"no row")]
        assert [outcome.decision_id for outcome in outcomes] == [invalid_id(digest(b"no row"))] * 3
        assert [isinstance(r.event, Invalid) for r in runtime.log.after(0)].count(True) == 1
        assert DeadLetters(runtime.log).count() == 1


def test_an_id_that_comes_again_with_another_text_does_not_change_what_the_first_is_compared_with(
    log_path: Path,
) -> None:
    with Runtime(log_path) as runtime:
        runtime.submit(row("the cat sat on the mat", 1), row("a dog ran in the park", 2))
        conflict = row("a dog ran in the park again", 3)
        outcomes = runtime.submit(row("The cat sat on the mat.", 3), conflict)
        alone = Runtime(log_path.with_name("alone.sqlite"))
        with alone:
            alone.submit(row("the cat sat on the mat", 1), row("a dog ran in the park", 2))
            [expected] = alone.submit(row("The cat sat on the mat.", 3))
            assert alone.lines()[-1] == runtime.lines()[-2]
        assert [outcome.decision for outcome in outcomes] == [expected.decision, "invalid"]


def test_bytes_that_were_invalid_for_one_reason_may_be_so_for_another(log_path: Path) -> None:
    """One dead letter, one event: the bytes are the same."""
    with Runtime(log_path) as runtime:
        runtime.submit(row("a text", 1), b'{"id": "1", "owner_id": "ann", "wording": "other"}')
        raw = b'{"id": "1", "owner_id": "ann", "wording": "other"}'
        renamed = inputs([raw])[0].row
        conflict = Input(renamed, understand(renamed, {"wording": "text"}))
        [outcome] = runtime.writer.close_window(runtime.writer.open_window([conflict]))
        assert (outcome.result, outcome.reason) == ("invalid", "id_conflict")
        assert outcome.decision_id == invalid_id(digest(raw))
        assert DeadLetters(runtime.log).count() == 1


def test_invalid_rows_and_the_others_are_distinguished_in_order(log_path: Path) -> None:
    with Runtime(log_path) as runtime:
        outcomes = runtime.submit(row("good", 1), *BROKEN, row("better", 2))
        assert [o.result for o in outcomes] == ["decided", *["invalid"] * len(BROKEN), "decided"]
        reasons = [o.reason for o in outcomes if o.result == "invalid"]
        letters = [*DeadLetters(runtime.log).all()]
        assert [letter.reason for letter in letters] == reasons
        assert [letter.id for letter in letters] == [
            o.decision_id for o in outcomes if o.result == "invalid"
        ]
        originals = [DeadLetters(runtime.log).original(letter.id) for letter in letters]
        assert originals == [*BROKEN]


# -- failures ------------------------------------------------------------------------------------


class Stopped(Exception):
    """What a test's effect raises."""


def stops_at(name: str, number: int = 1) -> Callable[[str], None]:
    seen: Counter[str] = Counter()

    def effect(what: str) -> None:
        seen[what] += 1
        if what == name and seen[what] == number:
            raise Stopped

    return effect


def test_a_commit_that_fails_leaves_ledgers_as_the_log(log_path: Path) -> None:
    with Runtime(log_path, effect=stops_at("log:append", 2)) as runtime:
        runtime.submit(row("Ben paints boats", 1))
        with pytest.raises(Stopped):
            runtime.submit(row(" Ben paints boats", 2), row("new", 3), b"broken")
        assert DeadLetters(runtime.log).count() == 0
        assert runtime.ledger_matches_log()
        assert [o.decision for o in runtime.submit(row(" Ben paints boats", 2), row("new", 3))] == [
            "hash_exact",
            "stored",
        ]
        assert len(runtime.told) == runtime.log.count()


def test_what_was_decided_before_a_failure_is_undone(
    log_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise Stopped

    with Runtime(log_path) as runtime:
        with monkeypatch.context() as broken:
            broken.setattr(runtime.writer, "_reject", fails)
            with pytest.raises(Stopped):
                runtime.submit(row("first", 1), b"broken")
        assert runtime.ledger_matches_log()
        assert [one.decision for one in runtime.submit(row("first", 1))] == ["stored"]


def test_a_transaction_that_fails_leaves_no_part_of_it(
    log_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Events, dead letters and answers come together or not at all."""
    with Runtime(log_path) as runtime:
        runtime.submit(row("first", 1))
        before = runtime.lines()

        def fails(*_: object) -> None:
            raise Stopped

        monkeypatch.setattr(Inbox, "answer", fails)
        window = runtime.writer.open_window(inputs([row("second", 2), b"broken"]))
        with pytest.raises(Stopped):
            runtime.writer.close_window(window, reply_to=1)
        assert runtime.lines() == before
        assert DeadLetters(runtime.log).count() == 0
        assert runtime.ledger_matches_log()


def test_what_was_committed_before_the_interrupt_is_known_after_it(log_path: Path) -> None:
    with Runtime(log_path, effect=stops_at("log:committed")) as runtime:
        with pytest.raises(Stopped):
            runtime.submit(row("first", 1))
        [known, new] = runtime.submit(row("first", 1), row("second", 2))
        assert (known.result, new.decision) == ("known", "stored")
        assert [isinstance(r.event, PolicySet) for r in runtime.log.after(0)] == [
            True,
            False,
            False,
        ]
        assert runtime.ledger_matches_log()


class Failing(StubEngine):
    """Fails when it is asked for a text that says so, until it is mended."""

    broken = True

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        if self.broken and any("fail" in text for text in texts):
            raise Stopped
        return super().embed(texts)


def test_an_embedder_that_fails_loses_no_window_before_and_decides_none_after(
    log_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "WINDOW", 2)
    engine = Failing()
    stream = [row(text, n) for n, text in enumerate(["a", "b", "c", "fail", "e", "f"])]
    with Runtime(log_path, engine=engine) as runtime:
        with pytest.raises(Stopped):
            runtime.stream(stream)
        assert len(decisions(runtime)) == 2
        assert runtime.ledger_matches_log()
        engine.broken = False
        outcomes = runtime.stream(stream)
        assert [o.result for o in outcomes] == ["known", "known", *["decided"] * 4]


def test_another_model_than_the_policys_is_refused(log_path: Path) -> None:
    engine = StubEngine()
    engine.model = "another"
    with Runtime(log_path, engine=engine) as runtime:
        with pytest.raises(UsageError, match="thresholds for all-MiniLM-L6-v2"):
            runtime.submit(row("a text"))
        assert runtime.log.count() == 0


def test_a_reader_that_fails_is_reported_after_all_that_it_read(log_path: Path) -> None:
    def read() -> Iterator[Input]:
        yield from inputs([row("a", 1), row("b", 2)])
        raise StoreError("the file ends too early")

    with Runtime(log_path) as runtime:
        seen: list[Outcome] = []

        def take() -> None:
            for outcomes in runtime.windows(read()):
                seen.extend(outcomes)

        with pytest.raises(StoreError, match="too early"):
            take()
        assert [o.decision for o in seen] == ["stored", "stored"]


def test_a_full_disk_says_so_and_leaves_the_log_whole(log_path: Path) -> None:
    """SQLite's own limit on pages stands for the disk's end."""
    with Runtime(log_path) as runtime:
        runtime.submit(row("first", 1))
        pages = runtime.log.row("PRAGMA page_count")
        assert pages is not None
        runtime.log.execute(f"PRAGMA max_page_count={pages[0] + 2}")
        with pytest.raises(StoreError, match="full"):
            runtime.submit(*(row(f"text {n} " + "long " * 900, n) for n in range(2, 14)))
        assert runtime.ledger_matches_log()
        assert len(decisions(runtime)) == 1
        runtime.log.execute("PRAGMA max_page_count=100000")
        runtime.submit(*(row(f"text {n} " + "long " * 900, n) for n in range(2, 14)))
        assert len(decisions(runtime)) == 13


# -- more than one writer, one after the other ---------------------------------------------------


def test_a_writer_that_was_open_before_another_wrote_takes_up_what_it_wrote(
    log_path: Path,
) -> None:
    with Runtime(log_path) as early, Runtime(log_path) as other:
        other.submit(row("Ben paints boats", 1))
        early.writer.owners.catch_up()
        [outcome] = early.submit(row(" Ben paints boats", 2))
        assert outcome.decision == "hash_exact"
        assert [isinstance(r.event, PolicySet) for r in early.log.after(0)].count(True) == 1
        other.writer.owners.catch_up()
        assert memories(other.log) == memories(early.log)
        assert other.ledger_matches_log()
        assert early.ledger_matches_log()


# -- times ---------------------------------------------------------------------------------------


def test_decided_at_never_goes_back_within_an_owner(log_path: Path) -> None:
    start = datetime(2026, 5, 1, tzinfo=UTC)
    times = iter([start + timedelta(seconds=5), *[start - timedelta(days=1)] * 20])
    with Runtime(log_path, clock=lambda: next(times)) as runtime:
        runtime.submit(row("one", 1))
        runtime.submit(row("two", 2))
        told = [r.event.time for r in runtime.log.of_owner("ann")]
        assert told == sorted(told)


def test_a_slow_producer_does_not_hold_up_what_it_sent(log_path: Path) -> None:
    """A window goes on with what it has; the outcome of a row comes before the next is sent."""
    seen = threading.Event()

    def read() -> Iterator[Input]:
        yield from inputs([row("a", 1)])
        assert seen.wait(30)
        yield from inputs([row("b", 2)])

    with Runtime(log_path) as runtime:
        for outcomes in runtime.windows(read()):
            assert outcomes
            seen.set()
        assert len(decisions(runtime)) == 2


def test_rows_of_a_request_that_are_all_invalid_are_answered_as_they_were(log_path: Path) -> None:
    """They have no owner, so neither does the note of the request."""
    asked = Submission(str(uuid4()), "a" * 32, 2)
    read = inputs([b"no json", b'{"text": "no owner"}'])
    rows = [replace(one, submission=asked) for one in read]
    other = [replace(one, submission=asked._replace(asked="b" * 32)) for one in read]
    with Runtime(log_path) as runtime:
        first = decide_all(runtime.writer, rows)
        assert [one.result for one in first] == ["invalid", "invalid"]
        head = runtime.log.head()
        assert decide_all(runtime.writer, rows) == first
        assert decide_all(runtime.writer, other) == [OTHER_REQUEST] * 2
        assert runtime.log.head() == head


def test_a_submission_is_one_commit_however_many_rows_it_has(
    log_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "WINDOW", 2)
    asked = Submission(str(uuid4()), "a" * 32, 5)
    said = inputs([{"owner_id": "ann", "text": f"text {n}"} for n in range(8)])
    rows = [*said[:2], *(replace(row, submission=asked) for row in said[2:7]), said[7]]
    with Runtime(log_path) as runtime:
        sizes: list[int] = []
        commit = runtime.writer.commit

        def counted() -> None:
            sizes.append(
                sum(isinstance(event, Decided) for event, _ in runtime.writer.pending.events)
            )
            commit()

        monkeypatch.setattr(runtime.writer, "commit", counted)
        first = decide_all(runtime.writer, rows)
        assert [outcome.result for outcome in first] == ["decided"] * 8
        assert sizes == [2, 5, 1]
        assert decide_all(runtime.writer, rows)[2:7] == first[2:7]
