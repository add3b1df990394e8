"""The batch rule `clusters` for one owner: what is composed, replaced, and left for later."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from palimpsest.contracts.commands import Combine
from palimpsest.contracts.events import Composition
from palimpsest.contracts.evidence import Answer, Evidence, Verdict
from palimpsest.contracts.policy import CosineCheck, Policy
from palimpsest.contracts.requests import CombineRequest
from palimpsest.streams.dedupe import Run, proposals
from palimpsest.streams.judge.pairs import CompositionAnswer, JudgedPair, Side
from palimpsest.streams.policies import load_policy
from tests.streams.core.spec import History, content, given, merge, separate
from tests.streams.dedupe.test_by_tokens import STILL, at, at_cosine, longer

RULES = load_policy("replace-or-merge")
GRAY, CERTAIN = 22, 5
"""Degrees between two vectors: a cosine of .9272, and of .9962."""


class Composes:
    """A judge that joins texts with a plus, or is away; it keeps what it was given."""

    recorded = None

    def __init__(self, answer: Answer = "compose", text: str | None = None) -> None:
        self.answer = answer
        self.text = text
        self.given: list[list[str]] = []

    async def compare(self, pairs: Sequence[JudgedPair]) -> list[Verdict]:
        raise AssertionError("this rule compares nothing")

    def owe(self, pair: JudgedPair, verdict: Verdict) -> None:
        raise AssertionError("a batch run owes nothing")

    async def compose(self, sources: Sequence[Side]) -> CompositionAnswer:
        self.given.append([source.text for source in sources])
        verdict = Verdict(
            neighbour_id=sources[0].candidate_id, answer=self.answer, reasoning="as it should"
        )
        made = self.text or " + ".join(source.text for source in sources)
        return CompositionAnswer(made if self.answer == "compose" else None, verdict)


def run_of(
    history: History, judge: Composes, run: Run | None = None, rules: Policy = RULES
) -> tuple[Run, list[CombineRequest]]:
    run = run or Run(lambda what, share: None)

    async def gather() -> list[CombineRequest]:
        parts = proposals(history.ledger, rules, judge, run)
        return [one async for part in parts for one in part if isinstance(one, CombineRequest)]

    return run, asyncio.run(gather())


def faces(history: History, joins: Sequence[CombineRequest]) -> dict[str, str]:
    """The memories after these joins, as `shows` writes them."""
    for one in joins:
        join = Combine(
            command_id=history.fresh(),
            owner_id=history.owner_id,
            a=one.a,
            b=one.b,
            decision=one.decision,
            face=one.face,
            evidence=one.evidence,
        )
        history.carry_out(join)
    return history.faces()


def year(number: int) -> dict[str, str]:
    return {"occurred_at": f"{number}-05-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("years", "speaks"),
    [
        ((2022, 2024, 2021), "that"),
        ((2024, 2022, 2023), "the"),
        ((2022, 2021, 2024), "her"),
    ],
)
def test_the_newest_by_its_moment_speaks_for_a_cluster_of_certain_pairs(
    years: tuple[int, int, int], speaks: str
) -> None:
    words = ("the", "that", "her")
    steps = (
        at(name, f"Ada sails on {word} lake", place * CERTAIN, None, **year(when))
        for place, (name, word, when) in enumerate(zip("abc", words, years, strict=True))
    )
    history = given(*steps, policy=STILL)
    _, joins = run_of(history, Composes())
    assert [join.decision for join in joins] == ["superseded", "superseded"]
    assert faces(history, joins) == {f"Ada sails on {speaks} lake": "a b c"}


def test_vectors_of_one_length_are_compared() -> None:
    shorter = (at(name, f"Ada sails on {name} lake", 0) for name in "ab")
    others = (longer(at(name, f"Ada sails on {name} lake", CERTAIN)) for name in "cd")
    history = given(*shorter, *others, policy=STILL)
    run, joins = run_of(history, Composes())
    pairs = [history.name(join.a) + history.name(join.b) for join in joins]
    assert (pairs, run.memories, run.pairs) == (["ab", "cd"], 4, 2)


def test_the_newest_by_its_moment_speaks_also_where_it_is_joined_through_another() -> None:
    """The one in the middle came last and happened first: it joins the newest, then the other."""
    history = given(
        at("a", "Ada sails on the lake", 0, None, **year(2024)),
        at("b", "Ada sails on that lake", 2 * CERTAIN, None, **year(2022)),
        at("c", "Ada sails on her lake", CERTAIN, None, **year(2021)),
        policy=STILL,
    )
    _, joins = run_of(history, Composes())
    assert [(history.name(join.a), history.name(join.b)) for join in joins] == [
        ("a", "c"),
        ("b", "c"),
    ]
    assert faces(history, joins) == {"Ada sails on the lake": "a b c"}


def test_the_newest_of_a_part_speaks_for_it_whoever_is_joined_next() -> None:
    """The last joins the second, whose part the third speaks for by then."""
    history = given(
        at("a", "Ada sails on the lake", 0, None, **year(2022)),
        at("b", "Ada sails on that lake", CERTAIN, None, **year(2023)),
        at("c", "Ada sails on her lake", -CERTAIN, None, **year(2025)),
        at("d", "Ada sails on this lake", 2 * CERTAIN, None, **year(2024)),
        policy=STILL,
    )
    _, joins = run_of(history, Composes())
    pairs = [(history.name(join.a), history.name(join.b), join.face) for join in joins]
    assert pairs == [("a", "b", "take"), ("a", "c", "take"), ("b", "d", "keep")]
    assert faces(history, joins) == {"Ada sails on her lake": "a b c d"}


def test_without_times_of_their_own_the_last_to_arrive_speaks() -> None:
    history = given(
        at("a", "Ada sails on the lake", 0),
        at("b", "Ada sails on that lake", CERTAIN),
        at("c", "Ada sails on her lake", 2 * CERTAIN),
        policy=STILL,
    )
    _, joins = run_of(history, Composes())
    assert faces(history, joins) == {"Ada sails on her lake": "a b c"}


def test_a_text_is_composed_of_a_cluster_in_the_order_of_its_moments() -> None:
    history = given(
        at("a", "Ada sails", 0, None, **year(2023)),
        at("b", "Ada has a boat", GRAY, None, **year(2021)),
        policy=STILL,
    )
    judge = Composes()
    _, [join] = run_of(history, judge)
    assert judge.given == [["Ada has a boat", "Ada sails"]]
    assert (join.face, join.composed) == ("text", "Ada has a boat + Ada sails")
    assert join.sources == (history.id("b"), history.id("a"))


def test_the_sources_of_a_face_take_their_places_in_time() -> None:
    history = given(
        at("a", "Ada sails", 0, None, **year(2023)),
        at("b", "Ada has a boat", 1, None, **year(2021)),
        at("c", "Ada rows", GRAY, None, **year(2022)),
        policy=STILL,
    )
    made = Composition(
        content=content("Ada sails her boat", (1.0, 0.0)),
        sources=(history.id("b"), history.id("a")),
    )
    history.carry_out(
        Combine(
            command_id=history.fresh(),
            owner_id=history.owner_id,
            a=history.id("a"),
            b=history.id("b"),
            decision="llm_merge",
            face="text",
            composition=made,
            evidence=Evidence(policy=RULES.hash),
        )
    )
    judge = Composes()
    _, [join] = run_of(history, judge)
    assert judge.given == [["Ada rows", "Ada sails her boat"]]
    assert [history.name(source) for source in join.sources] == ["b", "c", "a"]


def clusters_of(*numbers: int) -> History:
    """Clusters of two that are gray to each other, far from the others: 40 degrees apart."""
    steps = []
    for number in numbers:
        steps += [
            at(f"{number}a", f"Ada likes thing {number}", 100 * number),
            at(f"{number}b", f"thing {number} pleases Ada", 100 * number + GRAY),
        ]
    return given(*steps, policy=STILL)


def test_in_an_outage_one_cluster_is_asked_about_and_the_others_wait() -> None:
    history, judge = clusters_of(0, 1, 2), Composes("unavailable")
    run, joins = run_of(history, judge)
    assert len(judge.given) == 1
    assert [join.decision for join in joins] == ["fallback_supersede"], (
        "as published: its call failed"
    )
    assert (run.unanswered, run.left + run.unanswered) == (1, 2)


def test_the_next_owner_is_not_asked_about_either() -> None:
    judge = Composes("unavailable")
    run, _ = run_of(clusters_of(0), judge)
    again, joins = run_of(clusters_of(0, 1), judge, run)
    assert len(judge.given) == 1
    assert joins == []
    assert again.left + again.unanswered == 2


@pytest.mark.parametrize("unavailable", ["keep", "reject", "supersede"])
def test_a_cue_keeps_a_cluster_apart_whatever_the_fallback(unavailable: str) -> None:
    rules = RULES.model_copy(
        update={"judge": RULES.judge.model_copy(update={"unavailable": unavailable})}
    )
    history = given(at("a", "Ada has 2 cats", 0), at("b", "Ada has 3 cats", GRAY), policy=STILL)
    run, joins = run_of(history, Composes("unavailable"), rules=rules)
    assert joins == []
    assert run.left + run.unanswered == 1


def test_sources_go_from_the_oldest_to_the_newest() -> None:
    """Whatever pair holds the cluster together first: b is in it only by c, which is newer."""
    history = given(
        at("a", "beside the mill", 0),
        at("b", "behind the church", 40),
        at("c", "between the two", 20),
        policy=STILL,
    )
    judge = Composes()
    _, [*_, last] = run_of(history, judge)
    assert judge.given == [["beside the mill", "behind the church", "between the two"]]
    assert [history.name(source) for source in last.sources] == ["a", "b", "c"]


@pytest.mark.parametrize("text", [" beside the mill + behind the church", " "])
def test_a_text_that_is_another_memorys_is_composed_for_nobody(text: str) -> None:
    """It is somebody's own already; and a blank one says nothing."""
    history = given(
        at("x", "beside the mill + behind the church", 90),
        at("a", "beside the mill", 0),
        at("b", "behind the church", 20),
        policy=STILL,
    )
    run, joins = run_of(history, Composes(text=text))
    assert (joins, run.joins) == ([], [])
    assert run.asked == {"compose": 1}


@pytest.mark.parametrize(
    ("cosine", "decisions"),
    [(0.8999, []), (0.9, ["llm_merge"]), (0.9499, ["llm_merge"]), (0.95, ["superseded"])],
)
def test_zones_are_inclusive_upward(cosine: float, decisions: list[str]) -> None:
    pair = (at("a", "the first of them", 0), at_cosine("b", "the last of them", cosine))
    run, joins = run_of(given(*pair, policy=STILL), Composes())
    assert [join.decision for join in joins] == decisions
    assert all(join["similarity"] == cosine for join in run.joins)


def test_a_pair_that_the_model_cannot_tell_apart_is_never_certain() -> None:
    history = given(at("a", "борщ soup", 0), at("b", "щи soup", 0), policy=STILL)
    judge = Composes()
    _, [join] = run_of(history, judge)
    assert judge.given == [["борщ soup", "щи soup"]]
    assert join.decision == "llm_merge"


def checking(**fields: object) -> Policy:
    """The policy with one check that says this of cosines."""
    check = CosineCheck.model_validate({"check": "cosine", **fields})
    return RULES.model_copy(update={"checks": (check,)})


PENDING = ({"at_least": 0.9, "action": "pending"},)


def test_the_largest_cluster_comes_first_and_of_equal_ones_that_whose_newest_is_the_earlier() -> (
    None
):
    history = given(
        at("a", "Ada rows", 0),
        at("b", "Ben bakes", 90),
        at("c", "rowing is Ada's", GRAY),
        at("d", "baking is Ben's", 90 + GRAY),
        at("e", "Cleo sings", 200),
        at("f", "singing is Cleo's", 200 + GRAY),
        at("g", "songs of Cleo", 200 + 2 * GRAY),
        policy=STILL,
    )
    judge = Composes()
    run_of(history, judge)
    assert [texts[0] for texts in judge.given] == ["Cleo sings", "Ada rows", "Ben bakes"]


def test_of_equal_clusters_that_whose_newest_came_earlier_is_first_whoever_began() -> None:
    history = given(
        at("a", "Ada rows", 0),
        at("b", "rowing is Ada's", GRAY),
        at("c", "Ben bakes", 120),
        at("d", "baking is Ben's", 120 + GRAY),
        at("e", "bread of Ben", 120 + 2 * GRAY),
        at("f", "boats of Ada", 2 * GRAY),
        policy=STILL,
    )
    judge = Composes()
    run_of(history, judge)
    assert [texts[0] for texts in judge.given] == ["Ben bakes", "Ada rows"]


def test_a_policy_without_a_judge_joins_what_is_certain_and_leaves_the_rest() -> None:
    steps = (
        at("a", "Ada sails on the lake", 0),
        at("b", "Ada sails on that lake", CERTAIN),
        at("c", "Ben bakes bread", 90),
        at("d", "bread is what Ben bakes", 90 + GRAY),
    )
    nobody = RULES.model_copy(update={"judge": RULES.judge.model_copy(update={"enabled": False})})
    judge = Composes()
    run, [join] = run_of(given(*steps, policy=STILL), judge, rules=nobody)
    assert (join.decision, judge.given, run.left) == ("superseded", [], 1)


@pytest.mark.parametrize(("floor", "joins"), [(0.92, 1), (0.93, 0)])
def test_each_namespace_has_the_floor_that_the_policy_has_for_it(floor: float, joins: int) -> None:
    steps = (
        at("a", "the first of them", 0, namespace="lab"),
        at("b", "the last of them", GRAY, namespace="lab"),
    )
    for action, decision in (("pending", "llm_merge"), ("superseded", "superseded")):
        zones = ({"at_least": 0.99, "action": action},)
        rules = checking(zones=zones, namespaces={"lab": floor})
        run, found = run_of(given(*steps, policy=STILL), Composes(), rules=rules)
        assert [one.decision for one in found] == [decision] * joins
        assert (run.memories, run.all_pairs, run.pairs) == (2, 1, 1)


@pytest.mark.parametrize(("fewest", "joins"), [(9, 1), (10, 0)])
def test_a_text_that_is_too_short_for_the_check_is_in_no_cluster(fewest: int, joins: int) -> None:
    history = given(at("a", "rows daily", 0), at("b", "row daily", GRAY), policy=STILL)
    rules = checking(zones=PENDING, min_characters=fewest)
    _, found = run_of(history, Composes(), rules=rules)
    assert len(found) == joins


def test_two_that_are_said_to_differ_are_in_no_cluster_together_by_a_third() -> None:
    history = given(
        at("a", "beside the mill", 0),
        at("b", "behind the church", 2 * GRAY),
        at("c", "between the two", GRAY),
        separate("a", "b"),
        policy=STILL,
    )
    run, [join] = run_of(history, Composes())
    assert history.name(join.b) == "c"
    assert len(run.joins) == 1


def test_a_cue_between_two_keeps_only_these_from_the_fallback() -> None:
    """Otherwise one text beside them would keep any number of rewordings apart."""
    history = given(
        at("a", "Ada has 2 cats", 0),
        at("b", "Ada has 3 cats", CERTAIN),
        at("c", "Ada has 3 cats at home", CERTAIN + GRAY),
        policy=STILL,
    )
    run, [join] = run_of(history, Composes("unavailable"))
    assert (history.name(join.a), history.name(join.b)) == ("b", "c")
    assert run.asked == {"unavailable": 1}
    assert run.left + run.unanswered == 1, "the cluster still waits for the judge"


def test_as_the_policy_falls_back_the_oldest_speaks_for_the_cluster() -> None:
    rules = RULES.model_copy(
        update={"judge": RULES.judge.model_copy(update={"unavailable": "reject"})}
    )
    history = given(
        at("a", "Ada rows", 0), at("b", "Ada is in a boat", GRAY), at("c", "boats", 2 * GRAY)
    )
    _, joins = run_of(history, Composes("unavailable"), rules=rules)
    assert [(join.decision, join.face) for join in joins] == [("fallback_reject", "keep")] * 2


def test_the_last_join_has_the_verdict_on_all_and_it_is_about_its_own_older_one() -> None:
    history = given(
        at("a", "Ada rows", 0),
        at("b", "Ada is in a boat", GRAY),
        at("c", "boats of hers", 2 * GRAY),
        policy=STILL,
    )
    run, joins = run_of(history, Composes())
    assert [(history.name(join.a), history.name(join.b)) for join in joins] == [
        ("a", "b"),
        ("b", "c"),
    ]
    assert {(join.face, join.composed) for join in joins} == {("text", joins[1].composed)}
    assert [join.rank for join in joins] == ["judge", "judge"]
    told = [[verdict.neighbour_id for verdict in join.evidence.verdicts] for join in joins]
    assert told == [[], [history.id("b")]]
    assert [join.get("composed") for join in run.joins] == [None, joins[1].composed]
    assert [join["reasoning"] for join in run.joins] == [None, "as it should"]


def test_a_join_that_needs_no_judge_is_the_rules() -> None:
    pair = at("a", "Ada sails on the lake", 0), at("b", "Ada sails on that lake", CERTAIN)
    _, [join] = run_of(given(*pair, policy=STILL), Composes())
    assert (join.rank, join.evidence.verdicts, join.evidence.asked) == ("rule", (), ())


def test_pairs_are_joined_in_the_order_in_which_their_newer_ones_came() -> None:
    history = given(
        at("a", "Ada rows", 0),
        at("b", "Ada is in a boat", 2 * GRAY),
        at("c", "boats of hers", GRAY - 1),
        policy=STILL,
    )
    _, joins = run_of(history, Composes())
    assert [(history.name(join.a), history.name(join.b)) for join in joins] == [
        ("a", "c"),
        ("b", "c"),
    ]
    history = given(
        at("x", "Ada rows", 0),
        at("y", "Ada is in a boat", GRAY),
        at("z", "boats of hers", 2 * GRAY - 5),
        policy=STILL,
    )
    _, joins = run_of(history, Composes())
    assert [(history.name(join.a), history.name(join.b)) for join in joins] == [
        ("x", "y"),
        ("y", "z"),
    ]


def test_of_a_pair_the_older_is_the_speaker_that_came_first() -> None:
    history = given(
        at("a", "Ada is at the pier", 100),
        at("x", "beside the mill", 0),
        at("b", "behind the church", GRAY),
        merge("a", "b", face="b"),
        policy=STILL,
    )
    _, [join] = run_of(history, Composes())
    assert (history.name(join.a), history.name(join.b)) == ("x", "b")


def test_of_two_clusters_with_one_composed_text_the_second_is_left() -> None:
    """The writer would refuse its joins: a dry run would have shown what is not done."""
    history = given(
        at("a", "Ada sails", 0, None),
        at("b", "Ada is a sailor", GRAY, None),
        at("c", "Ada has a boat", 180, None),
        at("d", "Ada owns a boat", 180 + GRAY, None),
        policy=STILL,
    )
    _, joins = run_of(history, Composes(text="Ada sails her own boat"))
    assert [(history.name(join.a), history.name(join.b)) for join in joins] == [("a", "b")]


GUARDED = checking(
    zones=(
        {"at_least": 0.95, "action": "superseded", "guard": True},
        {"at_least": 0.9, "action": "pending"},
    )
)
"""The policy with the guard in its highest zone, as docs/guard.md advises."""


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        ("She has three dogs.", "superseded"),
        ("She has 4 dogs.", "llm_merge"),
        ("She likes 3 dogs.", "llm_merge"),
    ],
)
def test_a_pair_that_the_guard_of_its_zone_stops_goes_to_the_judge(
    text: str, decision: str
) -> None:
    history = given(at("a", "She has 3 dogs.", 0), at("b", text, CERTAIN), policy=STILL)
    _, [join] = run_of(history, Composes(), rules=GUARDED)
    assert join.decision == decision


@pytest.mark.parametrize(("rules", "joins"), [(RULES, 1), (GUARDED, 0)])
def test_without_an_answer_a_policy_that_asks_the_guard_keeps_other_words_apart(
    rules: Policy, joins: int
) -> None:
    pair = at("a", "parking is allowed", 0), at("b", "parking is prohibited", GRAY)
    _, found = run_of(given(*pair, policy=STILL), Composes("unavailable"), rules=rules)
    assert len(found) == joins
