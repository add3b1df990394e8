"""What a store shows: SQL over the projections, and a memory or candidate from the log."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from palimpsest.backends.reader import Reader
from palimpsest.backends.verification import last_verification
from palimpsest.contracts.errors import RefusedError, no_such_id
from palimpsest.contracts.events import Redecided
from palimpsest.contracts.evidence import Evidence, deciding
from palimpsest.contracts.identity import decision_id_or_unchanged
from palimpsest.contracts.light import to_json
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.shown import (
    DecisionRow,
    Happened,
    ShownCandidate,
    ShownMember,
    ShownMemory,
)
from palimpsest.contracts.urn import Urn
from palimpsest.contracts.wire import Recorded
from palimpsest.projections.base.totals import Total
from palimpsest.projections.duckdb.dedup_metrics import dedup_metrics
from palimpsest.projections.duckdb.queries import Parameters, queries, query, views_file
from palimpsest.projections.shown.event_index import pair_in
from palimpsest.projections.shown.memory import brought_by
from palimpsest.projections.shown.related import fold_related, related
from palimpsest.projections.shown.timeline import Timeline, pair_of
from palimpsest.queries.as_of import as_they_were, counts_as_of
from palimpsest.queries.duplicates import hash_tag
from palimpsest.queries.evidence import evidence_of, explained
from palimpsest.streams.core.admit import FORGOTTEN
from palimpsest.streams.core.ledger import Edge, Entry, Ledger
from palimpsest.streams.core.skips import named_namespaces
from palimpsest.streams.core.version import version_of
from palimpsest.streams.core.worth import worth
from palimpsest.streams.judge.storage import FIRST_FILE, refusal_of
from palimpsest.streams.log.as_of import AsOf, in_utc, position_as_of, time_at
from palimpsest.streams.write.owners import fold_owner


def rules_at(reader: Reader, as_of: AsOf | None) -> tuple[Policy, datetime]:
    """The policy in force and the time, now or as of a moment.

    The time is now, the one given, or that of the event at the position.
    """
    if as_of is None:
        return reader.policy_in_force(), reader.clock()
    position = position_as_of(reader.log, as_of)
    at = in_utc(as_of) if isinstance(as_of, datetime) else time_at(reader.log, position)
    return reader.policy_as_of(position), at


def owners_of_session(reader: Reader, session_id: str) -> list[str]:
    """The owners of candidates of a session."""
    reader.refresh()
    text = "SELECT DISTINCT owner_id FROM candidates WHERE session_id = ? ORDER BY 1"
    return [row["owner_id"] for row in query(reader.projections, text, [session_id])]


def metrics(reader: Reader) -> str:
    """The figures of duplicates on arrival, in Prometheus' text format."""
    reader.refresh()
    return dedup_metrics(reader.projections, named_namespaces(reader.policy_in_force()))


def sql_file(reader: Reader) -> Path:
    """The path of the file of views, brought up to date unless another process is writing."""
    reader.refresh()
    return views_file(reader.projections)


def sql(reader: Reader, text: str, parameters: Parameters) -> list[dict[str, Any]]:
    """Rows of a read-only query over the views."""
    reader.refresh()
    return query(reader.projections, text, parameters)


_COUNTS = """
SELECT (SELECT count(*) FROM candidates) AS candidates,
       (SELECT count(*) FROM memories) AS memories,
       (SELECT count(*) FROM joins WHERE standing) AS joins,
       (SELECT count(*) FROM joins WHERE standing AND folded) AS folded
"""
_BY_KIND = "SELECT decision, count(*) AS n FROM decisions GROUP BY decision ORDER BY decision"
_UNNAMED = """
SELECT count(*) AS n FROM (
    SELECT owner_id FROM candidates
    WHERE owner_id NOT IN (SELECT owner_id FROM events WHERE event = 'names_set')
    GROUP BY owner_id
    HAVING bool_or(regexp_matches(
              text, '^((I|My|Ich|Meine?|Je|M(on|a|es)|Yo|Mis?) |J[''’]|[我私僕]'
              || '|(나는|난|내가|내|저는|전|제가|제) )'))::INT
        + bool_or(regexp_matches(
              text, '^((the )?user( |''s )|(der )?nutzer |l[''’]utilisat(eur|rice) '
              || '|(el|la) usuari[oa] |用户|ユーザー|사용자)', 'i'))::INT
        + bool_or(starts_with(lower(text), lower(owner_id)) AND regexp_matches(
              substr(text, length(owner_id) + 1), '^(''?s)? |^[はの은는이가의]'))::INT > 1
)
"""
"""Owners without declared names whose texts call them by several names."""
_ALIKE_IDS = """
SELECT count(*) AS n FROM (
    SELECT 1 FROM (SELECT DISTINCT owner_id FROM candidates)
    GROUP BY nfc_normalize(owner_id) HAVING count(*) > 1
)
"""
"""Owner ids in several Unicode forms, which are different owners (docs/producers.md)."""
_PENDING = "SELECT count(*) AS n FROM candidates WHERE pending AND living"
_JUDGED = """
SELECT count(*)::BIGINT AS verdicts, coalesce(sum(calls), 0) AS calls,
       CASE WHEN bool_or(calls > 0 AND cost_usd IS NULL) THEN NULL
            ELSE coalesce(sum(cost_usd), 0) END AS usd
FROM verdicts
"""


def status(
    reader: Reader, as_of: AsOf | None = None, behind: Callable[[], int | None] = lambda: None
) -> dict[str, Any]:
    """Counts by the analysts' views, the log's position and each projection's lag behind it.

    `behind` tells how many records the store is behind a cluster.
    """
    reader.refresh()
    if as_of is not None:
        return status_as_of(reader, position_as_of(reader.log, as_of))
    asked = ((text, ()) for text in (_COUNTS, _BY_KIND, _PENDING, _JUDGED, _UNNAMED, _ALIKE_IDS))
    found = queries(reader.projections, *asked)
    [counts], by_kind, [pending], [judged], [unnamed], [alike] = found
    kinds = {row["decision"]: row["n"] for row in by_kind}
    position = reader.log.head()
    policy = reader.policy_in_force()
    return {
        **counts,
        "pending": pending["n"],
        "unembedded": reader.log.verifications.unembedded(),
        "invalid": kinds.get("invalid", 0),
        "decisions": kinds,
        "judge": {
            "waiting": reader.log.verifications.count(),
            **_rounded(judged),
            "refused": refusal_of(reader.folder) or refusal_of(reader.folder, FIRST_FILE),
        },
        "position": position,
        "policy": {"name": policy.name, "hash": policy.hash, "exact": policy.exact},
        "lag": {name: position - at for name, at in reader.positions().items()},
        "behind": behind(),
        "verified": last_verification(reader.folder),
        "unnamed": unnamed["n"],
        "alike_ids": alike["n"],
    }


def status_as_of(reader: Reader, position: int) -> dict[str, Any]:
    """`status` as of a position of the log, without lag."""
    counts, kinds, judged = counts_as_of(reader, position)
    policy, totals = reader.policy_as_of(position), asdict(counts)
    waiting = totals.pop("waiting")
    return {
        **totals,
        "invalid": kinds.get("invalid", 0),
        "decisions": kinds,
        "judge": {"waiting": waiting, **_rounded(judged), "refused": None},
        "position": position,
        "policy": {"name": policy.name, "hash": policy.hash, "exact": policy.exact},
        "lag": dict.fromkeys(reader.positions(), 0),
        "behind": None,
        "verified": None,
        "unnamed": None,
        "alike_ids": None,
    }


def _rounded(judged: Mapping[str, Any]) -> dict[str, Any]:
    """The figures without the floating-point noise of adding up shares of calls."""
    usd = judged["usd"]
    return {
        **judged,
        "calls": round(judged["calls"], 2),
        "usd": None if usd is None else round(usd, 6),
    }


def decisions(
    reader: Reader,
    *,
    owner_id: str | None,
    decision: str | None,
    since: datetime | None,
    limit: int,
    as_of: AsOf | None = None,
) -> list[DecisionRow]:
    """The latest decisions that match, newest last; with `as_of`, as they were then."""
    reader.refresh()
    position = None if as_of is None else position_as_of(reader.log, as_of, owner_id)
    given = {
        "owner_id = ?": owner_id,
        "decision = ?": decision,
        "decided_at >= ?": _utc(since),
        "position <= ?": position,
    }
    wanted = {clause: value for clause, value in given.items() if value is not None}
    where = f"WHERE {' AND '.join(wanted)}" if wanted else ""
    text = f"SELECT * FROM decisions {where} ORDER BY position DESC LIMIT ?"  # noqa: S608
    rows = query(reader.projections, text, [*wanted.values(), limit])
    if position is not None:
        rows = as_they_were(reader, rows, position)
    for row in rows:
        row["decided_at"] = row["decided_at"].replace(tzinfo=UTC)
    return cast("list[DecisionRow]", rows[::-1])


def _utc(moment: datetime | None) -> datetime | None:
    """A time as in the views: UTC without a zone. DuckDB would read one with a zone as local."""
    if moment is None or moment.tzinfo is None:
        return moment
    return moment.astimezone(UTC).replace(tzinfo=None)


def show(reader: Reader, member_id: str, as_of: AsOf | None = None) -> ShownMemory:
    """The memory of a candidate, with every member and the join that brought it in.

    The metadata is that of the latest living member; intensity, confidence and importance are the
    highest of all members, the latter two with the policy's decay. The `timeline` lists the events
    about its members since they were admitted. Raises RefusedError if the candidate is unknown, or
    was at `as_of`.
    """
    ledger, position = _ledger_of(reader, member_id, as_of)
    entry = ledger.entries[member_id]
    memory, total = entry.memory, Total.of(entry.memory)
    policy, at = rules_at(reader, as_of)
    return {
        "memory_id": memory.id,
        "urn": str(Urn(entry.fields.owner_id, memory.namespace, memory.id)),
        "owner_id": entry.fields.owner_id,
        "namespace": memory.namespace,
        "face": memory.text,
        "version": version_of(memory),
        "living": memory.living,
        "needs_composition": memory.face.needs_composition,
        "metadata": dict(total.metadata),
        "intensity": total.intensity,
        "confidence": worth(memory, "confidence", policy, at),
        "importance": worth(memory, "importance", policy, at),
        "accesses": total.accesses,
        "last_accessed": total.last_accessed.isoformat() if total.last_accessed else None,
        "expires_at": memory.expires_at.isoformat() if memory.expires_at else None,
        "members": [shown_member(reader, member) for member in memory.members],
        "timeline": _timeline_of(
            reader, ledger.owner_id, {member.id for member in memory.members}, position
        ),
    }


def _ledger_of(reader: Reader, candidate_id: str, as_of: AsOf | None) -> tuple[Ledger, int | None]:
    """The ledger of a candidate's owner at `as_of`, and the position of that."""
    owner_id = owner_of(reader, candidate_id)
    if as_of is None:
        return reader.ledger(owner_id), None
    position = position_as_of(reader.log, as_of, owner_id)
    ledger = fold_owner(reader.log, owner_id, position)
    if candidate_id not in ledger.entries:
        raise RefusedError(
            "unknown_candidate", f"there was no candidate {candidate_id} at position {position}"
        )
    return ledger, position


def with_context(
    reader: Reader, owner_id: str, names: Collection[str], upto: int | None = None
) -> list[Recorded]:
    """An owner's events about some candidates, in order, up to a position, as a `Timeline` needs.

    What an event answers may be about another candidate of its pair, or a reversal that led to it.
    """
    ledger, found = reader.ledger(owner_id), reader.events_about(owner_id, names, upto)
    more = {*names}
    for recorded in found:
        more.update(filter(None, pair_of(recorded.event, lambda one: pair_in(ledger, one))))
        if isinstance(recorded.event, Redecided):
            more.add(recorded.event.data.consequence_of)
    return found if len(more) == len(names) else reader.events_about(owner_id, more, upto)


def _timeline_of(
    reader: Reader, owner_id: str, candidates: Collection[str], upto: int | None
) -> list[Happened]:
    timeline = Timeline()
    for recorded in with_context(reader, owner_id, candidates, upto):
        timeline.note(recorded)
    return timeline.of(candidates)


def owner_of(reader: Reader, candidate_id: str) -> str:
    """The owner of a candidate; raises RefusedError if it is unknown."""
    owner_id = reader.log.owner_of(decision_id_or_unchanged(candidate_id))
    if owner_id is None:
        raise RefusedError("unknown_candidate", no_such_id(candidate_id))
    return owner_id


def shown_member(reader: Reader, entry: Entry) -> ShownMember:
    """A member with the join that brought it in, and that join's evidence."""
    edge = brought_by(entry)
    evidence = evidence_of(reader, edge.id if edge else entry.decision_id)
    neighbour = _looked_at(evidence, edge)
    verdict = deciding(evidence.verdicts, edge.older.id if edge else None) if evidence else None
    if edge is not None and verdict is not None and verdict.speaker in (None, edge.older.id):
        asked = evidence_of(reader, entry.asked_by or entry.decision_id)
        neighbour = neighbour or _looked_at(asked, edge)  # an answer has its question's cues
    return {
        "candidate_id": entry.id,
        "text": entry.text,
        "joined_to": edge.older.id if edge else None,
        "decision": edge.decision if edge else entry.decision,
        "decision_id": edge.id if edge else entry.decision_id,
        "similarity": edge.similarity if edge else None,
        "reversed": edge is None and any(e.newer is entry for e in entry.edges),
        "decided_at": entry.decided_at.isoformat(),
        "source": entry.fields.source,
        "session_id": entry.fields.session_id,
        "living": entry.living,
        "pending": entry.pending,
        "check": evidence.check if evidence else None,
        "cues": [str(cue) for cue in neighbour.cues] if neighbour else [],
        "covered": neighbour.covered if neighbour else None,
        "reasoning": verdict.reasoning if verdict else None,
        "supports": [
            {"joined_to": e.older.id, "decision": e.decision, "decision_id": e.id}
            for e in entry.edges
            if e.standing and e.newer is entry and e is not edge
        ],
        "expires_at": entry.expires_at.isoformat() if entry.expires_at else None,
    }


def _evidence_with_texts(reader: Reader, ledger: Ledger, entry: Entry) -> dict[str, Any] | None:
    """The evidence of a candidate's latest decision, with the texts that the scores belong to."""
    decision_id = entry.asked_by or entry.decision_id
    recorded, evidence = reader.log.find(decision_id), evidence_of(reader, decision_id)
    if recorded is None or evidence is None:
        return None
    policies = reader.log.policies()
    policy = policies.get(evidence.policy)
    document = explained(evidence, entry, policies)
    entries: Mapping[str, Entry] = ledger.entries
    by_face = policy is not None and policy.search == "memories"
    if by_face:
        names = [neighbour["candidate_id"] for neighbour in document["neighbours"]]
        entries = _entries_before(reader, ledger.owner_id, names, recorded.position)
    for neighbour in document["neighbours"]:
        near = entries.get(neighbour["candidate_id"])
        text = near and (_compared_text(near, evidence) if by_face else near.text)
        neighbour["text"] = text
    return document


def _entries_before(
    reader: Reader, owner_id: str, names: Iterable[str], position: int
) -> Mapping[str, Entry]:
    """Candidates of an owner as they were before a position, with their memories and faces."""
    now, before = reader.ledger(owner_id).entries, Ledger(owner_id)
    names = related(now[name] for name in names if name in now)
    for recorded in reader.events_about(owner_id, names, position - 1):
        fold_related(before, recorded.event, names)
    return before.entries


def _compared_text(entry: Entry, evidence: Evidence) -> str:
    """The text that a search of memories compares: the face, or a forgotten text itself."""
    own = evidence.check == FORGOTTEN and entry.forgotten is not None
    return entry.text if own else entry.memory.text


def _looked_at(evidence: Evidence | None, edge: Edge | None) -> Any:
    if evidence is None or edge is None:
        return None
    return next((n for n in evidence.neighbours if n.candidate_id == edge.older.id), None)


def show_candidate(reader: Reader, candidate_id: str, as_of: AsOf | None = None) -> ShownCandidate:
    """A candidate, its decision, the evidence of its latest decision, its joins and its memory.

    The `timeline` lists the events about the candidate. Raises RefusedError if the candidate is
    unknown, or was at `as_of`.
    """
    ledger, position = _ledger_of(reader, candidate_id, as_of)
    entry = ledger.entries[candidate_id]
    shown: Any = {
        **to_json(entry.fields),
        "candidate_id": entry.id,
        "urn": str(Urn(entry.fields.owner_id, entry.fields.namespace, entry.id)),
        "hash_tag": hash_tag(entry.distinct.search_hash),
        "text": entry.text,
        "memory_id": entry.memory.id,
        "face": entry.memory.text,
        "version": version_of(entry.memory),
        "decision": entry.decision,
        "decision_id": entry.decision_id,
        "decided_at": entry.decided_at.isoformat(),
        "living": entry.living,
        "pending": entry.pending,
        "expires_at": entry.expires_at.isoformat() if entry.expires_at else None,
        "evidence": _evidence_with_texts(reader, ledger, entry),
        "joins": [
            {
                "decision_id": edge.id,
                "decision": edge.decision,
                "joined_to": edge.other(entry).id,
                "similarity": edge.similarity,
                "standing": edge.standing,
            }
            for edge in entry.edges
        ],
        "timeline": _timeline_of(reader, ledger.owner_id, {entry.id}, position),
    }
    return cast("ShownCandidate", shown)
