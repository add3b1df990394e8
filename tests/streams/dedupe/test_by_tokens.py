"""The janitor's plan for one owner: what it compares, asks, joins and leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from math import acos, cos, degrees, radians, sin
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from palimpsest.contracts.commands import Admit
from palimpsest.contracts.evidence import Answer, Verdict
from palimpsest.contracts.policy import CosineCheck, Policy, TokenCheck, Zone
from palimpsest.contracts.requests import CombineRequest, SeparateRequest
from palimpsest.streams.dedupe import Run, near, proposals
from palimpsest.streams.dedupe.near import cosine_of
from palimpsest.streams.dedupe.run import Proposal
from palimpsest.streams.judge.pairs import CompositionAnswer, JudgedPair, Side
from palimpsest.streams.policies import load_policy
from palimpsest.streams.search.scope_index import vector_of
from tests.streams.core.spec import (
    History,
    Step,
    content,
    given,
    merge,
    policy,
    retract,
    say,
    separate,
)

STORE_TIME = load_policy("store-time")
STILL = policy(CosineCheck(check="cosine", zones=(Zone(at_least=1.0, action="pending"),)))
"""While the memories come in, nothing is near: what the janitor finds was there before it."""


def at(
    name: str,
    text: str,
    degrees: float,
    sees: Mapping[str, float] | None = None,
    *,
    namespace: str = "default",
    category: str = "fact",
    **fields: str | float,
) -> Step:
    """A candidate whose vector points so; 25 degrees are a cosine of .9063, 11 of .9816."""

    def step(history: History) -> Admit:
        told: dict[str, Any] = fields
        admit = say(name, text, sees, namespace=namespace, category=category, **told)(history)
        assert isinstance(admit, Admit)
        vector = (cos(radians(degrees)), sin(radians(degrees)))
        return Admit(
            candidate_id=admit.candidate_id,
            candidate=admit.candidate,
            content=content(text, vector),
            digest=admit.digest,
            neighbours=admit.neighbours,
        )

    return step


def unread(candidate: Step, *words: str) -> Step:
    """The same candidate; the model cannot read these words of it."""

    def step(history: History) -> Admit:
        admit = candidate(history)
        assert isinstance(admit, Admit)
        assert admit.content.vector is not None
        vector = structs.replace(admit.content.vector, unknown=words)
        return structs.replace(admit, content=structs.replace(admit.content, vector=vector))

    return step


def longer(candidate: Step) -> Step:
    """The same candidate; its vector has one number more, which is zero."""

    def step(history: History) -> Admit:
        admit = candidate(history)
        assert isinstance(admit, Admit)
        assert admit.content.vector is not None
        numbers = (*vector_of(admit.content.vector).tolist(), 0.0)
        return structs.replace(admit, content=content(admit.content.text, numbers))

    return step


class Answers:
    """A judge of fixed answers; it keeps what it was asked, request by request."""

    recorded = None

    def __init__(self, answer: Callable[[JudgedPair], Answer]) -> None:
        self.asked: list[list[JudgedPair]] = []
        self._answer = answer

    async def compare(self, pairs: Sequence[JudgedPair]) -> list[Verdict]:
        self.asked.append([*pairs])
        return [
            Verdict(neighbour_id=pair.older.candidate_id, answer=self._answer(pair))
            for pair in pairs
        ]

    def owe(self, pair: JudgedPair, verdict: Verdict) -> None:
        raise AssertionError("a batch run owes nothing")

    async def compose(self, sources: Sequence[Side]) -> CompositionAnswer:
        raise AssertionError("this rule composes nothing")


def run_of(
    history: History,
    answer: Answer = "same",
    rules: Policy = STORE_TIME,
    run: Run | None = None,
) -> tuple[Run, list[Proposal], Answers]:
    judge, run = Answers(lambda pair: answer), run or Run(lambda what, share: None)

    async def gather() -> list[Proposal]:
        parts = proposals(history.ledger, rules, judge, run)
        return [one async for part in parts for one in part]

    return run, asyncio.run(gather()), judge


BOATS = (
    at("a", "Ada has a boat in Bergen", 0),
    at("b", "a boat that is Ada's lies in Bergen", 25),
    at("c", "Ben bakes bread", 25),
)


def test_the_judge_is_asked_about_near_pairs_that_share_tokens() -> None:
    run, [join], judge = run_of(given(*BOATS, policy=STILL))
    [[pair]] = judge.asked
    said = ("Ada has a boat in Bergen", "a boat that is Ada's lies in Bergen")
    assert (pair.older.text, pair.newer.text) == said
    assert isinstance(join, CombineRequest)
    assert (join.decision, join.face, join.rank) == ("llm_reject", "keep", "judge")
    assert join.evidence.neighbours[0].cosine == 0.9063
    assert join.evidence.verdicts[0].answer == "same"
    assert (run.memories, run.pairs, run.all_pairs) == (3, 1, 3)
    assert [join["decision"] for join in run.joins] == ["llm_reject"]


def test_vectors_of_one_length_are_compared() -> None:
    """A service whose setting `dimensions` was changed gives vectors of another length."""
    boats = at("d", "a boat in Bergen is Ada's", 3), at("e", "Bergen has a boat of Ada's", 3)
    run, joins, _ = run_of(given(*BOATS[:2], *map(longer, boats), policy=STILL))
    pairs = [[join.evidence.neighbours[0].cosine] for join in joins if hasattr(join, "evidence")]
    assert (pairs, run.memories, run.pairs) == ([[1.0], [0.9063]], 4, 2)


def test_what_differs_is_recorded_so_that_nobody_asks_again() -> None:
    history = given(*BOATS, policy=STILL)
    _, [apart], _ = run_of(history, "different")
    assert isinstance(apart, SeparateRequest)
    assert apart.rank == "judge"
    history.do(separate("a", "b", rank="judge"))
    assert run_of(history)[1] == []


def test_certain_pairs_need_no_judge() -> None:
    twins = (at("a", "Ada owns a boat", 0), at("b", "Ada owns a boat.", 1))
    _, [join], judge = run_of(given(*twins, policy=STILL))
    assert isinstance(join, CombineRequest)
    assert (join.decision, join.rank, judge.asked) == ("auto_reject", "rule", [])
    swapped = (at("a", "Ada loves Ben", 0), at("b", "Ben loves Ada", 1))
    _, _, judge = run_of(given(*swapped, policy=STILL))
    assert len(judge.asked) == 1


@pytest.mark.parametrize("chunk", [1, 2, 3])
def test_every_pair_is_compared_however_many_at_a_time(
    monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(near, "CHUNK", chunk)
    history = given(*(at(name, f"boat {name}", ord(name)) for name in "adi"), policy=STILL)
    pairs = np.array([(0, 1), (0, 2), (1, 2)])
    scores = near.scored(history.ledger.memories(), pairs)
    assert [round(degrees(acos(score))) for score in scores] == [3, 8, 5]


@pytest.mark.parametrize(
    "pair",
    [
        (at("a", "борщ soup", 0), at("b", "щи soup", 0)),
        (unread(at("a", "likes 🍕", 0), "🍕"), unread(at("b", "likes 🍣", 0), "🍣")),
    ],
    ids=["another script", "no token"],
)
def test_a_pair_that_the_model_cannot_tell_apart_is_never_certain(pair: tuple[Step, Step]) -> None:
    history = given(*pair, policy=STILL)
    plain = STORE_TIME.checks[0].model_copy(
        update={"zones": (Zone(at_least=0.9, action="auto_reject"),)}
    )
    unguarded = STORE_TIME.model_copy(update={"checks": (plain,)})
    _, joins, judge = run_of(history, "different", unguarded)
    assert len(judge.asked) == 1
    assert not any(isinstance(join, CombineRequest) for join in joins)


def test_a_memory_merged_in_a_run_is_not_merged_again_in_it() -> None:
    three = (at("a", "boat one", 0), at("b", "boat two", 20), at("c", "boat three", 45))
    run, joins, _ = run_of(given(*three, policy=STILL))
    assert len(joins) == 1
    assert len(run.merged) == 2
    assert run.joins[0]["similarity"] == 0.9397


def test_of_pairs_that_are_as_near_the_earlier_memories_come_first() -> None:
    three = (at("a", "boat one", -20), at("b", "boat two", 0), at("c", "boat three", 20))
    run, _, judge = run_of(given(*three, policy=STILL))
    [[first, second]] = judge.asked
    assert (first.older.text, first.newer.text) == ("boat one", "boat two")
    assert (second.older.text, second.newer.text) == ("boat two", "boat three")
    assert [(join["older_text"], join["newer_text"]) for join in run.joins] == [
        ("boat one", "boat two")
    ]


def test_certain_pairs_make_no_chain_of_merges_either() -> None:
    """All three are beyond doubt the same in pairs; the third is left for the next run."""
    three = (
        at("a", "Ada owns a big lamp in the harbour", 0),
        at("b", "Ada owns a large lamp in the harbour", 1),
        at("c", "Ada owns a big lamp in the harbour.", 2),
    )
    run, joins, judge = run_of(given(*three, policy=STILL))
    assert [join["decision"] for join in run.joins] == ["auto_reject"]
    assert (len(joins), len(run.merged), judge.asked) == (1, 2, [])


def at_cosine(name: str, text: str, cosine: float) -> Step:
    """A candidate with exactly this cosine, to four decimals, to one at nought degrees."""
    return at(name, text, degrees(acos(cosine)))


@pytest.mark.parametrize(
    ("cosine", "decisions"),
    [(0.8799, []), (0.88, ["llm_reject"]), (0.9799, ["llm_reject"]), (0.98, ["auto_reject"])],
)
def test_zones_are_inclusive_upward(cosine: float, decisions: list[str]) -> None:
    twins = (at("a", "Ada owns a boat", 0), at_cosine("b", "Ada owns a boat.", cosine))
    run, _, _ = run_of(given(*twins, policy=STILL))
    assert [join["decision"] for join in run.joins] == decisions
    assert all(join["similarity"] == cosine for join in run.joins)


@pytest.mark.parametrize(("fewest", "pairs"), [(15, 1), (16, 0)])
def test_texts_of_as_many_characters_as_the_check_wants_are_compared_and_all_counted(
    fewest: int, pairs: int
) -> None:
    check = cosine_of(STORE_TIME)
    assert check is not None
    longer = check.model_copy(update={"min_characters": fewest})
    rules = STORE_TIME.model_copy(update={"checks": (longer,)})
    twins = (at("a", "Ada owns a boat", 0), at("b", "Ada owns the boat", 1))
    run, _, _ = run_of(given(*twins, policy=STILL), rules=rules)
    assert (run.memories, run.all_pairs, run.pairs) == (2, 1, pairs)


def test_pairs_are_asked_about_in_packed_requests_of_at_most_so_many() -> None:
    many = [at(str(n), f"kite {n}", 0) for n in range(5)]
    rules = STORE_TIME.model_copy(update={"judge": STORE_TIME.judge.model_copy(update={"most": 4})})
    _, _, judge = run_of(given(*many, policy=STILL), "different", rules)
    assert [len(part) for part in judge.asked] == [4, 4, 2]
    _, joins, judge = run_of(given(*many, policy=STILL), "same", rules)
    assert len(joins) == 2


def test_when_nobody_answers_the_rest_waits() -> None:
    many = [at(str(n), f"kite {n}", 0) for n in range(5)]
    rules = STORE_TIME.model_copy(update={"judge": STORE_TIME.judge.model_copy(update={"most": 4})})
    run, joins, judge = run_of(given(*many, policy=STILL), "unavailable", rules)
    assert (joins, len(judge.asked), run.unanswered, run.left) == ([], 1, 4, 6)


def test_when_nobody_answered_the_next_owner_is_not_asked_about_either() -> None:
    run, _, _ = run_of(given(*BOATS, policy=STILL), "unavailable")
    left = run.left
    _, joins, judge = run_of(given(*BOATS, policy=STILL), "same", run=run)
    assert (joins, judge.asked, run.left) == ([], [], left + 1)


@pytest.mark.parametrize(("answer", "count"), [("unusable", 0), ("compose", 0), ("update", 1)])
def test_other_answers(answer: Answer, count: int) -> None:
    _, joins, _ = run_of(given(*BOATS, policy=STILL), answer)
    assert len(joins) == count
    assert all(isinstance(join, CombineRequest) and join.face == "take" for join in joins)


def test_a_policy_without_a_judge_leaves_the_gray_zone_alone() -> None:
    nobody = STORE_TIME.judge.model_copy(update={"enabled": False})
    run, joins, judge = run_of(
        given(*BOATS, policy=STILL), rules=STORE_TIME.model_copy(update={"judge": nobody})
    )
    assert (joins, judge.asked, run.left) == ([], [], 1)


def test_faces_of_living_memories_are_compared_inside_their_scope() -> None:
    history = given(*BOATS, merge("b", "c", face="c"), policy=STILL)
    assert run_of(history)[0].memories == 2
    run, joins, _ = run_of(given(*BOATS, retract("b"), policy=STILL))
    assert (run.memories, joins) == (2, [])
    apart = at("b", "a boat that is Ada's lies in Bergen", 25, namespace="work")
    assert run_of(given(BOATS[0], apart, policy=STILL))[1] == []


def test_what_only_a_person_may_join_is_left_out() -> None:
    rules = STORE_TIME.model_copy(update={"protected_categories": ("gotcha",)})
    kept = at("b", "a boat that is Ada's lies in Bergen", 25, category="gotcha")
    assert run_of(given(BOATS[0], kept, policy=STILL), rules=rules)[1] == []


def test_an_open_question_is_not_asked_a_second_time() -> None:
    asking = policy(CosineCheck(check="cosine", zones=(Zone(at_least=0.7, action="pending"),)))
    seen = at("b", "a boat that is Ada's lies in Bergen", 25, {"a": 0.9})
    history = given(BOATS[0], seen, policy=asking)
    assert history.ledger.entries[history.id("b")].pending
    assert run_of(history)[1] == []


def test_the_zones_are_those_of_the_cosine_whatever_is_checked_before_it() -> None:
    cosine = CosineCheck(check="cosine", zones=(Zone(at_least=0.7, action="pending"),))
    assert cosine_of(policy(TokenCheck(check="tokens", threshold=0.7), cosine)) == cosine


LONG_AGO = "2021-05-01T00:00:00Z"
RELATION = STORE_TIME.model_copy(
    update={"judge": STORE_TIME.judge.model_copy(update={"ask": "relation"})}
)


@pytest.mark.parametrize(("occurred_at", "face"), [(LONG_AGO, "keep"), (None, "take")])
def test_what_happened_later_replaces_what_happened_before(
    occurred_at: str | None, face: str
) -> None:
    """The row that was read second may tell of an earlier time."""
    when = {} if occurred_at is None else {"occurred_at": occurred_at}
    boats = (BOATS[0], at("b", "a boat that is Ada's lies in Bergen", 25, None, **when))
    history = given(*boats, policy=STILL)
    _, [join], judge = run_of(history, "update", RELATION)
    [[pair]] = judge.asked
    first, second = ("b", "a") if occurred_at else ("a", "b")
    assert (pair.older.candidate_id, pair.newer.candidate_id) == (
        history.id(first),
        history.id(second),
    )
    assert isinstance(join, CombineRequest)
    assert (join.a, join.b) == (history.id("a"), history.id("b"))
    assert (join.decision, join.face) == ("superseded", face)
    assert [verdict.neighbour_id for verdict in join.evidence.verdicts] == [join.a]


def test_a_request_about_a_pair_is_another_one_after_more_events() -> None:
    history = given(*BOATS, policy=STILL)
    judge = Answers(lambda pair: "same")

    def asked(seen: int) -> str:
        run = Run(lambda what, share: None, seen=seen)

        async def gather() -> list[Proposal]:
            parts = proposals(history.ledger, STORE_TIME, judge, run)
            return [one async for part in parts for one in part]

        [join] = asyncio.run(gather())
        return join.request_id

    assert asked(3) == asked(3) != asked(4)


def test_a_verdicts_join_names_whom_it_was_asked_about_and_a_certain_one_nobody() -> None:
    _, [join], _ = run_of(given(*BOATS, policy=STILL))
    assert isinstance(join, CombineRequest)
    assert join.evidence.asked == (join.a,)
    same = at("a", "Ada has a boat in Bergen", 0), at("b", "Ada has a boat in Bergen now", 1)
    rules = STORE_TIME.model_copy(
        update={
            "checks": (
                CosineCheck(check="cosine", zones=(Zone(at_least=0.9, action="auto_reject"),)),
            )
        }
    )
    _, [certain], judge = run_of(given(*same, policy=STILL), rules=rules)
    assert isinstance(certain, CombineRequest)
    assert (certain.evidence.asked, certain.rank, judge.asked) == ((), "rule", [])


def test_a_pair_said_to_differ_is_separated_with_its_score() -> None:
    _, [parted], _ = run_of(given(*BOATS, policy=STILL), "different")
    assert isinstance(parted, SeparateRequest)
    assert (parted.similarity, parted.because, parted.rank) == (0.9063, "dedupe", "judge")


def test_a_memory_with_a_protected_member_is_left_alone_whoever_speaks() -> None:
    rules = STORE_TIME.model_copy(update={"protected_categories": ("identity",)})
    a, b, c = BOATS
    history = given(
        a,
        at("x", "Ada is a sailor", 180, category="identity"),
        merge("a", "x", face="a"),
        b,
        c,
        policy=STILL,
    )
    run, joins, _ = run_of(history, rules=rules)
    assert (joins, run.memories, run.pairs) == ([], 3, 0)


@pytest.mark.parametrize(("guard", "asked"), [(True, 1), (False, 0)])
def test_where_the_zone_has_a_guard_other_words_without_a_cue_go_to_the_judge(
    guard: bool, asked: int
) -> None:
    zone = Zone(at_least=0.9, action="auto_reject", guard=guard)
    checks = (CosineCheck(check="cosine", zones=(zone,)),)
    history = given(
        at("a", "Ada has a boat in Bergen", 0),
        at("b", "a boat that is Ada's lies in Bergen", 1),
        policy=STILL,
    )
    _, [join], judge = run_of(history, rules=STORE_TIME.model_copy(update={"checks": checks}))
    assert isinstance(join, CombineRequest)
    assert join.evidence.neighbours[0].cues == ()
    assert len(judge.asked) == asked
