"""What is asked, in which order, what is remembered, and what a verdict says of it."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from palimpsest.cli.demo.judge import Fault
from palimpsest.contracts import policy
from palimpsest.contracts.candidate import MAX_TEXT_BYTES
from palimpsest.streams.judge.judge import Judge
from palimpsest.streams.judge.messages import (
    ANSWER_TOKENS,
    BYTES_A_TOKEN,
    THINKING_TOKENS,
    answer_limit,
)
from palimpsest.streams.judge.models import Usage, model
from palimpsest.streams.judge.prompts import prompt
from palimpsest.streams.judge.service import TokenBucket
from tests.streams.judge.asking import Asking, pair, side

SAME = pair("Ada has a big dog.", "ada has a big dog", "s")
UPDATE = pair("The timeout is 30 s.", "The timeout is 60 s.", "u")
COMPOSE = pair("The big job runs at night.", "The big job runs there.", "c")
APART = pair("Ada has a dog.", "The build runs at night.", "d")
ALL = (SAME, UPDATE, COMPOSE, APART)


def payloads(asking: Asking) -> list[dict[str, Any]]:
    return [orjson.loads(body["messages"][0]["content"]) for body in asking.server.requests]


def answering(*said: str) -> Fault:
    """The answers about the pairs of a request, in their order."""
    entries = [{"pair": n, "reason": "r", "answer": a} for n, a in enumerate(said, 1)]

    def change(message: dict[str, Any]) -> dict[str, Any]:
        message["content"][0]["input"] = {"answers": entries}
        return message

    return Fault(change=change)


# -- what is asked -------------------------------------------------------------------------------


def test_same_is_asked_in_one_order(asking: Asking) -> None:
    assert asking.answers(*ALL) == ["same", "different", "different", "different"]
    (payload,) = payloads(asking)
    assert [list(one) for one in payload["pairs"]] == [["pair", "older", "newer"]] * 4
    assert payload["pairs"][0]["newer"] == {
        "time": "2026-01-01T01:00:00+00:00",
        "text": "ada has a big dog",
    }


def test_what_would_change_a_text_is_asked_the_other_way_round_too(asking: Asking) -> None:
    asking.ruled(ask="relation")
    assert asking.answers(*ALL) == ["same", "update", "compose", "different"]
    first, second = payloads(asking)
    assert [list(one) for one in first["pairs"]] == [["pair", "older", "newer"]] * 4
    assert [list(one) for one in second["pairs"]] == [["pair", "newer", "older"]] * 2
    assert [one["older"]["text"] for one in second["pairs"]] == [
        UPDATE.older.text,
        COMPOSE.older.text,
    ]


@pytest.mark.parametrize(
    ("once", "again", "answer"),
    [
        ("update", "update", "update"),
        ("compose", "compose", "compose"),
        ("update", "compose", "different"),
        ("compose", "update", "different"),
        ("update", "same", "different"),
        ("compose", "different", "different"),
    ],
)
def test_two_answers_that_differ_keep_both(
    asking: Asking, once: str, again: str, answer: str
) -> None:
    asking.server.fail(answering(once), answering(again))
    (verdict,) = asking.ruled(ask="relation").compare(UPDATE)
    assert verdict.answer == answer
    if once != again:
        assert verdict.reasoning == f"{once} in one order, {again} in the other"
    assert verdict.calls == 2


@pytest.mark.parametrize("once", ["same", "different"])
def test_what_changes_no_text_is_asked_once(asking: Asking, once: str) -> None:
    asking.server.fail(answering(once))
    assert asking.ruled(ask="relation").answers(UPDATE) == [once]
    assert asking.server.calls == 1


@pytest.mark.parametrize(
    ("fault", "answer"), [(Fault(500), "unavailable"), (answering("perhaps"), "unusable")]
)
def test_half_a_question_is_no_verdict(asking: Asking, fault: Fault, answer: str) -> None:
    asking.set(retries=0).ruled(ask="relation")
    asking.server.fail(Fault(), fault, fault)
    assert asking.answers(UPDATE) == [answer]


def test_where_all_is_composed_nothing_is_asked_before(asking: Asking) -> None:
    assert asking.ruled(ask="compose").answers(UPDATE, APART) == ["compose", "compose"]
    assert asking.server.calls == 0


def test_no_pairs_are_no_question(asking: Asking) -> None:
    assert asking.compare() == []
    assert asking.server.calls == 0


def test_a_review_is_by_the_stronger_model(asking: Asking) -> None:
    verdicts = asking.ruled(ask="relation").review(SAME, UPDATE)
    assert [v.answer for v in verdicts] == ["same", "different"]
    assert {v.model for v in verdicts} == {"claude-opus-5-5"}
    assert {v.prompt for v in verdicts} == {prompt("review").id}
    (body,) = asking.server.requests
    assert body["model"] == "claude-opus-5-5"


def test_several_texts_are_composed_oldest_first(asking: Asking) -> None:
    sources = [side("It runs at night.", "a"), side("It is slow.", "b", 1), side("On two.", "c", 2)]
    composed = asking.compose(*sources)
    assert composed.text == "It runs at night. It is slow. On two."
    assert composed.verdict.neighbour_id == "a"
    assert composed.verdict.prompt == prompt("compose").id
    (payload,) = payloads(asking)
    assert [memory["text"] for memory in payload["memories"]] == [s.text for s in sources]


def test_the_models_of_the_policy_are_asked(asking: Asking) -> None:
    asking.ruled(model="small", review_model="strong")
    asking.compare(SAME)
    asking.review(SAME)
    asking.compose(SAME.older, SAME.newer)
    assert [body["model"] for body in asking.server.requests] == ["small", "strong", "small"]


# -- what is remembered --------------------------------------------------------------------------


@pytest.mark.parametrize("ask", ["same", "relation"])
def test_what_was_answered_is_not_asked_again(asking: Asking, ask: str) -> None:
    first = asking.ruled(ask=ask).compare(*ALL)
    paid = asking.server.calls
    again = asking.compare(*reversed(ALL))
    assert asking.server.calls == paid
    assert [v.answer for v in reversed(again)] == [v.answer for v in first]
    assert {(v.calls, v.cost_usd, v.input_tokens, v.output_tokens) for v in again} == {(0, 0, 0, 0)}
    assert {v.prompt for v in again} == {v.prompt for v in first}


def test_only_what_is_missing_is_asked(asking: Asking) -> None:
    asking.compare(SAME, APART)
    asking.compare(SAME, UPDATE, APART)
    assert [len(payload["pairs"]) for payload in payloads(asking)] == [2, 1]


def test_a_crash_between_two_orders_pays_the_first_once(asking: Asking) -> None:
    asking.set(retries=0).ruled(ask="relation")
    asking.server.fail(Fault(), Fault(500))
    assert asking.answers(UPDATE) == ["unavailable"]
    assert asking.answers(UPDATE) == ["update"]
    assert asking.server.calls == 3


def test_a_pack_that_was_answered_is_remembered_though_another_fails(asking: Asking) -> None:
    asking.ruled(most=1).set(concurrency=1, retries=0)
    asking.server.fail(Fault(), Fault(401, "authentication_error"))
    with pytest.raises(Exception, match="ANTHROPIC_API_KEY"):
        asking.compare(SAME, APART)
    asking.compare(SAME)
    assert asking.server.calls == 2


@pytest.mark.parametrize(
    "other",
    [
        {"ask": "relation"},
        {"model": "claude-sonnet-5-5"},
    ],
)
def test_another_prompt_or_model_is_asked_again(asking: Asking, other: dict[str, Any]) -> None:
    asking.compare(SAME)
    asking.ruled(**other).compare(SAME)
    assert asking.server.calls == 2


def test_a_pair_the_other_way_round_is_another(asking: Asking) -> None:
    asking.compare(pair("Ada has a dog.", "Ada has a dog called Rex."))
    asking.compare(pair("Ada has a dog called Rex.", "Ada has a dog."))
    assert asking.server.calls == 2


def test_other_candidates_with_these_texts_are_known_already(asking: Asking) -> None:
    asking.compare(SAME)
    (verdict,) = asking.compare(pair(SAME.older.text, SAME.newer.text, "another"))
    assert (verdict.neighbour_id, verdict.answer, verdict.calls) == ("another", "same", 0)


def test_equal_pairs_of_one_question_are_asked_once_and_paid_once(asking: Asking) -> None:
    twin = pair(SAME.older.text, SAME.newer.text, "twin")
    verdicts = asking.compare(SAME, twin, APART)
    assert [v.answer for v in verdicts] == ["same", "same", "different"]
    assert [v.neighbour_id for v in verdicts] == ["s", "twin", "d"]
    assert [v.calls for v in verdicts] == [0.5, 0, 0.5]
    assert len(payloads(asking)[0]["pairs"]) == 2


def test_a_composed_text_is_remembered(asking: Asking) -> None:
    first = asking.compose(COMPOSE.older, COMPOSE.newer)
    again = asking.compose(COMPOSE.older, COMPOSE.newer)
    assert (again.text, again.verdict.calls) == (first.text, 0)
    assert asking.server.calls == 1


def test_sources_in_another_order_are_another_composition(asking: Asking) -> None:
    a, b, c = side("One."), side("Two.", "b", 1), side("Three.", "c", 2)
    texts = [asking.compose(*some).text for some in [(a, b, c), (b, a, c), (a, b), (a, c, b)]]
    assert texts == ["One. Two. Three.", "Two. One. Three.", "One. Two.", "One. Three. Two."]
    assert asking.server.calls == 4


def test_the_file_holds_no_text_but_what_was_composed(asking: Asking) -> None:
    asking.ruled(ask="relation").compare(*ALL)
    composed = asking.compose(COMPOSE.older, COMPOSE.newer)
    held = b"".join(file.read_bytes() for file in asking.folder.glob("judge.sqlite*"))
    for one in (*ALL,):
        assert one.older.text.encode() not in held.replace((composed.text or "").encode(), b"")
    assert (composed.text or "?").encode() in held


# -- what it cost --------------------------------------------------------------------------------


def test_pairs_that_share_a_request_share_its_cost(asking: Asking) -> None:
    verdicts = asking.compare(*ALL)
    (alone,) = asking.ruled(model="claude-sonnet-5-5").compare(SAME)
    assert sum(v.calls or 0 for v in verdicts) == 1
    spent = asking.by(_spent)
    usd = sum(v.cost_usd or 0 for v in (*verdicts, alone))
    assert spent.usd == pytest.approx(usd)
    assert spent.calls == 2
    tokens = sum(v.input_tokens or 0 for v in verdicts)
    assert all((v.input_tokens or 0) in {tokens // 4, tokens // 4 + 1} for v in verdicts)
    assert all((v.seconds or 0) > 0 for v in verdicts)


async def _spent(judge: Judge) -> Any:
    return judge.budget.spent()


def test_both_orders_are_paid(asking: Asking) -> None:
    (verdict,) = asking.ruled(ask="relation").compare(UPDATE)
    (other,) = asking.ruled(ask="same").compare(UPDATE)
    assert verdict.calls == 2
    assert (verdict.cost_usd or 0) > 1.5 * (other.cost_usd or 0) > 0


def test_an_unusable_answer_is_paid_too(asking: Asking) -> None:
    asking.server.always = answering("perhaps")
    (verdict,) = asking.compare(SAME)
    assert (verdict.answer, verdict.calls) == ("unusable", 2)
    assert (verdict.cost_usd or 0) > 0


def test_of_an_unknown_model_no_cost_is_known(asking: Asking) -> None:
    (verdict,) = asking.ruled(model="home-made").compare(SAME)
    assert verdict.cost_usd is None
    assert (verdict.input_tokens or 0) > 0


def test_the_prompt_is_marked_for_caching_and_what_that_saves_is_counted(asking: Asking) -> None:
    (verdict,) = asking.compare(SAME)
    (body,) = asking.server.requests
    assert body["system"][0]["cache_control"] == {"type": "ephemeral"}
    uncached = Usage(
        input_tokens=verdict.input_tokens or 0, output_tokens=verdict.output_tokens or 0
    )
    assert 0 < (verdict.cost_usd or 0) < (model("claude-haiku-5-5").cost(uncached) or 0)


# -- what a composed text may be as long as -------------------------------------------------------


def test_a_composed_text_may_be_as_long_as_its_sources_together(asking: Asking) -> None:
    short = asking.compose(side("It runs at night."), side("It runs on two.", "b", 1))
    sources = [side(f"{n} " + "word " * 1200, str(n), n) for n in range(3)]
    long = asking.compose(*sources)
    assert short.text
    assert long.text
    first, second = (body["max_tokens"] for body in asking.server.requests)
    assert first == answer_limit(1, model(asking.rules.model))
    assert second - THINKING_TOKENS >= sum(len(s.text.encode()) for s in sources) / BYTES_A_TOKEN


def test_no_composed_text_is_longer_than_a_memory_may_be(asking: Asking) -> None:
    asking.compose(*(side(f"{n} " + "x" * 30_000, str(n), n) for n in range(4)))
    body, _ = asking.server.requests  # the stand-in's text is too long, so it is asked again
    longest = MAX_TEXT_BYTES / BYTES_A_TOKEN + 2 * ANSWER_TOKENS
    assert body["max_tokens"] - THINKING_TOKENS <= longest


def test_more_text_than_the_model_reads_is_not_sent(asking: Asking) -> None:
    asking.ruled(model="claude-haiku-4-5")
    made = asking.compose(*(side(f"{n} " + "x" * 32_000, str(n), n) for n in range(13)))
    assert (made.text, made.verdict.answer, made.verdict.calls) == (None, "unusable", None)
    assert asking.server.calls == 0


# -- a dry run -------------------------------------------------------------------------------------


def test_what_a_dry_run_paid_is_in_the_first_verdict_that_is_recorded(asking: Asking) -> None:
    asking.ruled(ask="relation").is_dry_run = True
    paid = asking.compare(*ALL)
    assert sum(v.calls or 0 for v in paid) == pytest.approx(2)
    assert [v.calls for v in asking.compare(*ALL)] == [0, 0, 0, 0]
    asking.is_dry_run = False
    recorded = asking.compare(*ALL, ALL[0])
    assert [(v.answer, v.calls, v.cost_usd) for v in recorded[:4]] == [
        (v.answer, v.calls, v.cost_usd) for v in paid
    ]
    assert recorded[4].calls == 0, "the same pair again"
    assert [v.calls for v in asking.compare(*ALL)] == [0, 0, 0, 0]
    assert asking.server.calls == 2


def test_a_dry_runs_judge_is_dry_under_other_rules_too(asking: Asking) -> None:
    asking.is_dry_run = True
    other = policy.Judge(ask="relation")
    [paid] = asking.by(lambda judge: judge.by(other).compare([SAME]))
    asking.is_dry_run = False
    assert asking.ruled(ask="relation").compare(SAME) == [paid]


def test_a_text_that_a_dry_run_composed_costs_whoever_records_it(asking: Asking) -> None:
    asking.is_dry_run = True
    paid = asking.compose(COMPOSE.older, COMPOSE.newer).verdict
    asking.is_dry_run = False
    assert asking.compose(COMPOSE.older, COMPOSE.newer).verdict == paid
    assert asking.compose(COMPOSE.older, COMPOSE.newer).verdict.calls == 0


# -- at once -------------------------------------------------------------------------------------


def test_a_question_is_cut_into_packs_that_are_under_way_together(asking: Asking) -> None:
    pairs = [pair(f"Ada has {n} dogs.", f"ada has {n} dogs", f"{n}") for n in range(10)]
    verdicts = asking.ruled(most=3).compare(*pairs)
    assert [v.neighbour_id for v in verdicts] == [f"{n}" for n in range(10)]
    assert [v.answer for v in verdicts] == ["same"] * 10
    assert sorted(len(payload["pairs"]) for payload in payloads(asking)) == [1, 3, 3, 3]


def test_an_answer_may_be_as_long_as_so_many_pairs_need(asking: Asking) -> None:
    asking.ruled(most=3).compare(*ALL)
    limits = [
        (len(p["pairs"]), b["max_tokens"])
        for p, b in zip(payloads(asking), asking.server.requests, strict=True)
    ]
    known = model(asking.rules.model)
    assert limits == [(count, answer_limit(count, known)) for count, _ in limits]
    assert len({limit for _, limit in limits}) == 2


def test_no_more_than_so_many_requests_are_under_way(asking: Asking) -> None:
    asking.server.delay = 0.01
    asking.ruled(most=1).set(concurrency=2)
    asking.compare(*(pair(f"Ada has {n} dogs.", f"ada has {n} dogs") for n in range(8)))
    assert asking.server.calls == 8
    assert asking.server.most_at_once == 2


def test_each_request_takes_a_token_before_it_is_sent(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent_before: list[tuple[float, int]] = []

    class Counted(TokenBucket):
        def __init__(self, rate: float) -> None:
            super().__init__(rate)
            self.rate = rate

        async def take(self) -> None:
            sent_before.append((self.rate, asking.server.calls))
            await super().take()

    monkeypatch.setattr("palimpsest.streams.judge.service.TokenBucket", Counted)
    asking.ruled(most=1).set(calls_per_second=7.0, concurrency=1).compare(SAME, APART)
    assert sent_before == [(7.0, 0), (7.0, 1)]


def test_a_judge_by_other_rules_shares_the_service(asking: Asking) -> None:
    async def question(judge: Judge) -> list[str]:
        other = judge.by(policy.Judge(ask="relation", model="claude-sonnet-5-5"))
        both = await asyncio.gather(judge.compare([UPDATE]), other.compare([UPDATE]))
        return [verdict.answer for verdicts in both for verdict in verdicts]

    assert asking.by(question) == ["different", "update"]


def test_it_is_asked_only_between_entering_and_leaving(asking: Asking) -> None:
    judge = Judge.beside(asking.folder, asking.rules, asking.settings, lambda: asking.now)
    with pytest.raises(RuntimeError, match="enter it first"):
        asyncio.run(judge.compare([SAME]))
    judge.close()
