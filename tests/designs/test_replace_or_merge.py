"""designs/replace-or-merge.md: one test for each rule of its write time, in its own words.

The stub engine's cosine is the share of words that two texts have in common; so a text of twenty
words with nineteen of another's is at .95, with eighteen at .90, to the last digit.
"""

from __future__ import annotations

import pytest

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.events import Decided, Settled
from palimpsest.streams.judge.prompts import prompt
from palimpsest.streams.policies import load_policy, parse_policy
from tests.designs.owners import Owner
from tests.stub_engine import vector_of

POLICY = "replace-or-merge"
BASE = (
    "on monday alice told the whole team that her tabby cat whiskers likes blue salmon more than"
    " dry food every"
).split()
ADDED = "evening morning lemon kitchen garden station".split()


def near(shared: int, *own: str) -> str:
    """A text of twenty words with this number of the base's, and words of its own."""
    assert shared + len(own) == 20
    return " ".join([*BASE[:shared], *own])


OLD = near(19, "evening")
AT_95 = near(19, "morning")
AT_90 = near(18, "lemon", "kitchen")
BELOW = near(17, "lemon", "kitchen", "garden")


def test_the_texts_are_as_near_as_they_say() -> None:
    cosines = [float(vector_of(OLD).astype(float) @ vector_of(t)) for t in (AT_95, AT_90, BELOW)]
    assert cosines == pytest.approx([0.95, 0.90, 0.85], abs=1e-3)


def test_95_and_more_auto_replace_with_newer(owner: Owner) -> None:
    old, new = owner.say(OLD, AT_95)
    assert (new["decision"], new["joined_to"]) == ("superseded", old["candidate_id"])
    [memory] = owner.memories()
    assert memory["face"] == AT_95
    assert [member["text"] for member in memory["members"]] == [OLD, AT_95]


def test_90_to_95_llm_synthesizes_merged_memory(owner: Owner) -> None:
    old, new = owner.say(OLD, AT_90)
    assert new["decision"] == "pending"
    owner.judged(new, old, "compose", "Alice told the team on Monday and on Sunday.")
    [memory] = owner.memories()
    assert memory["face"] == "Alice told the team on Monday and on Sunday."
    settled = owner.events()[-1]
    assert isinstance(settled, Settled)
    assert settled.data.decision == "llm_merge"
    assert settled.data.composition is not None
    assert settled.data.composition.sources == (old["candidate_id"], new["candidate_id"])
    assert [member["text"] for member in memory["members"]] == [OLD, AT_90]


def test_below_90_insert_as_new(owner: Owner) -> None:
    old, new = owner.say(OLD, BELOW)
    assert (old["decision"], new["decision"]) == ("stored", "stored")
    assert owner.faces() == [OLD, BELOW]


def test_similarity_exactly_at_threshold_is_treated_as_above(owner: Owner) -> None:
    _, replaced, merged = owner.say(OLD, AT_95, near(18, "station", "garden"))
    assert (replaced["decision"], merged["decision"]) == ("superseded", "pending")
    scores = {
        neighbour.cosine
        for event in owner.events()
        if isinstance(event, Decided)
        for neighbour in event.data.evidence.neighbours
    }
    assert scores == {0.95, 0.9}


def test_new_memory_similar_to_multiple_existing_write_time_single_match_only(
    owner: Owner,
) -> None:
    other_end = " ".join([*BASE[2:], "station", "garden"])
    first, nearest, new = owner.say(other_end, OLD, " ".join(BASE))
    assert [first["decision"], nearest["decision"]] == ["stored", "stored"]
    assert (new["decision"], new["joined_to"]) == ("superseded", nearest["candidate_id"])
    assert owner.faces() == [other_end, " ".join(BASE)]


def test_one_neighbour_is_asked_about_the_best_or_the_earlier(owner: Owner) -> None:
    other_end = " ".join([*BASE[2:], "station", "garden"])
    first, _, new = owner.say(other_end, AT_90, " ".join(BASE))
    assert new["decision"] == "pending"
    asked = owner.events()[-1]
    assert isinstance(asked, Decided)
    assert asked.data.evidence.asked == (first["candidate_id"],)


def test_llm_merge_call_fails_keep_newer_memory(owner: Owner) -> None:
    old, new = owner.say(OLD, AT_90)
    owner.judged(new, old, "unavailable")
    [memory] = owner.memories()
    assert memory["face"] == AT_90
    settled = owner.events()[-1]
    assert isinstance(settled, Settled)
    assert settled.data.decision == "fallback_supersede"


def test_llm_merge_call_fails_and_a_cue_keeps_both(owner: Owner) -> None:
    """Ours differs: what says another thing is not replaced because nobody was there to tell."""
    another_day = near(18, "sunday", "kitchen")
    old, new = owner.say(OLD, another_day)
    owner.judged(new, old, "unavailable")
    assert owner.faces() == [OLD, another_day]
    settled = owner.events()[-1]
    assert isinstance(settled, Settled)
    assert settled.data.decision == "fallback_keep"


@pytest.mark.parametrize("composed", [None, "", "  \n"])
def test_empty_memory_after_merge_merges_nothing(owner: Owner, composed: str | None) -> None:
    old, new = owner.say(OLD, AT_90)
    owner.judged(new, old, "compose", composed)
    assert owner.faces() == [OLD, AT_90]
    settled = owner.events()[-1]
    assert isinstance(settled, Settled)
    assert settled.data.decision == "llm_keep"


def test_an_unusable_answer_keeps_both(owner: Owner) -> None:
    old, new = owner.say(OLD, AT_90)
    owner.judged(new, old, "unusable")
    assert owner.faces() == [OLD, AT_90]


def test_a_newcomer_is_compared_with_what_was_merged(owner: Owner) -> None:
    """As published, the merged text stands where the two were: they are not searched any more."""
    old, new = owner.say(OLD, AT_90)
    merged = near(16, "lemon", "kitchen", "garden", "station")
    owner.judged(new, old, "compose", merged)
    [again] = owner.say(near(15, "lemon", "kitchen", "garden", "station", "morning"))
    assert again["decision"] == "superseded"
    [alone] = owner.say(near(17, "evening", "piano", "violin"))
    assert alone["decision"] == "stored"


def test_every_join_can_be_taken_back(owner: Owner) -> None:
    old, replaced = owner.say(OLD, AT_95)
    [new] = owner.say(near(17, "morning", "harbour", "island"))
    owner.judged(new, replaced, "compose", "Alice told the team about the island.")
    [event] = [event for event in owner.events() if isinstance(event, Settled)]
    owner.unmerge(event.id)
    owner.unmerge(replaced["decision_id"])
    assert owner.faces() == [OLD, AT_95, near(17, "morning", "harbour", "island")]
    assert old["decision"] == "stored"


def test_exact_repeats_are_joined_before_any_threshold(owner: Owner) -> None:
    """Ours differs: the document compares even these by cosine, and replaces the older one."""
    old, again = owner.say(OLD, f" {OLD}")
    assert (again["decision"], again["joined_to"]) == ("hash_exact", old["candidate_id"])


def test_what_rested_on_a_merge_is_taken_back_with_it(owner: Owner) -> None:
    """A newcomer met the merged text alone, as published; without the merge it meets the first."""
    first, newer = owner.say(OLD, AT_95)
    [beside] = owner.say(" ".join(["station", "garden", *BASE[2:19], "evening"]))
    assert beside["decision"] == "stored"
    [one] = owner.unmerge(newer["decision_id"], dry_run=True)["consequences"]
    assert one["candidate_id"] == beside["candidate_id"]
    assert one["asks"] == [first["candidate_id"]]
    done = owner.unmerge(newer["decision_id"], with_consequences=True)
    assert [event.id for event in owner.events()[-1:]] == done["carried_out"]
    owner.judged(beside, first, "compose", "Alice told them at the station, in the garden.")
    assert owner.faces() == ["Alice told them at the station, in the garden.", AT_95]


def test_the_merge_prompt_has_the_four_rules() -> None:
    """Combine all; the newer wins conflicts; concise but complete; attribution is preserved."""
    rules = prompt("compose").text.partition("by four rules:")[2].splitlines()
    numbered = [line for line in rules if line[:2] in ("1.", "2.", "3.", "4.")]
    words = (
        "Everything that any of them says",
        "later `time` is right",
        "as short as",
        "who said",
    )
    assert [word in line for word, line in zip(words, numbered, strict=True)] == [True] * 4


# -- configuration -------------------------------------------------------------------------------


def shown() -> str:
    """The preset as the file that people copy."""
    from importlib.resources import files

    return files("palimpsest.streams.policies").joinpath("replace-or-merge.toml").read_text()


def test_thresholds_are_configurable(owner: Owner) -> None:
    text = shown().replace("0.95", "0.99").replace("0.90", "0.97")
    other = Owner(owner.runtime, f"{owner.name} mine", parse_policy(text, "mine"))
    _, new = other.say(OLD, AT_95)
    assert new["decision"] == "stored"


def test_dedup_enabled_switches_it_off(owner: Owner) -> None:
    off = parse_policy(f"enabled = false\n{shown()}", "mine")
    assert off.hash != load_policy(POLICY).hash
    other = Owner(owner.runtime, f"{owner.name} off", off)
    _, new, again = other.say(OLD, AT_95, OLD)
    assert (new["decision"], again["decision"]) == ("stored", "hash_exact")


@pytest.mark.parametrize(("upper", "lower"), [("0.90", "0.95"), ("0.93", "0.93")])
def test_the_lower_threshold_must_be_below_the_upper(upper: str, lower: str) -> None:
    text = shown().replace("0.95", "U").replace("0.90", lower).replace("U", upper)
    with pytest.raises(UsageError, match=r"the lower threshold 0\.9\d must be below the upper one"):
        parse_policy(text, "mine.toml")


@pytest.mark.parametrize("wrong", ["1.5", "-0.1"])
def test_thresholds_are_shares(wrong: str) -> None:
    with pytest.raises(UsageError, match=r"zones\.\d\.at_least"):
        parse_policy(shown().replace("0.95", wrong), "mine.toml")
