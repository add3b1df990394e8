"""designs/store-time.md: one test for each rule, in the document's own words.

The stub engine's cosine is the share of words that two texts have in common: of twenty words, with
nineteen of another's a text is at .95. What the document calls haiku is the judge here.
"""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest.contracts.events import Decided, Settled
from palimpsest.contracts.evidence import Cue
from palimpsest.contracts.policy import CosineCheck, Policy, TokenDedupe
from palimpsest.streams.policies import load_policy, preset_names
from tests.designs.conftest import Logged
from tests.designs.owners import Owner
from tests.stub_engine import vector_of

POLICY = "store-time"
RULES = load_policy(POLICY)
BASE = (
    "on sunday mornings nora rows her narrow green boat past the old mill to buy fresh bread and"
    " cheese"
).split()
CHANGED = "kayak canoe castle".split()


def near(shared: int) -> str:
    """A text of the first of the twenty words, and others for the rest."""
    return " ".join([*BASE[:shared], *CHANGED[: len(BASE) - shared]])


TEXT = " ".join(BASE)
GRAY, LOWEST, BELOW = near(18), near(17), near(16)


def last(owner: Owner, kind: type[Any]) -> Any:
    return [event for event in owner.events() if isinstance(event, kind)][-1]


# -- store-time deduplication --------------------------------------------------------------------


def test_the_texts_are_as_near_as_they_say() -> None:
    cosines = [float(vector_of(TEXT).astype(float) @ vector_of(t)) for t in (GRAY, LOWEST, BELOW)]
    assert cosines[0] > cosines[1] >= 0.88 > cosines[2]


@pytest.mark.parametrize("again", [TEXT.upper(), f"  {TEXT} ", TEXT.replace(" ", "\t ")])
def test_content_hash_sha256_of_normalized_text(owner: Owner, again: str) -> None:
    """Lowercased, whitespace-collapsed; an exact match within the same owner."""
    first, second = owner.say(TEXT, again)
    assert (second["decision"], second["joined_to"]) == ("hash_exact", first["candidate_id"])


def test_content_hash_cost_zero_no_embeddings_needed(owner: Owner) -> None:
    owner.say(TEXT, TEXT)
    assert last(owner, Decided).data.content.vector is None


def test_content_hash_exact_match_within_same_owner_alone(owner: Owner) -> None:
    owner.say(TEXT)
    another = Owner(owner.runtime, f"{owner.name} another", RULES)
    [told] = another.say(TEXT)
    assert told["decision"] == "stored"


def test_auto_reject_zone_98_and_near_identical(owner: Owner) -> None:
    long = f"{TEXT} {TEXT}"
    first, second = owner.say(long, f"{long}.")
    assert (second["decision"], second["joined_to"]) == ("auto_reject", first["candidate_id"])
    assert owner.faces() == [long]


def test_a_loves_b_vs_b_loves_a_is_no_false_positive(owner: Owner) -> None:
    """The same words, so a similarity of 1: the order-aware guard hands the pair to the judge."""
    _, swapped = owner.say("Ada loves Ben", "Ben loves Ada")
    assert swapped["decision"] == "pending"
    [seen] = last(owner, Decided).data.evidence.neighbours
    assert (seen.cosine, seen.near_identical, seen.cues) == (1.0, False, (Cue.SWAPPED_ORDER,))


@pytest.mark.parametrize("text", [GRAY, LOWEST])
def test_gray_zone_88_to_98_haiku_is_asked(owner: Owner, text: str) -> None:
    first, second = owner.say(TEXT, text)
    assert second["decision"] == "pending"
    assert last(owner, Decided).data.evidence.asked == (first["candidate_id"],)
    assert owner.faces() == [TEXT, text], "the stream does not wait"


def test_gray_zone_haiku_reject(owner: Owner) -> None:
    first, second = owner.say(TEXT, GRAY)
    owner.judged(second, first, "same")
    assert last(owner, Settled).data.decision == "llm_reject"
    assert owner.faces() == [TEXT]


def test_gray_zone_haiku_keep(owner: Owner) -> None:
    first, second = owner.say(TEXT, GRAY)
    owner.judged(second, first, "different")
    assert last(owner, Settled).data.decision == "llm_keep"
    assert owner.faces() == [TEXT, GRAY]


def test_gray_zone_haiku_down_fallback_reject(owner: Owner, logged: Logged) -> None:
    """Ours differs: what the guard accepts and nothing else."""
    first, second = owner.say(TEXT, f"{TEXT}.")
    assert second["decision"] == "pending"
    owner.judged(second, first, "unavailable")
    [line] = logged("WARNING")
    assert line.startswith("DEDUP_FAIL: the judge did not answer, falling back: fallback_reject")
    assert last(owner, Settled).data.decision == "fallback_reject"
    assert owner.faces() == [TEXT]


def test_an_unusable_answer_is_reported_as_what_it_is(owner: Owner, logged: Logged) -> None:
    first, second = owner.say(TEXT, GRAY)
    owner.judged(second, first, "unusable")
    [line] = logged("WARNING")
    assert line.startswith("DEDUP_FAIL: the judge's answer was unusable, both stay")


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Ada loves Ben", "Ben loves Ada"),
        (TEXT, GRAY),
        (TEXT.replace("buy", "allow"), TEXT.replace("buy", "prohibit")),
        (f"{TEXT} from Meyer", f"{TEXT} from Mayer"),
    ],
)
def test_what_the_guard_does_not_accept_no_fallback_rejects(
    owner: Owner, text: str, other: str
) -> None:
    first, second = owner.say(text, other)
    owner.judged(second, first, "unavailable")
    assert last(owner, Settled).data.decision == "fallback_keep"


@pytest.mark.parametrize(
    ("text", "other", "cue"),
    [
        (TEXT, TEXT.replace("sunday", "monday"), Cue.DATE),
        (TEXT, TEXT.replace("her narrow", "her 2"), Cue.NUMBER),
        (TEXT.replace("nora", "Nora"), TEXT.replace("nora", "Vera"), Cue.NAME),
    ],
)
def test_haiku_down_and_a_cue_keeps_both(owner: Owner, text: str, other: str, cue: Cue) -> None:
    """Ours differs: what says another thing is not lost because nobody was there to tell."""
    first, second = owner.say(text, other)
    assert second["decision"] == "pending"
    [seen] = last(owner, Decided).data.evidence.neighbours
    assert cue in seen.cues
    owner.judged(second, first, "unavailable")
    assert last(owner, Settled).data.decision == "fallback_keep"
    assert owner.faces() == [text, other]


def test_below_88_stored_as_new_fact(owner: Owner) -> None:
    _, second = owner.say(TEXT, BELOW)
    assert second["decision"] == "stored"
    assert owner.faces() == [TEXT, BELOW]


def test_compares_against_all_owners_facts_as_they_are_now(owner: Owner) -> None:
    """Search is over living memories: what was taken for a duplicate is not a fact of its own."""
    assert RULES.search == "memories"
    first, second = owner.say(TEXT, GRAY)
    owner.judged(second, first, "same")
    owner.say(" ".join([*BASE[1:18], *CHANGED]))
    asked = last(owner, Decided).data.evidence.neighbours
    assert {n.candidate_id for n in asked} <= {first["candidate_id"]}


# -- configuration -------------------------------------------------------------------------------


def test_configuration_all_numbers_are_from_the_file() -> None:
    [check] = RULES.checks
    assert isinstance(check, CosineCheck)
    assert [(zone.at_least, zone.action) for zone in check.zones] == [
        (0.98, "auto_reject"),
        (0.88, "pending"),
    ]
    assert RULES.judge.share == 0.5
    assert RULES.judge.most == 500
    assert isinstance(RULES.dedupe, TokenDedupe)
    assert RULES.dedupe.candidates == 30
    assert (RULES.judge.ask, RULES.judge.unavailable, RULES.judge.enabled) == (
        "same",
        "reject",
        True,
    )
    assert POLICY in preset_names()


def with_zone(auto: float, gray: float) -> Policy:
    zones = [
        {"at_least": auto, "action": "auto_reject", "guard": True},
        {"at_least": gray, "action": "pending"},
    ]
    check = {"check": "cosine", "zones": zones}
    rules = RULES.model_dump(mode="json") | {"checks": [check], "name": f"{auto}-{gray}"}
    return Policy.model_validate(rules)


def test_configuration_gray_zone_low_and_auto_reject_threshold(owner: Owner) -> None:
    lower = Owner(owner.runtime, f"{owner.name} lower", with_zone(0.99, 0.7))
    _, second = lower.say(TEXT, BELOW)
    assert second["decision"] == "pending"
    upper = Owner(owner.runtime, f"{owner.name} upper", with_zone(1.0, 0.99))
    _, second = upper.say(TEXT, GRAY)
    assert second["decision"] == "stored"


def test_configuration_haiku_verify_enabled_false(owner: Owner) -> None:
    """Nobody is asked: the fallback settles a gray text at once."""
    off = RULES.model_copy(update={"judge": RULES.judge.model_copy(update={"enabled": False})})
    silent = Owner(owner.runtime, f"{owner.name} silent", off)
    silent.say(TEXT, f"{TEXT}.", "Ada loves Ben", "Ben loves Ada")
    settled = [e.data.decision for e in silent.events() if isinstance(e, Settled)]
    assert settled == ["fallback_reject", "fallback_keep"]
    assert silent.faces() == [TEXT, "Ada loves Ben", "Ben loves Ada"]


# -- nightly janitor, the dedup log, its review, sessions ------------------------------------------
# Whole stores, with the local judge's server: test_store_time_janitor.py.
