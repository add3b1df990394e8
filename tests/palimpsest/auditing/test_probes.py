"""Pairs that are known to be wrong: near misses and separations, mixed in blind."""

from __future__ import annotations

from collections import Counter
from uuid import uuid4

import pytest

from palimpsest.auditing.joins import AuditScope, Sealed
from palimpsest.auditing.probes import Probe, near_miss, probes_of
from palimpsest.contracts.events import AuditLabelled
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.policy import CosineCheck, Policy, Zone
from palimpsest.contracts.requests import SettleRequest
from palimpsest.streams.policies import load_policy
from tests.palimpsest.auditing.conftest import Audited

GRAY = Policy(
    name="gray",
    model=load_policy("standard").model,
    search="candidates",
    checks=(CosineCheck(check="cosine", zones=(Zone(at_least=0.8, action="pending"),)),),
)


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("Ada owns 2 dogs", "Ada owns 3 dogs"),
        ("Room 07 opens at 9", "Room 07 opens at 10"),
        ("Room 099", "Room 100"),
        ("Ada always walks", "Ada never walks"),
        ("Before noon she sails", "After noon she sails"),
        ("The mill is red", "The mill is not red"),
        ("Ada sails", None),
        ("The mill is not red", None),
    ],
)
def test_a_near_miss_changes_one_fact(text: str, changed: str | None) -> None:
    assert near_miss(text) == changed


def probes(audited: Audited, known: set[str], most: int = 20) -> list[Probe]:
    log = audited.memories.reader.log
    sealed = Sealed(log, log.head(), AuditScope())
    joins = sealed.joins(lambda *_: None)
    return probes_of("5d1c7a52-1f0a-5b7e-8f53-9d6f6d0c8a22", "dice", sealed, joins, known, most)


def test_probes_follow_from_the_log_and_the_seed_alone(audited: Audited) -> None:
    audited.hold(12)
    found = probes(audited, set())
    assert len(found) == 12
    assert found == probes(audited, set())
    assert len({probe.id for probe in found}) == 12
    for probe in found:
        assert probe.newer != f"{probe.older} indeed"
    assert len(probes(audited, set(), most=5)) == 5


def test_separations_are_probes_unless_an_audit_led_to_them(audited: Audited) -> None:
    memories = audited.memories
    audited.hold(2)
    one, other = memories.submit(
        [{"owner_id": "ada", "text": "Grace sails"}, {"owner_id": "ada", "text": "Alan runs"}]
    )
    memories.separate(str(one.candidate_id), str(other.candidate_id))
    assert ("Grace sails", "Alan runs") in {(p.older, p.newer) for p in probes(audited, set())}
    log = memories.reader.log
    [taken_out, *_] = Sealed(log, log.head(), AuditScope()).joins(lambda *_: None)
    memories.unmerge(decision_id=taken_out)
    assert len(probes(audited, set())) == 3
    assert len(probes(audited, {taken_out})) == 2
    memories.withdraw(str(one.candidate_id), str(other.candidate_id))
    assert len(probes(audited, {taken_out})) == 1


def test_probes_are_shown_as_joins_are_and_nothing_is_unmerged(audited: Audited) -> None:
    audited.hold(60)
    audited.audits.open(target=0.1)
    done = audited.label_all()
    shown = {label["pair"] for label in done}
    status = audited.audits.status()
    assert status["probes"] == status["probes_found"] > 0
    assert len(shown) == status["labels"] + status["probes"]
    assert all(label["unmerged"] is None for label in done)
    assert status["bound_before_detection"] < status["bound"] <= 0.1
    assert len(audited.events(AuditLabelled)) == len(done)


def test_an_auditor_who_says_right_to_all_is_found_out(audited: Audited) -> None:
    audited.hold(40)
    audited.audits.open(target=0.1)
    while (question := audited.audits.next()) is not None:
        audited.audits.label(question["pair"], "right")
    status = audited.audits.status()
    assert status["probes_found"] == 0
    assert status["probes"] > 0
    assert (status["detected"], status["bound"], status["certified"]) == (0.0, 1.0, False)


def test_probes_are_of_each_kind_as_often_as_joins_are(audited: Audited) -> None:
    """Found by counting; and each probe is wrong by its own question."""
    memories = audited.memories
    for number in range(30):
        words = " ".join(f"w{number}{letter}" for letter in "abcdefghijklm")
        newer = f"{words} at {number} noon" if number % 3 else f"{words} at {number} noon indeed"
        memories.submit(
            [{"owner_id": "ada", "text": text} for text in (f"{words} at {number}", newer)]
        )
    log = memories.reader.log
    joins = Sealed(log, log.head(), AuditScope()).joins(lambda *_: None)
    kinds = Counter(join.face for join in joins.values())
    assert len(kinds) == 2
    found = probes(audited, set(), most=10)
    assert len(found) == 10
    for kind, count in kinds.items():
        share = sum(probe.face == kind for probe in found) / 10
        assert share == pytest.approx(count / len(joins), abs=0.11)
    for probe in found:
        same_words = probe.older.split()[0] == probe.newer.split()[0]
        assert same_words is (probe.face == "keep"), "one that replaces is of another memory"


def test_a_composed_probe_has_a_fact_changed(audited: Audited) -> None:
    memories = audited.memories
    memories.set_policy(GRAY)
    for number in range(4):
        words = " ".join(f"w{number}{letter}" for letter in "abcdefghijklm")
        memories.submit([{"owner_id": "ada", "text": f"{words} {end}"} for end in ("x", "y")])
    ledger = memories.reader.ledger("ada")
    for entry in [one for one in ledger.entries.values() if one.pending]:
        memories.writer.ask(
            SettleRequest(
                request_id=str(uuid4()),
                candidate_id=entry.id,
                verdicts=(Verdict(neighbour_id=entry.open[0], answer="compose"),),
                composed=f"{entry.text} and 7",
            )
        )
    found = probes(audited, set(), most=3)
    assert [(probe.face, (probe.composed or "")[-5:]) for probe in found] == [("text", "and 8")] * 3
