"""The answers of the demonstration's judge: rules on words instead of a model. Deterministic."""

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
"""Minimum share of common words for two texts to count as the same."""
RELATED = 0.4
"""Minimum share of common words for two texts to count as statements about one fact."""

_NEGATIONS = frozenset("not no never nobody nothing without cannot t neither nor".split())
"""`t` is the remainder of *don't*."""
_AUXILIARIES = frozenset("do does did don doesn didn".split())
_CONTRARY = frozenset({Cue.NUMBER, Cue.DATE, Cue.UNIT, Cue.VERSION, Cue.NEGATION, Cue.ANTONYM})

_ANSWER = re.compile(r"^\W*(?:no|nope|not at all),\s", re.IGNORECASE)
_TIMES = frozenset("once twice thrice".split())
_OF_MANY = frozenset(
    "had owns own likes like loves love enjoys enjoy plays play speaks speak knows know"
    " visited read reads eats eat bought can wants want needs need".split()
)
"""Verbs that can have several objects: a different object is not a contradiction."""
_HAVING = re.compile(r"\b(?:has|have) an?\b", re.IGNORECASE)
"""As such a verb; it may also be part of another, as in *has moved*."""
_BEGINNINGS = frozenset("in on at every since during after before with under over near".split())
"""Words that begin a phrase that may stand at either end of a sentence."""
_LIST = re.compile(r"\b(\w+) (and|or) (\w+)\b")

FEWEST_WORDS = 3
"""Sentences with fewer words are not worth remembering."""


def relation(older: str, newer: str) -> str:
    """`same`, `update`, `compose` or `different`, by the words that two texts share.

    Shared words in a different order mean different roles. A newer text that contradicts the older
    one is an update; so is a new value in one place, unless both can hold, as with a cat and a dog.
    """
    if normalise(older) == normalise(newer) or compare(read(older), read(newer)).near_identical:
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
    if _one_place_differs(older, newer):
        return "different"
    if STRONG_CUES & set(compare(read(older), read(newer)).cues) or before < after:
        return "update"
    return "same" if shared >= NEARLY else "compose"


def contradicts(older: str, newer: str) -> bool:
    """Whether two texts about one thing contradict each other: by a negation, number or value."""
    before, after = _words(older), _words(newer)
    if _shared(_topic(before), _topic(after)) < RELATED:
        return False
    if _negated(older) != _negated(newer):
        return True
    numbers = [{w for w in words if w.isdecimal() or w in _TIMES} for words in (before, after)]
    if all(numbers) and numbers[0] != numbers[1]:
        return True
    of_many = (before | after) & _OF_MANY or _HAVING.search(older) or _HAVING.search(newer)
    if _one_place_differs(older, newer) and not of_many:
        return True
    return bool(_CONTRARY & set(compare(read(older), read(newer)).cues))


def _topic(words: set[str]) -> set[str]:
    """The topic of some words, without negations: *does not like* and *likes* have the same."""
    return {word.removesuffix("s") for word in words - _NEGATIONS - _AUXILIARIES}


def _shared(before: set[str], after: set[str]) -> float:
    return len(before & after) / len(before | after) if before | after else 1.0


def _sorted(items: re.Match[str]) -> str:
    first, second = sorted((items[1], items[3]))
    return f"{first} {items[2]} {second}"


def _negated(text: str) -> bool:
    """Whether a text negates something; the *no* of an answer, before a comma, does not count."""
    return bool(_words(_ANSWER.sub("", text)) & _NEGATIONS)


def _one_place_differs(older: str, newer: str) -> bool:
    """Whether two texts differ in exactly one word."""
    first, second = (_WORD.findall(text.casefold()) for text in (older, newer))
    return len(first) == len(second) and sum(map(str.__ne__, first, second)) == 1


def _roles_differ(older: str, newer: str) -> bool:
    """Whether the order of the shared words gives them another meaning.

    Items of a list, and a phrase of place or time at either end, may change places.
    """
    first, second = (_WORD.findall(_LIST.sub(_sorted, text.casefold())) for text in (older, newer))
    for at, word in enumerate(first):
        if second == first[at:] + first[:at] and _BEGINNINGS & {first[0], word}:
            return False
    both = (set(first) & set(second)) - _SMALL
    return [word for word in first if word in both] != [word for word in second if word in both]


def same(older: str, newer: str) -> str:
    """`same` or `different`: a text is the same only if it adds and changes nothing."""
    return "same" if relation(older, newer) == "same" else "different"


def compose(texts: Sequence[str]) -> str:
    """The sentences of all texts, oldest first, each once, without those contradicted later."""
    sentences: dict[str, str] = {}
    for text in texts:
        new = _SENTENCE.split(text.strip())
        for sentence in new:
            outdated = [key for key, one in sentences.items() if contradicts(one, sentence)]
            for key in outdated:
                del sentences[key]
        for sentence in new:
            end = "" if sentence[-1:] in {".", "!", "?", "。"} else "."
            sentences.setdefault(normalise(sentence), sentence + end)
    return " ".join(sentence for key, sentence in sentences.items() if key)


def answer(tool: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """The input of the tool that a request offers, computed from its payload."""
    if tool["name"] == "remember":
        return {"memories": [*_remembered(asked["messages"])]}
    if tool["name"] == "compose":
        return {"text": compose([memory["text"] for memory in asked["memories"]])}
    allowed = tool["input_schema"]["properties"]["answers"]["items"]["properties"]["answer"]["enum"]
    rule = relation if "update" in allowed else same
    found = [(pair, rule(pair["older"]["text"], pair["newer"]["text"])) for pair in asked["pairs"]]
    return {
        "answers": [
            {"pair": pair["pair"], "reason": f"by shared words: {said}", "answer": said}
            for pair, said in found
        ]
    }


def _remembered(messages: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The statements of users in whole sentences, without questions and greetings."""
    for message in messages:
        if message["role"] == "user":
            for sentence in _SENTENCE.split(message["content"].strip()):
                if len(_words(sentence)) >= FEWEST_WORDS and not sentence.endswith("?"):
                    yield {"content": sentence, "message": message["number"]}


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold())) - _SMALL
