"""designs/layered.md, the end of a session: one test for each rule, in the document's own words."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import pytest

from palimpsest.contracts.events import Joined, Ran, SessionEnded
from palimpsest.contracts.policy import Consolidate
from palimpsest.contracts.requests import (
    AccessRequest,
    MergeRequest,
    ReinstateRequest,
    RetractRequest,
    Selection,
    SeparateRequest,
    SessionRequest,
    UnmergeRequest,
)
from palimpsest.projections.shown.sentences import did
from palimpsest.streams.policies import load_policy
from palimpsest.streams.search.content import content_tokens, jaccard
from tests.designs.owners import Owner, fresh, session_ended

POLICY = "layered"
RULES = load_policy(POLICY)
GRIP = "grip force cup table winch".split()
FIGURES = ("merged_groups", "superseded_count", "compression_ratio", "avg_similarity")


def like(*more: str) -> str:
    """A text of five words and others; two of them with one other each share 5 of 7: .7143."""
    return " ".join([*GRIP, *more])


def alike(a: str, b: str) -> float:
    return round(jaccard(content_tokens(a), content_tokens(b)), 4)


ONE, TWO, THREE = like("arm", "wheel"), like("pump", "crane"), like("plate", "belt")
"""Each two share 5 of 9 words: .5556, and are too far apart for the pipeline."""


def end(owner: Owner, session: str = "s", **more: Any) -> dict[str, Any]:
    """End a session; the figures of what it led to."""
    asked = {"request_id": fresh()} | more
    request = SessionRequest(
        request="end_session", owner_id=owner.name, session_id=session, **asked
    )
    answer = owner.ask(request)
    assert answer["session_id"] == session
    return {name: answer[name] for name in FIGURES}


def submit_in_session(owner: Owner, *texts: str, **fields: Any) -> list[Mapping[str, Any]]:
    """Texts of the session `s`, which all became memories of their own."""
    told = owner.say(*texts, session_id="s", **fields)
    assert [one["joined_to"] for one in told] == [None] * len(texts)
    return told


def joins(owner: Owner) -> list[Joined]:
    return [event for event in owner.events() if isinstance(event, Joined)]


def test_the_texts_are_as_alike_as_they_say() -> None:
    assert alike(ONE, TWO) == alike(TWO, THREE) == alike(ONE, THREE) == 0.5556


# -- algorithm -----------------------------------------------------------------------------------


def test_at_end_session_redundant_memories_are_consolidated(owner: Owner) -> None:
    one, *_ = submit_in_session(owner, ONE, TWO, THREE, "a boat on the lake")
    assert end(owner) == {
        "merged_groups": 1,
        "superseded_count": 2,
        "compression_ratio": 0.5,
        "avg_similarity": 0.5556,
    }
    assert owner.faces() == [THREE, "a boat on the lake"]
    [memory, _] = owner.memories()
    assert memory["memory_id"] == one["memory_id"]
    assert len(memory["members"]) == 3


def test_it_is_in_the_commit_of_the_end_and_recorded_as_a_run(owner: Owner) -> None:
    submit_in_session(owner, ONE, TWO, THREE)
    figures = end(owner)
    *_, ended, first, second, ran = owner.events()
    assert isinstance(ended, SessionEnded)
    assert isinstance(first, Joined)
    assert isinstance(second, Joined)
    assert isinstance(ran, Ran)
    assert (ran.data.step, ran.data.session_id, ran.data.figures) == ("consolidate", "s", figures)
    assert first.data.decision == second.data.decision == "superseded"
    assert first.data.cause == second.data.cause
    assert first.data.evidence is not None
    assert first.data.evidence.check == "consolidate"


def test_1_same_session(owner: Owner) -> None:
    owner.say(ONE, session_id="another")
    owner.say(TWO)
    submit_in_session(owner, THREE, like("shaft", "rotor"), like("axle", "frame"))
    assert end(owner)["superseded_count"] == 2
    assert owner.faces()[:2] == [ONE, TWO]


def test_1_the_session_and_the_category_are_those_of_the_face(owner: Owner) -> None:
    """A repeat in this session, of a text of another, is not of this one; nor does it protect."""
    [elsewhere] = owner.say(ONE, session_id="another")
    [repeat] = owner.say(ONE.upper(), session_id="s")
    assert repeat["joined_to"] == elsewhere["candidate_id"]
    [two, *_] = submit_in_session(owner, TWO, THREE, like("shaft", "rotor"))
    [repeat] = owner.say(TWO.upper(), session_id="s", category="constraint")
    assert repeat["joined_to"] == two["candidate_id"]
    assert end(owner)["superseded_count"] == 2
    assert owner.faces()[0] == ONE


def test_1_same_collection(owner: Owner) -> None:
    submit_in_session(owner, ONE, TWO)
    owner.say(THREE, session_id="s", namespace="another collection")
    assert end(owner)["merged_groups"] == 0


@pytest.mark.parametrize("category", ["constraint", "postmortem", "gotcha"])
def test_1_protected_categories_are_never_consolidated(owner: Owner, category: str) -> None:
    submit_in_session(owner, ONE, TWO, THREE, category=category)
    assert end(owner) == dict.fromkeys(FIGURES, 0)
    assert len(owner.faces()) == 3


@pytest.mark.parametrize(("confidence", "groups"), [(0.95, 0), (0.9499, 1)])
def test_1_confidence_from_95_is_protected(owner: Owner, confidence: float, groups: int) -> None:
    submit_in_session(owner, ONE, TWO, THREE, confidence=confidence)
    assert end(owner)["merged_groups"] == groups


def test_1_perceptions_are_preserved_individually(owner: Owner) -> None:
    submit_in_session(owner, ONE, TWO, THREE, kind="perception")
    assert end(owner)["merged_groups"] == 0


def test_1_what_is_forgotten_is_not_active(owner: Owner) -> None:
    _, two, _ = submit_in_session(owner, ONE, TWO, THREE)
    selection = Selection(candidate_id=two["candidate_id"])
    owner.ask(RetractRequest(request_id=fresh(), selection=selection))
    assert end(owner)["merged_groups"] == 0, "only two are left"


def test_2_skip_if_fewer_than_3_memories(owner: Owner) -> None:
    submit_in_session(owner, ONE, TWO)
    assert end(owner) == dict.fromkeys(FIGURES, 0)
    submit_in_session(owner, "a boat on the lake")
    assert end(owner)["superseded_count"] == 1


def test_2_skip_is_of_each_namespace_by_itself(owner: Owner) -> None:
    owner.say(THREE, session_id="s", namespace="an earlier collection")
    submit_in_session(owner, ONE, TWO)
    assert end(owner) == dict.fromkeys(FIGURES, 0)


def test_3_group_by_category(owner: Owner) -> None:
    submit_in_session(owner, ONE, TWO, category="observation")
    submit_in_session(owner, THREE, like("shaft", "rotor"), category="tradeoff")
    submit_in_session(owner, like("axle", "frame"))
    assert end(owner) == {
        "merged_groups": 2,
        "superseded_count": 2,
        "compression_ratio": 0.4,
        "avg_similarity": 0.5556,
    }


def test_3_a_category_is_one_group_however_its_memories_came(owner: Owner) -> None:
    submit_in_session(owner, ONE, category="observation")
    submit_in_session(owner, like("shaft", "rotor"), category="tradeoff")
    submit_in_session(owner, TWO, category="observation")
    assert (end(owner)["merged_groups"], len(joins(owner))) == (1, 1)


def test_4_over_50_is_a_candidate_pair_and_50_is_not(owner: Owner) -> None:
    half = [like("arm"), "grip force cup table pump crane"]
    assert alike(*half) == 0.5
    submit_in_session(owner, *half, "a boat on the lake")
    assert end(owner)["merged_groups"] == 0
    assert RULES.consolidate is not None
    assert RULES.consolidate.above == 0.5


def test_4_all_pairs_in_a_cluster_must_exceed_the_threshold(owner: Owner) -> None:
    """A and B, B and C are alike, A and C are not: no chain drift."""
    a, b, c = "g1 g2 g3 g4 a1", "g1 g2 g3 g4 c1 c2", "g3 g4 c1 c2 g1 x1 x2"
    assert (alike(a, b), alike(b, c)) == (0.5714, 0.625)
    assert alike(a, c) <= 0.5
    submit_in_session(owner, a, b, c)
    assert end(owner)["superseded_count"] == 1
    assert owner.faces() == [b, c]


@pytest.mark.parametrize(("order", "left"), [("cba", "ba"), ("acb", "bc"), ("abc", "bc")])
def test_4_a_memory_is_in_one_cluster(owner: Owner, order: str, left: str) -> None:
    """In the order of arrival; the document's code starts a cluster at every memory.

    So it would join B to both A and C.
    """
    texts = {"a": "g1 g2 g3 g4 a1", "b": "g1 g2 g3 g4 c1 c2", "c": "g3 g4 c1 c2 g1 x1 x2"}
    submit_in_session(owner, *(texts[name] for name in order))
    figures = end(owner)
    assert (figures["merged_groups"], figures["superseded_count"]) == (1, 1)
    assert sorted(owner.faces()) == sorted(texts[name] for name in left)


# -- representative selection --------------------------------------------------------------------


def consolidated(owner: Owner) -> str:
    """The only text that is left."""
    assert end(owner)["merged_groups"] == 1
    [face] = owner.faces()
    return face


def test_5_highest_confidence_survives(owner: Owner) -> None:
    submit_in_session(owner, ONE, confidence=0.6)
    submit_in_session(owner, TWO, confidence=0.8)
    submit_in_session(owner, THREE, confidence=0.7)
    assert consolidated(owner) == TWO


def test_5_highest_confidence_survives_though_it_happened_first(owner: Owner) -> None:
    submit_in_session(owner, ONE, confidence=0.6)
    submit_in_session(owner, TWO, confidence=0.8, occurred_at="2019-01-01")
    submit_in_session(owner, THREE, confidence=0.7)
    assert consolidated(owner) == TWO


def test_5_the_timeline_says_that_it_speaks_whenever_it_happened(owner: Owner) -> None:
    submit_in_session(owner, ONE, confidence=0.6)
    submit_in_session(owner, TWO, confidence=0.8, occurred_at="2019-01-01")
    submit_in_session(owner, THREE, confidence=0.7)
    assert consolidated(owner) == TWO
    assert {did(join) for join in joins(owner)} == {
        "a batch run joined it to another candidate, and takes the face",
        "a batch run joined it to another candidate, whose wording stays the face",
    }


def test_5_without_confidence_it_is_90(owner: Owner) -> None:
    submit_in_session(owner, ONE, confidence=0.89)
    submit_in_session(owner, TWO)
    submit_in_session(owner, THREE, confidence=0.8)
    assert consolidated(owner) == TWO


def test_5_confidence_goes_before_access_count(owner: Owner) -> None:
    [one] = submit_in_session(owner, ONE, confidence=0.6)
    submit_in_session(owner, TWO, confidence=0.8)
    submit_in_session(owner, THREE, confidence=0.7)
    owner.ask(AccessRequest(request_id=fresh(), candidate_id=one["candidate_id"]))
    assert consolidated(owner) == TWO


def test_5_tiebreak_access_count(owner: Owner) -> None:
    one, *_ = submit_in_session(owner, ONE, TWO, THREE)
    owner.ask(AccessRequest(request_id=fresh(), candidate_id=one["candidate_id"]))
    assert consolidated(owner) == ONE


def test_5_access_counts_are_summed_over_members(owner: Owner) -> None:
    """An exact repeat is a join, and counts as an access, too."""
    one, two, _ = submit_in_session(owner, ONE, TWO, THREE)
    owner.ask(AccessRequest(request_id=fresh(), candidate_id=one["candidate_id"]))
    [again] = owner.say(TWO)
    owner.ask(AccessRequest(request_id=fresh(), candidate_id=again["candidate_id"]))
    assert again["joined_to"] == two["candidate_id"]
    assert consolidated(owner) == TWO


def test_5_tiebreak_newest(owner: Owner) -> None:
    submit_in_session(owner, ONE, TWO, THREE)
    assert consolidated(owner) == THREE


def test_5_newest_is_what_happened_last(owner: Owner) -> None:
    submit_in_session(owner, ONE)
    submit_in_session(owner, TWO, occurred_at="2020-02-02")
    submit_in_session(owner, THREE, occurred_at="2019-01-01")
    assert consolidated(owner) == ONE


def test_5_a_face_that_a_person_set_survives(owner: Owner) -> None:
    """Ours alone: what a person chose outranks confidence."""
    one, two, _ = submit_in_session(owner, ONE, TWO, THREE, confidence=0.6)
    submit_in_session(owner, like("axle", "frame"), confidence=0.9)
    other = submit_in_session(owner, like("shaft", "rotor"), confidence=0.5)[0]
    owner.ask(
        MergeRequest(
            request_id=fresh(),
            a=one["candidate_id"],
            b=other["candidate_id"],
            face=other["candidate_id"],
        )
    )
    assert consolidated(owner) == like("shaft", "rotor")
    assert two["memory_id"] not in {memory["memory_id"] for memory in owner.memories()}


# -- 6. superseded, and taken back ---------------------------------------------------------------


def test_6_superseded_by_the_representative_each(owner: Owner) -> None:
    one, two, three = (
        submit_in_session(owner, text)[0]["candidate_id"] for text in (ONE, TWO, THREE)
    )
    end(owner)
    made = [(j.data.candidate_id, j.data.join.to, j.data.join.face) for j in joins(owner)]
    assert made == [(three, one, "take"), (three, two, "take")]
    assert [join.data.join.similarity for join in joins(owner)] == [0.5556, 0.5556]


def test_6_the_older_keeps_the_face_where_it_is_the_representative(owner: Owner) -> None:
    one = submit_in_session(owner, ONE, confidence=0.94)[0]["candidate_id"]
    submit_in_session(owner, TWO, THREE)
    assert consolidated(owner) == ONE
    assert [(j.data.join.to, j.data.join.face) for j in joins(owner)] == [(one, "keep")] * 2


def test_6_ours_can_be_taken_back(owner: Owner) -> None:
    """Nothing is deleted: the dry run shows what there will be, and the un-merge does it."""
    submit_in_session(owner, ONE, TWO, THREE)
    end(owner)
    first = joins(owner)[0]
    planned = owner.unmerge(first.id, dry_run=True)
    assert [memory["face"] for memory in planned["memories"]] == [ONE, THREE]
    assert owner.faces() == [THREE]
    done = owner.unmerge(first.id)
    assert done["memories"] == planned["memories"]
    assert owner.faces() == [ONE, THREE]
    submit_in_session(owner, "a boat on the lake", "a lamp")
    assert end(owner)["merged_groups"] == 0, "it sticks: a person said that the pair differs"


def test_6_a_join_before_it_is_replayed_by_the_dry_run(owner: Owner) -> None:
    """An un-merge of a newcomer's join tells what later joins become of it."""
    submit_in_session(owner, ONE, TWO, THREE)
    [near] = owner.say(f"{ONE} hinge", session_id="s")
    assert near["decision"] == "token_reject"
    end(owner)
    planned = owner.unmerge(near["decision_id"], dry_run=True)
    assert [memory["face"] for memory in planned["memories"]] == [ONE, f"{ONE} hinge"]
    assert owner.faces() == [ONE]
    request = UnmergeRequest(request_id=fresh(), memory_id=near["memory_id"])
    owner.ask(request)
    assert owner.faces() == [ONE, TWO, THREE, f"{ONE} hinge"]


def test_6_separations_bind(owner: Owner) -> None:
    one, two, _ = submit_in_session(owner, ONE, TWO, THREE)
    owner.ask(SeparateRequest(request_id=fresh(), a=one["candidate_id"], b=two["candidate_id"]))
    assert end(owner)["superseded_count"] == 1
    assert owner.faces() == [THREE, TWO], "the earliest takes in who may be joined to it"


def test_asked_again_it_is_done_once_and_answers_as_it_did(owner: Owner) -> None:
    submit_in_session(owner, ONE, TWO, THREE)
    asked = fresh()
    first = end(owner, request_id=asked)
    log = owner.events()
    assert end(owner, request_id=asked) == first
    assert owner.events() == log
    assert end(owner)["merged_groups"] == 0


def test_a_producer_says_it_in_the_stream(owner: Owner) -> None:
    """`session_ended` beside the candidates, so that an end cannot overtake what was said."""
    submit_in_session(owner, ONE, TWO, THREE)
    line = session_ended(owner.name, "s")
    owner.runtime.submit([line])
    assert owner.faces() == [THREE]
    log = owner.events()
    owner.runtime.submit([line])
    assert owner.events() == log, "a redelivery is nothing new"


def test_a_policy_without_the_rule_only_notes_the_end(owner: Owner) -> None:
    plain = Owner(
        owner.runtime, owner.name, RULES.model_copy(update={"consolidate": None, "name": "plain"})
    )
    submit_in_session(plain, ONE, TWO, THREE)
    request = SessionRequest(
        request_id=fresh(), request="end_session", owner_id=plain.name, session_id="s"
    )
    assert plain.ask(request) == {"session_id": "s"}
    assert isinstance(plain.events()[-1], SessionEnded)


# -- response, example ---------------------------------------------------------------------------


def test_response_avg_similarity_is_of_all_pairs_within_clusters(owner: Owner) -> None:
    texts = [like("arm"), like("pump", "crane"), like("wheel", "shaft")]
    assert [alike(a, b) for a, b in combinations(texts, 2)] == [0.625, 0.625, 0.5556]
    submit_in_session(owner, *texts)
    assert end(owner)["avg_similarity"] == 0.6019


EXAMPLE = (
    "grip_force=12.5N works for cups",
    "12.5N grip force optimal for cylinders",
    "force 12.5N best for cup grasping",
    "red objects need 15N force",
    "always calibrate before grasping",
)


def test_example_does_not_follow_from_the_documents_own_formula(owner: Owner) -> None:
    """It says that #1, #2 and #3 are over .50 pairwise: by its formula they are far from it."""
    assert [alike(a, b) for a, b in combinations(EXAMPLE[:3], 2)] == [0.0, 0.0, 0.25]
    for text, confidence in zip(EXAMPLE, (0.85, 0.80, 0.90, 0.85, 0.95), strict=True):
        category = "constraint" if text is EXAMPLE[-1] else "observation"
        submit_in_session(owner, text, confidence=confidence, category=category)
    assert end(owner)["merged_groups"] == 0
    assert owner.faces() == list(EXAMPLE)


def test_configuration_all_numbers_are_from_the_file() -> None:
    assert RULES.consolidate == Consolidate(
        above=0.5,
        tokenizer="content",
        fewest=3,
        confidence_below=0.95,
        protected_categories=("constraint", "postmortem", "gotcha"),
        protected_kinds=("perception",),
    )


def test_a_dry_run_says_what_the_session_would_have_become_instead(owner: Owner) -> None:
    """The newest speaks for all three. Without it, the other two would have been one."""
    one, two, three = (row["candidate_id"] for row in submit_in_session(owner, ONE, TWO, THREE))
    end(owner)
    before = owner.memories()
    out = next(join for join in joins(owner) if join.data.join.to == two)
    told = owner.unmerge(out.id, dry_run=True)["consequences"]
    assert [(row["candidate_id"], row["would_be"]) for row in told] == [
        (three, {"decision": "stored", "joined_to": None}),
        (two, {"decision": "superseded", "joined_to": one}),
    ]
    owner.unmerge(out.id, with_consequences=True)
    assert owner.faces() == [TWO, THREE]
    owner.ask(ReinstateRequest(request_id=fresh(), decision_id=out.id))
    assert owner.memories() == before
