"""Audits of a store: opened, labelled, un-merged, certified and checked."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from palimpsest import Palimpsest, RefusedError, UsageError
from palimpsest.auditing.audits import Audits
from palimpsest.auditing.joins import AuditScope, Sealed, population_digest
from palimpsest.auditing.order import sealed_order
from palimpsest.auditing.state import Audit, concordance
from palimpsest.contracts.events import (
    AuditLabel,
    AuditLabelled,
    AuditLabelledData,
    AuditOpened,
    AuditOpenedData,
    Certified,
    Reversed,
)
from palimpsest.contracts.requests import LabelAuditRequest
from palimpsest.evaluation.from_log import labels_of as calibration_labels
from tests.palimpsest.auditing.conftest import RULES, WRONG, Audited


def joins_now(audited: Audited) -> set[str]:
    log = audited.memories.reader.log
    return set(Sealed(log, log.head(), AuditScope()).joins(lambda *_: None))


def test_the_units_are_standing_automatic_joins_and_no_verbatim_repeats(audited: Audited) -> None:
    audited.hold(6)
    memories = audited.memories
    automatic = joins_now(audited)
    assert len(automatic) == 6
    memories.submit({"owner_id": "ada", "text": "Grace sails"})
    memories.submit({"owner_id": "ada", "text": "Grace sails", "id": "again"})
    other = memories.submit({"owner_id": "ada", "text": "Grace is at sea"})[0]
    sails = memories.submit({"owner_id": "ada", "text": "Grace sails"})[0]
    memories.merge(str(sails.candidate_id), str(other.candidate_id))
    assert joins_now(audited) == automatic
    gone = min(automatic)
    memories.unmerge(decision_id=gone)
    assert joins_now(audited) == automatic - {gone}
    memories.reinstate(gone)
    assert joins_now(audited) == automatic
    memory = memories.show(str(other.candidate_id))["memory_id"]
    memories.forget([memory])
    assert joins_now(audited) == automatic


def test_forgotten_joins_are_no_units_and_later_ones_are_not_shown(audited: Audited) -> None:
    audited.hold(3)
    audited.audits.open(target=0.5, probes=0)
    first = audited.audits.next()
    assert first is not None
    owner = audited.memories.list("ada")
    audited.memories.forget([memory["memory_id"] for memory in owner["memories"]])
    assert joins_now(audited) == set()
    shown = audited.audits.next()
    assert shown is not None
    assert (shown["pair"], shown["older"], shown["newer"]) == (first["pair"], None, None)


def test_an_audit_is_sealed_before_its_seed_and_holds_what_comes_later_out(
    audited: Audited,
) -> None:
    audited.hold(5)
    head = audited.memories.position
    sealed = joins_now(audited)
    status = audited.audits.open(target=0.2, probes=0)
    [opened] = audited.events(AuditOpened)
    assert isinstance(opened, AuditOpened)
    assert (status["audit"], opened.data.position, opened.data.joins) == (opened.id, head, 5)
    assert opened.data.digest == population_digest(sealed)
    assert (opened.data.actor, len(opened.data.seed)) == ("eve", 32)
    audited.hold(4, owner="bob")
    order = sealed_order(opened.data.seed, sealed)
    question = audited.audits.next()
    assert question is not None
    assert question["pair"] == order[0]
    assert audited.audits.status()["joins"] == 5
    fresh = audited.audits.open(target=0.2, probes=0)
    assert fresh["joins"] == 9
    assert fresh["seed"] != status["seed"]


def test_a_pattern_of_owners_and_a_time_narrow_the_joins(audited: Audited) -> None:
    for owner in ("team-a", "team-b", "other"):
        audited.hold(2, owner=owner)
    assert audited.audits.open(owners="team-*", probes=0)["joins"] == 4
    last = audited.events()[-1].time
    with pytest.raises(UsageError, match="nothing to audit"):
        audited.audits.open(since=last.replace(year=last.year + 1), probes=0)


def test_dice_need_a_position_that_was_fixed_before(audited: Audited) -> None:
    audited.hold(3)
    with pytest.raises(UsageError, match="throw the dice"):
        audited.audits.open(seed="4 2 6")
    at = audited.memories.position
    status = audited.audits.open(seed="4 2 6", position=at, probes=0)
    assert (status["seed"], status["position"]) == ("4 2 6", at)
    with pytest.raises(UsageError, match="was used before"):
        audited.audits.open(seed="4 2 6", position=at)
    with pytest.raises(UsageError, match="not a position"):
        audited.audits.open(position=10_000)


@pytest.mark.parametrize(
    "wrong",
    [{"target": 1.0}, {"confidence": 0.2}, {"probes": -1}, {"since": datetime(2026, 1, 1)}],  # noqa: DTZ001 - without a zone, as people write it
)
def test_shares_out_of_range_are_wrong_usage(audited: Audited, wrong: dict[str, Any]) -> None:
    audited.hold(1)
    with pytest.raises(UsageError):
        audited.audits.open(**wrong)


def test_labels_are_foreseen_and_nothing_is_recorded(audited: Audited) -> None:
    audited.hold(40)
    forecast = audited.audits.foresee(target=0.1, probes=0)
    with pytest.raises(RefusedError, match="no audit was opened"):
        audited.audits.status()
    foreseen = {(one["target"], one["wrong"]): one["labels"] for one in forecast["foreseen"]}
    status = audited.audits.open(target=0.1, probes=0)
    assert foreseen[0.1, 0.0] == status["labels_needed"]
    assert (forecast["joins"], forecast["position"]) == (40, status["position"])
    assert foreseen[0.005, 0.01] is None
    with pytest.raises(UsageError, match="no automatic join"):
        audited.audits.foresee(owners="nobody")


def test_a_clean_audit_is_certified_when_the_bound_is_reached(audited: Audited) -> None:
    audited.hold(40)
    audited.audits.open(target=0.1, probes=0)
    needed = audited.audits.status()["labels_needed"]
    assert needed is not None
    with pytest.raises(RefusedError, match=f"{needed} more labels") as refused:
        audited.audits.certify()
    assert refused.value.reason == "not_proven"
    done = audited.label_all()
    assert len(done) == needed < 40
    assert [label["status"]["bound"] for label in done] == sorted(
        (label["status"]["bound"] for label in done), reverse=True
    )
    certified = audited.audits.certify()
    assert certified["certificates"] == 1
    [event] = audited.events(Certified)
    assert isinstance(event, Certified)
    data = event.data
    assert (data.joins, data.labels, data.errors, data.most) == (40, needed, 0, 4)
    assert data.bound == 0.1
    assert {stratum.by for stratum in data.strata} >= {"decision", "policy", "embedder"}
    of_decisions = [stratum for stratum in data.strata if stratum.by == "decision"]
    assert sum(stratum.joins for stratum in of_decisions) == 40
    assert sum(stratum.labels for stratum in of_decisions) == needed


def test_an_error_is_unmerged_at_once_and_counts_all_the_same(audited: Audited) -> None:
    audited.hold(10, wrong=3)
    opened = audited.audits.open(target=0.3, probes=0)
    before = audited.memories.status()["memories"]
    done = audited.label_all()
    wrong = [label for label in done if label["label"] == "wrong"]
    assert wrong
    assert all(label["unmerged"] and not label["not_unmerged"] for label in wrong)
    assert audited.memories.status()["memories"] == before + len(wrong)
    status = audited.audits.status()
    assert (status["errors"], status["joins"]) == (len(wrong), opened["joins"])
    assert status["still_joined"] == []
    [reversal, *_] = audited.events(Reversed)
    assert isinstance(reversal, Reversed)
    assert (reversal.data.actor, reversal.data.rank) == ("eve", "person")
    assert opened["audit"] in (reversal.data.because or "")


def test_what_was_unmerged_is_joined_again_by_undo_and_another_label_counts(
    audited: Audited,
) -> None:
    audited.hold(0, wrong=4)
    audited.audits.open(target=0.3, probes=0)
    label = audited.label_next()
    audited.memories.undo(str(label["unmerged"]))
    assert audited.audits.status()["still_joined"] == [label["pair"]]
    right = audited.audits.label(label["pair"], "right")
    assert (right["status"]["labels"], right["status"]["errors"]) == (1, 0)
    assert audited.audits.status()["still_joined"] == []


def test_an_unsure_join_counts_as_wrong_and_stays(audited: Audited) -> None:
    audited.hold(4)
    audited.audits.open(target=0.3, probes=0)
    question = audited.audits.next()
    assert question is not None
    done = audited.audits.label(question["pair"], "unsure", because="half of it")
    assert (done["unmerged"], done["status"]["errors"]) == (None, 1)
    [event] = audited.events(AuditLabelled)
    assert event.data.because == "half of it"  # type: ignore[union-attr]


def test_a_label_counts_once_however_often_it_is_delivered(audited: Audited) -> None:
    audited.hold(4, wrong=4)
    audited.audits.open(target=0.3, probes=0)
    question = audited.audits.next()
    assert question is not None
    first = audited.audits.label(question["pair"], "right")
    again = audited.audits.label(question["pair"], "right")
    assert first["status"] == again["status"]
    assert len(audited.events(AuditLabelled)) == 1
    [event] = audited.events(AuditLabelled)
    assert isinstance(event, AuditLabelled)
    delivered = LabelAuditRequest(
        request_id="5d1c7a52-1f0a-5b7e-8f53-9d6f6d0c8a22", labelled=event.data
    )
    answers = [audited.memories.writer.ask(delivered) for _ in range(3)]
    assert len(audited.events(AuditLabelled)) == 2
    assert answers[0] == answers[2]
    assert audited.audits.status()["labels"] == 1


def test_only_the_pair_that_is_shown_takes_a_label(audited: Audited) -> None:
    audited.hold(5)
    audited.audits.open(target=0.3, probes=0)
    question = audited.audits.next()
    assert question is not None
    [other, *_] = joins_now(audited) - {question["pair"]}
    with pytest.raises(RefusedError, match="not the pair"):
        audited.audits.label(other, "right")
    with pytest.raises(UsageError, match="right, wrong or unsure"):
        audited.audits.label(question["pair"], "same")  # type: ignore[arg-type]
    assert audited.audits.label(question["pair"][:8], "right")["pair"] == question["pair"]


def test_labels_are_used_again_where_the_new_order_meets_their_pairs(audited: Audited) -> None:
    audited.hold(12, wrong=2)
    audited.audits.open(target=0.3, probes=0)
    done = [audited.label_next() for _ in range(6)]
    kept = {label["pair"] for label in done if label["label"] == "right"}
    gone = len(done) - len(kept)
    fresh = audited.audits.open(target=0.3, probes=0)
    assert fresh["joins"] == 14 - gone
    shown = set()
    while (question := audited.audits.next()) is not None:
        shown.add(question["pair"])
        audited.audits.label(question["pair"], audited.judge(question))
    assert shown.isdisjoint(kept)
    assert len(shown) + len(kept) == fresh["joins"]


def test_an_audit_goes_on_in_another_process_and_an_older_one_is_named(audited: Audited) -> None:
    audited.hold(8)
    first = audited.audits.open(target=0.3, probes=0)["audit"]
    audited.label_next()
    second = audited.audits.open(target=0.3, probes=0)["audit"]
    elsewhere = Audits(audited.memories.writer)
    assert elsewhere.status()["audit"] == second
    assert elsewhere.status(first[:8])["labels"] == 1
    with pytest.raises(RefusedError, match="no audit begins"):
        elsewhere.status("ffffffff-0")


def label_in_turns(audited: Audited, audit: str) -> int:
    """Label all pairs, each shown the same by another process; returns the number of probes."""
    while (question := audited.audits.next(audit)) is not None:
        assert Audits(audited.memories.writer).next(audit) == question
        audited.audits.label(question["pair"], "right", audit=audit)
    return audited.audits.status(audit)["probes"]


@pytest.mark.parametrize("probes", [8, 100])
@pytest.mark.parametrize(("replaced", "kept"), [(6, 2), (3, 9), (12, 12)])
def test_probes_are_the_same_in_another_process_if_fewer_were_found_than_wanted(
    audited: Audited, replaced: int, kept: int, probes: int
) -> None:
    """No fact of these texts can be changed, so only joins that replace lead to probes."""
    for number in range(replaced + kept):
        letters = "abcdefghijklm" if number < kept else "abcdefghijklmnopqrstuvwxyz"
        words = " ".join(f"{chr(97 + number)}q{letter * 2}" for letter in letters)
        newer = f"{words} noon indeed" if number < kept else f"{words} indeed"
        audited.memories.submit([{"owner_id": "ada", "text": text} for text in (words, newer)])
    opened = audited.audits.open(target=0.5, probes=probes)["audit"]
    assert label_in_turns(audited, opened) > 0


def test_probes_stay_if_an_earlier_audit_is_continued(audited: Audited) -> None:
    """A join that was removed between two audits is a probe of the later one, whatever follows."""
    audited.hold(6)
    first = audited.audits.open(target=0.5, probes=0)["audit"]
    audited.memories.unmerge(decision_id=min(joins_now(audited)))
    second = audited.audits.open(target=0.5)["audit"]
    for _ in range(6):
        question = audited.audits.next(first)
        assert question is not None
        audited.audits.label(question["pair"], "right", audit=first)
    assert label_in_turns(audited, second) == 6


def test_an_error_that_an_audit_found_is_no_probe_of_the_next(audited: Audited) -> None:
    audited.hold(6, wrong=1)
    audited.audits.open(target=0.5, probes=0)
    while audited.label_next()["unmerged"] is None:
        pass
    audited.audits.open(target=0.5)
    shown = []
    while (question := audited.audits.next()) is not None:
        shown.append(question["newer"] or "")
        audited.label_next()
    assert not [newer for newer in shown if newer.endswith(WRONG)]


def test_without_an_audit_it_says_what_to_do(audited: Audited) -> None:
    with pytest.raises(RefusedError, match="audit open"):
        audited.audits.next()


def test_other_joins_at_the_position_are_noticed(audited: Audited, tmp_path: Path) -> None:
    """An audit is continued on a log that has something else at its position."""
    audited.hold(4)
    audited.audits.open(target=0.3, probes=0)
    [opened] = audited.events(AuditOpened)
    with Palimpsest.open(tmp_path / "other", by="person", policy=RULES) as memories:
        there = Audited(memories, memories.audits())
        there.hold(5, owner="bob")
        with memories.reader.log.transaction():
            memories.reader.log.append([opened])
        with pytest.raises(RefusedError, match="other joins"):
            there.audits.status()


# -- the log -------------------------------------------------------------------------------------


def test_the_log_with_an_audit_is_verified_exported_and_rebuilt(
    audited: Audited, tmp_path: Path
) -> None:
    audited.hold(6, wrong=2)
    audited.audits.open(target=0.4, probes=0)
    audited.label_all()
    audited.audits.certify()
    memories = audited.memories
    assert memories.verify()["differences"] == 0
    before = audited.audits.status()
    memories.export_log(tmp_path / "log.jsonl")
    Palimpsest.import_log(tmp_path / "copy", tmp_path / "log.jsonl")
    with Palimpsest.open(tmp_path / "copy", by="person") as copy:
        assert copy.audits().status() == before
        copy.rebuild()
        assert copy.verify()["differences"] == 0


def test_an_audit_changes_no_memory(audited: Audited) -> None:
    audited.hold(6)
    ledger = audited.memories.reader.ledger("ada")
    versions = {memory.id: (memory.seen, memory.face.text) for memory in ledger.memories()}
    audited.audits.open(target=0.4, probes=0)
    audited.label_all()
    audited.audits.certify()
    after = audited.memories.reader.ledger("ada")
    assert {m.id: (m.seen, m.face.text) for m in after.memories()} == versions


def test_what_is_added_label_by_label_is_what_is_counted_anew(audited: Audited) -> None:
    """With probes, errors, labels of an earlier audit, and a corrected label."""
    audited.hold(30, wrong=4)
    audited.audits.open(target=0.05)
    for _ in range(8):
        audited.label_next()
    audited.audits.open(target=0.05)
    while (question := audited.audits.next()) is not None:
        audited.audits.label(question["pair"], audited.judge(question))
        anew = Audits(audited.memories.writer)
        assert audited.audits.status() == anew.status()
        assert audited.audits.next() == anew.next()
        if audited.audits.status()["labels"] == 15:
            audited.audits.label(question["pair"], "unsure")
            assert audited.audits.status() == Audits(audited.memories.writer).status()


def test_a_tenth_goes_to_a_second_person_and_the_worse_label_counts(audited: Audited) -> None:
    """Computed by hand: the pairs, the labels that count, and Cohen's kappa of the table."""
    audited.hold(60)
    audits = audited.audits  # those of eve
    audits.open(target=0.01, probes=0)
    for _ in range(50):
        audited.label_next()
    firsts = [event.data.pair for event in audited.events(AuditLabelled)]  # type: ignore[union-attr]
    bound = audits.status()["bound"]
    waiting = audits.next()
    asked = []
    while (question := audits.next(actor="bo")) is not None and question["pair"] in firsts:
        asked.append(question["pair"])
        label: AuditLabel = "unsure" if len(asked) == 1 else "right"
        audits.label(question["pair"], label, actor="bo")
    assert asked == [pair for pair in firsts if pair in asked]
    assert 1 < len(asked) < 15
    assert audits.next() == {**(waiting or {}), "number": 51 + len(asked)}
    status = audits.status()
    assert (status["seconds"], status["agreed"]) == (len(asked), len(asked) - 1)
    assert status["kappa"] == 0  # one person gave the same label to all pairs
    assert (status["labels"], status["errors"]) == (50, 1)
    assert status["bound"] > bound
    fresh = audited.memories.audits()
    assert fresh.status() == status
    assert fresh.next() == audits.next(), "nobody without a name is a second person"


@pytest.mark.parametrize(
    ("both", "kappa"),
    [
        ([], None),
        ([("right", "right")] * 9, None),
        ([("right", "right")] * 20 + [("wrong", "wrong")] * 15 + [("right", "wrong")] * 5, 0.75),
        ([("right", "wrong"), ("wrong", "right")], -1.0),
        ([("right", "right"), ("right", "wrong"), ("wrong", "right"), ("wrong", "wrong")], 0.0),
    ],
)
def test_kappa_is_cohens(both: list[tuple[AuditLabel, AuditLabel]], kappa: float | None) -> None:
    opened = AuditOpenedData(position=1, seed="s", joins=9, digest="", target=0.1, confidence=0.95)
    audit = Audit("a", datetime.now(UTC), opened)
    for number, labels in enumerate(both):
        for kept, label in zip((audit.labels, audit.seconds), labels, strict=True):
            pair = str(number)
            kept[pair] = AuditLabelledData(audit="a", pair=pair, label=label, shown="")
    found = concordance(audit).kappa
    assert found == (None if kappa is None else pytest.approx(kappa, abs=0.001))


def test_languages_are_strata_and_void_nothing(audited: Audited) -> None:
    def hold(*texts: str) -> None:
        rows = [form for text in texts for form in (text, f"{text} indeed")]
        audited.memories.submit([{"owner_id": "ada", "text": text} for text in rows])

    hold(
        "She keeps the red key of the old mill in the left drawer of the desk",
        "Er bewahrt den roten Schlüssel der alten Mühle in der linken Schublade auf",
    )
    status = audited.audits.open(target=0.9, probes=0)
    found = {part["value"]: part["joins"] for part in status["strata"] if part["by"] == "language"}
    assert found == {"en": 1, "other": 1}
    audited.memories.unmerge(decision_id=min(joins_now(audited)))
    audited.audits.open(target=0.9, probes=0)
    audited.label_all()
    audited.audits.certify()
    hold(
        "The blue boat of the ferryman lies at the south pier in the winter",
        "Das blaue Boot des Fährmanns liegt im Winter an der südlichen Mole",
    )
    answer = audited.audits.check(most=0.95)
    assert (answer["void"], answer["problems"]) == (0, [])


def test_labels_of_joins_are_labels_for_calibrate_and_unsure_ones_are_none(
    audited: Audited,
) -> None:
    audited.hold(8, wrong=2)
    audited.audits.open(target=0.01, probes=0)
    right = set[str]()
    for number in range(10):
        question = audited.audits.next()
        assert question is not None
        label = "unsure" if number == 3 else audited.judge(question)
        audited.audits.label(question["pair"], label)
        if label == "right":
            right.add(str(question["newer"]))
    found = calibration_labels(audited.memories.reader, lambda *_: None)
    assert {pair.b for pair in found if pair.label == "same"} == right
    wrong = [pair for pair in found if pair.label == "different"]
    assert all(pair.b.endswith(WRONG) for pair in wrong)
    assert len(found) == 9
    [first, *_] = [
        event.data
        for event in audited.events(AuditLabelled)
        if isinstance(event, AuditLabelled) and event.data.label == "right"
    ]
    second = replace(first, label="unsure", second=True)
    audited.memories.writer.ask(
        LabelAuditRequest(request_id="5d1c7a52-1f0a-5b7e-8f53-9d6f6d0c8a22", labelled=second)
    )
    after = calibration_labels(audited.memories.reader, lambda *_: None)
    assert len({pair.b for pair in found} - {pair.b for pair in after}) == 1
