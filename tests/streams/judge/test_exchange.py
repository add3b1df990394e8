"""What is sent to a model and read of its answer, byte by byte; and what is owed for it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from palimpsest.contracts.candidate import MAX_TEXT_BYTES
from palimpsest.contracts.errors import StoreError, TransientError
from palimpsest.streams.judge import storage
from palimpsest.streams.judge.messages import (
    ANSWER_TOKENS,
    REASON_CHARACTERS,
    THINKING_TOKENS,
    answer_limit,
    composition_entries,
    fits,
    pairs_payload,
    read_answers,
    read_composed_text,
    request,
    sources_payload,
    to_json,
    tokens,
)
from palimpsest.streams.judge.models import NOTHING, Cost, JudgeModel, Tier, Usage
from palimpsest.streams.judge.pairs import JudgeAnswer, JudgedPair, Side
from palimpsest.streams.judge.prompts import prompt
from palimpsest.streams.judge.settings import JudgeSettings
from palimpsest.streams.judge.storage import Budget, Key, Spent, VerdictCache
from tests.tables import each

AT = datetime(2026, 3, 1, 12, 0, 0, 123_456, tzinfo=UTC)
OLD, NEW = Side("a", "old <b>", AT), Side("b", "new", AT)


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("a é 日 😀", "a é 日 😀"),
        ("<i>", "\\u003ci\\u003e"),
        ("\u200b\u202e", "\\u200b\\u202e"),
        ("a\ufe0f", "a\\ufe0f"),
        ("a\ufdff", "a\ufdff"),
        ("\u3164\u115f\u2800\u034f", "\\u3164\\u115f\\u2800\\u034f"),
        ("\u180b\u180f", "\\u180b\\u180f"),
        ("\U000e0100\U000e01ef", "\\udb40\\udd00\\udb40\\uddef"),
        ("\U000e0041", "\\udb40\\udc41"),
        ("\n", "\\n"),
    ],
)
def test_no_text_is_markup_or_cannot_be_seen(text: str, sent: str) -> None:
    document = to_json({"text": text})
    assert document == f'{{"text": "{sent}"}}'
    assert json.loads(document) == {"text": text}


def test_pairs_are_numbered_and_shown_in_either_order() -> None:
    pairs = [JudgedPair(OLD, NEW), JudgedPair(NEW, OLD)]
    sent = json.loads(pairs_payload(pairs))["pairs"]
    assert [one["pair"] for one in sent] == [1, 2]
    assert [*sent[0]] == ["pair", "older", "newer"]
    assert sent[0]["older"] == {"time": "2026-03-01T12:00:00+00:00", "text": "old <b>"}
    swapped = json.loads(pairs_payload(pairs, swapped=True))["pairs"]
    assert [*swapped[0]] == ["pair", "newer", "older"]
    assert swapped == sent
    assert [memory["text"] for memory in json.loads(sources_payload([OLD, NEW]))["memories"]] == [
        "old <b>",
        "new",
    ]


def test_a_request_offers_the_tool_and_caches_the_prompt() -> None:
    asked = prompt("review")
    sent = request(asked, "claude", "{}", 7)
    assert (sent["model"], sent["max_tokens"], sent["tools"]) == ("claude", 7, [asked.tool])
    assert sent["system"][0]["text"] == asked.text
    assert sent["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert sent["messages"] == [{"role": "user", "content": "{}"}]
    assert sent["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}


def said(*entries: Any) -> dict[str, Any]:
    return {"answers": [*entries]}


def entry(pair: object, answer: object = "same", **more: object) -> dict[str, Any]:
    return {"pair": pair, "answer": answer, **more}


@each(
    ("given", "answers"),
    [
        (said(entry(1), entry(2, "different")), ["same", "different"]),
        (said(entry(2)), [None, "same"]),
        (said(entry(1), entry(1, "different"), entry(2)), [None, "same"]),
        (said(entry(0), entry(1), entry(2)), [None, None]),
        (said(entry(1), entry(3)), [None, None]),
        (said(entry(1, "perhaps"), entry(2)), [None, "same"]),
        (said(entry("1"), "no entry", entry(2, 5), entry(2)), [None, "same"]),
        (said(entry(1, reason=5), entry(2)), [None, "same"]),
        ({"answers": {}}, [None, None]),
        ([entry(1)], [None, None]),
        (None, [None, None]),
    ],
)
def test_of_an_answer_what_is_clear_is_read(given: Any, answers: list[str | None]) -> None:
    found = read_answers(given, ("same", "different"), 2)
    assert [one and one.answer for one in found] == answers


@pytest.mark.parametrize(
    ("reason", "kept"),
    [
        (" a \n b\0c ", "a b c"),
        ("\ud800", "?"),
        ("x" * (REASON_CHARACTERS + 1), "x" * REASON_CHARACTERS),
        ("", ""),
    ],
)
def test_a_reason_is_one_short_line(reason: str, kept: str) -> None:
    [found] = read_answers(said(entry(1, reason=reason)), ("same",), 1)
    assert found is not None
    assert found.reason == kept


@each(
    ("given", "text"),
    [
        ({"text": " a \n"}, "a"),
        ({"text": "  "}, ""),
        ({"text": "x" * MAX_TEXT_BYTES}, "x" * MAX_TEXT_BYTES),
        ({"text": "x" * (MAX_TEXT_BYTES + 1)}, None),
        ({"text": "é" * (MAX_TEXT_BYTES // 2 + 1)}, None),
        ({"text": "a\0b"}, None),
        ({"text": "\ud800"}, None),
        ({"text": 5}, None),
        ({}, None),
        ("a", None),
    ],
)
def test_a_composed_text_is_one_that_a_memory_can_hold(given: Any, text: str | None) -> None:
    assert read_composed_text(given) == text


def test_a_composed_text_may_be_as_long_as_its_sources_together() -> None:
    one = Side("a", "x" * (2 * ANSWER_TOKENS - 2), AT)
    assert tokens(one.text) == ANSWER_TOKENS
    assert composition_entries([one]) == 1
    assert composition_entries([one, NEW]) == 2
    whole = composition_entries([Side("a", "x" * MAX_TEXT_BYTES, AT)])
    assert composition_entries([Side("a", "x" * MAX_TEXT_BYTES, AT)] * 3) == whole


def test_a_request_fits_with_its_answer_to_the_last_token() -> None:
    asked, payload = prompt("compose"), "x" * 999
    answer = THINKING_TOKENS + 3 * ANSWER_TOKENS
    whole = tokens(asked.text) + tokens(payload) + answer
    for context, enough in ((whole, True), (whole - 1, False)):
        model = JudgeModel(context=context, answer=10**6)
        assert answer_limit(3, model) == answer
        assert fits(asked, payload, 3, model) is enough


def test_a_price_is_that_of_the_first_tier_that_holds() -> None:
    tiers = (Tier(input=1, output=2, up_to=10), Tier(input=100, output=200))
    model = JudgeModel(context=1, answer=1, tiers=tiers, reread=0.5)
    assert model.cost(Usage(input_tokens=10, output_tokens=1)) == pytest.approx(12e-6)
    assert model.cost(Usage(input_tokens=11)) == pytest.approx(1_100e-6)
    cached = Usage(cache_creation_input_tokens=4, cache_read_input_tokens=6)
    assert cached.read == 10
    assert model.cost(cached) == pytest.approx((1.25 * 4 + 0.5 * 6) * 1e-6)
    assert JudgeModel(context=1, answer=1, tiers=tiers[:1]).cost(Usage(input_tokens=11)) is None


# -- the file ------------------------------------------------------------------------------------

KEY = Key("aa", "bb", "p", "m")


def test_what_is_owed_is_claimed_once(tmp_path: Path) -> None:
    with closing(VerdictCache(tmp_path / "judge.sqlite")) as cache:
        cost = Cost(1, 2, None, 0.5, 0.25)
        assert cache.claim(KEY) is None
        cache.put({KEY: JudgeAnswer("same")})
        cache.put({KEY: JudgeAnswer("same", cost=cost)})
        cache.put({Key("aa", "bb", "p", "other"): JudgeAnswer("same")})
    with closing(VerdictCache(tmp_path / "judge.sqlite")) as cache:
        assert cache.claim(Key("bb", "aa", "p", "m")) is None
        assert cache.claim(KEY) == cost
        assert cache.claim(KEY) == NOTHING


def test_a_later_answer_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    with closing(VerdictCache(tmp_path / "judge.sqlite")) as cache:
        cache.put({KEY: JudgeAnswer("unusable", "a")})
        cache.put({KEY: JudgeAnswer("compose", None, text="both", cost=Cost(1))})
        found = cache.get(KEY)
    assert found == JudgeAnswer("compose", None, text="both"), "what was paid is not paid again"


def test_a_locked_file_is_tried_again_and_a_broken_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "BUSY_SECONDS", 0.0)
    file = tmp_path / "judge.sqlite"
    with closing(VerdictCache(file)) as cache, closing(sqlite3.connect(file)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(TransientError, match=r"keeps .* locked: try again"):
            cache.put({KEY: JudgeAnswer("same", None)})
        other.rollback()
        other.execute("DROP TABLE answers")
        with pytest.raises(StoreError, match="cannot be used"):
            cache.get(KEY)


def test_no_day_costs_less_than_nothing(tmp_path: Path) -> None:
    settings = JudgeSettings(daily_usd=1.0)
    with closing(Budget(tmp_path / "judge.sqlite", settings, lambda: AT)) as budget:
        assert budget.in_money
        reserved = budget.reserve(0.5)
        assert reserved is not None
        assert (reserved.day, reserved.usd) == ("2026-03-01", 0.5)
        budget.give_back(reserved)
        budget.settle(reserved, 0.25)
        assert budget.spent() == Spent(0, 0.0)
    with closing(Budget(tmp_path / "judge.sqlite", JudgeSettings(), lambda: AT)) as free:
        assert not free.in_money
