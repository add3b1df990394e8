"""designs/namespaced.md: one test for each rule, in the document's own words.

The stub engine's cosine is the share of words that two texts have in common: of fifty words, with
forty-six of another's a text is at .92.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palimpsest.contracts.events import Decided
from palimpsest.contracts.evidence import Evidence
from palimpsest.contracts.policy import CosineCheck, Policy, RecentCheck
from palimpsest.streams.policies import load_policy, preset_names
from tests.designs.owners import Owner, fresh
from tests.stub_engine import vector_of

POLICY = "namespaced"
RULES = load_policy(POLICY)
WORDS = (
    "apple bench candle door ember fence garden harbor island jacket kettle ladder mirror"
    " needle orchard pencil quarry ribbon tunnel umbrella valley window yarn zebra anchor"
    " basket copper drawer engine feather goblet hammer iron jungle kitten lemon napkin"
    " oyster pepper quilt rocket silver timber uncle wagon yogurt almond button cactus"
    " dagger"
).split()
CHANGED = "falcon glacier helmet igloo kernel lantern magnet".split()


def near(percent: int) -> str:
    """A text whose cosine with `TEXT` is this many hundredths."""
    shared = percent // 2
    return " ".join([*WORDS[:shared], *CHANGED[: len(WORDS) - shared]])


TEXT = " ".join(WORDS)


def decisions(owner: Owner, *texts: str, **fields: Any) -> list[str]:
    return [told["decision"] for told in owner.say(*texts, **fields)]


def evidence(owner: Owner) -> Evidence:
    """Of the last decision."""
    return [event for event in owner.events() if isinstance(event, Decided)][-1].data.evidence


def with_recent(owner: Owner, **changed: int) -> Owner:
    """Another owner, under the preset with another window or capacity."""
    semantic, recent = RULES.checks
    assert isinstance(recent, RecentCheck)
    checks = (semantic, recent.model_copy(update=changed))
    rules = RULES.model_copy(update={"name": f"recent {changed}", "checks": checks})
    return Owner(owner.runtime, f"{owner.name} {changed}", rules)


# -- key design decisions ------------------------------------------------------------------------


def test_the_texts_are_as_near_as_they_say() -> None:
    found = [float(vector_of(TEXT).astype(float) @ vector_of(near(p))) for p in (92, 90, 88)]
    assert [round(cosine, 2) for cosine in found] == [0.92, 0.9, 0.88]


def test_short_circuit_evaluation_exact_semantic_recent(owner: Owner) -> None:
    """The first hit ends it: an exact repeat is not even embedded, so nothing is near it."""
    first, _ = owner.say(TEXT, near(96), namespace="decisions")
    [again] = owner.say(TEXT, namespace="decisions")
    assert again["joined_to"] == first["candidate_id"]
    assert (evidence(owner).check, evidence(owner).neighbours) == ("exact", ())
    assert [check.check for check in RULES.checks] == ["cosine", "recent"]


def test_namespace_scoped_search(owner: Owner) -> None:
    """Only compared within the same namespace: neither the same text nor a near one is met."""
    owner.say(TEXT, namespace="decisions")
    assert decisions(owner, TEXT, near(98), namespace="patterns") == ["stored", "auto_reject"]
    assert decisions(owner, near(98), namespace="learnings") == ["stored"]


# -- exact match ---------------------------------------------------------------------------------


@pytest.mark.parametrize("again", [TEXT.upper(), f" \t{TEXT}\n", TEXT.replace(" ", "  ")])
def test_exact_match_normalize_content_trim_lowercase_collapse_whitespace(
    owner: Owner, again: str
) -> None:
    first, second = owner.say(TEXT, again)
    assert (second["decision"], second["joined_to"]) == ("recent_capture", first["candidate_id"])


def test_exact_match_when_it_is_no_recent_capture(owner: Owner) -> None:
    full = with_recent(owner, capacity=1)
    assert decisions(full, TEXT, "another text", TEXT) == ["stored", "stored", "hash_exact"]


# -- semantic similarity -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("namespace", "threshold"),
    [("decisions", 92), ("patterns", 90), ("learnings", 88), ("tech-debt", 90)],
)
def test_semantic_similarity_namespace_specific_threshold(
    owner: Owner, namespace: str, threshold: int
) -> None:
    """At the threshold it is a duplicate, two hundredths below it is stored."""
    told = owner.say(TEXT, near(threshold), namespace=namespace)
    assert [one["decision"] for one in told] == ["stored", "auto_reject"]
    assert told[1]["joined_to"] == told[0]["candidate_id"]
    assert [seen.cosine for seen in evidence(owner).neighbours] == [threshold / 100]
    below = Owner(owner.runtime, f"{owner.name} below", RULES)
    assert decisions(below, TEXT, near(threshold - 2), namespace=namespace) == ["stored"] * 2


def test_semantic_similarity_the_existing_memory_stays(owner: Owner) -> None:
    owner.say(TEXT, near(96))
    assert owner.faces() == [TEXT]


def test_min_semantic_length_50(owner: Owner) -> None:
    """Of fifty characters it is compared, of forty-nine it is not."""
    fifty = "alpha bravo charlie delta echo foxtrot golf hotels"
    changed = [fifty.replace("bravo", "brave"), fifty[:-1].replace("bravo", "brave")]
    assert [len(text) for text in changed] == [50, 49]
    lower = RULES.model_dump(mode="json")
    lower["checks"][0] |= {"zones": [{"at_least": 0.7, "action": "auto_reject"}], "namespaces": {}}
    for text, decision in zip(changed, ("auto_reject", "stored"), strict=True):
        someone = Owner(owner.runtime, f"{owner.name} {decision}", Policy.model_validate(lower))
        assert decisions(someone, fifty, text) == ["stored", decision]


def test_limit_results_to_5(owner: Owner) -> None:
    """Six are near enough; the search returns the best five."""
    lower = RULES.model_dump(mode="json")
    lower["checks"][0] |= {"zones": [{"at_least": 0.3, "action": "auto_reject"}], "namespaces": {}}
    someone = Owner(owner.runtime, f"{owner.name} crowd", Policy.model_validate(lower))
    apart = [" ".join(WORDS[at : at + 8]) for at in range(0, 48, 8)]
    assert decisions(someone, *apart, TEXT) == ["stored"] * 6 + ["auto_reject"]
    assert len(evidence(someone).neighbours) == 5


# -- recent capture ------------------------------------------------------------------------------


def test_recent_capture_5_minutes_default(owner: Owner) -> None:
    """The window itself, with a clock that is set: tests/streams/core/test_arrival.py."""
    recent = RULES.checks[1]
    assert isinstance(recent, RecentCheck)
    assert (timedelta(seconds=recent.seconds), recent.capacity) == (timedelta(minutes=5), 1000)
    assert decisions(owner, TEXT, TEXT) == ["stored", "recent_capture"]


def test_recent_capture_capacity_limits(owner: Owner) -> None:
    """Of the owner, in all namespaces; a repeat takes no place of its own."""
    two = with_recent(owner, capacity=2)
    assert decisions(two, "one", "one", "two", "one") == [
        "stored",
        "recent_capture",
        "stored",
        "recent_capture",
    ]
    two.say("three", namespace="elsewhere")
    assert decisions(two, "one", "two") == ["hash_exact", "recent_capture"]


def test_recent_capture_clears_on_restart_is_answered_by_the_log(owner: Owner) -> None:
    """Ours differs: the document forgets recent captures when its process ends."""
    owner.say(TEXT)
    owner.runtime.restart()
    assert decisions(owner, TEXT) == ["recent_capture"]


# -- configuration -------------------------------------------------------------------------------


def test_configuration_default() -> None:
    semantic, _ = RULES.checks
    assert isinstance(semantic, CosineCheck)
    assert RULES.enabled
    assert [(zone.at_least, zone.guard) for zone in semantic.zones] == [(0.9, False)]
    assert semantic.namespaces == {"decisions": 0.92, "patterns": 0.9, "learnings": 0.88}
    assert (semantic.min_characters, semantic.top) == (50, 5)
    assert POLICY in preset_names()


def test_configuration_enabled_false(owner: Owner) -> None:
    """Exact repeats are joined all the same; nothing else is compared."""
    off = RULES.model_copy(update={"enabled": False})
    silent = Owner(owner.runtime, f"{owner.name} silent", off)
    assert decisions(silent, TEXT, near(98), TEXT) == ["stored", "stored", "hash_exact"]
    assert evidence(silent).neighbours == ()


# -- property-based testing ----------------------------------------------------------------------

LETTERS = st.characters(exclude_categories=("Cs", "Cc"))
FEW = settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@FEW
@given(content=st.text(LETTERS, min_size=50, max_size=500).filter(str.strip))
def test_identical_content_always_duplicates(owner: Owner, content: str) -> None:
    """The first time it may be near another text; the second time it is the same."""
    _, again = owner.say(content, content, namespace=fresh())
    assert again["decision"] == "recent_capture"


@FEW
@given(
    base=st.text(LETTERS, min_size=100, max_size=300),
    suffix=st.text(LETTERS, min_size=10, max_size=50).filter(
        lambda suffix: any(one.isalnum() for one in suffix)
    ),
)
def test_slightly_different_content_not_exact_match(owner: Owner, base: str, suffix: str) -> None:
    """It may be near. A suffix of blanks is not a difference: the document normalises it away."""
    owner.say(f"{base}x", f"{base}x {suffix}", namespace=fresh())
    assert evidence(owner).check != "exact"
