"""The figures of days and policies are what the analysts' views say, of all owners or of some."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from palimpsest.contracts.commands import (
    Confirm,
    Merge,
    Reinstate,
    Retract,
    Separate,
    Settle,
    Unmerge,
)
from palimpsest.contracts.events import Decided
from palimpsest.contracts.evidence import Verdict
from palimpsest.projections.duckdb.activity import (
    WHOLE,
    JudgeDay,
    Owners,
    activity_on,
    days,
    latest_statements,
    outcomes,
    refused_since,
)
from palimpsest.projections.duckdb.queries import query
from palimpsest.projections.duckdb.segments import listed
from palimpsest.projections.projector import Projector
from tests.projections.histories import History

LONG = timedelta(days=400)


def verdicts(
    neighbour_id: str, answer: Any, cost: float | None = 0.25, model: str = "judge-1"
) -> tuple[Verdict, ...]:
    verdict = Verdict(
        neighbour_id=neighbour_id,
        answer=answer,
        reasoning="",
        model=model,
        prompt="compare@1",
        input_tokens=200,
        output_tokens=20,
        cost_usd=cost,
        seconds=1.5,
        calls=0.5,
    )
    return (verdict,)


@pytest.fixture(name="told", scope="module")
def _recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, History]:
    """Two owners: a repeat, a merge that was taken back, a question answered, one confirmed."""
    folder, history = tmp_path_factory.mktemp("projections"), History()
    for owner in ("ada", "bob"):
        a = history.admit(owner, "She keeps a kettle.")
        b = history.admit(owner, "A kettle is hers.", (a, 0.91))
        history.admit(owner, " She keeps a kettle.")
        history.run(
            Settle(
                command_id=history.fresh(),
                owner_id=owner,
                candidate_id=b,
                verdicts=verdicts(a, "same", 0.25 if owner == "ada" else 0.5),
            )
        )
        c = history.admit(owner, "The orchard is sold.")
        joined = history.run(Merge(command_id=history.fresh(), owner_id=owner, a=a, b=c))
        if owner == "ada":
            history.run(
                Unmerge(
                    command_id=history.fresh(),
                    owner_id=owner,
                    decision_id=joined[0].id,
                    actor="kim",
                    because="two things",
                )
            )
        else:
            history.run(
                Confirm(command_id=history.fresh(), owner_id=owner, decision_id=joined[0].id)
            )
            history.run(Retract(command_id=history.fresh(), owner_id=owner, candidate_id=c))
    projector = Projector(folder, history.log)
    projector.start()
    projector.close()
    return folder, history


def span(folder: Path) -> tuple[date, date]:
    [row] = query(folder, "SELECT min(day) AS first, max(day) AS last FROM daily")
    return row["first"], row["last"]


def test_days_are_those_of_the_views(told: tuple[Path, History]) -> None:
    folder, _ = told
    first, last = span(folder)
    found = days(folder, first, last)
    assert [one.day for one in found] == [
        first + timedelta(days=n) for n in range((last - first).days + 1)
    ]
    expected: dict[date, Counter[str]] = defaultdict(Counter)
    for row in query(folder, "FROM daily"):
        expected[row["day"]][row["decision"]] = row["n"]
    assert {one.day: one.decisions for one in found if one.decisions} == expected
    assert sum(one.decisions.get("hash_exact", 0) for one in found) == 2
    told_of = Counter[str]()
    for one in found:
        told_of.update(one.words)
    assert told_of == {"reversed": 1, "confirmed": 1, "retracted": 1}
    spent = query(folder, "SELECT day, sum(cost_usd) AS usd FROM judge_cost GROUP BY day")
    assert {one.day: one.cost_usd for one in found if one.judge} == {
        row["day"]: row["usd"] for row in spent
    }


def test_some_owners_have_their_own_days(told: tuple[Path, History]) -> None:
    folder, _ = told
    found = days(folder, *span(folder), owners=["ada"])
    assert sum(filter(None, (one.cost_usd for one in found))) == 0.25
    assert sum(one.words.get("reversed", 0) for one in found) == 1
    assert sum(one.words.get("confirmed", 0) for one in found) == 0
    assert sum(sum(one.decisions.values()) for one in found) == 6
    assert not any(day.decisions for day in days(folder, *span(folder), owners=[]))


def test_a_day_is_from_midnight_to_midnight_in_utc(told: tuple[Path, History]) -> None:
    folder, _ = told
    first, _ = span(folder)
    day = timedelta(days=1)
    [before] = days(folder, first - day, first - day)
    assert before.decisions == {}
    [on] = days(folder, first, first)
    rows = query(folder, "SELECT count(*) AS n FROM decisions WHERE decided_at::DATE = ?", [first])
    assert sum(on.decisions.values()) == rows[0]["n"]


@pytest.mark.parametrize("owners", [None, ["bob"]])
def test_the_merges_of_a_day_come_with_whom_they_joined(
    told: tuple[Path, History], owners: Owners
) -> None:
    folder, _ = told
    first, last = span(folder)
    found = [
        one
        for n in range((last - first).days + 1)
        for one in activity_on(folder, first + timedelta(days=n), 100, owners)[0]
    ]
    repeats = ("hash_exact", "recent_capture")
    joins = query(folder, "FROM joins ORDER BY position")
    rows = [row for row in joins if row["decision"] not in repeats]
    assert len(rows) < len(joins), "of repeats both texts are the same: they are left out"
    wanted = {row["decision_id"]: row for row in rows if owners is None or row["owner_id"] == "bob"}
    assert {one.decision_id for one in found} == wanted.keys()
    assert len(found) == len(wanted) == (4 if owners is None else 2)
    for one in found:
        row = wanted[one.decision_id]
        assert (one.candidate_id, one.joined_to) == (row["candidate_id"], row["joined_to"])
        assert one.decided_at == row["decided_at"].replace(tzinfo=UTC)
    latest, _ = activity_on(folder, last, 1)
    assert [one.position for one in latest] == [max(row["position"] for row in rows)]


def test_the_words_of_a_day_come_with_who_said_them(told: tuple[Path, History]) -> None:
    folder, _ = told
    first, last = span(folder)
    found = [
        one
        for n in range((last - first).days + 1)
        for one in activity_on(folder, first + timedelta(days=n), 100)[1]
    ]
    by_event = {one.event: one for one in found}
    assert by_event.keys() == {"reversed", "confirmed", "retracted"}
    reversed_ = by_event["reversed"]
    assert (reversed_.owner_id, reversed_.actor, reversed_.because) == ("ada", "kim", "two things")


def test_outcomes_are_those_of_the_view(told: tuple[Path, History]) -> None:
    folder, _ = told
    rows = query(folder, "FROM policy_outcomes ORDER BY decision")
    [policy] = {row["policy"] for row in rows}
    became, scored = outcomes(folder, policy)
    wanted = [{k: v for k, v in row.items() if k not in ("policy", "position")} for row in rows]
    assert [one._asdict() for one in became] == wanted
    by_column = "SELECT decision, nearest_similarity AS score FROM decisions WHERE policy = ?"
    scores = [row for row in query(folder, by_column, [policy]) if row["score"] is not None]
    expected = Counter((round(row["score"] * WHOLE), row["decision"]) for row in scores)
    assert {(one.score, one.decision): one.n for one in scored} == expected
    assert expected == {(9_100, "pending"): 2}
    assert outcomes(folder, "sha256:unknown") == ([], [])
    half, fewer = outcomes(folder, policy, ["ada"])
    assert {one.decision: 2 * one.n for one in half} == {one.decision: one.n for one in became}
    assert [one.n for one in fewer] == [1]


def test_of_two_reviews_the_latest_counts_also_in_another_segment(tmp_path: Path) -> None:
    history = History()
    a = history.admit("ada", "She keeps a kettle.")
    history.admit("ada", "She keeps a kettle", (a, 0.99))
    decided = [one.event for one in history.log.of_owner("ada")]
    [joined] = [one.id for one in decided if isinstance(one, Decided) and one.data.join]
    counted = []
    for command in (Unmerge, Reinstate):
        history.run(command(command_id=history.fresh(), owner_id="ada", decision_id=joined))
        projector = Projector(tmp_path, history.log)
        projector.start()
        projector.close()
        policy = query(tmp_path, "SELECT DISTINCT policy FROM policy_outcomes")[0]["policy"]
        became, _ = outcomes(tmp_path, policy)
        counted.append(sum(one.reversed for one in became))
    assert counted == [1, 0]


@contextmanager
def in_two_generations(folder: Path) -> Iterator[None]:
    """While a merged segment is there beside those that it was made of, as after a crash."""
    [segment] = [one for one in listed(folder) if one.end]
    again = segment.path.with_name(segment.path.name.rpartition(".")[0] + ".7")
    again.symlink_to(segment.path)
    try:
        yield
    finally:
        again.unlink()


def test_rows_of_two_generations_count_once(told: tuple[Path, History]) -> None:
    folder, _ = told
    first, last = span(folder)
    [policy] = {row["policy"] for row in query(folder, "FROM policy_outcomes")}

    def figures() -> list[object]:
        every_day = [first + timedelta(days=n) for n in range((last - first).days + 1)]
        return [
            days(folder, first, last),
            *(activity_on(folder, day, 100) for day in every_day),
            outcomes(folder, policy),
        ]

    before = figures()
    with in_two_generations(folder):
        assert figures() == before


def projected(folder: Path, history: History) -> Path:
    projector = Projector(folder, history.log)
    projector.start()
    projector.close()
    return folder


def test_two_answers_about_one_candidate_are_two(tmp_path: Path) -> None:
    history = History()
    near = [history.admit("ada", text) for text in ("A kettle.", "A pot.")]
    asked = history.admit("ada", "A kettle is hers.", *((one, 0.8) for one in near))
    answers = tuple(verdict for other in near for verdict in verdicts(other, "different"))
    history.run(
        Settle(command_id=history.fresh(), owner_id="ada", candidate_id=asked, verdicts=answers)
    )
    [day] = [day for day in days(projected(tmp_path, history), *span(tmp_path)) if day.judge]
    assert day.judge == [JudgeDay("judge-1", 2, 0, 1.0, 0.5)]


def test_an_answer_without_model_or_cost_is_counted_with_none(tmp_path: Path) -> None:
    history = History()
    known = history.admit("ada", "A kettle.")
    asked = history.admit("ada", "A kettle is hers.", (known, 0.8))
    nobody = (Verdict(neighbour_id=known, answer="unavailable"),)
    history.run(
        Settle(command_id=history.fresh(), owner_id="ada", candidate_id=asked, verdicts=nobody)
    )
    [day] = [day for day in days(projected(tmp_path, history), *span(tmp_path)) if day.judge]
    assert day.judge == [JudgeDay("", 1, 1, 0, 0)]
    assert day.cost_usd == 0


def test_a_cost_of_which_a_part_is_not_known_is_not_known(tmp_path: Path) -> None:
    history = History()
    known, other = history.admit("ada", "A kettle."), history.admit("ada", "A red kettle.")
    asked = history.admit("ada", "A kettle is hers.", (known, 0.8), (other, 0.8))
    answers = verdicts(known, "different") + verdicts(other, "different", cost=None)
    history.run(
        Settle(command_id=history.fresh(), owner_id="ada", candidate_id=asked, verdicts=answers)
    )
    [day] = [day for day in days(projected(tmp_path, history), *span(tmp_path)) if day.judge]
    assert day.judge == [JudgeDay("judge-1", 2, 0, 1.0, None)]
    assert day.cost_usd is None


def test_scores_are_rounded_to_the_nearest_ten_thousandth(tmp_path: Path) -> None:
    """0.7001 times 10,000 is a little less than 7,001."""
    history = History()
    known = history.admit("ada", "A kettle.")
    history.admit("ada", "A kettle is hers.", (known, 0.7001))
    rows = query(projected(tmp_path, history), "FROM policy_outcomes")
    _, [scored] = outcomes(tmp_path, rows[0]["policy"])
    assert scored.score == 7_001


def refused(history: History, owner: str, decision_id: str = "unknown") -> None:
    history.run(Reinstate(command_id=history.fresh(), owner_id=owner, decision_id=decision_id))


def test_refusals_are_those_since_a_moment_in_whatever_zone(tmp_path: Path) -> None:
    history = History()
    a, b = (history.admit("ada", text) for text in ("Tea", "Milk"))
    [joined] = history.run(Merge(command_id=history.fresh(), owner_id="ada", a=a, b=b))
    for _ in range(3):
        refused(history, "ada", joined.id)
    folder = projected(tmp_path, history)
    times = [
        row["decided_at"].replace(tzinfo=UTC)
        for row in query(folder, "SELECT decided_at FROM events WHERE event = 'refused' ORDER BY 1")
    ]
    assert len(times) == 3
    for zone in (UTC, timezone(timedelta(hours=9)), timezone(timedelta(hours=-7))):
        for moment in times:
            since = [one for one in times if one >= moment]
            assert refused_since(folder, moment.astimezone(zone)) == (len(since), times[-1])
    just_after = times[-1] + timedelta(microseconds=1)
    assert refused_since(folder, just_after) == (0, None)
    with in_two_generations(folder):
        assert refused_since(folder, times[0])[0] == 3


def test_the_latest_statements_of_each_person_are_shown_in_their_order(tmp_path: Path) -> None:
    """Whatever anybody else said meanwhile; a rule's joins and a review's words are nobody's."""
    history = History()
    ids = [history.admit("ada", f"Fact {number}") for number in range(8)]

    def separate(number: int, actor: str | None, rank: Any = "person") -> None:
        history.run(
            Separate(
                command_id=history.fresh(),
                owner_id="ada",
                a=ids[number],
                b=ids[number + 1],
                actor=actor,
                rank=rank,
            )
        )

    separate(0, "kim")
    separate(1, "kim")
    merge = Merge(command_id=history.fresh(), owner_id="ada", a=ids[3], b=ids[4], actor="kim")
    [joined] = history.run(merge)
    separate(4, None)
    separate(5, "robot", rank="review")
    separate(6, "lee")
    told = latest_statements(projected(tmp_path, history), 2)
    assert [(one.actor, one.event, one.candidate_id) for one in told] == [
        ("kim", "separated", ids[2]),
        ("kim", "joined", ids[4]),
        ("lee", "separated", ids[7]),
    ]
    assert [one.other_id for one in told] == [ids[1], ids[3], ids[6]]
    assert told[1].decision_id == told[1].event_id == joined.id
    with in_two_generations(tmp_path):
        assert latest_statements(tmp_path, 2) == told


def test_a_reversal_that_followed_from_another_is_no_statement(tmp_path: Path) -> None:
    history = History()
    a, b, c = (history.admit("ada", text) for text in ("Tea", "Milk", "Salt"))
    own, followed = (
        history.run(Merge(command_id=history.fresh(), owner_id="ada", a=one, b=other))[0].id
        for one, other in ((a, b), (a, c))
    )
    for decision_id, consequence_of in ((own, None), (followed, own)):
        history.run(
            Unmerge(
                command_id=history.fresh(),
                owner_id="ada",
                decision_id=decision_id,
                actor="kim",
                consequence_of=consequence_of,
            )
        )
    told = latest_statements(projected(tmp_path, history), 10)
    assert [(one.event, one.decision_id) for one in told] == [("reversed", own)]
