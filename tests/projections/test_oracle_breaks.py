"""The oracle is worth something when it finds what is broken on purpose: each break, one at a time.

`verify` folds with the projector's own code, so it takes most of these for right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from palimpsest.contracts.events import Joined, Redecided, Settled
from palimpsest.contracts.evidence import Verdict
from palimpsest.projections import batch
from palimpsest.projections.base import changes, totals
from palimpsest.projections.base.rows import CandidateState, Fact, Gone, MemoryState
from palimpsest.projections.duckdb import audit, facts, tables, views
from palimpsest.projections.duckdb import queries as analysts
from palimpsest.projections.lancedb import tables as lance_tables
from palimpsest.streams.core import evolve, faces, graph
from palimpsest.streams.core.ledger import Edge, Entry, Memory
from palimpsest.streams.core.touched import Touched
from tests.projections.histories import MemoryLog
from tests.projections.oracle import Tables
from tests.projections.oracle_tables import differences
from tests.projections.oracle_tables import tables as expected
from tests.projections.test_oracle import lines, of_owners, project_live, projected

Patch = Callable[[pytest.MonkeyPatch], None]


@pytest.fixture(scope="module")
def log() -> MemoryLog:
    """A log that every break shows in."""
    return of_owners(12, 40)


@pytest.fixture(scope="module")
def right(log: MemoryLog) -> Tables:
    """What the oracle says of it."""
    return expected(lines(log))


def later_joins_have_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    """A settled join is written with the score of nobody."""

    def broken(fact: Fact) -> facts.DecisionFact | None:
        row = told(fact)
        if row is None or not isinstance(fact.event, Settled | Joined | Redecided):
            return row
        return structs.replace(row, join=structs.replace(row.join, similarity=None))

    told = facts.decision_row
    monkeypatch.setattr("palimpsest.projections.duckdb.tables.decision_row", broken)


def retracted_candidates_go_on_living(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(position: int, entry: Entry) -> CandidateState:
        return structs.replace(row(position, entry), living=True)

    row = changes._candidate
    monkeypatch.setattr(changes, "_candidate", broken)


def member_counts_are_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums are kept, and not thrown away where a memory was cut or a member left."""

    class Kept(dict[str, totals.Total]):
        def pop(self, *_: object) -> totals.Total:
            return totals.Total()

    def broken(self: changes.RowChanges, memory: Memory) -> totals.Total:
        if not isinstance(self._sums, Kept):
            self._sums = Kept(self._sums)
        return told(self, memory)

    told = changes.RowChanges._sum
    monkeypatch.setattr(changes, "MANY_MEMBERS", 1)
    monkeypatch.setattr(changes.RowChanges, "_sum", broken)


def times_are_swapped(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: changes.RowChanges, key: str, *noted: Any) -> MemoryState | Gone:
        row = told(self, key, *noted)
        if isinstance(row, Gone):
            return row
        return structs.replace(row, created_at=row.updated_at, updated_at=row.created_at)

    told = changes.RowChanges._memory
    monkeypatch.setattr(changes.RowChanges, "_memory", broken)


def verdicts_that_settled_nothing_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(fact: Fact) -> list[facts.VerdictRow]:
        return [] if fact.event.type == "palimpsest.refused.v1" else told(fact)

    told = facts.verdict_rows
    monkeypatch.setattr(tables, "verdict_rows", broken)


def what_the_first_judge_said_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Verdict, "before", None)


def what_went_to_a_first_judge_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_sql(monkeypatch, "_SENT_OUT", "calls > 0", "calls > 0 AND step <> 'first'")


def judges_answer_once(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_sql(monkeypatch, "_JUDGES", "list(set_at ORDER BY position)", "[max(set_at)]")


def what_the_first_judge_said_names_no_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    def before(verdict: Verdict) -> Verdict | None:
        if verdict.first is None:
            return None
        return Verdict(neighbour_id=verdict.neighbour_id, **structs.asdict(verdict.first))

    monkeypatch.setattr(Verdict, "before", property(before))


def reversed_joins_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_sql(monkeypatch, "_DECISIONS", "IS DISTINCT FROM 'reversed'", "IS DISTINCT FROM 'no'")


def replace_sql(monkeypatch: pytest.MonkeyPatch, name: str, old: str, new: str) -> None:
    """A view that is written otherwise."""
    module = views if hasattr(views, name) else audit
    text = getattr(module, name)
    assert text.count(old) >= 1
    monkeypatch.setattr(module, name, text.replace(old, new))
    monkeypatch.setattr(analysts, "_waiting", [])  # they have the views as they were


def moves_are_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Candidates keep the memory that they were in."""
    monkeypatch.setattr(Touched, "moved", lambda self, entries: None)


def memories_that_ended_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*what: Any) -> lance_tables.Writes:
        found = told(*what)
        found.gone.clear()
        return found

    told = lance_tables.writes
    monkeypatch.setattr(batch, "writes", broken)


def the_older_always_speaks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The core's own fold of the face is wrong."""

    def broken(edge: Edge, by_id: Mapping[str, Entry], a: faces.Face, b: faces.Face) -> faces.Face:
        return a

    for module in (faces, graph):
        monkeypatch.setattr(module, "combine", broken)


def a_cut_takes_nothing_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The core leaves the memory of a reversed join whole."""

    def broken(edge: Edge) -> tuple[Memory, Memory] | None:
        return None

    monkeypatch.setattr(evolve, "cut", broken)


def retracted_members_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: totals.Total, members: Any) -> None:
        members = list(members)
        told(self, members)
        self.living += sum(not entry.living for entry in members)

    told = totals.Total.add
    monkeypatch.setattr(totals.Total, "add", broken)


def the_closest_neighbour_is_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the one that was joined or asked about."""
    nearest = facts._nearest
    monkeypatch.setattr(facts, "_nearest", lambda evidence, join: nearest(evidence, None))


def remembered_answers_are_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_sql(monkeypatch, "_JUDGE_COST", "sum(cost_usd)", "count(*)")


def the_last_statement_holds_whatever_its_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_sql(monkeypatch, "SEPARATIONS", "x.position DESC", "x.position")


def agents_have_no_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_sql(monkeypatch, "SEPARATIONS", "'agent', ", "")


def words_that_were_taken_back_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_sql(
        monkeypatch, "SEPARATIONS", "(w.position IS NULL OR w.position < s.position)", "true"
    )


def withdrawn_merges_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_sql(monkeypatch, "SEPARATIONS", " AND w.withdraws", " AND false")


def answered_questions_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that a candidate was ever asked about is said to be open."""

    def broken(position: int, entry: Entry) -> CandidateState:
        asked = tuple(neighbour.candidate_id for neighbour in entry.asked)
        return structs.replace(row(position, entry), waits_for=asked)

    row = changes._candidate
    monkeypatch.setattr(changes, "_candidate", broken)


def reviewed_joins_wait_again(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_sql(monkeypatch, "REVIEW_QUEUE", "r.review_status IS NULL", "true")


def reinstated_joins_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_sql(monkeypatch, "REVIEW_QUEUE", "r.review_status = 'reinstated'", "false")


def who_waits_because_of_a_forgetting_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_sql(monkeypatch, "REVIEW_QUEUE", "'forgotten' AND r.", "'nothing' AND r.")


def reversals_are_not_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_sql(monkeypatch, "COMPARED", "'reversed', 'reinstated'", "'reinstated'")


def batch_runs_wait_with_a_text_that_they_did_not_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_sql(monkeypatch, "REVIEW_QUEUE", "coalesce(tn.text, n.text)", "n.text")


def pairs_of_which_only_words_were_compared_have_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_sql(
        monkeypatch, "REVIEW_QUEUE", "coalesce(q.neighbour.cosine, q.neighbour.jaccard)",
        "q.neighbour.cosine",
    )  # fmt: skip


def joins_wait_without_the_score_of_their_question(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = "d.similarity, q.neighbour.cosine, q.neighbour.jaccard,"
    replace_sql(monkeypatch, "REVIEW_QUEUE", scores, "d.similarity,")


def answered_pairs_wait_without_what_the_guard_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_sql(monkeypatch, "REVIEW_QUEUE", "coalesce(q.neighbour.cues, d.cues)", "d.cues")


def answers_are_logged_without_what_the_guard_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_sql(monkeypatch, "COMPARED", "coalesce(q.neighbour.cues, x.cues)", "x.cues")


def answers_about_another_text_have_the_score_of_their_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    same = "coalesce(tx.text, o.text) = coalesce(q.text, o.text)"
    replace_sql(monkeypatch, "COMPARED", same, "true")


BREAKS: list[tuple[Patch, str]] = [
    (later_joins_have_no_score, "decisions similarity"),
    (retracted_candidates_go_on_living, "candidates living"),
    (member_counts_are_stale, "memories members"),
    (times_are_swapped, "memories created_at"),
    (verdicts_that_settled_nothing_are_lost, "verdicts missing"),
    (what_the_first_judge_said_is_lost, "verdicts missing"),
    (what_went_to_a_first_judge_is_not_shown, "sent_out missing"),
    (judges_answer_once, "judges set_at"),
    (what_the_first_judge_said_names_no_judge, "verdicts judge"),
    (reversed_joins_stand, "joins standing"),
    (moves_are_not_reported, "candidates memory_id"),
    (memories_that_ended_stay, "lancedb memories extra"),
    (the_older_always_speaks, "memories face"),
    (a_cut_takes_nothing_apart, "memories missing"),
    (retracted_members_count, "memories members"),
    (the_closest_neighbour_is_the_first, "decisions nearest_id"),
    (remembered_answers_are_paid_for, "judge_cost cost_usd"),
    (the_last_statement_holds_whatever_its_rank, "separations standing"),
    (agents_have_no_rank, "separations standing"),
    (words_that_were_taken_back_hold, "separations standing"),
    (withdrawn_merges_hold, "separations standing"),
    (answered_questions_wait, "candidates waits_for"),
    (reviewed_joins_wait_again, "review_queue extra"),
    (reinstated_joins_do_not_wait, "review_queue missing"),
    (who_waits_because_of_a_forgetting_is_not_shown, "review_queue missing"),
    (reversals_are_not_logged, "dedup_log missing"),
    (batch_runs_wait_with_a_text_that_they_did_not_compare, "review_queue new_text"),
    (pairs_of_which_only_words_were_compared_have_no_score, "review_queue similarity"),
    (joins_wait_without_the_score_of_their_question, "review_queue similarity"),
    (answered_pairs_wait_without_what_the_guard_saw, "review_queue cues"),
    (answers_are_logged_without_what_the_guard_saw, "dedup_log cues"),
    (answers_about_another_text_have_the_score_of_their_question, "dedup_log similarity"),
]


def test_without_a_break_nothing_is_found(tmp_path: Path, log: MemoryLog, right: Tables) -> None:
    project_live(tmp_path, log, commits=2)
    assert differences(right, projected(tmp_path)) == []


@pytest.mark.long
@pytest.mark.parametrize(("broken", "found"), BREAKS, ids=[b.__name__ for b, _ in BREAKS])
def test_a_break_is_found(
    broken: Patch,
    found: str,
    log: MemoryLog,
    right: Tables,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken(monkeypatch)
    project_live(tmp_path, log, commits=2)
    name = next(one for one in right if found.startswith(f"{one} "))
    wrong = differences({name: right[name]}, projected(tmp_path, [name]))
    assert any(one.startswith(found) for one in wrong), wrong[:20]
