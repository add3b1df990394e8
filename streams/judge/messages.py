"""The exchange with a model: packs pairs into requests, writes request bodies, reads answers.

Texts of memories are data: JSON values that cannot be mistaken for instructions or markup.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from palimpsest.contracts import policy
from palimpsest.contracts.candidate import MAX_TEXT_BYTES, is_hidden
from palimpsest.contracts.evidence import Answer
from palimpsest.streams.judge.models import JudgeModel
from palimpsest.streams.judge.pairs import JudgeAnswer, JudgedPair, Side
from palimpsest.streams.judge.prompts import Prompt, Schema

NO_PAIRS = '{"pairs": []}'
MOST_PAIRS = 500
"""Maximum number of pairs in one request, under any policy."""
BYTES_A_TOKEN = 2
"""Nearly every script has longer tokens, so sizes are over- rather than underestimated."""
THINKING_TOKENS = 4_000
"""Tokens reserved for thinking before the answer; they count as part of the answer."""
ANSWER_TOKENS = 200
"""Tokens reserved for one entry of an answer, including the thinking about it."""
REASON_CHARACTERS = 300


# -- packing: which pairs share a request --------------------------------------------------------


def pack(
    pairs: Sequence[JudgedPair],
    prompt: Prompt,
    model: JudgeModel,
    rules: policy.Judge,
    most: int = MOST_PAIRS,
) -> list[range]:
    """Split pairs into requests, in order; each holds at least one.

    A request holds at most `most` and `rules.most` pairs. With its prompt and the expected answer
    it takes at most `rules.share` of the model's context.
    """
    most = min(most, rules.most, max(1, (model.answer - THINKING_TOKENS) // ANSWER_TOKENS))
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


def composition_entries(sources: Sequence[Side]) -> int:
    """The length of a composed text, in entries of an answer.

    A composed text may be as long as its sources together, up to the longest text of a memory.
    """
    most = min(sum(tokens(source.text) for source in sources), MAX_TEXT_BYTES // BYTES_A_TOKEN + 1)
    return -(-most // ANSWER_TOKENS)


def fits(prompt: Prompt, payload: str, entries: int, model: JudgeModel) -> bool:
    """Whether a request and its answer with this many entries fit into the model's context."""
    return tokens(prompt.text) + tokens(payload) + answer_limit(entries, model) <= model.context


def answer_limit(pairs: int, model: JudgeModel) -> int:
    """The maximum number of tokens of the answer about this many pairs."""
    return min(model.answer, THINKING_TOKENS + ANSWER_TOKENS * pairs)


def tokens(text: str) -> int:
    """An upper estimate of a text's tokens, for nearly every script."""
    return len(text.encode()) // BYTES_A_TOKEN + 1


def pair_tokens(pair: JudgedPair) -> int:
    """Like `tokens`, for a pair inside a request, whatever its number there."""
    return tokens(to_json(_pair(MOST_PAIRS, pair, swapped=False)) + ", ")


# -- requests ------------------------------------------------------------------------------------


def request(prompt: Prompt, model: str, payload: str, max_tokens: int) -> Schema:
    """The arguments of one call: the service caches the prompt; the payload is the message.

    The tool is not forced, because models that always think refuse that. An answer without a tool
    call is unusable.
    """
    system = {"type": "text", "text": prompt.text, "cache_control": {"type": "ephemeral"}}
    return {
        "model": model,
        "max_tokens": max_tokens,
        "system": [system],
        "tools": [prompt.tool],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        "messages": [{"role": "user", "content": payload}],
    }


def pairs_payload(pairs: Sequence[JudgedPair], *, swapped: bool = False) -> str:
    """The pairs, numbered from 1; `swapped` puts the newer side of each before the older."""
    return to_json({"pairs": [_pair(n, pair, swapped=swapped) for n, pair in enumerate(pairs, 1)]})


def sources_payload(sources: Sequence[Side]) -> str:
    """The texts to compose one text from, in order."""
    return to_json({"memories": [_side(source) for source in sources]})


def to_json(document: object) -> str:
    """JSON in which no text can look like markup and no character is invisible."""
    return json.dumps(document, ensure_ascii=False).translate(_CHARACTERS)


class _Characters(dict[int, str]):
    """Maps characters to their written form; filled as characters occur.

    Angle brackets are escaped, and so are characters that a model reads but people do not see:
    some of them count as printable.
    """

    def __missing__(self, point: int) -> str:
        character = chr(point)
        plain = character.isprintable() and character not in "<>" and not is_hidden(character)
        self[point] = character if plain else _escaped(character)
        return self[point]


_CHARACTERS = _Characters()


def _escaped(character: str) -> str:
    """A character as JSON escapes it: in UTF-16, so two escapes if it is beyond the first plane."""
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


def _pair(number: int, pair: JudgedPair, *, swapped: bool) -> dict[str, Any]:
    sides = [("older", _side(pair.older)), ("newer", _side(pair.newer))]
    return {"pair": number, **dict(reversed(sides) if swapped else sides)}


def _side(side: Side) -> dict[str, str]:
    return {"time": side.moment.isoformat(timespec="seconds"), "text": side.text}


# -- answers -------------------------------------------------------------------------------------


class _Entry(BaseModel):
    model_config = ConfigDict(strict=True)

    pair: int
    answer: str
    reason: str = ""


def read_answers(given: Any, allowed: Sequence[str], count: int) -> list[JudgeAnswer | None]:
    """The answer about each of `count` pairs, without its cost; None if it is unusable.

    If a number belongs to no pair, such as 0, the others may be shifted, so no answer is usable. If
    a pair has two answers, neither is usable.
    """
    listed = given.get("answers") if isinstance(given, dict) else None
    found = (_entry(item) for item in listed) if isinstance(listed, list) else ()
    entries = [entry for entry in found if entry is not None]
    numbers = Counter(entry.pair for entry in entries)
    if not all(1 <= number <= count for number in numbers):
        return [None] * count
    usable = {
        entry.pair: JudgeAnswer(cast("Answer", entry.answer), _recordable(entry.reason))
        for entry in entries
        if numbers[entry.pair] == 1 and entry.answer in allowed
    }
    return [usable.get(number) for number in range(1, count + 1)]


def _entry(item: Any) -> _Entry | None:
    try:
        return _Entry.model_validate(item)
    except ValidationError:
        return None


def _recordable(reason: str) -> str:
    """A reason as the log accepts it: on one line, cut short, without NUL or lone surrogates."""
    whole = reason.encode("utf-8", "replace").decode().replace("\0", " ")
    return " ".join(whole.split())[:REASON_CHARACTERS]


def read_composed_text(given: Any) -> str | None:
    """The composed text, or None if no memory could hold it.

    A blank text becomes the empty text, which is an answer, too.
    """
    text = given.get("text") if isinstance(given, dict) else None
    if not isinstance(text, str) or "\0" in text:
        return None
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return None
    return text.strip() if size <= MAX_TEXT_BYTES else None
