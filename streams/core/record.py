"""Commands that record one fact about a candidate, a decision, a session or a run."""

from __future__ import annotations

from datetime import datetime

from msgspec import structs

from palimpsest.contracts.commands import (
    Access,
    Compact,
    Compose,
    Confirm,
    Embed,
    EndSession,
    RecordRun,
    Reinstate,
    Restore,
    SetNames,
)
from palimpsest.contracts.events import (
    Accessed,
    AccessedData,
    AnyEvent,
    Compacted,
    Composed,
    ComposedData,
    Confirmed,
    Embedded,
    EmbeddedData,
    Join,
    Joined,
    JoinedData,
    JudgeSet,
    JudgeSetData,
    NamesSet,
    NamesSetData,
    OnCandidateData,
    OnDecisionData,
    OnSessionData,
    PolicySet,
    PolicySetData,
    Ran,
    RanData,
    Restored,
    SessionEnded,
)
from palimpsest.contracts.evidence import Evidence, RecordedJudge
from palimpsest.contracts.policy import Policy, required_version
from palimpsest.streams.core import operate
from palimpsest.streams.core.candidates import embedded_text
from palimpsest.streams.core.edges import edge_of
from palimpsest.streams.core.envelope import head
from palimpsest.streams.core.faces import standing_text
from palimpsest.streams.core.ledger import Edge, Entry, Ledger
from palimpsest.streams.core.operate import Result
from palimpsest.streams.core.refusal import Refusal, unknown_candidate, unknown_decision
from palimpsest.streams.core.settle import usable


def restore(command: Restore, ledger: Ledger, now: datetime) -> Result:
    """`restored`: takes a retraction back, unless another memory has the text by now.

    An update that was undone with it stands again, unless later statements prevent that.
    """
    entry = ledger.entries.get(command.candidate_id)
    if entry is None:
        return unknown_candidate(command.candidate_id)
    if entry.living:
        return Refusal("not_retracted", f"candidate {entry.id} is living")
    if entry.forgotten is not None:
        return _remembered(command, entry, ledger, now)
    update = next((edge for edge in entry.edges if operate.withdrawn_by(edge) is entry), None)
    if update is not None:
        back = operate.reinstate(_redone(command, update), ledger, now)
        if not isinstance(back, Refusal):
            return back
    twin = operate.twin_of(entry, ledger)
    if twin is not None:
        return Refusal("same_text", f"its text lives in another memory, as candidate {twin.id}")
    data = OnCandidateData(candidate_id=entry.id, actor=command.actor, because=command.because)
    return [Restored(**head(command, entry.id, now), data=data)]


def _remembered(command: Restore, entry: Entry, ledger: Ledger, now: datetime) -> Result:
    """`restored`, after being `joined` with any candidate that has its text or its memory's face.

    There may be two such candidates: one has its own text, the other the composed face. No other
    joins are made.
    """
    events: list[AnyEvent] = []
    joins: list[Edge] = []
    while (twin := operate.twin_of(entry, ledger, joins)) is not None:
        for member in (entry, *(join.other(entry) for join in joins)):
            refusal = operate.conflict(ledger, member, twin, rank="rule")
            if refusal is not None:
                return refusal
        older, newer = sorted((entry, twin), key=lambda entry: entry.place)
        said = JoinedData(
            decision="manual_join",
            candidate_id=newer.id,
            join=Join(to=older.id, face="keep", similarity=1.0),
            rank="person",
            actor=command.actor,
            because=command.because,
        )
        joined = Joined(**head(command, newer.id, now, len(events)), data=said)
        events.append(joined)
        joins.append(edge_of(ledger, joined, newer, said.join, ledger.seen + len(events), "person"))
    data = OnCandidateData(candidate_id=entry.id, actor=command.actor, because=command.because)
    return [*events, Restored(**head(command, entry.id, now, len(events)), data=data)]


def _redone(command: Restore, update: Edge) -> Reinstate:
    return Reinstate(
        command_id=command.command_id,
        owner_id=command.owner_id,
        actor=command.actor,
        because=command.because,
        decision_id=update.id,
    )


def confirm(command: Confirm, ledger: Ledger, now: datetime) -> Result:
    """`confirmed`: a review agreed with a decision."""
    if command.decision_id not in ledger.decisions:
        return unknown_decision(command.decision_id)
    edge = ledger.edges.get(command.decision_id)
    if edge is not None and not edge.standing:
        return Refusal("not_standing", f"decision {edge.id} is reversed")
    if ledger.reviews.get(command.decision_id) == "confirmed":
        return Refusal("standing_already", f"decision {command.decision_id} is confirmed")
    data = OnDecisionData(
        decision_id=command.decision_id,
        rank=command.rank,
        actor=command.actor,
        because=command.because,
        verdicts=command.verdicts,
    )
    return [Confirmed(**head(command, command.decision_id, now), data=data)]


def compose(command: Compose, ledger: Ledger, policy: Policy, now: datetime) -> Result:
    """`composed`: a recomposed text for a memory whose composition lost a source."""
    edge = ledger.edges.get(command.decision_id)
    if edge is None or not edge.texts:
        return unknown_decision(command.decision_id)
    memory = edge.newer.memory
    stands = standing_text(edge, {entry.id: entry for entry in memory.members}) is not None
    if not edge.standing or stands or not memory.face.needs_composition:
        return Refusal("not_needed", f"the text of decision {edge.id} needs no composing")
    living = {entry.id for entry in memory.members if entry.living}
    if not living.issuperset(command.composition.sources):
        return Refusal("unusable_text", "not all of its sources are living members of the memory")
    if not usable(ledger, command.composition, memory.namespace):
        return Refusal(
            "unusable_text", "the text is blank, has no source, or is another candidate's"
        )
    evidence = Evidence(policy=policy.hash, check="judge", verdicts=command.verdicts)
    data = ComposedData(decision_id=edge.id, composition=command.composition, evidence=evidence)
    return [Composed(**head(command, edge.id, now), data=data)]


def embed(command: Embed, ledger: Ledger, policy: Policy, now: datetime) -> Result:
    """`embedded`: adds a text's vector or its windows; no event if it has them or is empty.

    A vector that gets windows stays as recorded, because decisions rest on it. A vector of a model
    that is not in force is kept beside the one that is.
    """
    entry = ledger.entries.get(command.candidate_id)
    if entry is None or command.text_id not in {None, *ledger.composed_by}:
        return unknown_candidate(command.text_id or command.candidate_id)
    text, vector = embedded_text(ledger, entry.id, command.text_id), command.vector
    known = text.vector_of(vector.model)
    if not text.text or (known is not None and (known.covers_text or not vector.covers_text)):
        return []
    if known is not None and vector.windows is not None:
        vector = structs.replace(known, windows=vector.windows)
    data = EmbeddedData(
        candidate_id=entry.id,
        vector=vector,
        ahead=True if vector.model != policy.model else None,
        text_id=command.text_id,
    )
    return [Embedded(**head(command, entry.id, now), data=data)]


def access(command: Access, ledger: Ledger, now: datetime) -> Result:
    """`accessed`: the memories of some candidates were used; times are capped at `now`.

    Unknown candidates are left out; refused if none is known.
    """
    uses = command.uses
    if uses is not None:
        known = [use for use in uses if use.candidate_id in ledger.entries]
        uses = tuple(structs.replace(use, at=min(use.at, now)) for use in known)
    candidate_id = uses[0].candidate_id if uses else command.candidate_id
    if candidate_id not in ledger.entries:
        return unknown_candidate(candidate_id)
    data = AccessedData(
        candidate_id=candidate_id,
        actor=command.actor,
        because=command.because,
        uses=uses or None,
        others=command.others,
    )
    return [Accessed(**head(command, candidate_id, now), data=data)]


def end_or_compact(command: EndSession | Compact, now: datetime) -> Result:
    """`session_ended` or `compacted`."""
    data = OnSessionData(session_id=command.session_id)
    kind = SessionEnded if isinstance(command, EndSession) else Compacted
    return [kind(**head(command, command.session_id, now), data=data)]


def record_run(command: RecordRun, policy: Policy, now: datetime) -> Result:
    """`ran`: a batch run with its figures."""
    data = RanData(
        step=command.step,
        due=command.due,
        policy=policy.hash,
        figures=command.figures,
        session_id=command.session_id,
        actor=command.actor,
        because=command.because,
    )
    return [Ran(**head(command, command.step, now), data=data)]


def set_names(command: SetNames, ledger: Ledger, now: datetime) -> Result:
    """`names_set`: replaces the owner's names; earlier decisions do not change."""
    if command.names == ledger.names:
        called = ", ".join(command.names) or "none"
        return Refusal("unchanged", f"these are the owner's names already: {called}")
    data = NamesSetData(
        names=command.names, was=ledger.names, actor=command.actor, because=command.because
    )
    return [NamesSet(**head(command, command.owner_id, now), data=data)]


def policy_event(
    policy: Policy,
    event_id: str,
    actor: str | None,
    now: datetime,
    *,
    former: str | None = None,
    drops: tuple[str, ...] | None = None,
) -> PolicySet:
    """`policy_set`: puts a policy in force. It belongs to the store, not to an owner.

    `former` is the model that texts were compared by until then, if that changes; `drops` are the
    models whose vectors need no longer be kept in memory.
    """
    data = PolicySetData(
        hash=policy.hash,
        policy=policy.model_dump(mode="json"),
        actor=actor,
        former=former,
        drops=drops,
    )
    return PolicySet(
        id=event_id,
        subject=policy.hash,
        time=now,
        partitionkey="",
        requires=required_version(policy),
        data=data,
    )


def judge_event(judge: RecordedJudge, event_id: str, now: datetime, former: str | None) -> JudgeSet:
    """`judge_set`: the judge whose answers are recorded from here on. It belongs to the store."""
    data = JudgeSetData(hash=judge.hash, judge=judge, former=former)
    return JudgeSet(id=event_id, subject=judge.hash, time=now, partitionkey="", data=data)
