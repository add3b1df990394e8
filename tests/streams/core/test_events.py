"""Every event has an example, a place in the fold, and the same bytes whenever it is written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import get_args

import pytest
from msgspec import structs

from palimpsest.contracts.commands import Admit, RecordRun
from palimpsest.contracts.events import (
    AnyEvent,
    AuditLabelled,
    AuditLabelledData,
    AuditOpened,
    AuditOpenedData,
    Certified,
    CertifiedData,
    Compacted,
    Embedded,
    EmbeddedData,
    Erased,
    ErasedData,
    OnSessionData,
    PolicySet,
    Ran,
    Stratum,
    Unchanged,
    UnchangedData,
)
from palimpsest.contracts.evidence import RecordedFirstJudge, RecordedJudge
from palimpsest.contracts.identity import run_id
from palimpsest.contracts.wire import decode, encode
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import LastRun, Ledger
from palimpsest.streams.core.record import judge_event, policy_event
from palimpsest.streams.core.touched import Touched
from tests.streams.core.spec import (
    ASK,
    BEGIN,
    KEEP,
    PLAIN,
    SECOND,
    History,
    access,
    compose,
    confirm,
    end_session,
    given,
    judge,
    merge,
    ran,
    redecide,
    reinstate,
    restore,
    retract,
    say,
    separate,
    set_expiry,
    set_names,
    unmerge,
    vector,
)
from tests.tables import each


def everything() -> History:
    """A history with an event of every type that commands cause."""
    return given(
        say("a", "Likes tea", session_id="s", category="taste"),
        say("b", "Likes it green", {"a": ASK}),
        judge("b", a="compose", text="Likes green tea", sources="a b"),
        say("c", "Likes it hot", {"b": ASK}),
        judge("c", b="compose", text="Likes hot green tea", sources="a b c"),
        confirm("a"),
        unmerge("b"),
        compose("c", "Likes it hot and green", "b c"),
        reinstate("b"),
        say("a", "Not the same text"),
        say("x", "Owns a cat"),
        say("y", "Has a cat", {"x": KEEP}),
        separate("a", "x"),
        merge("a", "y"),
        say("z", "Owns a dog"),
        merge("z", "x", face="z"),
        retract("z"),
        restore("z"),
        set_expiry("z", 60),
        set_names("Ada", "the user"),
        access("a"),
        end_session("s"),
        ran("dedupe"),
        say("u", "Owns two dogs"),
        redecide("u", "auto_reject", "z", after="z"),
    )


def examples() -> list[AnyEvent]:
    """At least one event of every type of the language."""
    history = everything()
    rest: list[AnyEvent] = [
        Compacted(
            id=history.fresh(),
            subject="s",
            time=BEGIN,
            partitionkey="ada",
            data=OnSessionData(session_id="s"),
        ),
        Embedded(
            id=history.fresh(),
            subject=history.id("a"),
            time=BEGIN,
            partitionkey="ada",
            data=EmbeddedData(candidate_id=history.id("a"), vector=vector(1.0, 2.0)),
        ),
        policy_event(PLAIN, history.fresh(), "eve", BEGIN),
        judge_event(
            RecordedJudge(
                protocol="anthropic",
                platform="vertex",
                model="m",
                address="https://judge.example",
                review_model="r",
                first=RecordedFirstJudge(
                    protocol="systemone", model="f", certificate="c", same=0.9, different=0.1
                ),
            ),
            history.fresh(),
            BEGIN,
            "sha256:0000",
        ),
        Unchanged(
            id=history.fresh(),
            subject=history.fresh(),
            time=BEGIN,
            partitionkey="ada",
            data=UnchangedData(request="reverse"),
        ),
        AuditOpened(
            id=(audit := history.fresh()),
            subject=audit,
            time=BEGIN,
            partitionkey="",
            data=AuditOpenedData(
                position=9,
                seed="4 2 6",
                joins=3,
                digest="d",
                target=0.01,
                confidence=0.95,
                detection=0.01,
                probes=2,
                owners="a*",
                since=BEGIN,
                actor="eve",
            ),
        ),
        AuditLabelled(
            id=history.fresh(),
            subject=history.id("b"),
            time=BEGIN,
            partitionkey="",
            data=AuditLabelledData(
                audit=audit, pair=history.id("b"), label="unsure", shown="s", because="half of it"
            ),
        ),
        Certified(
            id=history.fresh(),
            subject=audit,
            time=BEGIN,
            partitionkey="",
            data=CertifiedData(
                audit=audit,
                joins=3,
                labels=2,
                errors=1,
                probes=1,
                found=1,
                most=1,
                detected=0.5,
                bound=0.6667,
                strata=(
                    Stratum(
                        by="decision",
                        value="auto_reject",
                        joins=3,
                        labels=2,
                        errors=1,
                        bound=0.6667,
                    ),
                ),
            ),
        ),
        Erased(
            id=history.fresh(),
            subject="ada",
            time=BEGIN,
            partitionkey="ada",
            data=ErasedData(candidate_ids=(history.id("z"),)),
        ),
    ]
    return history.log + rest


EXAMPLES = examples()
EVENT_TYPES = get_args(AnyEvent)


@each("kind", EVENT_TYPES)
def test_every_event_has_an_example(kind: type[AnyEvent]) -> None:
    assert any(isinstance(event, kind) for event in EXAMPLES)


@each("event", EXAMPLES)
def test_the_wire_keeps_every_event(event: AnyEvent) -> None:
    line = encode(event)
    assert decode(line) == event
    assert encode(decode(line)) == line


def test_the_fold_knows_every_event_and_counts_each_once() -> None:
    ledger = Ledger("ada")
    for event in EXAMPLES:
        evolve(ledger, event)
        assert evolve(ledger, event) == Touched()
    of_all_owners = [
        event for event in EXAMPLES if isinstance(event, PolicySet) and event.data.changes_models
    ]
    assert ledger.seen == len(EXAMPLES) - len(of_all_owners), "they take no place among its own"


def test_an_earlier_time_in_the_log_does_not_turn_the_clock_back() -> None:
    """Logs may come from elsewhere: what is decided next is not earlier than what is known."""
    history = given(say("a", "Tea"))
    (event,) = history.log
    for later in (-1, 1):
        early = structs.replace(event, id=history.fresh(), time=event.time + later * SECOND)
        evolve(history.ledger, early)
        assert history.ledger.last_time == max(event.time, early.time)


def test_a_new_vector_is_that_of_the_candidate_and_of_its_face() -> None:
    history = given(say("a", "Tea"))
    new = vector(0.5, 0.5)
    event = Embedded(
        id=history.fresh(),
        subject=history.id("a"),
        time=BEGIN,
        partitionkey="ada",
        data=EmbeddedData(candidate_id=history.id("a"), vector=new),
    )
    touched = evolve(history.ledger, event)
    assert history.ledger.entries[history.id("a")].memory.face.vector == new
    assert list(touched.memories) == [history.id("a")]


def test_the_ledger_remembers_the_last_run_of_each_step() -> None:
    history = given(say("a", "Tea"), ran("dedupe"), ran("review"), ran("dedupe", pairs=2))
    first, review, last = (event for event in history.log if isinstance(event, Ran))
    assert history.ledger.runs == {
        "review": LastRun(review.id, review.data.due, review.time),
        "dedupe": LastRun(last.id, last.data.due, last.time),
    }
    assert (last.subject, last.data.figures, last.data.policy) == (
        "dedupe",
        {"pairs": 2},
        PLAIN.hash,
    )
    assert first.id != last.id


def test_a_run_is_recorded_once_however_often_it_is_asked_for() -> None:
    due = datetime(2026, 1, 2, 3, tzinfo=timezone(timedelta(hours=2)))
    same = run_id("ada", "dedupe", due)
    assert run_id("ada", "dedupe", due.astimezone(UTC)) == same, "however it is written"
    others = [("ben", "dedupe", due), ("ada", "review", due), ("ada", "dedupe", due + SECOND)]
    assert same not in [run_id(*other) for other in others]
    command = RecordRun(
        command_id=same, owner_id="ada", step="dedupe", due=due, figures={"pairs": 1}
    )
    history = given(say("a", "Tea"), lambda _: command, lambda _: command)
    assert [event.type for event in history.log].count("palimpsest.ran.v1") == 1


def erased(history: History, name: str) -> Erased:
    """The event that destroys a candidate's content."""
    return Erased(
        id=history.fresh(),
        subject="ada",
        time=BEGIN,
        partitionkey="ada",
        data=ErasedData(candidate_ids=(history.id(name),)),
    )


def test_an_erased_candidate_has_no_text_and_is_not_living() -> None:
    history = given(say("a", "Tea"))
    evolve(history.ledger, erased(history, "a"))
    entry = history.ledger.entries[history.id("a")]
    assert (entry.text, entry.living, entry.distinct.vector) == ("", False, None)


def test_an_erased_text_waits_for_no_vector() -> None:
    """Nothing is left of it that a model could be asked about."""
    history = History()
    admit = say("a", "Tea")(history)
    assert isinstance(admit, Admit)
    alone = structs.replace(admit.content, vector=None)
    history.when(lambda _: structs.replace(admit, content=alone, down=("embedder",)))
    assert history.id("a") in history.ledger.unembedded
    assert evolve(history.ledger, erased(history, "a")).unembedded == {history.id("a"): False}
    assert history.ledger.unembedded == {}


def test_a_policy_is_recorded_whole() -> None:
    event = policy_event(PLAIN, History().fresh(), "eve", BEGIN)
    assert isinstance(decode(encode(event)), PolicySet)
    assert event.data.hash == PLAIN.hash
    assert type(PLAIN).model_validate(event.data.policy).hash == PLAIN.hash


def test_an_event_about_what_the_log_does_not_hold_is_an_error() -> None:
    history = given(say("a", "Tea"), retract("a"))
    with pytest.raises(KeyError):
        evolve(Ledger("ada"), history.log[1])
