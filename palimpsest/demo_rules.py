"""What the demonstration's judge answers: rules on words in place of a model. Deterministic."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from palimpsest.contracts.evidence import STRONG_CUES, Cue
from palimpsest.streams.core.text import normalise
from palimpsest.streams.guard import compare, read

_WORD = re.compile(r"[^\W_]+")
_SENTENCE = re.compile(r"(?<=[.!?。])\s+")
_SMALL = frozenset("a an and are at has have in is it its of on the to was with".split())
NEARLY = 0.75
"""Share of common words from which two texts are taken for the same."""
RELATED = 0.4
"""Share of common words from which two texts are taken to speak of one fact."""

_NEGATIONS = frozenset("not no never nobody nothing without cannot t neither nor".split())
"""`t` is what is left of *don't*."""
_AUXILIARIES = frozenset("do does did don doesn didn".split())
_CONTRARY = frozenset({Cue.NUMBER, Cue.DATE, Cue.UNIT, Cue.VERSION, Cue.NEGATION, Cue.ANTONYM})

FEWEST_WORDS = 3
"""A sentence of fewer words says nothing that is worth remembering."""


def relation(older: str, newer: str) -> str:
    """`same`, `update`, `compose` or `different`, by the words that two texts share.

    The same words in another order are other roles; a newer text that contradicts is an update.
    """
    if normalise(older) == normalise(newer):
        return "same"
    if _roles_differ(older, newer):
        return "different"
    if contradicts(older, newer):
        return "update"
    before, after = _words(older), _words(newer)
    shared = _shared(before, after)
    if shared < RELATED:
        return "different"
    if after <= before:
        return "same"
    if STRONG_CUES & set(compare(read(older), read(newer)).cues) or before < after:
        return "update"
    return "same" if shared >= NEARLY else "compose"


def contradicts(older: str, newer: str) -> bool:
    """Whether two texts about one thing cannot both hold: a negation, a number, a value differs."""
    before, after = _words(older), _words(newer)
    if _shared(_topic(before), _topic(after)) < RELATED:
        return False
    if bool(before & _NEGATIONS) != bool(after & _NEGATIONS):
        return True
    numbers = [{word for word in words if word.isdecimal()} for words in (before, after)]
    if all(numbers) and numbers[0] != numbers[1]:
        return True
    return bool(_CONTRARY & set(compare(read(older), read(newer)).cues))


def _topic(words: set[str]) -> set[str]:
    """What words are about, whatever is said of it: *does not like* and *likes* are one."""
    return {word.removesuffix("s") for word in words - _NEGATIONS - _AUXILIARIES}


def _shared(before: set[str], after: set[str]) -> float:
    return len(before & after) / len(before | after) if before | after else 1.0


def _roles_differ(older: str, newer: str) -> bool:
    """Whether two texts have the same words, but not in an order that says the same."""
    first, second = (_WORD.findall(text.casefold()) for text in (older, newer))
    same_words = sorted(first) == sorted(second)
    return same_words and first != second and not compare(read(older), read(newer)).near_identical


def same(older: str, newer: str) -> str:
    """`same` or `different`: only what adds and changes nothing is the same."""
    return "same" if relation(older, newer) == "same" else "different"


def compose(texts: Sequence[str]) -> str:
    """The sentences of all texts, oldest first, each once; none that a newer text contradicts."""
    sentences: dict[str, str] = {}
    for text in texts:
        new = _SENTENCE.split(text.strip())
        for sentence in new:
            outdated = [key for key, one in sentences.items() if contradicts(one, sentence)]
            for key in outdated:
                del sentences[key]
        for sentence in new:
            sentences.setdefault(normalise(sentence), _ended(sentence))
    return " ".join(sentence for key, sentence in sentences.items() if key)


def answer(tool: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """The input of the tool that a request offers, for the payload that it holds."""
    if tool["name"] == "remember":
        return {"memories": [*_remembered(asked["messages"])]}
    if tool["name"] == "compose":
        return {"text": compose([memory["text"] for memory in asked["memories"]])}
    allowed = tool["input_schema"]["properties"]["answers"]["items"]["properties"]["answer"]["enum"]
    rule = relation if "update" in allowed else same
    return {"answers": [_entry(pair, rule) for pair in asked["pairs"]]}


def _remembered(messages: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """What users stated in whole sentences; questions and greetings are no memories."""
    for message in messages:
        if message["role"] == "user":
            for sentence in _SENTENCE.split(message["content"].strip()):
                if len(_words(sentence)) >= FEWEST_WORDS and not sentence.endswith("?"):
                    yield {"content": sentence, "message": message["number"]}


def _entry(pair: Mapping[str, Any], rule: Any) -> dict[str, Any]:
    answer = rule(pair["older"]["text"], pair["newer"]["text"])
    return {"pair": pair["pair"], "reason": f"by shared words: {answer}", "answer": answer}


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold())) - _SMALL


def _ended(sentence: str) -> str:
    return sentence if sentence[-1:] in {".", "!", "?", "。"} else f"{sentence}."
