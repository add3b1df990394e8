"""Reviews: by the stronger model, and by a person, question by question."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn
from unittest.mock import ANY
from uuid import uuid4

import pytest
from typer.testing import CliRunner

from palimpsest.cli.demo.judge import Fault, JudgeServer
from palimpsest.cli.main import app
from palimpsest.contracts.errors import RefusedError, TransientError
from palimpsest.contracts.events import Rank, Reversed
from palimpsest.contracts.evidence import Answer, Verdict
from palimpsest.contracts.requested import name_request
from palimpsest.contracts.requests import Selection, SettleRequest
from palimpsest.jobs.review import unreviewed
from palimpsest.streams.judge.pairs import JudgedPair
from palimpsest.streams.judge.settings import JudgeSettings
from tests.long import long_but
from tests.palimpsest.jobs.conftest import RUNTIMES, embedded_alone, installed, unguarded
from tests.palimpsest.jobs.conftest import STORE_TIME as GUARDED
from tests.palimpsest.jobs.speaker import Installation, Speaker
from tests.streams.core.spec import ASK, KEEP, given, judge, retract, say

STORE_TIME = unguarded(GUARDED)
"""Under it any gray text is rejected while nobody answers."""

SAME = (
    "Cleo paints small wooden boats in the shed behind the house daily",
    "Cleo paints small wooden boats in the shed behind the house",
)
OTHER = [f"the spare key of the boat shed is on the hook of {metal}" for metal in ("brass", "iron")]
"""Near texts without a cue; the judge says that they differ."""

installation = pytest.fixture(
    installed, params=long_but("embedded", of=RUNTIMES), name="installation"
)
"""On a cluster in CI; `make test` tries the other jobs there."""


def review(ada: Speaker, asking: JudgeSettings) -> dict[str, Any]:
    return ada.store.review(owner_id=ada.name, judge=asking)


def settle(ada: Speaker, newer: str, older: str, answer: Answer) -> None:
    request = SettleRequest(
        request_id=str(uuid4()),
        candidate_id=newer,
        verdicts=(Verdict(neighbour_id=older, answer=answer),),
    )
    [done] = ada.store.settle([request])
    assert not isinstance(done, RefusedError)


def reviews(ada: Speaker) -> dict[str, str]:
    rows = ada.rows("dedup_log", "position, decision, review_status")
    return {row["decision"]: row["review_status"] for row in rows}


def next_question(ada: Speaker) -> dict[str, Any]:
    row = ada.store.next_review(owner_id=ada.name)
    assert row is not None
    return row


def pair(row: dict[str, Any]) -> tuple[str, str]:
    """The pair that an answer names."""
    return row["decision_id"], row["existing_id"]


@embedded_alone
def test_a_join_that_a_person_reinstated_is_reviewed_by_a_person_alone(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    ada.under(STORE_TIME)
    older, newer = ada.say(*OTHER)
    settle(ada, newer, older, "same")
    [taken] = review(ada, asking)["reversed"]
    events = [one.event for one in ada.store.reader.log.after(0, 10**6)]
    assert [e.data.rank for e in events if isinstance(e, Reversed)] == ["review"]
    ada.store.reinstate(taken["decision_id"])
    calls, position = server.calls, ada.store.status()["position"]
    again = review(ada, asking)
    assert (again["reversed"], again["refused"], again["confirmed"]) == ([], [], 0)
    assert (server.calls, ada.store.status()["position"]) == (calls, position)
    assert pair(next_question(ada)) == (taken["decision_id"], older), "the model would be outranked"
    ada.store.confirm(taken["decision_id"])
    assert ada.store.next_review(owner_id=ada.name) is None


@pytest.mark.parametrize(
    ("rank", "waits"), [("rule", True), ("judge", True), ("review", False), ("person", False)]
)
def test_what_a_reviewer_or_a_person_has_joined_is_not_reviewed(rank: Rank, waits: bool) -> None:
    pending = (say("a", "Tea"), say("b", "Chai", {"a": ASK}))
    history = given(*pending, judge("b", a="same", rank=rank)).then("b llm_reject a")
    assert [edge.newer.text for edge in unreviewed(history.ledger)] == (["Chai"] if waits else [])


@embedded_alone
@pytest.mark.parametrize("end", [0, 1], ids=["older", "newer"])
def test_a_retracted_text_is_sent_to_no_model(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings, end: int
) -> None:
    ada.under(STORE_TIME)
    said = older, newer = ada.say(*OTHER)
    settle(ada, newer, older, "unavailable")
    selection = Selection(candidate_id=said[end])
    ada.store.retract(selection)
    answer = review(ada, asking)
    assert (answer["asked"], answer["left"], server.calls) == ({}, 0, 0)
    ada.store.restore(selection)
    assert review(ada, asking)["asked"] == {"different": 1}


def test_a_join_is_reviewed_as_long_as_both_its_texts_are_living() -> None:
    """A retracted text that was submitted again lives in the same memory, as its repeat."""
    joined = (say("a", "Tea"), say("b", "Chai", {"a": KEEP}))
    retracted = given(*joined, retract("b"))
    assert [*unreviewed(retracted.ledger)] == []
    again = given(*joined, retract("b"), say("c", "Chai"))
    assert [edge.decision for edge in unreviewed(again.ledger)] == ["auto_reject", "hash_exact"]


def test_an_exact_repeat_is_confirmed_although_it_is_retracted() -> None:
    history = given(say("a", "Tea"), say("b", "Tea"), retract("b"))
    assert [edge.decision for edge in unreviewed(history.ledger)] == ["hash_exact"]


@embedded_alone
def test_a_retracted_text_that_came_again_waits_for_a_person_and_for_the_review(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    ada.under(STORE_TIME)
    older, newer = ada.say(*SAME)
    settle(ada, newer, older, "unavailable")
    ada.store.retract(Selection(candidate_id=newer))
    ada.say(SAME[1], source="again")
    assert next_question(ada)["candidate_id"] == newer
    answer = review(ada, asking)
    assert (answer["exact"], answer["confirmed"]) == (1, 1)
    assert reviews(ada)["fallback_reject"] == reviews(ada)["hash_exact"] == "confirmed"


@embedded_alone
def test_exact_repeats_are_confirmed_without_a_model(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    ada.say("Ada has a dog", "ada  has a dog")
    answer = review(ada, asking)
    assert (answer["exact"], server.calls) == (1, 0)
    assert reviews(ada) == {"hash_exact": "confirmed"}
    assert review(ada, asking)["exact"] == 0


@embedded_alone
@pytest.mark.parametrize(
    ("texts", "status"), [(SAME, "confirmed"), (tuple(OTHER), "reversed")], ids=["same", "other"]
)
def test_other_rejections_are_seen_by_the_stronger_model(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings, texts: tuple[str, str], status: str
) -> None:
    ada.under(STORE_TIME)
    older, newer = ada.say(*texts)
    settle(ada, newer, older, "unavailable")
    assert reviews(ada)["fallback_reject"] == "unreviewed"
    answer = review(ada, asking)
    assert answer["confirmed"] + len(answer["reversed"]) == 1
    assert reviews(ada)["fallback_reject"] == status
    assert server.requests[-1]["model"] == STORE_TIME.judge.review_model
    [verdict] = ada.rows("verdicts", "model", "model IS NOT NULL")
    assert verdict["model"] == STORE_TIME.judge.review_model
    calls = server.calls
    review(ada, asking)
    assert server.calls == calls


@embedded_alone
def test_a_reversed_text_never_makes_a_second_living_memory_of_its_hash(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    """Its repeats leave with it, and later ones join it."""
    ada.under(STORE_TIME)
    older, newer = ada.say(*OTHER)
    ada.say(OTHER[1], source="again")
    settle(ada, newer, older, "unavailable")
    assert [one["candidate_id"] for one in review(ada, asking)["reversed"]] == [newer]
    [later] = ada.say(OTHER[1], source="later")
    [join] = ada.rows("joins", "joined_to", f"candidate_id = '{later}'")
    assert join["joined_to"] == newer
    assert len(ada.rows("memories")) == 2


def test_a_reversal_that_cannot_be_is_reported_and_no_error(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    ada.under(STORE_TIME)
    older, newer = ada.say(*OTHER)
    [twin] = ada.say(OTHER[1], source="twin")
    settle(ada, newer, older, "unavailable")
    ada.store.merge(older, twin)
    answer = review(ada, asking)
    assert (answer["reversed"], [one["reason"] for one in answer["refused"]]) == ([], ["supported"])
    assert len(ada.rows("memories")) == 1


def test_a_person_is_not_overruled_by_a_model(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    ada.under(STORE_TIME)
    older, newer = ada.say(*OTHER)
    settle(ada, newer, older, "unavailable")
    ada.store.review_same(*pair(next_question(ada)), actor="kim")
    answer = review(ada, asking)
    assert (answer["reversed"], server.calls) == ([], 0)


@embedded_alone
def test_when_nobody_answers_all_stays_unreviewed(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    ada.under(STORE_TIME)
    older, newer = ada.say(*OTHER)
    settle(ada, newer, older, "unavailable")
    server.stop()
    assert review(ada, asking)["left"] == 1
    assert reviews(ada)["fallback_reject"] == "unreviewed"


REFUSES = Fault(change=lambda message: message | {"stop_reason": "refusal", "content": []})


@embedded_alone
def test_what_the_model_refuses_is_asked_about_twice_and_holds_up_nothing(
    ada: Speaker,
    installation: Installation,
    server: JudgeServer,
    asking: JudgeSettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    ada.under(STORE_TIME)
    older, newer = ada.say(*OTHER)
    settle(ada, newer, older, "unavailable")
    server.always = REFUSES
    for _ in range(2):
        ran = CliRunner().invoke(app, [*installation.options, "--json", "review", "run"])
        assert ran.exit_code == 0, ran.output
        told = json.loads(ran.stdout)
        assert (told["asked"], told["left"]) == ({"unusable": 1}, 1)
        assert [*told["why_left"].values()] == [1]
        assert server.calls == 2, "what was refused once more is remembered"
    assert next_question(ada)["waits_as"] == "unreviewed", "a person is asked"


@embedded_alone
def test_where_nobody_answers_the_status_says_so(
    ada: Speaker,
    installation: Installation,
    server: JudgeServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    monkeypatch.setattr("palimpsest.streams.judge.judge.Judge.review", nobody)
    ada.under(STORE_TIME)
    older, newer = ada.say(*OTHER)
    settle(ada, newer, older, "unavailable")
    ran = CliRunner().invoke(app, [*installation.options, "review", "run"])
    assert ran.exit_code == 1, ran.output


async def nobody(_judge: Any, pairs: Sequence[JudgedPair]) -> list[Verdict]:
    return [Verdict(neighbour_id=p.older.candidate_id, answer="unavailable") for p in pairs]


@embedded_alone
def test_the_model_receives_when_each_text_happened(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    """The text that came in later is still the one that was left out."""
    ada.under(STORE_TIME)
    [older] = ada.say(OTHER[0], occurred_at="2024-05-01T00:00:00Z")
    [newer] = ada.say(OTHER[1], occurred_at="2021-05-01T00:00:00Z")
    settle(ada, newer, older, "unavailable")
    review(ada, asking)
    [pair] = json.loads(server.requests[-1]["messages"][0]["content"])["pairs"]
    assert [pair[side]["time"][:4] for side in ("older", "newer")] == ["2024", "2021"]
    assert pair["newer"]["text"] == OTHER[1]


@embedded_alone
def test_in_an_outage_one_request_is_tried_of_all_owners(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    ada.under(STORE_TIME)
    for one in (ada, Speaker(ada.store, "ben", STORE_TIME)):
        older, newer = one.say(*OTHER)
        settle(one, newer, older, "unavailable")
    server.always = Fault(529, "overloaded_error")
    told = ada.store.review(judge=asking.model_copy(update={"retries": 0}))
    assert (server.calls, told["left"]) == (1, 2)
    server.always = None
    assert len(ada.store.review(judge=asking)["reversed"]) == 2


@embedded_alone
def test_a_review_that_was_due_is_recorded_for_each_owner_and_done_once(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    ben, cleo = (Speaker(ada.store, name, STORE_TIME) for name in ("ben", "cleo"))
    older, newer = ben.say(*OTHER)
    settle(ben, newer, older, "unavailable")
    cleo.say("Cleo sings")
    ada.say("Ada has a dog", "ada  has a dog")
    due = datetime(2026, 3, 1, 3, tzinfo=UTC)
    told = ada.store.review(judge=asking, due=due)
    assert (told["exact"], len(told["reversed"])) == (1, 1)
    counted: dict[str, list[dict[str, Any]]] = {}
    for speaker in (ada, ben, cleo):
        runs = speaker.rows("runs", "step, due, figures, memories_before")
        assert {(run["step"], run["due"], run["memories_before"]) for run in runs} <= {
            ("review", due.replace(tzinfo=None), None)
        }
        counted[speaker.name] = [json.loads(run["figures"]) for run in runs]
    nothing = dict.fromkeys(("exact", "confirmed", "reversed", "refused", "left"), 0)
    took = {"duration_ms": ANY}
    assert counted == {
        ada.name: [nothing | took | {"exact": 1}],
        "ben": [nothing | took | {"reversed": 1}],
        "cleo": [],
    }
    ada.say("ADA has a dog")
    assert ada.store.review(judge=asking, due=due)["exact"] == 0
    assert ada.store.review(judge=asking, due=due + timedelta(days=1))["exact"] == 1
    assert len(ada.rows("runs")) == 2


@embedded_alone
def test_what_a_person_put_back_is_not_reviewed_again(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    ada.under(STORE_TIME)
    older, newer = ada.say(*OTHER)
    settle(ada, newer, older, "unavailable")
    [taken_out] = review(ada, asking)["reversed"]
    ada.store.reinstate(taken_out["decision_id"], actor="kim")
    head, calls = ada.store.reader.log.head(), server.calls
    for _ in range(2):
        told = review(ada, asking)
        assert (told["refused"], told["reversed"], told["asked"]) == ([], [], {})
    assert (ada.store.reader.log.head(), server.calls) == (head, calls)


@embedded_alone
def test_a_reversal_that_cannot_be_is_recorded_once(
    ada: Speaker, server: JudgeServer, asking: JudgeSettings
) -> None:
    """It is reported every time; the log has it once, with the verdict's cost."""
    ada.under(STORE_TIME)
    older, newer = ada.say(*OTHER)
    [twin] = ada.say(OTHER[1], source="twin")
    settle(ada, newer, older, "unavailable")
    ada.store.merge(older, twin)
    [first] = review(ada, asking)["refused"]
    [paid] = ada.rows("verdicts", "model, calls", "model IS NOT NULL")
    assert paid == {"model": STORE_TIME.judge.review_model, "calls": 1}
    head = ada.store.reader.log.head()
    assert review(ada, asking)["refused"] == [first]
    assert (ada.store.reader.log.head(), server.calls) == (head, 1)


# -- a person --------------------------------------------------------------------------------------


def test_a_pending_pair_is_asked_first_and_merged_or_separated(ada: Speaker) -> None:
    ada.under(STORE_TIME)
    ada.say(*SAME, *OTHER)
    first = next_question(ada)
    assert (first["waits_as"], first["new_text"]) == ("pending", OTHER[1])
    ada.store.review_different(*pair(first), actor="kim")
    second = next_question(ada)
    assert second["existing_text"] == SAME[0]
    ada.store.review_same(*pair(second), actor="kim")
    assert ada.store.next_review(owner_id=ada.name) is None
    assert ada.rows("candidates", where="pending") == []
    counted = ada.rows("decisions", "decision, actor", "rank = 'person'")
    assert counted == [
        {"decision": "llm_keep", "actor": "kim"},
        {"decision": "manual_join", "actor": "kim"},
    ]


def test_an_answer_is_about_the_pair_that_was_seen(ada: Speaker) -> None:
    """One decision waits on two pairs: repeating the command does not answer the other one."""
    ada.under(STORE_TIME)
    *_, last = ada.say(*OTHER, OTHER[0].replace("brass", "tin"))
    waiting = ada.rows("review_queue", where=f"candidate_id = '{last}'")
    assert len(waiting) == 2
    seen, unseen = waiting
    assert seen["decision_id"] == unseen["decision_id"]
    ada.store.review_different(*pair(seen))
    for answer in (ada.store.review_different, ada.store.review_same):
        with pytest.raises(RefusedError, match="no question waits"):
            answer(*pair(seen))
    answered = ada.store.review_same(*pair(unseen))
    assert len(answered["memories"]) == 1


@embedded_alone
@pytest.mark.parametrize("same", [True, False])
def test_an_answer_that_is_held_back_waits_for_a_person(ada: Speaker, same: bool) -> None:
    """Two answers contradict each other, because both are about one memory."""
    ada.under(STORE_TIME)
    a, b, c = ada.say(*OTHER, OTHER[0].replace("brass", "tin"))
    ada.store.merge(a, b)
    asked = [row["existing_id"] for row in ada.rows("review_queue", where=f"candidate_id = '{c}'")]
    assert sorted(asked) == sorted((a, b))
    best = ada.store.show_candidate(c)["evidence"]["asked"]
    said: list[tuple[str, Answer]] = [(best[0], "different"), (best[1], "same")]
    verdicts = tuple(Verdict(neighbour_id=one, answer=answer) for one, answer in said)
    request = SettleRequest(request_id=str(uuid4()), candidate_id=c, verdicts=verdicts)
    [refused] = ada.store.settle([request])
    assert isinstance(refused, RefusedError)
    [told] = ada.rows("candidates", "pending, waits_for, held", f"candidate_id = '{c}'")
    assert told == {"pending": True, "waits_for": [], "held": best[1]}
    row = next_question(ada)
    assert (row["waits_as"], row["candidate_id"], row["existing_id"]) == ("pending", c, best[1])
    answer = ada.store.review_same if same else ada.store.review_different
    answer(*pair(row))
    assert ada.store.next_review(owner_id=ada.name) is None
    assert ada.rows("candidates", where="pending") == []
    assert len(ada.rows("memories")) == (1 if same else 2)


def test_a_join_is_confirmed_or_taken_out(ada: Speaker) -> None:
    ada.under(STORE_TIME)
    ada.say("Ada owns a boat", "Ada owns the boat", "Ben has a red car", "Ben has the red car")
    assert ada.rows("joins") == []
    older, newer = ada.say(*OTHER)
    settle(ada, newer, older, "unavailable")
    while (row := next_question(ada))["waits_as"] == "pending":
        ada.store.review_different(*pair(row))
    assert (row["waits_as"], row["decision"]) == ("unreviewed", "fallback_reject")
    ada.store.review_different(*pair(row), because="two keys")
    assert ada.store.next_review(owner_id=ada.name) is None
    assert reviews(ada)["fallback_reject"] == "reversed"
    with pytest.raises(RefusedError, match="no question waits"):
        ada.store.review_same(*pair(row))


FORGOTTEN = "Cleo hides the gifts in the attic"
REWORDED = "Cleo hides the gifts up in the attic"


def test_what_says_again_what_was_forgotten_stays_out(ada: Speaker) -> None:
    ada.under(STORE_TIME)
    [gone] = ada.say(FORGOTTEN)
    ada.store.forget(gone)
    exact, reworded = ada.say(FORGOTTEN, REWORDED)
    rows = ada.rows("review_queue", "candidate_id, existing_id, existing_text, similarity")
    assert {row["candidate_id"]: row["similarity"] == 1.0 for row in rows} == {
        exact: True,
        reworded: False,
    }
    assert {(row["existing_id"], row["existing_text"]) for row in rows} == {(gone, FORGOTTEN)}
    while (row := ada.store.next_review(owner_id=ada.name)) is not None:
        assert row["waits_as"] == "forgotten"
        ada.store.review_same(*pair(row), actor="kim")
    assert ada.faces() == []
    assert ada.rows("review_queue") == []


def test_what_is_not_what_was_forgotten_is_let_in(ada: Speaker) -> None:
    ada.under(STORE_TIME)
    [gone] = ada.say(FORGOTTEN)
    forgotten = ada.store.forget(gone)
    [reworded] = ada.say(REWORDED)
    row = next_question(ada)
    assert (row["waits_as"], row["candidate_id"]) == ("forgotten", reworded)
    back = ada.store.review_different(*pair(row), actor="kim")
    assert dict(back)["restored"] == [reworded]
    assert "undo" not in back, "it would leave the two separated"
    assert ada.store.next_review(owner_id=ada.name) is None
    ada.store.restore(forgotten=forgotten["forgotten"])
    assert ada.faces() == sorted((FORGOTTEN, REWORDED)), "a person said that they are two"
    assert ada.waiting() == []


@pytest.mark.parametrize("kind", ["pending", "unreviewed", "forgotten"])
@pytest.mark.parametrize("same", [True, False])
def test_an_answer_delivered_again_is_answered_as_it_was(
    ada: Speaker, kind: str, same: bool
) -> None:
    ada.under(STORE_TIME)
    if kind == "forgotten":
        [gone] = ada.say(FORGOTTEN)
        ada.store.forget(gone)
        ada.say(REWORDED)
    else:
        older, newer = ada.say(*OTHER)
        if kind == "unreviewed":
            settle(ada, newer, older, "unavailable")
    row, name = next_question(ada), str(uuid4())
    assert row["waits_as"] == kind
    answer = ada.store.review_same if same else ada.store.review_different
    other = ada.store.review_different if same else ada.store.review_same
    with name_request(name):
        first = answer(*pair(row))
        assert answer(*pair(row)) == first
        with pytest.raises(RefusedError, match="id_conflict"):
            other(*pair(row))
    assert ada.store.next_review(owner_id=ada.name) is None


def test_an_answer_that_was_interrupted_is_completed_when_it_is_delivered_again(
    ada: Speaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.under(STORE_TIME)
    [gone] = ada.say(FORGOTTEN)
    forgotten = ada.store.forget(gone)
    ada.say(REWORDED)
    row = next_question(ada)

    def interrupted(*_: object, **__: object) -> NoReturn:
        raise TransientError("the process that decides has ended")

    with name_request(str(uuid4())):
        with monkeypatch.context() as broken:
            broken.setattr(ada.store, "separate", interrupted)
            with pytest.raises(TransientError):
                ada.store.review_different(*pair(row), because="before")
        assert "undo" not in ada.store.review_different(*pair(row), because="after")
        assert "undo" not in ada.store.review_different(*pair(row))
    assert len(ada.rows("separations")) == 1
    ada.store.restore(forgotten=forgotten["forgotten"])
    assert ada.faces() == sorted((FORGOTTEN, REWORDED)), "a person said that they are two"


def test_what_a_person_cannot_tell_is_skipped(ada: Speaker) -> None:
    ada.under(STORE_TIME)
    ada.say(*OTHER, OTHER[0].replace("brass", "tin"))
    waiting = [ada.store.next_review(owner_id=ada.name, skip=n) for n in range(4)]
    assert waiting[0] == next_question(ada)
    assert [row is None for row in waiting] == [False, False, False, True]
    assert len({pair(row) for row in waiting if row}) == 3


@embedded_alone
def test_of_one_owner_alone(ada: Speaker, asking: JudgeSettings) -> None:
    ada.under(STORE_TIME)
    ben = Speaker(ada.store, "ben", STORE_TIME)
    for one in (ada, ben):
        one.say(*SAME, SAME[0].upper())
    assert [next_question(one)["owner_id"] for one in (ada, ben)] == [ada.name, "ben"]
    assert review(ben, asking)["exact"] == 1
    assert reviews(ada)["hash_exact"] == "unreviewed"
