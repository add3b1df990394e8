"""A question's verdicts: best neighbour first, until one is the same."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import pytest

from palimpsest.contracts.evidence import Answer
from palimpsest.contracts.policy import Judge
from palimpsest.contracts.questions import (
    QUESTION,
    AnyQuestion,
    AskedNeighbour,
    AskedText,
    ComposeQuestion,
    SettleQuestion,
)
from palimpsest.contracts.requests import ComposeRequest, SettleRequest
from palimpsest.streams.judge.batching import Batcher, BatchSettings
from palimpsest.streams.judge.pairs import JudgedPair
from palimpsest.streams.judge.verifier import Decided, Undecided, Verifier, request_id
from tests.streams.judge.stand_in import AT, StandIn

NEWCOMER = "11111111-1111-5111-8111-111111111111"
JOIN = "22222222-2222-5222-8222-222222222222"
RULES = Judge()


def asked(name: str, text: str | None = None, at: datetime = AT) -> AskedText:
    return AskedText(candidate_id=name, text=text or name.upper(), recorded_at=at)


def about(
    *names: str, face: tuple[str, ...] = (), rules: Judge = RULES, decided: str = NEWCOMER
) -> SettleQuestion:
    """A question about a newcomer and these neighbours; `face` speaks for each."""
    return SettleQuestion(
        owner_id="ada",
        policy="sha256:0",
        rules=rules,
        decision_id=decided,
        candidate=asked(NEWCOMER, "NEW"),
        asked=tuple(
            AskedNeighbour(side=asked(name), face=tuple(map(asked, face))) for name in names
        ),
    )


def compose_question(*sources: str, rules: Judge = RULES) -> ComposeQuestion:
    return ComposeQuestion(
        owner_id="ada",
        policy="sha256:0",
        rules=rules,
        decision_id=JOIN,
        sources=tuple(map(asked, sources)),
    )


def by_name(answers: Mapping[str, Answer]) -> StandIn:
    def rule(pair: JudgedPair) -> Answer:
        return answers[pair.older.candidate_id]

    return StandIn(rule)


def answered(judge: StandIn, question: AnyQuestion, patience: float = 0.0) -> Decided | Undecided:
    verifier = Verifier(lambda _: judge, Batcher(BatchSettings(patience=patience)))
    return asyncio.run(verifier.answer(question))


def settled(judge: StandIn, question: SettleQuestion) -> SettleRequest:
    request = answered(judge, question)
    assert isinstance(request, SettleRequest)
    assert request.candidate_id == NEWCOMER
    return request


def verdicts_of(request: SettleRequest | Undecided) -> list[tuple[str, str]]:
    return [(verdict.neighbour_id, verdict.answer) for verdict in request.verdicts]


@pytest.mark.parametrize("last", ["same", "update", "unavailable"])
def test_it_asks_until_one_settles(last: Answer) -> None:
    judge = by_name({"a": "different", "b": "unusable", "c": last, "d": "same"})
    request = settled(judge, about("a", "b", "c", "d"))
    assert verdicts_of(request) == [("a", "different"), ("b", "unusable"), ("c", last)]
    assert judge.asked == [[(name, NEWCOMER)] for name in "abc"]
    assert (request.composed, request.sources) == (None, ())


def test_where_none_is_the_same_all_verdicts_are_brought() -> None:
    request = settled(by_name({"a": "different", "b": "different"}), about("a", "b"))
    assert verdicts_of(request) == [("a", "different"), ("b", "different")]


def test_a_text_is_composed_of_the_face_and_the_newcomer() -> None:
    judge = by_name({"a": "different", "b": "compose", "c": "same"})
    request = settled(judge, about("a", "b", "c", face=("x", "y")))
    assert verdicts_of(request) == [("a", "different"), ("b", "compose")]
    assert request.composed == "X + Y + NEW"
    assert request.sources == ("x", "y", NEWCOMER)
    assert judge.composed == [["x", "y", NEWCOMER]]
    verdict = request.verdicts[-1]
    assert (verdict.calls, verdict.cost_usd, verdict.input_tokens) == (2, 0.75, 10)


def test_a_text_is_composed_of_the_neighbour_where_it_speaks_for_itself() -> None:
    request = settled(by_name({"b": "compose"}), about("b"))
    assert (request.composed, request.sources) == ("B + NEW", ("b", NEWCOMER))


def test_a_text_that_nobody_composed_is_the_verdict() -> None:
    judge = by_name({"b": "compose"})
    judge.composes = "unavailable"
    request = settled(judge, about("b"))
    assert verdicts_of(request) == [("b", "unavailable")]
    assert (request.composed, request.sources) == (None, ())
    assert request.verdicts[0].cost_usd == 0.75


def test_what_has_no_usable_answer_waits() -> None:
    judge = by_name({"a": "unusable", "b": "different"})
    judge.why = "the model refused"
    for names in (("a",), ("a", "b"), ("b", "a")):
        left = answered(judge, about(*names))
        assert isinstance(left, Undecided)
        assert left.reason == "the model refused"
        assert [verdict.neighbour_id for verdict in left.verdicts] == [*names]


def test_a_text_that_was_composed_unusably_waits_with_its_cost() -> None:
    judge = by_name({"b": "compose"})
    judge.composes = "unusable"
    left = answered(judge, about("b"))
    assert isinstance(left, Undecided)
    assert [(verdict.answer, verdict.cost_usd) for verdict in left.verdicts] == [("unusable", 0.75)]


def test_an_empty_composition_merges_nothing() -> None:
    judge = by_name({"b": "compose"})
    judge.empty = True
    request = settled(judge, about("b"))
    assert verdicts_of(request) == [("b", "compose")]
    assert request.sources == ()
    assert not request.composed


def test_a_join_gets_a_new_text_of_what_is_left() -> None:
    judge = StandIn()
    request = answered(judge, compose_question("a", "b"))
    assert isinstance(request, ComposeRequest)
    assert (request.decision_id, request.text, request.sources) == (JOIN, "A + B", ("a", "b"))
    assert request.verdicts[0].cost_usd == 0.5


def test_a_text_that_could_not_be_recreated_is_left_for_later() -> None:
    for empty, answer in ((True, "compose"), (False, "unusable"), (False, "unavailable")):
        judge = StandIn()
        judge.empty, judge.composes = empty, answer  # type: ignore[assignment]
        left = answered(judge, compose_question("a", "b"))
        assert isinstance(left, Undecided)
        assert [verdict.answer for verdict in left.verdicts] == [answer]


def test_a_policy_without_a_judge_asks_nobody() -> None:
    judge, nobody = StandIn(), Judge(enabled=False)
    assert verdicts_of(settled(judge, about("a", "b", rules=nobody))) == [("a", "unavailable")]
    assert isinstance(answered(judge, compose_question("a", "b", rules=nobody)), Undecided)
    assert judge.calls == 0


def test_the_request_has_the_same_id_whenever_it_is_asked() -> None:
    question = about("a", "b")
    first = settled(by_name({"a": "same"}), question)
    again = settled(by_name({"a": "different", "b": "different"}), question)
    assert first.request_id == again.request_id == request_id(question)
    assert request_id(compose_question("a", "b")) != request_id(compose_question("a", "c"))
    lost_again = compose_question("a", "b").model_copy(update={"lost_by": JOIN})
    assert request_id(lost_again) != request_id(compose_question("a", "b"))


def test_what_became_pending_again_is_another_question() -> None:
    assert request_id(about("a")) != request_id(about("a", decided=JOIN))


# -- the same at once ----------------------------------------------------------------------------


def of_each_owner(count: int, *names: str) -> list[SettleQuestion]:
    """The same texts of each owner, whose candidates have ids of their own."""
    return [
        about(*(f"{name}-{owner}" for name in names)).model_copy(
            update={
                "owner_id": f"owner {owner}",
                "asked": tuple(
                    AskedNeighbour(side=asked(f"{name}-{owner}", name.upper())) for name in names
                ),
            }
        )
        for owner in range(count)
    ]


def together(
    judge: StandIn, questions: Sequence[SettleQuestion]
) -> list[SettleRequest | Undecided]:
    """The requests of questions that are all in hand before the first is answered."""

    async def asking() -> list[SettleRequest | Undecided]:
        judge.gate = asyncio.Event()
        verifier = Verifier(lambda _: judge, Batcher(BatchSettings(patience=0.0)))
        tasks = [asyncio.create_task(verifier.answer(question)) for question in questions]
        while not judge.under_way:  # noqa: ASYNC110 - nobody gives word of it
            await asyncio.sleep(0)
        tasks.append(asyncio.create_task(verifier.answer(questions[0])))
        for _ in range(5):
            await asyncio.sleep(0)
        judge.gate.set()
        return [one for one in await asyncio.gather(*tasks) if not isinstance(one, ComposeRequest)]

    return asyncio.run(asking())


def test_equal_texts_of_two_owners_that_are_under_way_at_once_are_paid_once() -> None:
    judge = StandIn()
    requests = together(judge, of_each_owner(3, "a"))
    assert [verdicts_of(request) for request in requests] == [
        [(f"a-{owner}", "different")] for owner in (0, 1, 2, 0)
    ]
    assert len(judge.asked) == 1
    paid = [(v.calls, v.cost_usd, v.input_tokens) for request in requests for v in request.verdicts]
    assert paid == [(1, 0.25, 10), *[(0, 0, 0)] * 3]


def test_a_text_composed_of_equal_ones_at_once_is_paid_once() -> None:
    judge = StandIn(lambda _: "compose")
    answers = together(judge, of_each_owner(2, "a"))
    requests = [answer for answer in answers if isinstance(answer, SettleRequest)]
    assert [request.composed for request in requests] == ["A + NEW"] * 3
    assert [request.sources for request in requests] == [(f"a-{n}", NEWCOMER) for n in (0, 1, 0)]
    assert (len(judge.asked), len(judge.composed)) == (1, 1)
    assert [request.verdicts[0].calls for request in requests] == [2, 0, 0]


@pytest.mark.parametrize("failure", ["unusable", "unavailable"])
def test_what_would_not_be_remembered_is_not_shared(failure: Answer) -> None:
    """One owner's spoilt answer is not another's."""
    judge = StandIn(lambda pair: failure if pair.older.candidate_id == "a-0" else "same")
    requests = together(judge, of_each_owner(3, "a"))
    answers = [verdict.answer for request in requests for verdict in request.verdicts]
    assert answers == [failure, "same", "same", failure]


@pytest.mark.parametrize(
    ("answer", "paid"), [("different", (1, 0.25)), ("compose", (2, 0.75)), ("same", (1, 0.25))]
)
def test_who_asked_first_may_go_without_taking_the_answer_or_its_cost_along(
    answer: Answer, paid: tuple[float, float]
) -> None:
    async def story() -> None:
        judge = StandIn(lambda _: answer, gate=asyncio.Event())
        assert judge.gate is not None
        verifier = Verifier(lambda _: judge, Batcher(BatchSettings()))
        first, second = (asyncio.create_task(verifier.answer(q)) for q in of_each_owner(2, "a"))
        while not judge.under_way:  # noqa: ASYNC110 - nobody gives word of it
            await asyncio.sleep(0)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        judge.gate.set()
        request = await second
        assert isinstance(request, SettleRequest)
        assert verdicts_of(request) == [("a-1", answer)]
        assert [(v.calls, v.cost_usd) for v in request.verdicts] == [paid]
        assert judge.calls == paid[0]

    asyncio.run(story())


def test_the_judge_is_the_one_of_the_questions_rules() -> None:
    strict, asked_with = Judge(ask="same"), []

    def judge_of(rules: Judge) -> StandIn:
        asked_with.append(rules)
        return StandIn()

    verifier = Verifier(judge_of, Batcher(BatchSettings()))
    asyncio.run(verifier.answer(about("a", rules=strict)))
    assert {*asked_with} == {strict}


# -- when it happened ------------------------------------------------------------------------------

BEFORE, AFTER = AT - timedelta(days=1), AT + timedelta(days=1)


def read_late(*neighbours: AskedNeighbour) -> SettleQuestion:
    """A question about a newcomer that came in last, and happened in between."""
    return about("a").model_copy(update={"asked": neighbours})


def test_a_pair_is_shown_in_the_order_of_its_moments_whoever_came_first() -> None:
    judge = StandIn()
    later = AskedNeighbour(side=asked("a", at=AFTER), speaker="s")
    request = settled(judge, read_late(later, AskedNeighbour(side=asked("b", at=BEFORE))))
    assert judge.asked == [[(NEWCOMER, "a")], [("b", NEWCOMER)]]
    assert verdicts_of(request) == [("a", "different"), ("b", "different")]
    assert [verdict.speaker for verdict in request.verdicts] == ["s", None]


def test_what_happened_at_once_is_shown_in_the_order_of_arrival() -> None:
    judge = StandIn()
    settled(judge, read_late(AskedNeighbour(side=asked("a"))))
    assert judge.asked == [[("a", NEWCOMER)]]


def test_a_text_is_composed_in_the_order_of_the_moments() -> None:
    face = (asked("x", at=BEFORE), asked("y", at=AFTER))
    request = settled(
        StandIn(lambda _: "compose"), read_late(AskedNeighbour(side=asked("a"), face=face))
    )
    assert request.composed == "X + NEW + Y"
    assert request.sources == ("x", NEWCOMER, "y")


def test_a_question_of_an_older_version_is_read_with_the_time_of_its_recording() -> None:
    line = about("a").model_dump_json().encode()
    assert b'"recorded_at":"2026-01-02T00:00:00' in line
    assert QUESTION.validate_json(line) == about("a")


def test_a_text_that_two_ask_for_at_once_is_each_ones_own() -> None:
    judge = StandIn()
    other = compose_question("x", "y").model_copy(
        update={
            "owner_id": "ben",
            "decision_id": NEWCOMER,
            "sources": (asked("x", "A"), asked("y", "B")),
        }
    )

    async def both() -> list[Decided | Undecided]:
        verifier = Verifier(lambda _: judge, Batcher(BatchSettings(patience=0.0)))
        return [*await asyncio.gather(*map(verifier.answer, (compose_question("a", "b"), other)))]

    first, second = asyncio.run(both())
    assert isinstance(first, ComposeRequest)
    assert isinstance(second, ComposeRequest)
    assert judge.calls == 1
    assert [one.verdicts[0].neighbour_id for one in (first, second)] == ["a", "x"]
    assert second.sources == ("x", "y")
