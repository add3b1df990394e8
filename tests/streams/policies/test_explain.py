"""What is explained is the policy: another value of any key gives other words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from palimpsest.contracts.language import Language
from palimpsest.contracts.policy import (
    Absent,
    Action,
    Check,
    CosineCheck,
    Decay,
    Judge,
    PairsDedupe,
    Policy,
    Recall,
    RecentCheck,
    SessionCheck,
    TokenCheck,
    Zone,
)
from palimpsest.streams.embedder import INT8_MODEL
from palimpsest.streams.policies import load_policy, preset_names
from palimpsest.streams.policies.explain import explain

WORDS = {
    "candidates",
    "memories",
    "stop",
    "store",
    "auto_reject",
    "superseded",
    "pending",
    "keep",
    "reject",
    "supersede",
    "same",
    "relation",
    "compose",
    "confidence",
    "importance",
    "access",
    "creation",
    "words",
    "content",
    "morphemes",
    "scope",
    "full_text",
    "fact",
    "perception",
}
"""Values of the policy language; any other text is free."""


def others(value: object) -> Iterator[object]:
    """Other values for a key, most of them allowed."""
    match value:
        case bool():
            yield not value
        case int():
            yield from (value + 1, value - 1)
        case float():
            yield from (round(value - 0.003, 4), round(value + 0.003, 4))
        case str() if value in WORDS:
            yield from sorted(WORDS - {value})
        case str():
            yield f"{value}-other"
        case _:
            return


def changed(document: Any) -> Iterator[tuple[str, Any]]:
    """Documents that differ from one in a single value, with the place of it."""
    match document:
        case dict():
            for key, value in document.items():
                for place, inner in changed(value):
                    yield f"{key}.{place}", document | {key: inner}
        case list():
            for number, value in enumerate(document):
                for place, inner in changed(value):
                    yield f"{number}.{place}", [*document[:number], inner, *document[number + 1 :]]
        case _:
            yield from (("", other) for other in others(document))


def effective_values(policy: Policy) -> dict[str, Any]:
    """A policy as plain values, without what another of its words takes the place of."""
    document = policy.model_dump(mode="json")
    for check in document["checks"]:
        if check.get("nearest") is not None:
            del check["last"]
    if not document["judge"]["enabled"]:
        for about_newcomers in ("model", "ask", "neighbours"):
            del document["judge"][about_newcomers]
    return document


FADING = load_policy("standard").model_copy(
    update={
        "absent": Absent(confidence=0.9, importance=0.5),
        "expiry": {"chat": 604_800.0, "alarm": 90.0},
        "local_only": ("health", "zoe"),
        "languages": (
            Language(
                code="nl",
                words=("de", "het", "een", "en", "is", "heeft", "woont", "met", "van", "zijn"),
                negators=("niet",),
                numbers={"twee": 2},
            ),
        ),
        "decay": Decay(
            field="confidence", rate=0.01, days=2, after_days=1, floor=0.05, since="access"
        ),
        "recall": Recall(min_confidence=0.3, accessed=True),
    }
)
"""A policy with words that the default has no use for."""

TOKENS_CHECK = TokenCheck(check="tokens", threshold=0.9)


@pytest.mark.parametrize(
    "policy", [*map(load_policy, preset_names()), FADING], ids=lambda policy: policy.name
)
def test_another_value_of_any_key_gives_other_words(policy: Policy) -> None:
    name = policy.name
    words = explain(policy)
    leaves = tried = 0
    for place, document in changed(effective_values(policy)):
        leaves += 1
        try:
            other = Policy.model_validate(document)
        except ValidationError:
            continue
        tried += 1
        without_hash = [line.replace(other.hash, policy.hash) for line in explain(other)]
        assert without_hash != words, f"{name}: {place} is not explained"
    assert tried > 15
    assert leaves > tried


def test_the_default_is_explained_with_its_numbers() -> None:
    text = "\n".join(explain(load_policy("standard")))
    for number in (".85", ".84", ".80", "20 texts", "5 nearest", "3 neighbours"):
        assert number.replace(".80", ".8") in text
    assert "constraint, postmortem, gotcha" in text


@pytest.mark.parametrize("name", preset_names())
def test_a_judge_that_is_switched_off_is_left_out(name: str) -> None:
    policy = load_policy(name)
    text = "\n".join(explain(policy))
    assert ("is asked whether" in text or "is asked for" in text) is policy.judge.enabled
    assert f"reviews ask {policy.judge.review_model}" in text, "`review run` asks it all the same"


def test_one_neighbour_is_the_nearest() -> None:
    text = "\n".join(explain(load_policy("replace-or-merge")))
    assert "cosine: the nearest by meaning. From .95" in text
    assert "composed of both, about the nearest neighbour only. Without an answer" in text


def test_one_day_is_a_day() -> None:
    text = "\n".join(explain(load_policy("layered")))
    assert "1 % for every day since it was last used or joined, from 1 day on" in text
    assert "5 % for every 30 days since it began, from 0 days on" in "\n".join(
        explain(load_policy("importance"))
    )


@pytest.mark.parametrize(
    ("judge", "sentence"),
    [
        (Judge(unavailable="keep"), "both are kept (fallback_keep)"),
        (
            Judge(unavailable="reject"),
            "the newcomer joins and the older text speaks (fallback_reject)",
        ),
        (
            Judge(unavailable="supersede"),
            "the newcomer joins and the later text speaks (fallback_supersede)",
        ),
        (Judge(ask="same"), "whether the two say the same"),
        (
            Judge(ask="relation"),
            "whether they say the same, differ or add to each other, or one updates the other",
        ),
        (Judge(ask="compose"), "for one text composed of both"),
    ],
)
def test_what_the_judge_is_for_is_explained(judge: Judge, sentence: str) -> None:
    policy = load_policy("standard").model_copy(update={"judge": judge})
    assert sentence in "\n".join(explain(policy))


def explained(check: Check) -> str:
    (sentence,) = (
        line
        for line in explain(load_policy("standard").model_copy(update={"checks": (check,)}))
        if line.startswith(f"{check.check}:")
    )
    return sentence


def test_a_check_is_explained_with_what_it_does() -> None:
    words = TokenCheck(check="tokens", threshold=0.9, guard=False)
    assert (
        "whose words have a Jaccard of .9 or more with those of one of the 5 nearest"
        in explained(words)
    )
    over = words.model_copy(update={"exclusive": True, "among": "full_text"})
    assert "a Jaccard of more than .9 with" in explained(over)
    assert "that a full-text search ranks first" in explained(over)
    assert "guard" not in explained(words)
    assert "if the guard sees" in explained(words.model_copy(update={"guard": True}))
    session = SessionCheck(check="session", threshold=1.0, last=7, guard=False)
    assert "a cosine of 1 or more with one of the last 7 texts" in explained(session)
    recent = RecentCheck(check="recent", seconds=9, capacity=3)
    assert "within 9 s of the text that it repeats, while that is among the owner's last 3" in (
        explained(recent)
    )
    whenever = explained(recent.model_copy(update={"capacity": None}))
    assert "within 9 s of the text that it repeats is called recent_capture" in whenever


@pytest.mark.parametrize(
    ("action", "sentence"),
    [
        ("auto_reject", "it joins, and the older text speaks (auto_reject)"),
        ("superseded", "it joins, and the text that happened later speaks (superseded)"),
        ("pending", "it waits as its own memory, and the judge is asked (pending)"),
    ],
)
def test_a_zone_is_explained_with_what_it_does(action: Action, sentence: str) -> None:
    zone = Zone(at_least=0.9, action=action)
    assert sentence in explained(CosineCheck(check="cosine", zones=(zone,)))


@pytest.mark.parametrize(("counts_itself", "most"), [(False, 5), (True, 4)])
def test_pairs_that_count_themselves_have_one_neighbour_less(
    counts_itself: bool, most: int
) -> None:
    rule = PairsDedupe(rule="pairs", above=0.0, top=5, counts_itself=counts_itself)
    policy = load_policy("standard").model_copy(update={"dedupe": rule})
    text = "\n".join(explain(policy))
    assert f"among the other's {most} nearest and their cosine is over 0:" in text


@pytest.mark.parametrize(
    ("checks", "meanwhile"),
    [((), "stored uncompared"), ((TOKENS_CHECK,), "compared by words alone")],
)
def test_what_happens_without_the_model_is_explained(
    checks: tuple[Check, ...], meanwhile: str
) -> None:
    policy = load_policy("standard").model_copy(
        update={"checks": checks, "embedder_fails": "store"}
    )
    assert f"While the model is down, newcomers are {meanwhile}, and" in explain(policy)[1]


def test_the_faster_model_changes_no_rule() -> None:
    """`standard-int8` is `standard` with another model: no figure of either is the other's."""
    full, int8 = (
        load_policy(name).model_dump(exclude={"name", "description", "model"})
        for name in ("standard", "standard-int8")
    )
    assert full == int8
    assert load_policy("standard-int8").model == INT8_MODEL
