"""Whatever happens to the service becomes an answer, and never the wrong one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from palimpsest.cli.demo.judge import Fault
from palimpsest.contracts.errors import UsageError
from tests.streams.judge.asking import RETRIES, Asking, pair, side

SAME = pair("Ada has a big dog.", "ada has a big dog")
APART = pair("Ada has a dog.", "The build runs at night.")
SOON = {"retry-after": "0.01"}

Message = dict[str, Any]


def given(entries: list[Message]) -> Fault:
    """Another input of the tool than the right one."""
    return Fault(change=lambda message: _with(message, input={"answers": entries}))


def entry(number: Any, answer: Any = "same") -> Message:
    return {"pair": number, "reason": "said so", "answer": answer}


def _with(message: Message, **block: Any) -> Message:
    return message | {"content": [message["content"][0] | block]}


# -- unavailable: the service, not the pair ------------------------------------------------------

AWAY = {
    "rate limit": Fault(429, "rate_limit_error", headers=SOON),
    "overloaded": Fault(529, "overloaded_error"),
    "internal error": Fault(500),
    "bad gateway": Fault(502, body=b"<html>"),
    "service unavailable": Fault(503),
    "request time-out": Fault(408),
    "conflict": Fault(409),
    "hung up": Fault(hang_up=True),
    "no gzip, though it says so": Fault(body=b"{}", headers={"content-encoding": "gzip"}),
}


@pytest.mark.parametrize("fault", AWAY.values(), ids=AWAY)
def test_an_outage_is_tried_again_and_then_an_answer(asking: Asking, fault: Fault) -> None:
    asking.server.always = fault
    (verdict,) = asking.compare(SAME)
    assert verdict.answer == "unavailable"
    assert verdict.reasoning
    assert (verdict.calls, verdict.cost_usd, verdict.input_tokens) == (0, 0, 0)
    assert asking.server.calls == 1 + RETRIES


@pytest.mark.parametrize("fault", AWAY.values(), ids=AWAY)
def test_a_short_outage_is_not_noticed(asking: Asking, fault: Fault) -> None:
    asking.server.fail(*[fault] * RETRIES)
    (verdict,) = asking.compare(SAME)
    assert (verdict.answer, verdict.calls) == ("same", 1)


def test_a_refused_connection_is_an_answer(asking: Asking) -> None:
    asking.server.stop()
    assert asking.answers(SAME, APART) == ["unavailable", "unavailable"]


def test_a_server_that_is_back_is_asked_again(asking: Asking) -> None:
    asking.server.stop()
    assert asking.answers(SAME) == ["unavailable"]
    asking.server.start()
    assert asking.answers(SAME) == ["same"]


def test_a_slow_answer_is_given_up(asking: Asking) -> None:
    asking.server.always = Fault(delay=5.0)
    asking.set(timeout=0.05, retries=0)
    asking.settings = asking.settings.model_copy(update={"patience": 10.0})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("palimpsest.streams.judge.service.SECONDS_A_PAIR", 0.0)
        assert asking.answers(SAME) == ["unavailable"]


def test_a_trickle_that_does_not_end_is_given_up(asking: Asking) -> None:
    """Each byte comes in time, so that no time-out of the connection ever strikes."""
    asking.server.always = Fault(dribble=0.01)
    asking.set(timeout=5.0, patience=1.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("palimpsest.streams.judge.service.SECONDS_A_PAIR", 0.0)
        (verdict,) = asking.compare(SAME)
    assert (verdict.answer, verdict.reasoning) == ("unavailable", "no answer in time")
    assert asking.server.calls == 1


def test_a_long_wait_that_the_service_asks_for_is_not_waited_out(asking: Asking) -> None:
    asking.server.always = Fault(429, headers={"retry-after": "3600"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("palimpsest.streams.judge.service.SECONDS_A_PAIR", 0.0)
        assert asking.set(patience=0.2).answers(SAME) == ["unavailable"]


@pytest.mark.parametrize(
    "fault",
    [
        Fault(400, "invalid_request_error", "Your credit balance is too low to access the API."),
        Fault(402, "billing_error", "There is an issue with your payment."),
    ],
)
def test_no_credit_is_as_a_spent_budget(asking: Asking, fault: Fault) -> None:
    asking.server.always = fault
    assert asking.answers(SAME) == ["unavailable"]


def test_no_answer_is_not_remembered(asking: Asking) -> None:
    asking.server.fail(*[Fault(500)] * (1 + RETRIES))
    assert asking.answers(SAME) == ["unavailable"]
    assert asking.answers(SAME) == ["same"]


def test_half_of_the_requests_may_fail_alone(asking: Asking) -> None:
    asking.ruled(most=1).set(concurrency=1, retries=0)
    asking.server.fail(Fault(), Fault(500))
    assert asking.answers(SAME, pair("One thing.", "one thing"), APART) == [
        "same",
        "unavailable",
        "different",
    ]


# -- unusable: what came back --------------------------------------------------------------------

WRONG = {
    "refusal": Fault(change=lambda m: m | {"stop_reason": "refusal", "content": []}),
    "refusal beside a call": Fault(change=lambda m: m | {"stop_reason": "refusal"}),
    "prose": Fault(
        change=lambda m: m | {"content": [{"type": "text", "text": '{"answer":"same"}'}]}
    ),
    "another tool": Fault(change=lambda m: _with(m, name="delete_memories")),
    "two calls": Fault(change=lambda m: m | {"content": m["content"] * 2}),
    "nothing": Fault(change=lambda m: m | {"content": []}),
    "an input that is text": Fault(change=lambda m: _with(m, input='{"answers": [{"pair": 1')),
    "an input that is a list": Fault(change=lambda m: _with(m, input=[entry(1)])),
    "no input": Fault(change=lambda m: _with(m, input=None)),
    "no list of answers": Fault(change=lambda m: _with(m, input={"answers": {"1": "same"}})),
    "no entry": given([]),
    "an entry that is a word": Fault(change=lambda m: _with(m, input={"answers": ["same"]})),
    "a word that was not offered": given([entry(1, "identical")]),
    "a word of another prompt": given([entry(1, "update")]),
    "a word in capitals": given([entry(1, "SAME")]),
    "no word": given([entry(1, None)]),
    "two words": given([entry(1, ["same", "different"])]),
    "answered twice": given([entry(1), entry(1)]),
    "numbered from 0": given([entry(0)]),
    "a number beyond": given([entry(1), entry(2)]),
    "a number as text": given([entry("1")]),
    "true for a number": given([entry(True)]),
    "no JSON": Fault(body=b'{"id": "msg", "content": [{"type": "tool_use", "inp'),
    "no UTF-8": Fault(body=b'"\xff\xfe"'),
    "no message": Fault(body=b'{"hello": "world"}'),
    "no object": Fault(body=b"[1, 2]"),
    "nothing at all": Fault(body=b" "),
    "a request that is wrong": Fault(400, "invalid_request_error"),
    "a request that is too large": Fault(413, "request_too_large"),
}


NOT_THE_MODELS = {
    "no JSON",
    "no UTF-8",
    "no message",
    "no object",
    "nothing at all",
    "a request that is wrong",
    "a request that is too large",
}
"""What says nothing of the pair, as long as the service has taken no request: it is asked again."""


@pytest.mark.parametrize("kind", WRONG)
def test_an_unusable_answer_of_the_model_is_reported_and_remembered(
    asking: Asking, kind: str
) -> None:
    asking.server.always = WRONG[kind]
    (verdict,) = asking.compare(SAME)
    assert verdict.answer == "unusable"
    assert verdict.reasoning
    calls = asking.server.calls
    assert (calls, verdict.calls) == ((1, 0) if kind.startswith("a request") else (2, 2))
    asking.server.always = None
    if kind in NOT_THE_MODELS:
        assert asking.answers(SAME) == ["same"]
        return
    (again,) = asking.compare(SAME)
    assert (again.answer, again.reasoning, again.calls) == ("unusable", verdict.reasoning, 0)
    assert asking.server.calls == calls


def test_one_unusable_answer_is_not_the_last_word(asking: Asking) -> None:
    for kind in ("prose", "no JSON"):
        asking.server.fail(WRONG[kind])
        (verdict,) = asking.ruled(model=kind).compare(SAME)
        assert (verdict.answer, verdict.calls) == ("same", 2)


def test_another_model_or_prompt_is_asked_about_what_was_unusable(asking: Asking) -> None:
    asking.server.fail(*[WRONG["refusal"]] * 2)
    assert asking.answers(SAME) == ["unusable"]
    assert asking.ruled(ask="relation").answers(SAME) == ["same"]
    assert asking.ruled(model="other").answers(SAME) == ["same"]


def refusing(word: str) -> Callable[[Message], Fault | None]:
    """A model that refuses each request in which a word stands."""
    return lambda request: WRONG["refusal"] if word in request["messages"][0]["content"] else None


def test_one_text_that_is_refused_keeps_no_other_from_its_answer(asking: Asking) -> None:
    asking.server.rule = refusing("poison")
    pairs = [pair(f"Ada has {n} dogs.", f"ada has {n} dogs", str(n)) for n in range(8)]
    pairs[5] = pair("The poison is strong.", "the poison is strong", "5")
    verdicts = asking.compare(*pairs)
    told = ["unusable" if n == 5 else "same" for n in range(8)]
    assert [verdict.answer for verdict in verdicts] == told
    assert asking.server.calls == 8, "eight, four and four, two and two, one and one, one again"
    assert sum(verdict.calls or 0 for verdict in verdicts) == pytest.approx(8)
    assert asking.answers(*pairs) == told
    assert asking.server.calls == 8


def test_pairs_that_no_message_answers_are_not_sent_again_one_by_one(asking: Asking) -> None:
    asking.server.fail(WRONG["no JSON"])
    assert asking.answers(SAME, APART) == ["unusable", "unusable"]
    assert asking.server.calls == 1
    assert asking.answers(SAME, APART) == ["same", "different"]


def test_what_was_unusable_in_company_is_not_remembered(asking: Asking) -> None:
    """Nobody answers while the pairs are asked about one by one: so nothing is known of either."""
    asking.set(retries=0)
    asking.server.fail(WRONG["refusal"], Fault(500), Fault(500))
    assert asking.answers(SAME, APART) == ["unavailable", "unavailable"]
    assert asking.answers(SAME, APART) == ["same", "different"]


def test_a_request_that_is_refused_as_wrong_is_remembered_once_others_were_taken(
    asking: Asking,
) -> None:
    asking.ruled(most=1).set(concurrency=1)
    asking.server.fail(Fault(), Fault(400, "invalid_request_error"))
    assert asking.answers(APART, SAME) == ["different", "unusable"]
    assert asking.answers(SAME) == ["unusable"]
    assert asking.server.calls == 2


def test_pairs_that_half_an_answer_leaves_out_are_asked_about_again(asking: Asking) -> None:
    asking.server.fail(Fault(change=lambda m: _with(m, input={"answers": [entry(2, "different")]})))
    assert asking.answers(SAME, APART, pair("a b", "a b c")) == ["same", "different", "different"]
    assert asking.server.calls == 2
    [first, second] = [orjson.loads(r["messages"][0]["content"]) for r in asking.server.requests]
    assert [len(payload["pairs"]) for payload in (first, second)] == [3, 2]


def test_a_composition_that_is_unusable_is_remembered(asking: Asking) -> None:
    sources = side("It runs at night."), side("It runs on two.", "b", 1)
    asking.server.fail(*[WRONG["refusal"]] * 2)
    for calls in (2, 0):
        composed = asking.compose(*sources)
        assert (composed.text, composed.verdict.answer) == (None, "unusable")
        assert composed.verdict.calls == calls
    assert asking.ruled(model="other").compose(*sources).text


def test_a_composition_that_no_message_answers_is_asked_for_again(asking: Asking) -> None:
    sources = side("It runs at night."), side("It runs on two.", "b", 1)
    asking.server.fail(*[WRONG["no JSON"]] * 2)
    assert asking.compose(*sources).verdict.answer == "unusable"
    assert asking.compose(*sources).text


def test_a_reason_is_recorded_plain_and_not_endless(asking: Asking) -> None:
    asking.server.fail(given([entry(1) | {"reason": "a\0b\nc " + "x" * 1000}]))
    (verdict,) = asking.compare(SAME)
    assert verdict.reasoning == "a b c " + "x" * 294


def test_answers_count_by_their_numbers_and_not_by_their_order(asking: Asking) -> None:
    asking.server.fail(given([entry(3), entry(1), entry(2, "different")]))
    assert asking.answers(SAME, APART, pair("a b", "a b c")) == ["same", "different", "same"]


def test_one_number_too_many_spoils_all(asking: Asking) -> None:
    """Numbered from 0, every answer would be that of the pair before: each is asked alone."""
    asking.server.fail(given([entry(0), entry(1)]))
    assert asking.answers(SAME, APART) == ["same", "different"]
    assert asking.server.calls == 3


def test_a_text_that_was_cut_off_is_not_a_text(asking: Asking) -> None:
    asking.server.always = Fault(change=lambda m: m | {"stop_reason": "max_tokens"})
    composed = asking.compose(side("It runs at night."), side("It runs on two.", "b", 1))
    assert (composed.text, composed.verdict.answer) == (None, "unusable")


@pytest.mark.parametrize("text", [None, 7, ["a"], "a\0b", "x" * (32 * 1024 + 1), "\ud800"])
def test_what_no_memory_may_be_is_not_composed(asking: Asking, text: Any) -> None:
    asking.server.always = Fault(change=lambda m: _with(m, input={"text": text}))
    if text == "\ud800":
        asking.server.always = Fault(body=_lone_surrogate())
    composed = asking.compose(side("It runs at night."), side("It runs on two.", "b", 1))
    assert (composed.text, composed.verdict.answer) == (None, "unusable")


def _lone_surrogate() -> bytes:
    call = '{"type": "tool_use", "name": "compose", "input": {"text": "\\ud800"}}'
    usage = '{"input_tokens": 1, "output_tokens": 1}'
    return f'{{"content": [{call}], "stop_reason": "tool_use", "usage": {usage}}}'.encode()


def test_a_composition_fails_as_a_comparison_does(asking: Asking) -> None:
    asking.server.always = Fault(529)
    composed = asking.compose(side("It runs at night."), side("It runs on two.", "b", 1))
    assert (composed.text, composed.verdict.answer) == (None, "unavailable")


def test_nothing_composed_is_an_empty_text(asking: Asking) -> None:
    asking.server.fail(Fault(change=lambda m: _with(m, input={"text": " \n"})))
    composed = asking.compose(side("It runs at night."), side("Use tabs.", "b", 1))
    assert (composed.text, composed.verdict.answer) == ("", "compose")


# -- what no waiting mends: the run ends, and says why -------------------------------------------


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (Fault(401, "authentication_error"), "ANTHROPIC_API_KEY"),
        (Fault(403, "permission_error"), "ANTHROPIC_API_KEY"),
        (Fault(404, "not_found_error"), "no model claude-haiku-5-5"),
    ],
)
def test_a_wrong_key_or_model_ends_the_run(asking: Asking, fault: Fault, told: str) -> None:
    asking.server.always = fault
    with pytest.raises(UsageError, match=told):
        asking.ruled(most=1).compare(SAME, APART)


@pytest.mark.parametrize("settings", ["HOME", "ANTHROPIC_CONFIG_DIR"])
def test_without_a_key_the_run_ends_before_it_begins(
    asking: Asking, monkeypatch: pytest.MonkeyPatch, settings: str
) -> None:
    """Where the SDK looks for other credentials there are none."""
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv(settings, str(asking.folder))
    with pytest.raises(UsageError, match="set ANTHROPIC_API_KEY"):
        asking.compare(SAME)
    assert asking.server.calls == 0


@pytest.mark.parametrize("address", ["localhost:8089", "ftp://localhost", "localhost"])
def test_what_is_no_address_ends_the_run(asking: Asking, address: str) -> None:
    with pytest.raises(UsageError, match="must begin with https://"):
        asking.set(base_url=address).compare(SAME)


def test_a_service_that_takes_nothing_ends_the_run(asking: Asking) -> None:
    asking.server.always = Fault(400, "invalid_request_error", "tools.0.strict: not permitted")
    asking.ruled(most=1).set(concurrency=1)
    pairs = [pair(f"Ada has {n} dogs.", f"ada has {n} dogs") for n in range(5)]
    with pytest.raises(UsageError, match="takes no request at all"):
        asking.compare(*pairs)
    assert asking.server.calls in {3, 4}  # the next may have begun while the third was read


def test_a_service_that_took_one_may_refuse_others(asking: Asking) -> None:
    asking.ruled(most=1).set(concurrency=1)
    asking.server.fail(Fault(), *[Fault(400, "invalid_request_error")] * 4)
    pairs = [pair(f"Ada has {n} dogs.", f"ada has {n} dogs") for n in range(5)]
    assert asking.answers(*pairs) == ["same", *["unusable"] * 4]


def test_no_error_quotes_a_memory(asking: Asking, caplog: pytest.LogCaptureFixture) -> None:
    secret = "xylophone"
    asking.server.always = Fault(400, "invalid_request_error", f"cannot read {secret}")
    asking.ruled(most=1).set(concurrency=1)
    pairs = [pair(f"{secret} {n}", f"my {secret} {n}") for n in range(4)]
    with pytest.raises(UsageError) as raised:
        asking.compare(*pairs)
    assert secret not in str(raised.value)
    ours = [record for record in caplog.records if record.name.startswith("palimpsest.streams")]
    assert ours
    assert not any(secret in record.getMessage() for record in ours)


def test_a_server_that_is_stopped_twice_is_stopped_and_answers_when_it_is_started(
    asking: Asking,
) -> None:
    asking.set(retries=0)
    asking.server.stop()
    asking.server.stop()
    assert asking.answers(SAME) == ["unavailable"]
    asking.server.start()
    assert asking.answers(SAME) == ["same"]
