"""Turns verdicts about a pending candidate into its settlement (docs/design.md)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from msgspec import structs

from palimpsest.contracts.commands import Settle
from palimpsest.contracts.events import (
    AnyEvent,
    Composition,
    FaceRule,
    Join,
    Refused,
    RefusedData,
    Settled,
    SettledData,
    Settlement,
)
from palimpsest.contracts.evidence import Evidence, Verdict
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.policy import Fallback, Policy, Search
from palimpsest.streams.core.envelope import head
from palimpsest.streams.core.graph import latest_wording
from palimpsest.streams.core.ledger import Answer, Answered, Entry, Ledger
from palimpsest.streams.core.operate import spoken_twice
from palimpsest.streams.core.refusal import Refusal, unknown_candidate
from palimpsest.streams.core.separations import separated_pair, separation
from palimpsest.streams.core.text import identity_of, verbatim
from palimpsest.streams.core.walk import (
    JOINING,
    Closed,
    Due,
    Open,
    Step,
    answer_of,
    answered,
    up_to_joining,
    walk,
)

_FALLBACKS: dict[Fallback, tuple[Settlement, FaceRule | None]] = {
    "keep": ("fallback_keep", None),
    "reject": ("fallback_reject", "keep"),
    "supersede": ("fallback_supersede", "take"),
}


def settle(command: Settle, ledger: Ledger, policy: Policy, now: datetime) -> list[AnyEvent]:
    """One `settled` event, or a `refused` one; either way the answers are recorded.

    The question is walked with these answers: an answer about a worse neighbour waits for open
    answers about better ones.
    """
    entry = ledger.entries.get(command.candidate_id)
    if entry is None:
        return [refuse_verdicts(command, unknown_candidate(command.candidate_id), now)]
    verdicts = with_speakers(command.verdicts, ledger, entry, policy.search)
    command = command.model_copy(update={"verdicts": verdicts})
    answers = _answers(command, ledger, entry)
    step = walk(ledger, entry, answers)
    refusal = _refusal(command, ledger, entry, step)
    if isinstance(step, Due):
        decision, face = _meaning(step.answer, policy, entry)
        if face is None:
            return [_settled(command, policy, entry, decision, None, now)]
        if not _keeps_both(ledger, policy, entry, step.answer):
            refusal = refusal or step.hindrance
        if refusal is None:
            settled = _joined(command, ledger, policy, entry, step.answer, now)
            refusal = spoken_twice(ledger, settled)
            if refusal is None:
                return [settled]
    if refusal is not None:
        return [refuse_verdicts(command, refusal, now)]
    return [_settled(command, policy, entry, "llm_keep", None, now)]


def _refusal(command: Settle, ledger: Ledger, entry: Entry, step: Step) -> Refusal | None:
    """Why the verdicts do not settle the candidate now; None if they do."""
    if isinstance(step, Closed) and not entry.pending:
        return Refusal("not_pending", f"candidate {entry.id} is settled already")
    asked = {neighbour.candidate_id for neighbour in entry.asked}
    strange = [v.neighbour_id for v in command.verdicts if v.neighbour_id not in asked]
    if strange:
        return Refusal("not_asked", f"nobody asked about {entry.id} and {strange[0]}")
    if not isinstance(step, Open):
        return None
    apart = next((v.neighbour_id for v in command.verdicts if _joins_apart(ledger, entry, v)), None)
    if apart is not None:
        return Refusal("separated", f"candidates {apart} and {entry.id} are separated")
    return Refusal("pending", f"{entry.id} waits for answers about {', '.join(step.neighbours)}")


def _joins_apart(ledger: Ledger, entry: Entry, verdict: Verdict) -> bool:
    """Whether a verdict would join a separated pair."""
    other = ledger.entries[verdict.neighbour_id]
    return verdict.answer in JOINING and separation(ledger, entry, other) is not None


def with_speakers(
    verdicts: tuple[Verdict, ...], ledger: Ledger, newcomer: Entry, search: Search
) -> tuple[Verdict, ...]:
    """The verdicts, each with its speaker; by default, the one that a search would compare now."""
    return tuple(
        verdict
        if verdict.speaker is not None
        else structs.replace(
            verdict, speaker=_speaker(verdict.neighbour_id, ledger, newcomer, search)
        )
        for verdict in verdicts
    )


def _speaker(neighbour_id: str, ledger: Ledger, newcomer: Entry, search: Search) -> str:
    """The speaker for a neighbour; never the newcomer, which may have joined it meanwhile."""
    other = ledger.entries.get(neighbour_id)
    if other is None:
        return neighbour_id
    speaker = latest_wording(other).id if search == "candidates" else other.memory.face.voice
    return neighbour_id if speaker == newcomer.id else speaker


def _answers(command: Settle, ledger: Ledger, entry: Entry) -> list[Answer]:
    """The verdicts as they would be recorded."""
    given = Answered(
        event_id(command.command_id, "0"),
        ledger.seen,
        command.verdicts,
        command.composition,
        command.rank,
        command.actor,
        command.because,
    )
    new = (verdict for verdict in up_to_joining(command.verdicts) if not answered(entry, verdict))
    known = ((verdict, ledger.entries.get(verdict.neighbour_id)) for verdict in new)
    return [answer_of(entry, other, verdict, given) for verdict, other in known if other]


def _joined(
    command: Settle, ledger: Ledger, policy: Policy, entry: Entry, answer: Answer, now: datetime
) -> Settled:
    """A join by this answer, which may have been given earlier and waited for these verdicts."""
    decision, face = _meaning(answer, policy, entry)
    assert face is not None, "it joins"
    text = answer.given.composition
    if face == "text" and not _can_be_kept(ledger, text, entry):
        return _settled(command, policy, entry, "llm_keep", None, now)
    other = ledger.entries[answer.verdict.neighbour_id]
    forward = True if answer.verdict.answer == "update" and face == "take" else None
    join = Join(to=other.id, face=face, similarity=_similarity(entry, other), forward=forward)
    if answer.verdict not in command.verdicts:
        verdicts = (*command.verdicts, answer.verdict)
        command = command.model_copy(update={"verdicts": verdicts, "composition": text})
    return _settled(command, policy, entry, decision, join, now)


@dataclass(frozen=True, slots=True)
class Freed:
    """An answer that nothing has held back since the event `by`, for the request `cause`."""

    by: str
    cause: str
    entry: Entry
    answer: Answer


def due(ledger: Ledger, policy: Policy) -> tuple[Entry, Answer] | None:
    """The oldest answer that settles and that nothing holds back any longer, if there is one.

    An answer that keeps both, by the policy, is never held back. A composed text that another
    candidate has repeated meanwhile keeps waiting; otherwise taking the un-merge back would not
    restore it (law L8).
    """
    found: tuple[Entry, Answer] | None = None
    for entry in ledger.held.values():
        step = walk(ledger, entry)
        if (
            isinstance(step, Due)
            and (step.hindrance is None or _meaning(step.answer, policy, entry)[1] is None)
            and (found is None or step.answer.given.order < found[1].given.order)
            and not _speaks_twice(ledger, policy, entry, step.answer)
        ):
            found = entry, step.answer
    return found


def _speaks_twice(ledger: Ledger, policy: Policy, entry: Entry, answer: Answer) -> bool:
    freed = Freed(entry.id, entry.id, entry, answer)
    settled = settle_due(freed, ledger, policy, entry.decided_at)
    return spoken_twice(ledger, settled) is not None


def _keeps_both(ledger: Ledger, policy: Policy, entry: Entry, answer: Answer) -> bool:
    """Whether an answer keeps both: by the policy's fallback, or because its text is unusable."""
    face = _meaning(answer, policy, entry)[1]
    composed = face == "text" and not _can_be_kept(ledger, answer.given.composition, entry)
    return face is None or composed


def settle_due(freed: Freed, ledger: Ledger, policy: Policy, now: datetime) -> Settled:
    """`settled` by an answer that was held back; its id follows from that and the freeing event."""
    given, entry = freed.answer.given, freed.entry
    command = Settle(
        command_id=event_id(freed.by, given.event_id),
        owner_id=ledger.owner_id,
        candidate_id=entry.id,
        verdicts=given.verdicts,
        composition=given.composition,
        rank=given.rank,
        actor=given.actor,
        because=given.because,
    )
    decision, face = _meaning(freed.answer, policy, entry)
    event = (
        _settled(command, policy, entry, decision, None, now)
        if face is None
        else _joined(command, ledger, policy, entry, freed.answer, now)
    )
    data = structs.replace(event.data, cause=freed.cause)
    return structs.replace(event, data=data)


def _meaning(answer: Answer, policy: Policy, entry: Entry) -> tuple[Settlement, FaceRule | None]:
    """The settlement that a joining answer means, and the rule for the face (docs/design.md)."""
    match answer.verdict.answer:
        case "same":
            return "llm_reject", "keep"
        case "update":
            return "superseded", "take"
        case "compose":
            return "llm_merge", "text"
        case _:
            return _FALLBACKS[_fallback(policy, entry, answer.verdict)]


def _fallback(policy: Policy, entry: Entry, verdict: Verdict) -> Fallback:
    """The policy's fallback; but `keep` under every policy for a pair that shows a cue.

    Also `keep` for a pair that the guard did not compare, since nobody looked for cues, and, if any
    check of the policy asks the guard, for a pair that the guard does not find near-identical.
    """
    asked = next(n for n in entry.asked if n.candidate_id == verdict.neighbour_id)
    unseen = asked.near_identical is None
    if asked.cues or unseen or (policy.asks_guard and not asked.near_identical):
        return "keep"
    return policy.judge.unavailable


def obstacle(ledger: Ledger, entry: Entry, other: Entry) -> Refusal | None:
    """Why an automatic event may not join two existing candidates, or None if it may."""
    if not (entry.living and other.living):
        return Refusal("not_living", "one of the pair is retracted")
    if entry.fields.namespace != other.fields.namespace:
        return Refusal("two_namespaces", "the pair is in two namespaces")
    if entry.memory is other.memory:
        return Refusal("one_memory", "the pair is one memory already")
    pair = separated_pair(ledger, entry.memory, other.memory)
    if pair is not None:
        return Refusal("separated", f"candidates {pair[0].id} and {pair[1].id} are separated")
    return None


def usable(ledger: Ledger, composition: Composition | None, namespace: str) -> bool:
    """Whether a composed text may be recorded: its sources are known, and no other memory has it.

    The current memories do not matter; otherwise un-merging late would differ from un-merging at
    once (law L2). A text whose sources are in different memories is recorded, but does not stand.
    """
    if composition is None or not verbatim(composition.content.text):
        return False
    sources = [ledger.entries.get(source) for source in composition.sources]
    if not sources or any(e is None or e.fields.namespace != namespace for e in sources):
        return False
    same = ledger.distinct(namespace, identity_of(composition.content))
    if same is None:
        return True
    return any(e in sources for e in same.members) if same.members else same.alias in sources


def _can_be_kept(ledger: Ledger, composition: Composition | None, entry: Entry) -> bool:
    usable_text = usable(ledger, composition, entry.fields.namespace)
    return usable_text and composition is not None and entry.id in composition.sources


def _similarity(entry: Entry, other: Entry) -> float | None:
    for neighbour in entry.asked:
        if neighbour.candidate_id == other.id:
            return neighbour.cosine if neighbour.cosine is not None else neighbour.jaccard
    return None


def _settled(
    command: Settle,
    policy: Policy,
    entry: Entry,
    decision: Settlement,
    join: Join | None,
    now: datetime,
) -> Settled:
    data = SettledData(
        decision=decision,
        candidate_id=entry.id,
        join=join,
        # A text that cannot stand here might stand in a history without some join (docs/design.md).
        composition=command.composition if join is None or join.face == "text" else None,
        evidence=Evidence(policy=policy.hash, check="judge", verdicts=command.verdicts),
        rank=command.rank,
        actor=command.actor,
        because=command.because,
    )
    return Settled(**head(command, entry.id, now), data=data)


def refuse_verdicts(command: Settle, refusal: Refusal, now: datetime) -> Refused:
    """A refusal that carries the verdicts, so that they can settle the candidate later."""
    data = RefusedData(
        command="settle",
        reason=refusal.reason,
        detail=refusal.detail,
        candidate_id=command.candidate_id,
        verdicts=command.verdicts,
        composition=command.composition,
        rank=command.rank,
        actor=command.actor,
        because=command.because,
    )
    return Refused(**head(command, command.command_id, now), data=data)
