"""Which pairs share a request: up to a share of the model's context, and so many of them."""

from __future__ import annotations

from collections.abc import Sequence

from palimpsest.contracts import policy
from palimpsest.contracts.candidate import MAX_TEXT_BYTES
from palimpsest.streams.judge.models import Model
from palimpsest.streams.judge.pairs import Pair, Side
from palimpsest.streams.judge.payload import BYTES_A_TOKEN, NO_PAIRS, pair_tokens, tokens
from palimpsest.streams.judge.prompts import Prompt

THINKING_TOKENS = 4_000
"""What a model may think before it answers, at least: it counts as a part of the answer."""
ANSWER_TOKENS = 200
"""One entry of an answer, with the thinking about it."""


def pack(pairs: Sequence[Pair], prompt: Prompt, model: Model, rules: policy.Judge) -> list[range]:
    """Cut pairs into requests, in their order; each holds at least one.

    A request takes at most `rules.share` of the model's context, its prompt and the answer that is
    expected with it, and `rules.most` pairs.
    """
    most = min(rules.most, max(1, (model.answer - THINKING_TOKENS) // ANSWER_TOKENS))
    room = rules.share * model.context - tokens(prompt.text) - tokens(NO_PAIRS) - THINKING_TOKENS
    packed: list[range] = []
    begin, used = 0, 0
    for place, pair in enumerate(pairs):
        size = pair_tokens(pair) + ANSWER_TOKENS
        if place > begin and (used + size > room or place - begin == most):
            packed.append(range(begin, place))
            begin, used = place, 0
        used += size
    return [*packed, range(begin, len(pairs))] if pairs else []


def entries_of(sources: Sequence[Side]) -> int:
    """As how many entries of an answer a text counts that is composed of these.

    It has all that they say, so it may be as long as they are together, up to the longest text that
    a memory may have.
    """
    most = min(sum(tokens(source.text) for source in sources), MAX_TEXT_BYTES // BYTES_A_TOKEN + 1)
    return -(-most // ANSWER_TOKENS)


def fits(prompt: Prompt, payload: str, entries: int, model: Model) -> bool:
    """Whether the model's context holds a request, with an answer of so many entries."""
    told = tokens(prompt.text) + tokens(payload)
    return told + answer_limit(entries, model) <= model.context


def answer_limit(pairs: int, model: Model) -> int:
    """How many tokens the answer about so many pairs may have."""
    return min(model.answer, THINKING_TOKENS + ANSWER_TOKENS * pairs)
