"""What a certificate covers, and which change of a rule voids it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from palimpsest.auditing.check import Coverage
from palimpsest.auditing.joins import AuditedJoin
from palimpsest.auditing.state import Audit
from palimpsest.contracts.events import AuditOpenedData, CertifiedData, Stratum
from palimpsest.streams.guard import guard_hash
from palimpsest.streams.policies import load_policy

POLICY = load_policy("standard")
MADE = {
    "decision": "llm_reject",
    "policy": POLICY.hash,
    "guard": guard_hash(),
    "embedder": "one",
    "judge": "first",
    "prompt": "sha256:1",
    "language": "en",
}
OPENED = AuditOpenedData(position=9, seed="dice", joins=1, digest="", target=0.1, confidence=0.95)
CERTIFIED = CertifiedData(
    audit="a",
    joins=1,
    labels=1,
    errors=0,
    probes=0,
    found=0,
    most=0,
    detected=1.0,
    bound=0.0,
    strata=tuple(
        Stratum(by=by, value=value, joins=1, labels=1, errors=0, bound=0.0)
        for by, value in MADE.items()
    ),
)


def join(name: str, **made: str) -> AuditedJoin:
    return AuditedJoin(name, "ada", "keep", name, MADE | made)


def coverage(certified: CertifiedData = CERTIFIED) -> Coverage:
    audit = Audit("a", datetime(2026, 1, 1, tzinfo=UTC), OPENED)
    return Coverage(audit, certified, {"certified": join("certified")})


@pytest.mark.parametrize("kind", ["policy", "guard", "embedder", "judge", "prompt"])
def test_a_join_by_another_rule_of_any_kind_is_void_and_names_it(kind: str) -> None:
    covers = coverage()
    assert (covers.of(join("certified")), covers.of(join("later"))) == ("covered", "since")
    assert covers.problems(POLICY, POLICY) == []
    assert covers.of(join("other", **{kind: "another"})) == "void"
    [problem] = covers.problems(POLICY, POLICY)
    assert f"by the {kind} another" in problem


@pytest.mark.parametrize("kind", ["decision", "language"])
def test_another_decision_or_language_voids_nothing(kind: str) -> None:
    assert coverage().of(join("other", **{kind: "another"})) == "since"


def test_a_policy_or_a_guard_that_came_after_the_position_is_a_problem_at_once() -> None:
    mine = POLICY.model_copy(update={"protected_categories": ("health",)})
    [problem] = coverage().problems(mine, POLICY)
    assert mine.hash in problem
    assert coverage().problems(mine, mine) == [], "it has joined nothing, and was there before"
    strata = (
        *(s for s in CERTIFIED.strata if s.by != "guard"),
        Stratum(by="guard", value="old", joins=1, labels=1, errors=0, bound=0.0),
    )
    [problem] = coverage(replace(CERTIFIED, strata=strata)).problems(POLICY, POLICY)
    assert guard_hash() in problem


@pytest.mark.parametrize("named", [False, True])
def test_a_guard_is_covered_whether_or_not_the_certified_owners_have_names(named: bool) -> None:
    """Another audit of a store that has only such joins could not cover more."""
    guard = guard_hash(named=named)
    strata = (
        *(s for s in CERTIFIED.strata if s.by != "guard"),
        Stratum(by="guard", value=guard, joins=1, labels=1, errors=0, bound=0.0),
    )
    covers = coverage(replace(CERTIFIED, strata=strata))
    assert covers.problems(POLICY, POLICY) == []
    assert covers.of(join("other", guard=guard_hash(named=not named))) == "void"
    [problem] = covers.problems(POLICY, POLICY)
    assert guard_hash(named=not named) in problem
