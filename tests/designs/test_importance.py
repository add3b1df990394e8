"""designs/importance.md: one test for each rule, in the document's own words.

The stub engine's cosine is the share of words that two texts have in common. Texts are windows of
twenty words over a row of words: moved by four they are at .8, by five at .75, by eight under .6.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from palimpsest.contracts.candidate import MAX_TEXT_BYTES
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.events import Composed, Decided, Joined, Ran
from palimpsest.contracts.policy import Absent, PairsDedupe
from palimpsest.contracts.requests import (
    MergeRequest,
    ReinstateRequest,
    RestoreRequest,
    RetractRequest,
    RunRequest,
    Selection,
    SeparateRequest,
)
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.policies import load_policy
from tests.designs.owners import Owner, fresh
from tests.stub_engine import vector_of

POLICY = "importance"
RULES = load_policy(POLICY)
assert isinstance(RULES.dedupe, PairsDedupe)
RULE = RULES.dedupe
NIGHT = datetime(2026, 3, 1, 3, tzinfo=UTC)
ROW = (
    "amber birch cedar daisy elder fern grape hazel iris juniper kelp lilac mint nettle oak poppy"
    " quince rose sage thyme umbel violet willow yarrow zinnia anchor barrel candle drum easel"
    " flute globe hammer inkwell jacket kettle ladder mirror needle oar pillow quilt rudder saddle"
    " teapot urn vase wagon xylem yacht zither apricot basil carob dill endive fennel garlic"
).split()


def window(start: int) -> str:
    """Twenty words of the row."""
    return " ".join(ROW[start : start + 20])


A, B = window(0), window(4)
"""A pair at .8."""
FAR = [f"{one} harbour {one}ish lantern{one}" for one in ROW[:12]]
"""Memories that are near nothing."""


def run(
    owner: Owner, due: datetime = NIGHT, *, force: bool = True, **how: Any
) -> Mapping[str, Any]:
    """A run that was due at a moment; the policy's conditions are left aside."""
    request = RunRequest(
        request_id=fresh(), owner_id=owner.name, step="dedupe", due=due, force=force, **how
    )
    return owner.runtime.dry_run(request) if request.dry_run else owner.ask(request)


def joins(owner: Owner) -> list[Joined]:
    return [event for event in owner.events() if isinstance(event, Joined)]


def ledger(owner: Owner) -> Ledger:
    folded = Ledger(owner.name)
    for event in owner.events():
        evolve(folded, event)
    return folded


def test_the_texts_of_this_suite_are_as_far_apart_as_they_say() -> None:
    for moved, cosine in ((0, 1.0), (1, 0.95), (4, 0.8), (5, 0.75), (8, 0.5721)):
        found = vector_of(window(0)).astype(float) @ vector_of(window(moved)).astype(float)
        assert found == pytest.approx(cosine, abs=1e-3)


# -- requirements ----------------------------------------------------------------------------------


def test_merge_semantically_similar_memories_not_exact_duplicates(owner: Owner) -> None:
    """On arrival only exact repeats are compared, as under every policy; the rest is stored."""
    said = owner.say(A, f" {A}", B)
    assert [one["decision"] for one in said] == ["stored", "hash_exact", "stored"]
    stored = [event for event in owner.events() if isinstance(event, Decided)]
    assert not any(event.data.evidence.neighbours for event in stored if not event.data.join)
    assert len(run(owner)["joined"]) == 1


def test_preserve_higher_importance_memories(owner: Owner) -> None:
    owner.say(A, importance=0.2)
    owner.say(B, importance=0.9)
    run(owner)
    assert owner.faces() == [B]


# -- trigger conditions ----------------------------------------------------------------------------


def test_memory_count_over_10_avoids_overhead_for_small_collections(owner: Owner) -> None:
    owner.say(*FAR[:8], A, B)
    skipped = run(owner, force=False)
    assert skipped["skipped"]["reason"] == "too_few_memories"
    assert "ran" not in skipped
    assert not [event for event in owner.events() if isinstance(event, Ran | Joined)]
    owner.say(FAR[8])
    assert len(run(owner, force=False)["joined"]) == 1


def test_memory_count_is_of_memories_that_are_there(owner: Owner) -> None:
    """Neither an exact repeat nor a retracted memory counts."""
    *_, last = owner.say(*FAR[:9], A, A, B)
    everyone = Selection(candidate_id=last["candidate_id"])
    owner.ask(RetractRequest(request_id=fresh(), selection=everyone))
    assert run(owner, force=False)["skipped"]["reason"] == "too_few_memories"


def test_time_since_last_dedup_over_24_hours(owner: Owner) -> None:
    owner.say(*FAR)
    assert "ran" in run(owner, NIGHT, force=False)
    owner.say(A, B)
    soon = run(owner, NIGHT + timedelta(hours=23, minutes=59), force=False)
    assert soon["skipped"]["reason"] == "too_soon"
    assert len(run(owner, NIGHT + timedelta(hours=24), force=False)["joined"]) == 1


def test_a_person_may_force_what_the_conditions_leave(owner: Owner) -> None:
    owner.say(A, B)
    assert "skipped" in run(owner, force=False)
    assert len(run(owner, force=True, actor="kim", because="now")["joined"]) == 1
    [event] = [event for event in owner.events() if isinstance(event, Ran)]
    assert (event.data.actor, event.data.because) == ("kim", "now")


# -- similarity threshold --------------------------------------------------------------------------


@pytest.mark.parametrize(("moved", "merged"), [(4, 1), (5, 0)])
def test_similarity_over_75_percent_marks_memories_as_duplicates(
    owner: Owner, moved: int, merged: int
) -> None:
    """Over it: at .75 itself two memories stay two."""
    owner.say(window(0), window(moved))
    assert len(run(owner)["joined"]) == merged


def test_what_the_model_cannot_read_is_not_merged(owner: Owner) -> None:
    """Beside the document, and under every policy: its vector says nothing of such a word."""
    owner.say(f"{A} 🍕", f"{A} 🍣")
    answer = run(owner)
    assert (answer["joined"], answer["figures"]["left"]) == ([], 1)


# -- merge policy ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("first", "second"), [(0.9, 0.2), (0.2, 0.9), (0.6, None), (None, 0.6)])
def test_keep_higher_importance_if_importance_a_over_importance_b_keep_a(
    owner: Owner, first: float | None, second: float | None
) -> None:
    """Whatever happened first; a memory without an importance has .5."""
    owner.say(A, importance=first)
    owner.say(B, importance=second, occurred_at="2020-01-01T00:00:00Z")
    [joined] = run(owner)["joined"]
    stays = A if (first or 0.5) > (second or 0.5) else B
    assert (joined["decision"], joined["face"]) == ("superseded", stays)
    assert owner.faces() == [stays]


def test_what_was_kept_is_not_displaced_by_a_repeat_of_what_was_not(owner: Owner) -> None:
    owner.say(A, importance=0.2)
    owner.say(B, importance=0.9)
    run(owner)
    owner.say(A, importance=0.2)
    assert owner.faces() == [B]


def test_merge_content_if_importance_equal_concatenate_a_b(owner: Owner) -> None:
    owner.say(A, B)
    [joined] = run(owner)["joined"]
    assert (joined["decision"], joined["face"]) == ("concatenated", f"{A}. {B}")
    assert owner.faces() == [f"{A}. {B}"]
    [event] = joins(owner)
    assert event.data.composition is not None
    assert event.data.composition.content.vector is not None, "it is found by its meaning"


def test_concatenate_puts_the_older_first(owner: Owner) -> None:
    """Older is what happened earlier."""
    owner.say(A, occurred_at="2026-01-02T00:00:00Z")
    owner.say(B, occurred_at="2026-01-01T00:00:00Z")
    run(owner)
    assert owner.faces() == [f"{B}. {A}"]


@pytest.mark.parametrize("stop", [".", "!", "?", "…", "。"])
def test_concatenate_doubles_no_full_stop(owner: Owner, stop: str) -> None:
    owner.say(f"{A}{stop}", f"{window(2)}.")
    run(owner)
    assert owner.faces() == [f"{A}{stop} {window(2)}."]


def test_a_pair_whose_texts_are_too_long_for_one_is_left(owner: Owner) -> None:
    """Each may be a memory, and both together may not; where one outweighs the other, they join."""
    long = [" ".join([window(start)] * 180) for start in (0, 1)]
    assert all(len(text) < MAX_TEXT_BYTES < 2 * len(text) for text in long)
    owner.say(*long)
    answer = run(owner)
    assert (answer["joined"], answer["figures"]["left"]) == ([], 1)
    weighed = Owner(owner.runtime, f"{owner.name} weighed", POLICY)
    for text, importance in zip(long, (0.1, 0.9), strict=True):
        weighed.say(text, importance=importance)
    assert len(run(weighed)["joined"]) == 1


def test_a_pair_whose_text_is_somebody_elses_words_is_left(owner: Owner) -> None:
    whole, *parts = (one["candidate_id"] for one in owner.say(f"{A}. {B}", A, B))
    for part in parts:
        owner.ask(SeparateRequest(request_id=fresh(), a=whole, b=part))
    answer = run(owner)
    assert (answer["joined"], answer["figures"]["left"]) == ([], 1)
    assert owner.faces() == [f"{A}. {B}", A, B]


def test_a_repeat_of_the_concatenated_text_is_exact(owner: Owner) -> None:
    owner.say(A, B)
    run(owner)
    [again] = owner.say(f"{A}. {B}")
    assert again["decision"] == "hash_exact"
    assert owner.faces() == [f"{A}. {B}"]


def test_both_of_an_equal_pair_are_not_removed(owner: Owner) -> None:
    """The document's code marks each of an equal pair because of the other, and removes both."""
    owner.say(A, B, importance=0.7)
    figures = run(owner)["figures"]
    assert (figures["memories_before"], figures["memories_after"]) == (2, 1)
    assert [len(memory["members"]) for memory in owner.memories()] == [2]


def test_a_merged_memory_has_the_importance_of_its_most_important_member(owner: Owner) -> None:
    owner.say(window(0), importance=0.9)
    owner.say(window(4), importance=0.1)
    run(owner)
    owner.say(window(4), importance=0.1)
    owner.say(window(1), importance=0.8)
    run(owner, NIGHT + timedelta(days=1))
    assert owner.faces() == [window(0)]


def test_a_face_that_a_person_set_survives_the_run(owner: Owner) -> None:
    """Although the other is the more important, and although the two would be equal."""
    one, other = owner.say(A, f"{A} by hand", importance=0.1)
    face = MergeRequest(
        request_id=fresh(),
        a=one["candidate_id"],
        b=other["candidate_id"],
        face=other["candidate_id"],
    )
    owner.ask(face)
    owner.say(window(1), importance=0.9)
    run(owner)
    assert owner.faces() == [f"{A} by hand"]
    [entry, *_] = ledger(owner).entries.values()
    assert entry.memory.face.contradicts == (), "nothing says otherwise"


def test_where_two_faces_that_persons_set_meet_review_decides(owner: Owner) -> None:
    for text in (A, B):
        one, other = owner.say(text, f"{text} by hand")
        face = other["candidate_id"]
        owner.ask(MergeRequest(request_id=fresh(), a=one["candidate_id"], b=face, face=face))
    run(owner)
    [memory] = owner.memories()
    assert memory["face"] == f"{A} by hand"
    *_, join = joins(owner)
    assert join.data.decision == "superseded", "equal as they are, no text is made of both"
    [entry, *_] = ledger(owner).entries.values()
    assert entry.memory.face.contradicts == (join.id,), "it waits in the review queue"


# -- algorithm -------------------------------------------------------------------------------------


def crowd(owner: Owner) -> str:
    """Six texts that are near one, the nearest five of them more than the sixth; the sixth."""
    base = window(0).split()
    text = " ".join(base)
    owner.say(text, importance=0.9)
    for number in range(6):
        changed = [f"x{number}y{step}" for step in range(1 if number < 5 else 3)]
        text = " ".join([*base[: 20 - len(changed)], *changed])
        owner.say(text, importance=0.1 + number / 100)
    return text


def nearest(owner: Owner, *, counts_itself: bool, top: int = 5) -> list[tuple[str, str]]:
    """The pairs of a run under another number of neighbours, as it would be."""
    rule = RULE.model_copy(update={"counts_itself": counts_itself, "top": top})
    other = Owner(owner.runtime, owner.name, RULES.model_copy(update={"dedupe": rule}))
    found = run(other, dry_run=True)["joined"]
    Owner(owner.runtime, owner.name, POLICY)
    return [(one["older_text"], one["newer_text"]) for one in found]


def test_for_each_memory_find_top_5_similar_excluding_self(owner: Owner) -> None:
    """The text excludes it, and so do we; the code searches five with itself, which are four."""
    assert (RULE.top, RULE.counts_itself) == (5, False)
    base, near, further = window(2), window(1), window(4)
    for text, importance in ((base, 0.1), (near, 0.9), (further, 0.5)):
        owner.say(text, importance=importance)
    both = [(near, further), (base, near)]
    assert nearest(owner, counts_itself=False, top=2) == both
    assert nearest(owner, counts_itself=True, top=2) == both[1:], "one neighbour fewer"
    assert nearest(owner, counts_itself=True, top=3) == both


def test_filter_pairs_of_which_either_is_among_the_others_nearest(owner: Owner) -> None:
    """The sixth is not among the first one's five, and the first is among the sixth's."""
    sixth = crowd(owner)
    run(owner)
    [memory] = owner.memories()
    assert sixth in [member["text"] for member in memory["members"]]


def test_sort_pairs_by_average_importance_descending(owner: Owner) -> None:
    """B is near A and near C. With C the mean is higher, so B is absorbed by C and not by A."""
    owner.say(window(0), importance=0.5)
    owner.say(window(4), importance=0.3)
    owner.say(window(8), importance=0.9)
    [joined] = run(owner)["joined"]
    assert (joined["older_text"], joined["newer_text"]) == (window(4), window(8))
    assert owner.faces() == [window(0), window(8)]


def test_what_was_absorbed_in_a_run_absorbs_nothing_more_in_it(owner: Owner) -> None:
    """A absorbs B, and B would have absorbed C."""
    owner.say(window(0), importance=0.9)
    owner.say(window(4), importance=0.6)
    owner.say(window(8), importance=0.1)
    assert len(run(owner)["joined"]) == 1
    assert owner.faces() == [window(0), window(8)]
    assert run(owner, NIGHT + timedelta(days=1))["joined"] == [], "A and C are far apart"


def test_what_stays_absorbs_all_that_are_near_it(owner: Owner) -> None:
    owner.say(window(8), importance=0.9)
    owner.say(window(4), window(12), importance=0.1)
    assert len(run(owner)["joined"]) == 2
    assert owner.faces() == [window(8)]


def test_equal_ones_are_put_together_one_after_the_other(owner: Owner) -> None:
    owner.say(window(0), window(1), window(2))
    assert {one["decision"] for one in run(owner)["joined"]} == {"concatenated"}
    assert owner.faces() == [f"{window(0)}. {window(1)}. {window(2)}"]


def test_pairs_stay_in_a_namespace(owner: Owner) -> None:
    owner.say(A, namespace="work")
    owner.say(B, namespace="home")
    assert run(owner)["joined"] == []


def test_separations_bind(owner: Owner) -> None:
    one, other = owner.say(A, B)
    pair = {"a": one["candidate_id"], "b": other["candidate_id"]}
    owner.ask(SeparateRequest(request_id=fresh(), **pair))
    assert run(owner)["joined"] == []


def test_update_last_deduplicated_at_timestamp(owner: Owner) -> None:
    owner.say(A, B)
    answer = run(owner)
    [event] = [event for event in owner.events() if isinstance(event, Ran)]
    assert (event.id, event.data.due) == (answer["ran"], NIGHT)
    assert ledger(owner).runs["dedupe"].due == NIGHT
    assert owner.events()[-1] == event, "after its joins, in the same commit"
    assert joins(owner)[0].data.cause is not None


# -- monitoring ------------------------------------------------------------------------------------


def test_track_deduplication_effectiveness(owner: Owner) -> None:
    owner.say(*FAR[:3], A, B)
    figures = dict(run(owner)["figures"])
    assert figures.pop("duration_ms") > 0
    assert figures == {
        "memories_before": 5,
        "memories_after": 4,
        "removed_count": 1,
        "removal_rate": 0.2,
        "pairs": 10,
        "left": 0,
    }
    [event] = [event for event in owner.events() if isinstance(event, Ran)]
    assert event.data.figures["removal_rate"] == 0.2


@pytest.mark.parametrize(("texts", "warned"), [((0, 1, 2, 40), False), ((0, 1, 2), True)])
def test_alert_if_removal_rate_over_50_percent(
    owner: Owner, texts: tuple[int, ...], warned: bool
) -> None:
    owner.say(*(f"{window(start)} end" for start in texts if start < 40))
    owner.say(*(FAR[0] for start in texts if start == 40))
    answer = run(owner)
    assert bool(answer["warnings"]) is warned
    assert not warned or "67% of the memories were absorbed" in answer["warnings"][0]


@pytest.mark.parametrize(("seconds", "warned"), [(60, False), (60.1, True)])
def test_alert_if_duration_over_60_seconds(owner: Owner, seconds: float, warned: bool) -> None:
    """The figures are told, as a rule that asks the judge tells its own: nobody waits a minute."""
    owner.say(A)
    answer = run(owner, figures={"duration_ms": seconds * 1000})
    assert answer["warnings"] == (["it took 60 s"] if warned else [])


# -- consequences ----------------------------------------------------------------------------------


def test_no_way_to_unmerge_is_answered(owner: Owner) -> None:
    owner.say(A, B)
    before = owner.memories()
    [joined] = run(owner)["joined"]
    dry = owner.unmerge(joined["decision_id"], dry_run=True)
    assert [memory["face"] for memory in dry["memories"]] == [A, B]
    owner.unmerge(joined["decision_id"])
    assert owner.memories() == before
    assert run(owner, NIGHT + timedelta(days=1))["joined"] == [], "they stay apart"


def test_a_concatenated_text_is_recreated_by_the_rule_when_a_source_leaves(owner: Owner) -> None:
    owner.say(window(0), window(1), window(2))
    first, _ = run(owner)["joined"]
    dry = owner.unmerge(first["decision_id"], dry_run=True)
    owner.unmerge(first["decision_id"])
    left = [window(0), window(1), window(2)]
    alone = first["newer_text"]
    left.remove(alone)
    assert sorted(owner.faces()) == sorted([alone, ". ".join(left)])
    assert sorted(memory["face"] for memory in dry["memories"]) == sorted(owner.faces())
    [composed] = [event for event in owner.events() if isinstance(event, Composed)]
    assert composed.data.composition.content.vector is not None
    assert not composed.data.evidence.verdicts, "no judge was asked"


def test_a_retracted_source_leaves_the_text_and_comes_back_to_it(owner: Owner) -> None:
    *_, last = owner.say(window(0), window(1), window(2))
    run(owner)
    whole = owner.faces()
    one = Selection(candidate_id=last["candidate_id"])
    owner.ask(RetractRequest(request_id=fresh(), selection=one))
    assert owner.faces() == [f"{window(0)}. {window(1)}"]
    owner.ask(RestoreRequest(request_id=fresh(), selection=one))
    assert owner.faces() == whole


def test_a_dry_run_says_what_the_same_run_would_have_done_instead(owner: Owner) -> None:
    """A absorbed B. Without that, B would have absorbed C."""
    owner.say(window(0), importance=0.9)
    [b] = owner.say(window(4), importance=0.6)
    [c] = owner.say(window(8), importance=0.1)
    [joined] = run(owner)["joined"]
    before = owner.memories()
    told = owner.unmerge(joined["decision_id"], dry_run=True)["consequences"]
    assert [(one["candidate_id"], one["would_be"]) for one in told] == [
        (c["candidate_id"], {"decision": "superseded", "joined_to": b["candidate_id"]})
    ]
    owner.unmerge(joined["decision_id"], with_consequences=True)
    assert owner.faces() == [window(0), window(4)]
    owner.ask(ReinstateRequest(request_id=fresh(), decision_id=joined["decision_id"]))
    assert owner.memories() == before


def test_a_dry_run_says_what_a_later_run_would_have_done_instead(owner: Owner) -> None:
    """Of a run that joined nothing, too; a text that nobody put together before gets its vector."""
    owner.say(window(0), importance=0.9)
    [b] = owner.say(window(4))
    [joined] = run(owner)["joined"]
    [c] = owner.say(window(8))
    assert run(owner, NIGHT + timedelta(days=1))["joined"] == []
    told = owner.unmerge(joined["decision_id"], dry_run=True)["consequences"]
    assert [(one["candidate_id"], one["would_be"]) for one in told] == [
        (c["candidate_id"], {"decision": "concatenated", "joined_to": b["candidate_id"]})
    ]
    owner.unmerge(joined["decision_id"], with_consequences=True)
    assert owner.faces() == [window(0), f"{window(4)}. {window(8)}"]
    *_, join = joins(owner)
    assert join.data.composition is not None
    assert join.data.composition.content.vector is not None


def test_what_rested_on_a_join_goes_with_it(owner: Owner) -> None:
    """A took B's place and absorbed C the next night; B would not have."""
    owner.say(window(4), importance=0.5)
    owner.say(window(8), importance=0.9)
    [joined] = run(owner)["joined"]
    owner.say(window(12), importance=0.1)
    [rested] = run(owner, NIGHT + timedelta(days=1))["joined"]
    dry = owner.unmerge(rested["decision_id"], dry_run=True)
    assert dry["consequences"] == [], "nothing came after it"
    assert owner.unmerge(joined["decision_id"], dry_run=True)["consequences"] == []


# -- one run, whoever asks -------------------------------------------------------------------------


def test_two_schedulers_and_a_redelivered_request_are_one_run(owner: Owner) -> None:
    owner.say(A, B)
    first = run(owner)
    log = owner.events()
    second = run(owner)
    assert owner.events() == log
    assert second["done_before"]
    same = ("ran", "figures", "warnings")
    assert {name: second[name] for name in same} == {name: first[name] for name in same}
    told = [{**one, "face": None} for one in first["joined"]]
    assert [{**one, "face": None} for one in second["joined"]] == told


def test_a_run_that_is_asked_for_again_names_its_own_joins_alone(owner: Owner) -> None:
    owner.say(A, B)
    nights = [NIGHT, NIGHT + timedelta(days=1)]
    first = run(owner, nights[0])["joined"]
    owner.say(window(30), window(34))
    second = run(owner, nights[1])["joined"]
    again = [run(owner, night)["joined"] for night in nights]
    told = [[one["decision_id"] for one in joined] for joined in (first, second, *again)]
    assert told[2:] == told[:2]
    assert [len(ids) for ids in told] == [1] * 4


def test_a_run_is_named_by_the_moment_it_was_due_and_not_by_how_that_is_written(
    owner: Owner,
) -> None:
    owner.say(A, B)
    run(owner, NIGHT)
    assert run(owner, NIGHT.astimezone())["done_before"]


def test_a_dry_run_lists_exactly_what_the_run_does_and_records_nothing(owner: Owner) -> None:
    owner.say(window(0), window(4), importance=0.5)
    owner.say(window(30), importance=0.9)
    owner.say(window(33), importance=0.2)
    log = owner.events()
    planned = run(owner, dry_run=True)
    assert owner.events() == log
    done = run(owner)
    assert done["joined"] == planned["joined"]
    timeless = [{**one["figures"], "duration_ms": None} for one in (planned, done)]
    assert timeless[0] == timeless[1]


def test_a_run_that_is_due_tomorrow_is_not_done_today(owner: Owner) -> None:
    owner.say(A, B)
    with pytest.raises(RefusedError) as refused:
        run(owner, datetime.now(UTC) + timedelta(days=1))
    assert refused.value.reason == "not_due"


def test_nobody_has_no_run(owner: Owner) -> None:
    with pytest.raises(RefusedError) as refused:
        run(owner)
    assert refused.value.reason == "unknown_owner"


# -- the file --------------------------------------------------------------------------------------


def test_every_number_is_in_the_file() -> None:
    assert RULE.model_dump() == {
        "rule": "pairs",
        "above": 0.75,
        "top": 5,
        "counts_itself": False,
        "keep": "importance",
        "equal": "concatenate",
        "more_than": 10,
        "hours": 24.0,
    }
    assert (RULES.checks, RULES.search, RULES.judge.enabled) == ((), "memories", False)
    assert RULES.absent == Absent(importance=0.5)
