"""One contract for all protocols, through the real SDKs and over the wire."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import orjson
import pytest
from google.auth import default
from google.oauth2.credentials import Credentials
from pydantic import ValidationError

from palimpsest.cli.demo.judge import Fault
from palimpsest.contracts.errors import UsageError
from palimpsest.streams.judge.prompts import ANSWERS, Name, decision, in_json, prompt
from palimpsest.streams.judge.protocols.contract import REFUSED
from palimpsest.streams.judge.settings import JudgeSettings, Platform, Protocol
from tests.streams.judge.asking import RETRIES, Asking, pair, side

SAME = pair("Ada has a big dog.", "ada has a big dog", "s")
UPDATE = pair("The timeout is 30 s.", "The timeout is 60 s.", "u")
APART = pair("Ada has a dog.", "The build runs at night.", "d")
SECRET = "xylophone"
GOOGLE = Credentials("test")  # type: ignore[no-untyped-call]
Body = dict[str, Any]
Change = Callable[[Body], object]


@dataclass(frozen=True)
class Spoken:
    """A protocol: what its answers can be instead of usable, and what they know of a pair."""

    protocol: Protocol
    key: str
    url: str
    wrong: dict[str, Change]
    probability: dict[str, float | None]
    writes: bool = True
    named: str = "judge-5-latest"
    platform: Platform | None = None

    @property
    def name(self) -> str:
        """What tells it from the others."""
        return self.platform or self.protocol


# -- how answers go wrong ------------------------------------------------------------------------


def block(**changed: Any) -> Change:
    return lambda body: body | {"content": [body["content"][0] | changed]}


def said(content: Callable[[str], str | None], **more: Any) -> Change:
    def change(body: Body) -> Body:
        [choice] = body["choices"]
        message = choice["message"]
        written = message | {"content": content(message["content"])} | more.get("message", {})
        return body | {"choices": [choice | {"message": written} | more.get("choice", {})]}

    return change


def in_answers(kind: str, **changed: Any) -> Change:
    """Change each answer of a kind: they are a list at one vendor, a map at the other."""

    def changed_if(one: Body) -> Body:
        return one | changed if one["type"] == kind else one

    def change(body: Body) -> Body:
        answers = body["answers"]
        if isinstance(answers, list):
            return body | {"answers": [changed_if(answer) for answer in answers]}
        return body | {"answers": {name: changed_if(answer) for name, answer in answers.items()}}

    return change


def probabilities(*values: Any, label: str = "same") -> Change:
    """The same labels with other probabilities."""

    def change(body: Body) -> object:
        answers = body["answers"]
        for answer in answers if isinstance(answers, list) else answers.values():
            if answer["type"] != "choice":
                continue
            if isinstance(answer["probabilities"], list):
                for listed, value in zip(answer["probabilities"], values, strict=True):
                    listed["probability"] = value
            else:
                answer["probabilities"] = dict(zip(answer["probabilities"], values, strict=True))
            answer["choice"] = label
        return body

    return change


def without(name: str) -> Change:
    def change(body: Body) -> Body:
        answers = body["answers"]
        if isinstance(answers, list):
            return body | {"answers": [answer for answer in answers if answer["name"] != name]}
        return body | {"answers": {key: answer for key, answer in answers.items() if key != name}}

    return change


ANSWERED = '{"answers": [{"pair": 1, "reason": "", "answer": "same"}]}'
THOUGHT = "<think>They are the same.</think>"
FENCED = f"```json\n{ANSWERED}\n```"
WRITTEN = {"type": "text"}
MESSAGES_GO_WRONG: dict[str, Change] = {
    "refusal": lambda body: body | {"stop_reason": "refusal", "content": []},
    "thinking alone": lambda body: body | {"content": [{"type": "thinking", "thinking": "same"}]},
    "prose": lambda body: body | {"content": [{"type": "text", "text": '{"answer": "same"}'}]},
    "thinking before": lambda body: body | {"content": [WRITTEN | {"text": THOUGHT + ANSWERED}]},
    "a code fence": lambda body: body | {"content": [WRITTEN | {"text": FENCED}]},
    "half JSON": block(input='{"answers": [{"pair": 1, "ans'),
    "cut off": lambda body: block(input={"answers": [{"pair": 1}]})(
        body | {"stop_reason": "max_tokens"}
    ),
    "a wrong label": block(input={"answers": [{"pair": 1, "reason": "", "answer": "SAME"}]}),
    "a wrong type": block(input={"answers": [{"pair": "1", "reason": "", "answer": "same"}]}),
    "no answer": block(input={"answers": []}),
}
CHATS_GO_WRONG: dict[str, Change] = {
    "refusal": said(lambda _: None, message={"refusal": f"I cannot read {SECRET}."}),
    "filtered": said(lambda _: "", choice={"finish_reason": "content_filter"}),
    "thinking before": said(lambda text: f"<think>They are the same.</think>{text}"),
    "thinking alone": said(lambda _: "<think>Let me see, same"),
    "a code fence": said(lambda text: f"```json\n{text}\n```"),
    "prose": said(lambda _: "They are the same."),
    "half JSON": said(lambda text: text[: len(text) // 2], choice={"finish_reason": "length"}),
    "a word": said(lambda _: '"same"'),
    "a list": said(lambda text: f"[{text}]"),
    "nothing": said(lambda _: None),
    "a wrong label": said(lambda text: text.replace('"answer":"same"', '"answer":"yes"')),
    "a wrong type": said(lambda text: text.replace('"pair":1', '"pair":"1"')),
    "no answer": said(lambda _: '{"answers": []}'),
}
DECISIONS_GO_WRONG: dict[str, Change] = {
    "refusal": in_answers("choice", type="refusal"),
    "no choice": without("pair_1"),
    "no probability": without("same_1"),
    "no answer": lambda body: body | {"answers": []},
    "text": lambda body: body | {"answers": "same"},
    "a wrong label": in_answers("choice", choice="yes"),
    "a wrong type": in_answers("choice", choice=1),
    "a label that is a boolean": in_answers("choice", choice=True),
    "a label that is a list": in_answers("choice", choice=["same"]),
    "too little": probabilities(0.5, 0.2),
    "too much": probabilities(0.96, 0.5),
    "below zero": probabilities(1.2, -0.2),
    "text as a probability": probabilities("0.96", "0.04"),
    "none": probabilities(None, None),
    "another label is likelier": probabilities(0.2, 0.8),
    "no probabilities": in_answers("choice", probabilities=None),
}


def yes(kind: str, name: str) -> dict[str, Change]:
    changes: dict[str, Change] = {"refusal of the other": in_answers(kind, type="refusal")}
    for value in (1.5, -0.1, "0.9", None, True):
        changes[f"{value!r} as the probability of yes"] = in_answers(kind, **{name: value})
    return changes


PROTOCOLS = [
    Spoken(
        "anthropic",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        MESSAGES_GO_WRONG,
        {"same": None, "different": None},
    ),
    Spoken(
        "anthropic",
        "AWS_ACCESS_KEY_ID",
        "ANTHROPIC_BEDROCK_BASE_URL",
        MESSAGES_GO_WRONG,
        {"same": None, "different": None},
        platform="bedrock",
    ),
    Spoken(
        "anthropic",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "ANTHROPIC_VERTEX_BASE_URL",
        MESSAGES_GO_WRONG,
        {"same": None, "different": None},
        platform="vertex",
    ),
    Spoken(
        "openai-chat",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        CHATS_GO_WRONG,
        {"same": 0.96, "different": 0.04},
    ),
    Spoken(
        "openai-decisions",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        DECISIONS_GO_WRONG | yes("predicate", "probability"),
        {"same": 0.96, "different": 0.04},
        writes=False,
    ),
    Spoken(
        "systemone",
        "TYPESAFE_API_KEY",
        "TYPESAFE_BASE_URL",
        DECISIONS_GO_WRONG | yes("noul", "noul"),
        {"same": 0.96, "different": 0.04},
        writes=False,
    ),
]
BY_NAME = {one.name: one for one in PROTOCOLS}
WRONG = [(one.name, kind) for one in PROTOCOLS for kind in one.wrong]


@pytest.fixture(params=PROTOCOLS, ids=[one.name for one in PROTOCOLS])
def spoken(request: pytest.FixtureRequest) -> Spoken:
    protocol: Spoken = request.param
    return protocol


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of every service; those of Google's are found without asking anyone."""
    for one in PROTOCOLS:
        monkeypatch.setenv(one.key, "test")
        monkeypatch.delenv(one.url, raising=False)
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("CLOUD_ML_REGION", "europe-west1")
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setattr("google.auth.default", lambda **_: (GOOGLE, "a-project"))


def by(spoken: Spoken, asking: Asking) -> Asking:
    return asking.set(protocol=spoken.protocol, platform=spoken.platform, model=spoken.named)


@pytest.fixture
def judge(spoken: Spoken, asking: Asking) -> Asking:
    return by(spoken, asking)


# -- what is asked and what is read of an answer -------------------------------------------------


def test_a_verdict_has_what_the_answer_says(spoken: Spoken, judge: Asking) -> None:
    judge.server.always = Fault(change=lambda body: body | {"model": "judge-5-20260901"})
    for verdict in (*judge.compare(SAME, APART), *judge.compare(SAME, APART)):
        assert verdict.model == "judge-5-20260901", "as it answered, not as it was asked"
        assert verdict.prompt
        assert verdict.prompt.startswith("compare-same@sha256:")
        assert verdict.cost_usd in {None, 0}
        assert verdict.seconds is not None
        likely = spoken.probability[verdict.answer]
        assert verdict.probability == (None if likely is None else pytest.approx(likely, abs=1e-4))
    assert judge.server.calls == 1
    assert [v.answer for v in judge.compare(SAME, APART)] == ["same", "different"]


def test_tokens_are_counted(judge: Asking) -> None:
    [verdict] = judge.compare(SAME)
    assert verdict.calls == 1
    assert (verdict.input_tokens or 0) > 20
    assert verdict.output_tokens


def counts(value: object) -> Change:
    """The usage with this value for each count, whatever the protocol calls it."""

    def change(body: Body) -> Body:
        details = {"cached_tokens": value, "audio_tokens": value}
        found = {name: details if name.endswith("details") else value for name in body["usage"]}
        return body | {"usage": found}

    return change


def both_counts(value: int) -> Change:
    """The usage under the names of several protocols at once."""
    kinds = ("prompt", "completion", "input", "output", "cache_creation_input", "cache_read_input")
    usage = {f"{kind}_tokens": value for kind in kinds}
    return lambda body: body | {"usage": usage}


@pytest.mark.parametrize(
    "change",
    [
        counts(None),
        counts(-1),
        counts("ten"),
        counts(2**63),
        counts(1.5),
        lambda body: body | {"usage": None},
        lambda body: body | {"usage": [7]},
        lambda body: {name: value for name, value in body.items() if name != "usage"},
    ],
    ids=["null", "negative", "text", "huge", "a fraction", "no object", "a list", "none"],
)
def test_an_answer_counts_whatever_its_usage_is(judge: Asking, change: Change) -> None:
    """LiteLLM and vLLM write null for what they do not count; a huge count fits into no view."""
    judge.server.always = Fault(change=change)
    [verdict] = judge.compare(SAME)
    assert verdict.answer == "same"
    assert verdict.calls == 1
    assert verdict.input_tokens == verdict.output_tokens == 0


def test_counts_under_two_names_add_up_or_are_left_out(judge: Asking) -> None:
    """A count may be as large as can be recorded, and its sum with another is then larger."""
    judge.server.always = Fault(change=both_counts(2**40 - 1))
    [verdict] = judge.compare(SAME)
    assert verdict.answer == "same"


def test_a_probability_of_no_named_model_is_none(judge: Asking) -> None:
    judge.server.always = Fault(change=lambda body: body | {"model": None})
    [verdict] = judge.compare(SAME)
    assert (verdict.answer, verdict.probability) == ("same", None)


def test_relations_are_asked_in_both_orders(judge: Asking) -> None:
    verdicts = judge.ruled(ask="relation").compare(SAME, UPDATE, APART)
    assert [v.answer for v in verdicts] == ["same", "update", "different"]
    assert judge.server.calls == 2
    assert verdicts[1].calls == pytest.approx(1 / 3 + 1)


def test_a_review_is_by_its_own_model(judge: Asking) -> None:
    judge.set(review_model="judge-6")
    assert [v.answer for v in judge.review(SAME, UPDATE)] == ["same", "different"]
    assert [request["model"] for request in judge.server.requests] == ["judge-6"]


def test_a_text_is_composed_by_a_model_that_writes(spoken: Spoken, judge: Asking) -> None:
    composed = judge.compose(side("It runs at night."), side("It is slow.", "b", 1))
    if spoken.writes:
        assert composed.text == "It runs at night. It is slow."
        assert composed.verdict.answer == "compose"
    else:
        assert (composed.text, composed.verdict.answer) == (None, "unusable")
        assert judge.server.calls == 0


def test_no_text_is_more_than_data(judge: Asking) -> None:
    judge.compare(pair("Ada has a <b>dog</b>.", "a\u200bb", "x"))
    [request] = judge.server.requests
    sent = orjson.dumps(request).decode()
    assert "<b>" not in sent
    assert "\u200b" not in sent


def test_many_pairs_are_more_requests(judge: Asking) -> None:
    pairs = [pair(f"Ada has {n} dogs.", f"ada has {n} dogs", str(n)) for n in range(230)]
    assert judge.answers(*pairs) == ["same"] * 230
    assert judge.server.calls in {2, 3}


# -- unusable ------------------------------------------------------------------------------------


def test_each_protocol_goes_wrong_in_every_way(spoken: Spoken) -> None:
    """Beside what its own wire shape allows, and the bodies below, which all are sent."""
    assert spoken.wrong.keys() >= {"refusal", "a wrong label", "a wrong type", "no answer"}
    if spoken.writes:
        assert spoken.wrong.keys() >= {"thinking before", "a code fence", "half JSON", "prose"}


@pytest.mark.parametrize(("name", "kind"), WRONG, ids=[f"{p}: {k}" for p, k in WRONG])
def test_what_is_no_answer_decides_nothing(
    name: str, kind: str, asking: Asking, caplog: pytest.LogCaptureFixture
) -> None:
    spoken = BY_NAME[name]
    caplog.set_level(logging.INFO, "palimpsest")
    asking.server.always = Fault(change=spoken.wrong[kind])
    [verdict] = by(spoken, asking).compare(SAME)
    assert (verdict.answer, verdict.probability) == ("unusable", None)
    assert verdict.reasoning
    assert (verdict.reasoning == REFUSED) == kind.startswith(("refusal", "filtered"))
    assert SECRET not in f"{verdict} {caplog.text}"


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b'{"model": "m", "answ',
        b'{"choices": [{"message": {"content": "{',
        b'{"content": [{"type": "tool_use", "na',
        f"{THOUGHT}{ANSWERED}".encode(),
        FENCED.encode(),
        b"[1, 2]",
        b'"text"',
        b"null",
        b" ",
        b"\xff",
        b"1e999",
        b'{"answers": 5, "choices": 5, "content": 5}',
        b'{"answers": "same", "choices": [], "content": [{}]}',
        b'{"answers": 5, "choices": [{"message": []}], "content": [7], "usage": "x"}',
        b'{"model": 7, "choices": [{"message": {"content": "{}"}}], "content": [], "answers": {}}',
    ],
)
def test_what_is_no_message_is_not_remembered(judge: Asking, body: bytes) -> None:
    judge.server.always = Fault(body=body)
    assert judge.answers(SAME) == ["unusable"]
    judge.server.always = None
    assert judge.answers(SAME) == ["same"]


def lacking_one(given: str) -> str:
    """What a model wrote, without its answer about the second pair."""
    answers = orjson.loads(given)["answers"]
    return orjson.dumps({"answers": [one for one in answers if one["pair"] != 2]}).decode()


def message_lacking_one(body: Body) -> object:
    [call] = body["content"]
    given = orjson.loads(lacking_one(orjson.dumps(call["input"]).decode()))
    return body | {"content": [call | {"input": given}]}


LACKS_ONE: dict[str, Change] = {
    "anthropic": message_lacking_one,
    "openai-chat": said(lacking_one),
}


def test_one_pair_without_an_answer_keeps_no_other_from_its_own(
    spoken: Spoken, judge: Asking
) -> None:
    judge.server.fail(Fault(change=LACKS_ONE.get(spoken.protocol, without("pair_2"))))
    assert judge.answers(SAME, APART, UPDATE) == ["same", "different", "different"]
    assert judge.server.calls == 2


def test_a_choice_that_contradicts_its_probability_joins_nothing(
    spoken: Spoken, judge: Asking
) -> None:
    changes = {"openai-decisions": ("predicate", "probability"), "systemone": ("noul", "noul")}
    if spoken.protocol not in changes:
        pytest.skip("one answer cannot contradict itself")
    kind, name = changes[spoken.protocol]
    judge.server.always = Fault(change=in_answers(kind, **{name: 0.4}))
    [verdict] = judge.compare(SAME)
    assert (verdict.answer, verdict.probability) == ("different", 0.4)
    assert "below one half" in (verdict.reasoning or "")


# -- unavailable ---------------------------------------------------------------------------------

AWAY = {
    "rate limit": Fault(429, "rate_limit_error", headers={"retry-after": "0.01"}),
    "overloaded": Fault(529, "overloaded_error"),
    "internal error": Fault(500),
    "bad gateway": Fault(502, body=b"<html>"),
    "service unavailable": Fault(503),
    "time-out": Fault(408),
    "conflict": Fault(409),
    "hung up": Fault(hang_up=True),
    "cut": Fault(cut=True),
    "no gzip, though it says so": Fault(body=b"{}", headers={"content-encoding": "gzip"}),
}


@pytest.mark.parametrize("fault", AWAY.values(), ids=AWAY)
def test_an_outage_is_retried_and_then_an_answer(judge: Asking, fault: Fault) -> None:
    judge.server.always = fault
    [verdict] = judge.compare(SAME)
    assert (verdict.answer, verdict.calls, verdict.cost_usd) == ("unavailable", 0, 0)
    assert judge.server.calls == 1 + RETRIES
    judge.server.always = None
    judge.server.fail(*[fault] * RETRIES)
    assert judge.answers(SAME) == ["same"]


def test_an_endless_answer_is_given_up(judge: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("palimpsest.streams.judge.service.SECONDS_A_PAIR", 0.0)
    judge.server.always = Fault(dribble=0.01)
    [verdict] = judge.set(timeout=5.0, patience=0.3).compare(SAME)
    assert (verdict.answer, verdict.reasoning) == ("unavailable", "no answer in time")


def test_a_slow_answer_is_given_up(judge: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("palimpsest.streams.judge.service.SECONDS_A_PAIR", 0.0)
    judge.server.always = Fault(delay=5.0)
    assert judge.set(timeout=0.05, retries=0).answers(SAME) == ["unavailable"]


def test_a_long_wait_that_the_service_asks_for_is_not_waited_out(
    judge: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palimpsest.streams.judge.service.SECONDS_A_PAIR", 0.0)
    judge.server.always = Fault(429, headers={"retry-after": "50"})
    assert judge.set(patience=0.2).answers(SAME) == ["unavailable"]


def test_a_server_that_is_not_there_is_an_answer(judge: Asking) -> None:
    judge.server.stop()
    assert judge.answers(SAME) == ["unavailable"]


# -- what waiting does not mend ------------------------------------------------------------------


@pytest.mark.parametrize(("status", "told"), [(401, None), (403, None), (404, "judge-5-latest")])
def test_a_wrong_key_or_model_ends_the_run(
    spoken: Spoken, judge: Asking, status: int, told: str | None
) -> None:
    judge.server.always = Fault(status, message=SECRET)
    with pytest.raises(UsageError, match=told or spoken.key) as raised:
        judge.compare(SAME)
    assert SECRET not in str(raised.value)


def test_a_service_that_takes_no_request_ends_the_run(judge: Asking) -> None:
    judge.server.always = Fault(400, "invalid_request_error", SECRET)
    pairs = [pair(f"Ada has {n} dogs.", f"ada has {n} dogs") for n in range(5)]
    with pytest.raises(UsageError, match="takes no request at all") as raised:
        judge.ruled(most=1).set(concurrency=1).compare(*pairs)
    assert SECRET not in str(raised.value)


def test_without_a_key_and_an_address_the_run_ends(
    spoken: Spoken, judge: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(spoken.key)
    monkeypatch.setenv("HOME", str(judge.folder))
    monkeypatch.setattr("google.auth.default", default)
    with pytest.raises(UsageError, match=spoken.key if spoken.key[0] != "T" else spoken.url):
        judge.set(base_url=None).compare(SAME)


def test_a_server_at_another_address_may_need_no_key(
    spoken: Spoken, judge: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    if spoken.protocol == "anthropic":
        pytest.skip("its SDK wants credentials, whichever")
    monkeypatch.delenv(spoken.key)
    assert judge.answers(SAME) == ["same"]


def test_the_address_may_stand_in_the_environment(
    spoken: Spoken, judge: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(spoken.url, judge.server.url)
    assert judge.set(base_url=None).answers(SAME) == ["same"]


@pytest.mark.parametrize(
    "address",
    [
        *("localhost:8089", "ftp://localhost", "localhost", "http://", "http://:80"),
        *("http://localhost:99999", "https://localhost:api", "http://[::1"),
    ],
)
def test_what_is_no_address_ends_the_run(judge: Asking, address: str) -> None:
    with pytest.raises(UsageError, match="must begin with https://"):
        judge.set(base_url=address).compare(SAME)


def test_another_path_of_a_host_is_kept(asking: Asking) -> None:
    by(BY_NAME["systemone"], asking).set(base_url=f"{asking.server.url}/v2")
    assert asking.answers(SAME) == ["same"]


# -- settings and prompts ------------------------------------------------------------------------


def test_another_protocol_names_its_model(spoken: Spoken) -> None:
    if spoken.name == "anthropic":
        assert JudgeSettings(protocol=spoken.protocol).model is None
        return
    with pytest.raises(ValidationError, match="needs `model`"):
        JudgeSettings(protocol=spoken.protocol, platform=spoken.platform)


def test_a_platform_is_anthropics_alone() -> None:
    with pytest.raises(ValidationError, match="platform vertex has no protocol openai-chat"):
        JudgeSettings(protocol="openai-chat", platform="vertex", model="m")


def test_answers_of_two_protocols_are_remembered_apart(asking: Asking) -> None:
    prompts = {by(spoken, asking).compare(SAME)[0].prompt for spoken in PROTOCOLS}
    assert len(prompts) == asking.server.calls == len(get_args(Protocol))


@pytest.mark.parametrize("name", [*ANSWERS, "compose"])
def test_a_chat_is_asked_for_json_and_not_for_a_tool(name: Name) -> None:
    written = in_json(prompt(name))
    assert "Call the tool" not in written.text
    assert "Write one JSON object of the form {" in written.text
    assert written.id != prompt(name).id


@pytest.mark.parametrize("name", ANSWERS)
def test_a_decision_has_labels_for_all_answers_but_a_text(name: Name) -> None:
    assert set(decision(name).means.values()) == set(ANSWERS[name]) - {"compose"}
    assert set(decision(name).means) == set(decision(name).choices)
    assert "{pair}" in decision(name).choice
    assert "{pair}" in decision(name).same


# -- chats ---------------------------------------------------------------------------------------


@pytest.fixture
def chat(asking: Asking) -> Asking:
    return by(BY_NAME["openai-chat"], asking)


def refusing(*parameters: str) -> Callable[[Body], Fault | None]:
    def rule(request: Body) -> Fault | None:
        for parameter in parameters:
            if parameter in request:
                error = {"message": "no", "type": "invalid_request_error", "param": parameter}
                return Fault(400, body=orjson.dumps({"error": error}))
        return None

    return rule


def test_what_a_model_refuses_is_left_out(chat: Asking) -> None:
    chat.server.rule = refusing("temperature", "max_tokens", "logprobs")
    [verdict] = chat.compare(SAME)
    assert (verdict.answer, verdict.probability) == ("same", None)
    sent = chat.server.requests[-1]
    assert {"temperature", "max_tokens", "logprobs", "top_logprobs"}.isdisjoint(sent)
    assert sent["max_completion_tokens"] > 0


def test_a_parameter_that_is_refused_for_ever_ends_nothing(chat: Asking) -> None:
    chat.server.rule = refusing("messages")
    assert chat.answers(SAME) == ["unusable"]


def tokens(*listed: tuple[str, float, dict[str, float]]) -> Change:
    """An answer that consists of these tokens, with their alternatives."""
    content = [
        {
            "token": text,
            "logprob": math.log(p),
            "top_logprobs": [{"token": k, "logprob": math.log(v)} for k, v in others.items()],
        }
        for text, p, others in listed
    ]
    whole = "".join(text for text, _, _ in listed)
    return said(lambda _: whole, choice={"logprobs": {"content": content}})


BEGIN = '{"answers": [{"pair": 1, "reason": "", "answer":'


@pytest.mark.parametrize(
    ("listed", "probability"),
    [
        ([(' "', 1.0, {}), ("same", 0.9, {})], 0.9),
        ([(' "', 1.0, {}), ("sa", 0.9, {}), ("me", 0.5, {})], 0.45),
        ([(' "', 1.0, {}), ("different", 0.7, {"same": 0.2, "different": 0.7})], 0.2),
        ([(' "different', 0.7, {' "same': 0.2})], 0.2),
        ([(' "', 1.0, {}), ("diff", 0.7, {"sa": 0.2}), ("erent", 1.0, {})], 0.2),
        ([(' "', 1.0, {}), ("different", 0.7, {'"': 0.2, "same": 0.1})], 0.1),
        ([(' "', 1.0, {}), ("different", 0.99, {"other": 0.01})], None),
    ],
)
def test_a_probability_is_that_of_the_tokens(
    chat: Asking, listed: list[tuple[str, float, dict[str, float]]], probability: float | None
) -> None:
    chat.server.always = Fault(change=tokens((BEGIN, 1.0, {}), *listed, ('"}]}', 1.0, {})))
    [verdict] = chat.compare(SAME)
    expected = None if probability is None else pytest.approx(probability, abs=1e-6)
    assert verdict.probability == expected


@pytest.mark.parametrize(
    ("answer", "probability"), [("same", 0.9), ("different", 0.2)], ids=["same", "different"]
)
def test_a_character_of_several_tokens_hides_no_probability(
    chat: Asking, answer: str, probability: float
) -> None:
    """Such tokens have no text of their own, only bytes."""
    dog = "🐕".encode()
    halves = [{"token": repr(half)[2:-1], "bytes": [*half]} for half in (dog[:2], dog[2:])]
    before = '{"answers": [{"pair": 1, "reason": "Le chien dit être un '
    listed: list[dict[str, Any]] = [
        {"token": before, "bytes": [*before.encode()]},
        *halves,
        *(
            {"token": text, "bytes": [*text.encode()]}
            for text in ('", "answer": "', answer, '"}]}')
        ),
    ]
    content = [{"logprob": 0.0, "top_logprobs": [], **token} for token in listed]
    others = [{"token": "same", "logprob": math.log(0.2), "bytes": [*b"same"]}]
    content[-2] |= {"logprob": math.log(0.9), "top_logprobs": others}
    whole = f'{before}🐕", "answer": "{answer}"}}]}}'
    chat.server.always = Fault(
        change=said(lambda _: whole, choice={"logprobs": {"content": content}})
    )
    [verdict] = chat.compare(SAME)
    assert verdict.answer == answer
    assert verdict.probability == pytest.approx(probability, abs=1e-6)


@pytest.mark.parametrize("logprobs", [None, 5, {"content": None}, {"content": [{"token": "x"}]}])
def test_tokens_that_say_nothing_are_no_probability(chat: Asking, logprobs: object) -> None:
    chat.server.always = Fault(change=said(lambda text: text, choice={"logprobs": logprobs}))
    [verdict] = chat.compare(SAME)
    assert (verdict.answer, verdict.probability) == ("same", None)


def test_a_probability_that_the_model_writes_itself_is_none(chat: Asking) -> None:
    written = '{"answers": [{"pair": 1, "reason": "", "answer": "same", "probability": 1}]}'
    chat.server.always = Fault(change=said(lambda _: written, choice={"logprobs": None}))
    [verdict] = chat.compare(SAME)
    assert (verdict.answer, verdict.probability) == ("same", None)


def test_a_file_of_an_earlier_version_is_read(asking: Asking, tmp_path: Path) -> None:
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(tmp_path / "judge.sqlite")) as old:
        old.execute(
            "CREATE TABLE answers (older BLOB, newer BLOB, prompt TEXT, model TEXT,"
            " answer TEXT NOT NULL, reason TEXT, text TEXT,"
            " PRIMARY KEY (older, newer, prompt, model)) WITHOUT ROWID"
        )
        key = bytes.fromhex(SAME.older.hash), bytes.fromhex(SAME.newer.hash)
        known = (*key, prompt("compare-same").id, "judge-4", "same", "said", None)
        old.execute("INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)", known)
        old.commit()
    [verdict] = asking.set(model="judge-4").compare(SAME)
    assert (verdict.answer, verdict.model, verdict.probability) == ("same", "judge-4", None)
    assert asking.server.calls == 0
