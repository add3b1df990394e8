"""Un-merging: what a later decision rested on, shown, carried out, and once only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from palimpsest.contracts.answers import Unmerged
from palimpsest.contracts.errors import RefusedError, SearchError
from palimpsest.contracts.events import (
    Decided,
    Redecided,
    Refused,
    Reversed,
    Separated,
    Settled,
)
from palimpsest.contracts.evidence import Answer, Verdict
from palimpsest.contracts.requests import (
    MergeRequest,
    ReinstateRequest,
    SeparateRequest,
    SettleRequest,
    UnmergeRequest,
)
from palimpsest.contracts.wire import decode
from palimpsest.streams.log.verifications import Verifications
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write.dry_run import DryRun
from palimpsest.streams.write.serve import execute
from tests.streams.write.runtime import AT, Runtime, pictures

WORDS = "echo kitten three four five six seven eight nine ten alpha bravo delta hotel".split()
WORDS += "india lima mike oscar papa romeo".split()


def text(*changed: str, end: str = "romeo") -> str:
    """Twenty words of which those at the front are others: nineteen shared are .95."""
    return " ".join([*changed, *WORDS[len(changed) : -1], end])


FIRST = text()
NEWER = text(end="kilo")
BESIDE = text("sierra", "tango")
"""Near the first text alone: .90, and .85 to the newer."""


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    with Runtime(tmp_path / "log.sqlite", policy=load_policy("replace-or-merge")) as running:
        yield running


def say(runtime: Runtime, *texts: str) -> list[Any]:
    rows = (
        {"owner_id": "ann", "source": "test", "id": str(number), "text": one}
        for number, one in enumerate(texts)
    )
    return runtime.submit(*rows)


def unmerge(runtime: Runtime, decision_id: str, **how: Any) -> Unmerged:
    request = UnmergeRequest(request_id=str(uuid4()), decision_id=decision_id, **how)
    answer = execute(runtime.writer, request)
    runtime.writer.commit()
    assert runtime.ledger_matches_log()
    return answer


def dry_run(runtime: Runtime, decision_id: str, **how: Any) -> Unmerged:
    request = UnmergeRequest(request_id=str(uuid4()), decision_id=decision_id, dry_run=True, **how)
    return execute(DryRun(runtime.log, runtime.writer.policy, lambda: AT), request)


def faces(runtime: Runtime) -> list[str]:
    return [picture["face"] for picture in pictures(runtime.writer.owners.get("ann").ledger)]


def test_a_dry_run_names_what_rested_on_the_join(runtime: Runtime) -> None:
    _, newer, beside, repeat = say(runtime, FIRST, NEWER, BESIDE, NEWER)
    lines = runtime.lines()
    answer = dry_run(runtime, newer.decision_id)
    assert [consequence["candidate_id"] for consequence in answer["consequences"]] == [
        beside.candidate_id
    ]
    assert repeat.decision == "hash_exact"
    assert runtime.lines() == lines


def test_what_would_have_joined_another_is_named_and_carried_out(runtime: Runtime) -> None:
    """The newer text displaced the first one, so a text near the first alone was stored."""
    first, newer, stored = say(runtime, FIRST, NEWER, BESIDE)
    assert stored.decision == "stored"
    [one] = dry_run(runtime, newer.decision_id)["consequences"]
    assert one == {
        "candidate_id": stored.candidate_id,
        "text": BESIDE,
        "decision_id": None,
        "was": {"decision": "stored", "joined_to": None},
        "would_be": {"decision": "pending", "joined_to": None},
        "asks": [first.candidate_id],
    }
    before = len(runtime.lines())
    answer = unmerge(runtime, newer.decision_id, with_consequences=True)
    events = [decode(line) for line in runtime.lines()[before:]]
    assert [type(event) for event in events] == [Reversed, Redecided]
    assert answer["carried_out"] == [events[1].id]
    assert [one.subject for one in Verifications(runtime.log).waiting(9)] == [stored.candidate_id]


def test_what_people_said_since_and_could_not_have_said_is_named(runtime: Runtime) -> None:
    """Without the join the third would have joined the first, from which a person separated it."""
    first, newer, third = say(runtime, FIRST, NEWER, text(end="zulu"))
    assert third.joined_to == newer.candidate_id
    before = len(runtime.lines())
    unmerge(runtime, third.decision_id)
    asked = {"a": third.candidate_id, "b": first.candidate_id}
    execute(runtime.writer, SeparateRequest(request_id=str(uuid4()), **asked))
    runtime.writer.commit()
    said = [decode(line) for line in runtime.lines()[before:]]
    assert [type(event) for event in said] == [Reversed, Separated]
    foreseen = dry_run(runtime, newer.decision_id)
    assert foreseen["overtaken"] == [event.id for event in said]
    done = unmerge(runtime, newer.decision_id, with_consequences=True)
    assert done["overtaken"] == foreseen["overtaken"]
    assert faces(runtime) == [FIRST, NEWER, text(end="zulu")], "what people said stays"


def test_what_was_stored_without_a_search_rested_on_no_join(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found today, a neighbour would make another decision of it; the join changed nothing."""
    policy = load_policy("replace-or-merge").model_copy(update={"search_fails": "store"})

    def broken(*_: object) -> None:
        raise SearchError("no index")

    with Runtime(tmp_path / "log.sqlite", policy=policy) as runtime:
        _, newer = say(runtime, FIRST, NEWER)
        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(
                "palimpsest.streams.search.scope_index.ScopeIndex.surroundings", broken
            )
            (stored,) = runtime.submit(
                {"owner_id": "ann", "source": "test", "id": "later", "text": BESIDE}
            )
        assert stored.decision == "stored"
        assert dry_run(runtime, newer.decision_id)["consequences"] == []


def test_without_being_asked_for_they_stay(runtime: Runtime) -> None:
    _, newer, _ = say(runtime, FIRST, NEWER, BESIDE)
    answer = unmerge(runtime, newer.decision_id)
    assert "consequences" not in answer
    assert not any(isinstance(decode(line), Redecided) for line in runtime.lines())


def test_what_joined_the_face_that_is_out_joins_whom_it_would_have(runtime: Runtime) -> None:
    """At .90 to the newer nobody answered, so it replaced that; it is at .95 to the first."""
    first, newer, later = say(runtime, FIRST, NEWER, text("sierra"))
    assert (later.decision, later.joined_to) == ("pending", None)
    verdict = Verdict(neighbour_id=newer.candidate_id, answer="unavailable")
    settle = SettleRequest(
        request_id=str(uuid4()), candidate_id=later.candidate_id, verdicts=(verdict,)
    )
    settled = execute(runtime.writer, settle)
    runtime.writer.commit()
    assert faces(runtime) == [text("sierra")]
    [one] = dry_run(runtime, newer.decision_id)["consequences"]
    assert one["decision_id"] == settled["decision_id"]
    assert one["was"] == {"decision": "fallback_supersede", "joined_to": newer.candidate_id}
    assert one["would_be"] == {"decision": "superseded", "joined_to": first.candidate_id}
    shown = dry_run(runtime, newer.decision_id, with_consequences=True)
    done = unmerge(runtime, newer.decision_id, with_consequences=True)
    assert done["memories"] == shown["memories"]
    assert faces(runtime) == [text("sierra"), NEWER]
    assert [memory["face"] for memory in done["memories"]] == [text("sierra"), NEWER]
    assert done["refused"] == []


def test_a_fallback_that_joined_under_an_older_rule_stays(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once no cue kept a pair apart when nobody answered; that follows from no un-merge."""
    _, newer = say(runtime, FIRST, NEWER)
    cats = "every winter evening since the move " + "cats {} sleep near our old kitchen stove"
    rows = ({"owner_id": "ann", "source": "cats", "id": n, "text": cats.format(n)} for n in "23")
    _, later = runtime.submit(*rows)
    assert later.decision == "pending"
    assert later.candidate_id is not None
    with monkeypatch.context() as before:
        before.setattr("palimpsest.streams.core.settle._fallback", lambda *_: "supersede")
        nobody = Verdict(neighbour_id=asked_about(runtime, later), answer="unavailable")
        settle = SettleRequest(
            request_id=str(uuid4()), candidate_id=later.candidate_id, verdicts=(nobody,)
        )
        execute(runtime.writer, settle)
        runtime.writer.commit()
    settled = decode(runtime.lines()[-1])
    assert isinstance(settled, Settled)
    assert settled.data.decision == "fallback_supersede"
    assert dry_run(runtime, newer.decision_id).get("consequences", []) == []


@pytest.mark.parametrize("at_once", [True, False])
def test_a_fallback_goes_by_the_text_that_would_have_been_compared(
    runtime: Runtime, at_once: bool
) -> None:
    """Nobody answered about a composed text; without it the pair shows a cue, which keeps both."""
    start = "alice told the whole team on a monday that her tabby cat likes blue salmon more than"
    wet, pen = f"{start} wet food snacks", "ben repairs old clocks in his attic"
    texts = (f"{start} dry salt pepper", f"{start} dry food cakes")
    first, second = say(runtime, *texts)
    composed = f"{start} wet lemon bread"
    join = settle(runtime, second.candidate_id, first.candidate_id, "compose", composed)
    if at_once:
        unmerge(runtime, join)
    rows = ({"owner_id": "ann", "source": "later", "id": one, "text": one} for one in (wet, pen))
    third, other = (str(one.candidate_id) for one in runtime.submit(*rows))
    asked = {"a": second.candidate_id, "b": other, "face": other}
    execute(runtime.writer, MergeRequest(request_id=str(uuid4()), **asked))
    runtime.writer.commit()
    settle(runtime, third, second.candidate_id, "unavailable")
    if not at_once:
        answer = unmerge(runtime, join, with_consequences=True)
        assert [consequence["candidate_id"] for consequence in answer["consequences"]] == [third]
    assert sorted(faces(runtime)) == sorted([texts[0], pen, wet])


def settle(
    runtime: Runtime, newer: str, older: str, answer: Answer, composed: str | None = None
) -> str:
    """What the judge says of a pair; the decision that it comes to."""
    verdict = Verdict(neighbour_id=older, answer=answer)
    request = SettleRequest(
        request_id=str(uuid4()), candidate_id=newer, verdicts=(verdict,), composed=composed
    )
    done = execute(runtime.writer, request)
    runtime.writer.commit()
    return str(done["decision_id"])


def asked_about(runtime: Runtime, later: Any) -> str:
    """The best neighbour that the judge was handed."""
    [event] = [e for line in runtime.lines() if (e := decode(line)).id == later.decision_id]
    assert isinstance(event, Decided)
    return event.data.evidence.asked[0]


def test_what_goes_out_goes_the_latest_before_the_earlier(runtime: Runtime) -> None:
    """Both replaced the newer text, as nobody answered; then each is decided on by arrival."""
    _, newer, *later = say(
        runtime, FIRST, NEWER, FIRST.replace("alpha", "sierra"), FIRST.replace("bravo", "tango")
    )
    for one in later:
        verdict = Verdict(neighbour_id=asked_about(runtime, one), answer="unavailable")
        settle = SettleRequest(
            request_id=str(uuid4()), candidate_id=one.candidate_id, verdicts=(verdict,)
        )
        execute(runtime.writer, settle)
        runtime.writer.commit()
    before = len(runtime.lines())
    unmerge(runtime, newer.decision_id, with_consequences=True)
    events = [decode(line) for line in runtime.lines()[before:]]
    out = [event.data.candidate_id for event in events if isinstance(event, Reversed)]
    anew = [event.data.candidate_id for event in events if isinstance(event, Redecided)]
    earlier, latest = (one.candidate_id for one in later)
    assert (out, anew) == ([newer.candidate_id, latest, earlier], [earlier, latest])


def asked_twice(runtime: Runtime, **what: Any) -> list[Unmerged]:
    """The answers to a request that comes twice; the second time nothing is added."""
    request = UnmergeRequest(request_id=str(uuid4()), with_consequences=True, **what)
    first = execute(runtime.writer, request)
    runtime.writer.commit()
    lines = runtime.lines()
    again = execute(runtime.writer, request)
    runtime.writer.commit()
    assert runtime.lines() == lines
    return [first, again]


def test_a_request_delivered_again_adds_nothing_and_is_answered_the_same(runtime: Runtime) -> None:
    _, newer, _ = say(runtime, FIRST, NEWER, BESIDE)
    first, again = asked_twice(runtime, decision_id=newer.decision_id)
    assert sum(isinstance(decode(line), Redecided) for line in runtime.lines()) == 1
    assert first == again
    assert len(first["consequences"]) == len(first["carried_out"]) == 1


def test_of_several_joins_too_it_is_answered_as_when_none_was_out(runtime: Runtime) -> None:
    first, newer, third, beside = say(runtime, FIRST, NEWER, text(end="zulu"), BESIDE)
    once, again = asked_twice(runtime, memory_id=first.candidate_id)
    assert once["reversed"] == [third.decision_id, newer.decision_id]
    assert [consequence["candidate_id"] for consequence in once["consequences"]] == [
        beside.candidate_id
    ]
    assert once == again


def test_what_it_joined_itself_is_not_taken_out_when_it_is_delivered_again(
    runtime: Runtime,
) -> None:
    """By memory: what the first text's memory holds afterwards, it holds as a consequence."""
    first, newer, later = say(runtime, FIRST, NEWER, text("sierra"))
    verdict = Verdict(neighbour_id=newer.candidate_id, answer="different")
    settle = SettleRequest(
        request_id=str(uuid4()), candidate_id=later.candidate_id, verdicts=(verdict,)
    )
    execute(runtime.writer, settle)
    runtime.writer.commit()
    once, again = asked_twice(runtime, memory_id=first.candidate_id)
    assert [consequence["would_be"] for consequence in once["consequences"]] == [
        {"decision": "superseded", "joined_to": first.candidate_id}
    ]
    assert faces(runtime) == [text("sierra"), NEWER]
    assert once == again


def test_a_refused_request_is_refused_again_for_the_same_reason(runtime: Runtime) -> None:
    _, newer = say(runtime, FIRST, NEWER)
    unmerge(runtime, newer.decision_id)
    request = UnmergeRequest(request_id=str(uuid4()), decision_id=newer.decision_id)
    for _ in range(2):
        with pytest.raises(RefusedError, match="reversed already"):
            execute(runtime.writer, request)
        runtime.writer.commit()


def test_a_reinstatement_that_cannot_be_leaves_all_as_it_is_and_its_refusal_in_the_log(
    runtime: Runtime,
) -> None:
    """Also where what the un-merge brought would have gone first: it is tried before."""
    first, newer, _, other = say(runtime, FIRST, NEWER, BESIDE, "no way over the river")
    unmerge(runtime, newer.decision_id, with_consequences=True)
    a, b, c = (str(one.candidate_id) for one in (first, newer, other))
    for said in (
        SeparateRequest(request_id=str(uuid4()), a=a, b=c),
        MergeRequest(request_id=str(uuid4()), a=b, b=c),
    ):
        execute(runtime.writer, said)
    runtime.writer.commit()
    lines, before = runtime.lines(), faces(runtime)
    request = ReinstateRequest(request_id=str(uuid4()), decision_id=newer.decision_id, actor="eve")
    for _ in range(2):
        with pytest.raises(RefusedError) as refused:
            execute(runtime.writer, request)
        assert refused.value.reason == "separated"
        runtime.writer.commit()
    [event] = [decode(line) for line in runtime.lines()[len(lines) :]]
    assert isinstance(event, Refused)
    said_of_it = (event.data.command, event.data.reason, event.data.decision_id, event.data.actor)
    assert said_of_it == ("reinstate", "separated", newer.decision_id, "eve")
    assert faces(runtime) == before
    assert runtime.ledger_matches_log()


@pytest.mark.parametrize(
    ("which", "reason"),
    [
        ({"candidate_id": 0}, "not_a_join"),
        ({"memory_id": 0}, "same_text"),
        ({"candidate_id": 1}, "same_text"),
        ({"memory_id": 2}, "not_a_join"),
    ],
)
def test_where_nothing_can_be_taken_out_the_refusal_says_why_and_is_in_the_log(
    runtime: Runtime, which: dict[str, int], reason: str
) -> None:
    said = say(runtime, FIRST, FIRST, "no way over the river")
    named = {key: said[number].candidate_id for key, number in which.items()}
    with pytest.raises(RefusedError) as refused:
        execute(runtime.writer, UnmergeRequest(request_id=str(uuid4()), **named))
    runtime.writer.commit()
    event = decode(runtime.lines()[-1])
    assert isinstance(event, Refused)
    assert refused.value.reason == event.data.reason == reason


def test_under_search_candidates_nothing_rests_on_a_merge(tmp_path: Path) -> None:
    with Runtime(tmp_path / "log.sqlite") as standard:
        _, same = say(standard, "Ada has a big dog.", "Ada has a big dog")
        answer = dry_run(standard, same.decision_id)
        assert answer["reversed"] == [same.decision_id]
        assert answer["consequences"] == []
