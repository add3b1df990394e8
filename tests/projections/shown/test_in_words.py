"""What an event did, in plain words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from palimpsest.contracts.commands import Confirm
from palimpsest.contracts.events import AnyEvent, Join
from palimpsest.contracts.model import same_json
from palimpsest.contracts.wire import Recorded
from palimpsest.projections.recall.filter import Filter
from palimpsest.projections.shown.sentences import _speaks, did
from palimpsest.projections.shown.timeline import Timeline
from tests.streams.core.spec import (
    ASK,
    KEEP,
    TAKE,
    History,
    given,
    judge,
    merge,
    redecide,
    retract,
    say,
    separate,
    unmerge,
    withdraw,
)
from tests.streams.core.test_events import examples
from tests.tables import each


def words(history: History) -> list[str]:
    return [did(event) for event in history.new]


def test_a_join_that_is_taken_out_says_why_and_whether_the_two_are_apart() -> None:
    history = given(say("a", "Tea"), say("b", "Chai", {"a": KEEP}), say("c", "Mate", {"b": KEEP}))
    assert words(history.when(unmerge("b"))) == ["the join was taken out"]
    assert words(history.when(unmerge("c", after="b"))) == [
        "the join was taken out as a consequence of another reversal"
    ]
    history.do(*(merge(*pair) for pair in ("ab", "bc", "ac")))
    assert words(history.when(unmerge("c", "b"))) == [
        "the join was taken out; other joins still hold the two together"
    ]


def test_a_review_of_what_was_decided_again_is_about_its_pair() -> None:
    history = given(say("a", "Tea"), say("b", "Chai", {"a": KEEP}), say("c", "Mate"), unmerge("b"))
    history.when(redecide("c", "auto_reject", "a", after="b"))
    joined = history.join("c").id
    history.when(lambda h: Confirm(command_id=h.fresh(), owner_id=h.owner_id, decision_id=joined))
    timeline = Timeline()
    [*_, last] = (timeline.note(Recorded(at, event)) for at, event in enumerate(history.log, 1))
    assert last.about == {history.id("c"), history.id("a")}


COMPOSED = "and a text composed of both is the face"
SAID = {
    "decided": "came in: a memory of its own",
    "settled": f"its question was answered: joined another candidate, {COMPOSED}",
    "confirmed": "the decision was confirmed",
    "reversed": "the join was taken out",
    "composed": "the text was recomposed from the remaining sources",
    "reinstated": "the join that had been taken out stands again",
    "separated": "the two were separated",
    "joined": "a person joined it to another candidate,"
    " and a person chose the newer wording as the face",
    "retracted": "hidden from recall and search; its joins stay",
    "restored": "restored to recall and search",
    "expiry_set": "expires at 2026-01-01T00:01:19+00:00",
    "names_set": "the owner is called Ada, the user",
    "accessed": "the memory was used",
    "embedded": "its text was embedded later",
    "refused": "refused: merge, because of separated",
    "unchanged": "nothing changed: reverse",
    "erased": "its text was destroyed; its id and its joins stay",
    "redecided": "decided again without a join that was taken out: joined another candidate,"
    " whose wording stays the face",
    "invalid": "a row was not stored, because it breaks a rule",
    "session_ended": "a session ended",
    "compacted": "the conversation of a session was compacted",
    "ran": "a batch run ended",
    "policy_set": "a policy was put in force",
    "judge_set": "a judge was put in force",
    "audit_opened": "an audit was opened",
    "audit_labelled": "a pair of an audit was labelled",
    "certified": "an audit was certified",
}


def timeline_of(events: list[AnyEvent]) -> Timeline:
    timeline = Timeline()
    for at, event in enumerate(events, 1):
        timeline.note(Recorded(at, event))
    return timeline


def test_every_event_says_what_it_did() -> None:
    timeline = Timeline()
    first: dict[str, str] = {}
    for at, event in enumerate(examples(), 1):
        entry = timeline.note(Recorded(at, event))
        first.setdefault(entry.event["event"], entry.event["did"])
        assert entry.event["position"] == at
        assert entry.event["decided_at"] == event.time.isoformat()
    assert first == SAID


def test_what_came_in_says_what_became_of_it() -> None:
    def came(similarity: float | None) -> str:
        near = {} if similarity is None else {"a": similarity}
        history = given(say("a", "Tea"))
        return words(history.when(say("b", "Chai", near)))[0]

    assert came(None) == "came in: a memory of its own"
    assert came(KEEP) == "came in: joined another candidate, whose wording stays the face"
    assert came(TAKE) == (
        "came in: joined another candidate, and takes the face, unless it happened earlier"
    )
    assert came(ASK) == "came in; the judge is asked about 1 near candidate"
    two = given(say("a", "Tea"), say("b", "Mate"))
    assert words(two.when(say("c", "Chai", {"a": ASK, "b": ASK}))) == [
        "came in; the judge is asked about 2 near candidates"
    ]
    assert words(given(say("a", "Tea")).when(say("b", "Tea"))) == [
        "came in: joined another candidate, as an exact repeat"
    ]


@pytest.mark.parametrize(
    ("join", "said"),
    [
        (Join(to="a", face="take", outright=True), "and takes the face"),
        (
            Join(to="a", face="take", former=True),
            "and a person chose the newer wording as the face",
        ),
        (
            Join(to="a", face="keep", former=True),
            "and a person chose the older wording as the face",
        ),
    ],
)
def test_a_join_says_who_speaks(join: Join, said: str) -> None:
    assert _speaks(join) == said


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("different", "its question was answered: kept apart"),
        ("unavailable", "its question was closed without an answer: kept apart"),
    ],
)
def test_a_question_that_joins_nothing_says_why(answer: str, said: str) -> None:
    history = given(say("a", "Tea"), say("b", "Chai", {"a": ASK}))
    settled, *_ = words(history.when(judge("b", a=answer)))  # type: ignore[arg-type]
    assert settled == said


def test_what_is_withdrawn_says_which_word_it_was() -> None:
    history = given(say("a", "Tea"), say("b", "Chai"), merge("a", "b"))
    assert words(history.when(withdraw("a", "b"))) == ["the merge was withdrawn"]
    history.do(separate("a", "b"), withdraw("a", "b"))
    said = timeline_of(history.log).of({history.id("a")})
    assert [one["did"] for one in said[-2:]] == [
        "the two were separated",
        "the separation was withdrawn",
    ]


def test_a_timeline_has_what_was_said_of_some_and_what_each_word_answers() -> None:
    history = given(
        say("a", "Tea"),
        say("b", "Chai", {"a": ASK}),
        say("x", "Mate"),
        separate("a", "b"),
        retract("x"),
    )
    admitted, asked, other, *_ = history.log
    timeline = timeline_of(history.log)
    assert timeline.of({history.id("nobody")}) == []
    [gone] = timeline.of({history.id("x")})
    assert (gone["event"], gone["answers"]) == ("retracted", other.id)
    [apart] = timeline.of({history.id("a")})
    assert (apart["event"], apart["answers"]) == ("separated", asked.id)
    assert {apart["candidate_id"], apart["other_id"]} == {admitted.subject, asked.subject}
    [same, settled] = timeline.of({history.id("b")})
    assert same == apart
    assert (settled["event"], settled["answers"]) == ("settled", asked.id)


# -- filters -------------------------------------------------------------------------------------


@each(
    ("one", "other", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (True, True, True),
        (0, False, False),
        ("1", 1, False),
        (None, None, True),
        ([1, (2,)], (1.0, [2]), True),
        ([1], [1, 2], False),
        ([], {}, False),
        ({"a": [1]}, {"a": (1.0,)}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1}, {"a": True}, False),
    ],
)
def test_values_are_the_same_as_json(one: object, other: object, same: bool) -> None:
    assert same_json(one, other) is same
    assert same_json(other, one) is same


def test_a_time_is_wanted_from_its_beginning_to_before_its_end() -> None:
    begin = datetime(2026, 3, 1, tzinfo=UTC)
    end, moment = begin + timedelta(days=1), timedelta(microseconds=1)
    both = Filter(since=begin, until=end)
    times = [begin - moment, begin, end - moment, end]
    assert [both.within(at) for at in times] == [False, True, True, False]
    assert [Filter(since=begin).within(at) for at in times] == [False, True, True, True]
    assert [Filter(until=end).within(at) for at in times] == [True, True, True, False]
    looks = (Filter(category="a"), Filter(metadata={"a": None}), Filter(since=begin), both)
    assert all(one.looks_at_members for one in (*looks, Filter(until=end)))
    assert not Filter("home").looks_at_members


def test_metadata_are_wanted_with_all_their_values() -> None:
    wanted = Filter(metadata={"a": 1, "b": None})
    assert wanted.says({"a": 1.0, "b": None, "c": 2})
    assert not wanted.says({"a": 1})
    assert not wanted.says({"a": 2, "b": None})


@pytest.mark.parametrize(("namespace", "kept"), [(None, True), ("default", True), ("b", False)])
def test_what_is_not_living_passes_nowhere(namespace: str | None, kept: bool) -> None:
    history = given(
        say("a", "Tea", category="drink"), say("b", "Chai", {"a": KEEP}, category="spice")
    )
    memory, wanted = history.memory("a"), Filter(namespace)
    assert wanted.keeps(memory) is kept
    spice = Filter(namespace, "spice")
    assert spice.keeps(memory) is kept
    history.do(retract("b"))
    assert (wanted.keeps(memory), spice.keeps(memory)) == (kept, False)
    history.do(retract("a"))
    assert not wanted.keeps(memory)
