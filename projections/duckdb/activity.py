# Queries are built from names in this package and quoted paths, never from input.
# ruff: noqa: S608
"""Totals by day and policy, and the latest statements of each person, for the review page.

They are counted in the tables of facts, whose rows never change and are keyed by position. So
distinct positions suffice to count a row in two segments once; the views also have to find the
latest version of each row. For 100,000 decisions the views took 250 to 600 ms, and these queries
take 10 to 80 ms on two cores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from palimpsest.projections.duckdb.queries import Query, queries
from palimpsest.projections.duckdb.views import Place, place_of

WHOLE = 10_000
"""A similarity of 1: scores have four decimals, and are counted as integers in this unit."""
WORDS = ("reversed", "reinstated", "separated", "confirmed", "retracted", "restored", "refused")
"""Events other than decisions that a day's page shows."""

ANSWERS = ("admit", "settle", "compose")
"""Commands that nobody sent: repeats of forgotten texts, and answers to questions."""

Owners = Sequence[str] | None
"""The owners whose decisions are counted; None for all."""


@dataclass(slots=True)
class JudgeDay:
    """One model's answers on one day: answers, calls, and their cost.

    The cost is None if a price is unknown.
    """

    model: str
    verdicts: int
    unavailable: int
    calls: float
    cost_usd: float | None


@dataclass(slots=True)
class Day:
    """One day (UTC): decisions by kind, other events by name, and the judge's answers."""

    day: date
    decisions: dict[str, int] = field(default_factory=dict)
    words: dict[str, int] = field(default_factory=dict)
    judge: list[JudgeDay] = field(default_factory=list)

    @property
    def cost_usd(self) -> float | None:
        """The judge's cost; None if a price is unknown."""
        costs = [asked.cost_usd for asked in self.judge]
        return None if None in costs else sum(filter(None, costs))


class JoinOfDay(NamedTuple):
    """A join of a day: the two candidates and the decision."""

    position: int
    decided_at: datetime
    owner_id: str
    decision: str
    decision_id: str
    candidate_id: str
    joined_to: str
    similarity: float | None


class OtherEvent(NamedTuple):
    """An event of a day that is not a decision.

    A refusal has its `command`, `reason` and `detail`.
    """

    position: int
    decided_at: datetime
    owner_id: str
    event: str
    decision_id: str | None
    candidate_id: str | None
    actor: str | None
    rank: str | None
    because: str | None
    command: str | None
    reason: str | None
    detail: str | None


class PairStatement(NamedTuple):
    """A person's statement about a pair: a merge, a reversal, a separation or a confirmation.

    For a merge, `decision_id` is its own; a separation names both candidates, the second as
    `other_id`.
    """

    position: int
    owner_id: str
    event: str
    event_id: str
    decision_id: str | None
    candidate_id: str
    other_id: str | None
    actor: str
    because: str | None


class OutcomeCount(NamedTuple):
    """The outcomes of a policy's decisions of one kind."""

    decision: str
    n: int
    reversed: int
    confirmed: int
    mean_similarity: float | None


class Scored(NamedTuple):
    """The number of decisions of one kind with the same nearest score, in ten-thousandths."""

    score: int
    decision: str
    n: int


def days(folder: Path, since: date, until: date, owners: Owners = None) -> list[Day]:
    """Every day from `since` up to and including `until`, in order, even without events."""
    place = place_of(folder, named=True)
    asked = (_query(text, place, owners, since=since, until=until) for text in _COUNTED)
    kinds, words, judged = queries(folder, *asked)
    span = (until - since).days + 1
    found = {day: Day(day) for day in (since + timedelta(days=n) for n in range(span))}
    for row in kinds:
        found[row["day"]].decisions[row["decision"]] = row["n"]
    for row in words:
        found[row["day"]].words[row["event"]] = row["n"]
    for row in judged:
        found[row.pop("day")].judge.append(JudgeDay(**row))
    return list(found.values())


def activity_on(
    folder: Path, day: date, limit: int, owners: Owners = None
) -> tuple[list[JoinOfDay], list[OtherEvent]]:
    """The last joins of a day, and its last events other than decisions, the latest first.

    Exact repeats are left out: there are many of them, and both texts are the same.
    """
    place = place_of(folder, named=True)
    asked = (
        _query(text, place, owners, since=day, until=day, limit=limit) for text in (_MERGES, _SAID)
    )
    joined, others = queries(folder, *asked)
    return [JoinOfDay(**_in_utc(row)) for row in joined], [
        OtherEvent(**_in_utc(row)) for row in others
    ]


def refused_since(folder: Path, since: datetime) -> tuple[int, datetime | None]:
    """The number of commands refused since a time, and the time of the last one, in UTC.

    Unknown ids are left out: in a cluster, each partition that does not know an id refuses it,
    although another partition executes the command.
    """
    moment = since.astimezone(UTC).replace(tzinfo=None)
    [[row]] = queries(folder, _query(_REFUSED, place_of(folder, named=True), None, since=moment))
    latest = row["latest"]
    return row["n"], latest and latest.replace(tzinfo=UTC)


def latest_statements(folder: Path, limit: int) -> list[PairStatement]:
    """Each person's latest statements about pairs, at most `limit` per person, in order.

    A confirmation is left out if the join was reversed later: it no longer holds.
    """
    [rows] = queries(folder, _query(_SPOKEN, place_of(folder, named=True), None, limit=limit))
    return [PairStatement(**row) for row in rows]


def outcomes(
    folder: Path, policy: str, owners: Owners = None
) -> tuple[list[OutcomeCount], list[Scored]]:
    """The outcomes of a policy's decisions by kind, and the scores of their nearest neighbours.

    A score is a cosine, or a Jaccard score if only words were compared.
    """
    place = place_of(folder, named=True)
    asked = (_query(text, place, owners, policy=policy) for text in (_OUTCOMES, _SCORED))
    became, scored = queries(folder, *asked)
    return [OutcomeCount(**row) for row in became], [Scored(**row) for row in scored]


def _in_utc(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "decided_at": row["decided_at"].replace(tzinfo=UTC)}


def _query(text: str, place: Place, owners: Owners, **given: object) -> Query:
    """A query over a store's tables, limited to some owners if they are given."""
    tables = {name: place.scan(name) for name in ("decisions", "words", "verdicts", "reviews")}
    if owners is None:
        return text.format(**tables, own=""), given
    own = "AND owner_id IN (SELECT unnest($owners::VARCHAR[]))"
    return text.format(**tables, own=own), {**given, "owners": list(owners)}


_WITHIN = "$since::DATE AND {time} < $until::DATE + 1 {{own}}"
_DECIDED = "decided_at >= " + _WITHIN.format(time="decided_at")
_ANSWERED = "answered_at >= " + _WITHIN.format(time="answered_at")
_IS_WORD = f"event IN ({', '.join(repr(word) for word in WORDS)})"

_KINDS = f"""
SELECT day, decision, count(*) AS n
FROM (SELECT DISTINCT position, decided_at::DATE AS day, decision
      FROM {{decisions}} WHERE {_DECIDED})
GROUP BY ALL ORDER BY ALL
"""
_WORDS = f"""
SELECT day, event, count(*) AS n
FROM (SELECT DISTINCT position, decided_at::DATE AS day, event
      FROM {{words}} WHERE {_IS_WORD} AND {_DECIDED})
GROUP BY ALL ORDER BY ALL
"""
_JUDGED = f"""
SELECT day, coalesce(model, '') AS model, count(*) AS verdicts,
       count(*) FILTER (answer = 'unavailable') AS unavailable,
       coalesce(sum(calls), 0) AS calls,
       CASE WHEN bool_or(calls > 0 AND cost_usd IS NULL) THEN NULL
            ELSE coalesce(sum(cost_usd), 0) END AS cost_usd
FROM (SELECT DISTINCT position, ordinal, answered_at::DATE AS day, model, answer, calls, cost_usd
      FROM {{verdicts}} WHERE {_ANSWERED})
GROUP BY ALL ORDER BY ALL
"""
_COUNTED = (_KINDS, _WORDS, _JUDGED)
_MERGES = f"""
SELECT DISTINCT position, decided_at, owner_id, decision, decision_id, candidate_id, joined_to,
       similarity
FROM {{decisions}}
WHERE joined_to IS NOT NULL AND (face_rule <> 'repeat' OR len(differs) > 0) AND {_DECIDED}
ORDER BY position DESC LIMIT $limit
"""
_SAID = f"""
SELECT DISTINCT position, decided_at, owner_id, event, decision_id, candidate_id, actor, rank,
       because, command, reason, detail
FROM {{words}} WHERE {_IS_WORD} AND {_DECIDED}
ORDER BY position DESC LIMIT $limit
"""
_REFUSED = f"""
SELECT count(DISTINCT position) AS n, max(decided_at) AS latest
FROM {{words}}
WHERE event = 'refused' AND decided_at >= $since
      AND command NOT IN ({", ".join(repr(answer) for answer in ANSWERS)})
      AND NOT (coalesce(owner_id, '') = '' AND starts_with(reason, 'unknown_'))
"""
_BY_PERSON = "rank = 'person' AND actor IS NOT NULL"
_SPOKEN = f"""
FROM (SELECT DISTINCT position, owner_id, event, event_id, decision_id, candidate_id, other_id,
             actor, because
      FROM {{words}} said
      WHERE event IN ('reversed', 'separated', 'confirmed') AND consequence_of IS NULL
            AND {_BY_PERSON}
            AND NOT (event = 'confirmed'
                     AND EXISTS (FROM {{words}} out
                                 WHERE out.event = 'reversed' AND out.position > said.position
                                       AND out.decision_id = said.decision_id))
      UNION ALL
      SELECT DISTINCT position, owner_id, event, decision_id, decision_id, candidate_id, joined_to,
             actor, because
      FROM {{decisions}} WHERE event = 'joined' AND {_BY_PERSON})
QUALIFY row_number() OVER (PARTITION BY actor ORDER BY position DESC) <= $limit
ORDER BY position
"""
_OUTCOMES = """
SELECT d.decision, count(*) AS n, count(*) FILTER (r.review_status = 'reversed') AS reversed,
       count(*) FILTER (r.review_status = 'confirmed') AS confirmed,
       avg(d.similarity) AS mean_similarity
FROM (SELECT DISTINCT position, decision_id, decision, similarity
      FROM {decisions} WHERE policy = $policy {own}) d
     LEFT JOIN (SELECT decision_id, arg_max(review_status, position) AS review_status
                FROM {reviews} GROUP BY decision_id) r ON r.decision_id = d.decision_id
GROUP BY d.decision ORDER BY d.decision
"""
_SCORED = f"""
SELECT score, decision, count(*) AS n
FROM (SELECT DISTINCT position, decision, round(nearest_similarity * {WHOLE})::INTEGER AS score
      FROM {{decisions}} WHERE policy = $policy AND nearest_similarity IS NOT NULL {{own}})
GROUP BY ALL ORDER BY ALL
"""
