"""Pairs share requests up to a share of the context; prices and prompts are what the files say."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest.contracts import policy
from palimpsest.streams.judge.messages import (
    ANSWER_TOKENS,
    THINKING_TOKENS,
    answer_limit,
    pack,
    pairs_payload,
    tokens,
)
from palimpsest.streams.judge.models import UNKNOWN, Cost, JudgeModel, Usage, model
from palimpsest.streams.judge.prompts import ANSWERS, Name, Prompt, prompt
from tests.long import examples
from tests.streams.judge.asking import pair

SAME = prompt("compare-same")


@given(
    sizes=st.lists(st.integers(1, 900), max_size=30),
    most=st.integers(1, 500),
    share=st.floats(0.01, 1.0),
    context=st.integers(10_000, 60_000),
)
@settings(max_examples=examples(200))
def test_every_pair_is_in_one_pack_and_no_pack_is_too_large(
    sizes: list[int], most: int, share: float, context: int
) -> None:
    pairs = [pair("a" * size, "\x01" * size) for size in sizes]
    small = JudgeModel(context=context, answer=20_000)
    packs = pack(pairs, SAME, small, policy.Judge(most=most, share=share))
    assert [place for some in packs for place in some] == list(range(len(pairs)))
    for some in packs:
        assert 1 <= len(some) <= most
        payload = pairs_payload([pairs[place] for place in some])
        written = tokens(SAME.text) + tokens(payload)
        answered = THINKING_TOKENS + ANSWER_TOKENS * len(some)
        assert len(some) == 1 or written + answered <= share * context
        assert len(some) == 1 or answered <= small.answer


def test_the_published_limits_are_those_of_the_default() -> None:
    """Half of the context, at most five hundred pairs."""
    pairs = [pair(f"Ada has {n} dogs.", f"ada has {n} dogs") for n in range(1_100)]
    packs = pack(pairs, SAME, model("claude-haiku-5-5"), policy.Judge())
    assert [len(some) for some in packs] == [500, 500, 100]
    assert policy.Judge().share == 0.5


def test_a_pack_is_no_larger_than_the_models_answer_can_be() -> None:
    pairs = [pair(f"Ada has {n} dogs.", f"ada has {n} dogs") for n in range(25)]
    short = JudgeModel(context=1_000_000, answer=THINKING_TOKENS + 10 * ANSWER_TOKENS)
    assert [len(some) for some in pack(pairs, SAME, short, policy.Judge())] == [10, 10, 5]


def test_no_pairs_need_no_pack() -> None:
    assert pack([], SAME, UNKNOWN, policy.Judge()) == []


def test_an_answer_has_room_for_all_pairs_and_for_thinking() -> None:
    assert answer_limit(1, UNKNOWN) > THINKING_TOKENS
    assert answer_limit(500, model("claude-haiku-5-5")) == THINKING_TOKENS + 500 * ANSWER_TOKENS
    assert answer_limit(10_000, UNKNOWN) == UNKNOWN.answer


@given(st.text(max_size=300))
def test_no_text_is_estimated_shorter_than_its_byte_pair_encoding(text: str) -> None:
    assert 2 * tokens(text) > len(text.encode())


# -- prices --------------------------------------------------------------------------------------


def test_a_price_is_that_of_all_that_was_read_and_written() -> None:
    usage = Usage(input_tokens=10_000, output_tokens=2_000)
    assert model("claude-opus-5-5").cost(usage) == pytest.approx(0.08)


def test_long_requests_cost_more_if_the_service_says_so() -> None:
    haiku = model("claude-haiku-5-5")
    assert haiku.cost(Usage(input_tokens=100_000)) == pytest.approx(0.01)
    assert haiku.cost(Usage(input_tokens=100_001)) == pytest.approx(0.0500005)
    cached = Usage(input_tokens=1, cache_read_input_tokens=100_000)
    assert haiku.cost(cached) == pytest.approx(0.0050005)


def test_what_the_service_caches_costs_more_once_and_less_after() -> None:
    sonnet = model("claude-sonnet-5-5")
    assert sonnet.cost(Usage(cache_creation_input_tokens=1_000)) == pytest.approx(0.0025)
    assert sonnet.cost(Usage(cache_read_input_tokens=1_000)) == pytest.approx(0.0001)


def test_a_model_is_known_with_its_date_too() -> None:
    assert model("claude-haiku-4-5-20251001") == model("claude-haiku-4-5") != UNKNOWN


def test_an_unknown_model_has_no_price() -> None:
    assert model("home-made") == UNKNOWN
    assert UNKNOWN.cost(Usage(input_tokens=1)) is None


def test_the_models_of_the_policy_have_prices() -> None:
    for name in (policy.Judge().model, policy.Judge().review_model):
        assert model(name).tiers


@given(
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.none() | st.floats(0, 100),
    st.integers(1, 500),
)
def test_the_parts_of_a_cost_are_the_cost(read: int, said: int, usd: float | None, n: int) -> None:
    whole = Cost(read, said, usd, 2.0, 1.0)
    parts = whole.parts(n)
    total = sum(parts[1:], parts[0])
    assert (total.input_tokens, total.output_tokens) == (read, said)
    assert total.usd == (None if usd is None else pytest.approx(usd))
    assert total.seconds == pytest.approx(2.0)
    assert total.calls == pytest.approx(1.0)


# -- prompts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", get_args(Name))
def test_a_prompt_is_named_by_its_hash(name: Name) -> None:
    shipped = prompt(name)
    assert re.fullmatch(rf"{name}@sha256:[0-9a-f]{{16}}", shipped.id)
    assert Prompt(name, shipped.text + " ", shipped.tool).id != shipped.id
    assert Prompt(name, shipped.text, shipped.tool | {"strict": False}).id != shipped.id


@pytest.mark.parametrize("name", ANSWERS)
def test_a_prompt_explains_every_word_that_its_tool_offers(name: Name) -> None:
    shipped = prompt(name)
    entry = shipped.tool["input_schema"]["properties"]["answers"]["items"]
    assert tuple(entry["properties"]["answer"]["enum"]) == ANSWERS[name]
    for word in ANSWERS[name]:
        assert f"- `{word}`:" in shipped.text


@pytest.mark.parametrize("name", get_args(Name))
def test_the_service_validates_what_a_tool_is_given(name: Name) -> None:
    """Every field is required and no other is allowed, at every level."""
    tool = prompt(name).tool
    assert tool["strict"] is True
    schema = tool["input_schema"]
    items = (one["items"] for one in schema["properties"].values() if one["type"] == "array")
    for one in (schema, *items):
        assert one["required"] == [*one["properties"]]
        assert one["additionalProperties"] is False


def test_a_prompt_is_long_enough_to_be_cached_by_the_service() -> None:
    """The newest models cache 512 tokens and more; three bytes a token are more than there are."""
    for name in get_args(Name):
        assert len(prompt(name).text.encode()) > 3 * 512
