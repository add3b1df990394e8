"""An owner's history without some of its joins: later candidates are decided again if necessary.

It uses the log's vectors and verdicts, and no model. A decision on the same question stays as it
was recorded, so changes of the code do not matter. Later statements of people are repeated if
possible. Runs that ask no judge are executed again; a join of any other run stands if its pair is
still in two memories. In the comments here, *there* means in this other history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

from msgspec import structs

from palimpsest.contracts.commands import (
    Admit,
    Combine,
    Operation,
    Reinstate,
    Settle,
    Undo,
)
from palimpsest.contracts.events import (
    AnyEvent,
    Composed,
    Confirmed,
    Content,
    Decided,
    ExpirySet,
    Joined,
    PolicySet,
    Ran,
    Redecided,
    Refused,
    RefusedData,
    Reinstated,
    Restored,
    Reversed,
    Separated,
    SeparatedData,
    Settled,
    SettledData,
)
from palimpsest.contracts.evidence import Neighbour, Verdict
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.policy import Consolidate, PairsDedupe, Policy
from palimpsest.contracts.requests import ComposedText
from palimpsest.streams.core.combine import hindrance_of
from palimpsest.streams.core.decide import decide, execute
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.exact import folded_target, verbatim_target
from palimpsest.streams.core.expiry import advance
from palimpsest.streams.core.ledger import Entry, Ledger
from palimpsest.streams.core.redecide import arrival_join, redecide
from palimpsest.streams.core.refusal import Refusal
from palimpsest.streams.core.separations import same_text
from palimpsest.streams.core.settle import Freed, due, obstacle, settle_due
from palimpsest.streams.core.text import content_of, identity_of
from palimpsest.streams.core.walk import still_about
from palimpsest.streams.dedupe.by_pairs import by_pairs, combine_command
from palimpsest.streams.dedupe.consolidate import joins, plan
from palimpsest.streams.dedupe.run import Run
from palimpsest.streams.replay.again import merged_again, redecided_again, stated_again

Search = Callable[[Ledger, Admit, Policy], tuple[Neighbour, ...]]
"""A new candidate's neighbours in a ledger under a policy."""


class Without:
    """The same owner twice: `real` as recorded, and `other` without the joins `out`.

    `policies` are those of the log by hash. `overtaken` has the ids of statements by people, and of
    joins by batch runs, that are impossible there, because the memories differ. `made` has the
    latest decision on each candidate there. `again` has the joins that batch runs without a judge
    would have made, by run and id.
    """

    def __init__(
        self, owner_id: str, out: frozenset[str], policies: Mapping[str, Policy], search: Search
    ) -> None:
        self.real = Ledger(owner_id)
        self.other = Ledger(owner_id)
        self.overtaken: list[str] = []
        self.made: dict[str, Decided | Settled | Redecided] = {}
        self._out = out
        self._policies = policies
        self._search = search
        self._called: dict[str, str] = {}
        self._voices: dict[str, str] = {}
        self._parted = False
        self._in_force = next(iter(policies.values()))
        self._recorded: dict[str, list[Joined]] = {}
        self._runs: dict[str, Ran] = {}
        self._run_ids: dict[str, str] = {}
        self.again: dict[str, dict[str, Joined]] = {}

    def replay(self, events: Sequence[AnyEvent]) -> None:
        """Replay the whole history, in order."""
        self._find_runs(events)
        out = {run for run, joins in self._recorded.items() if self._is_of_any(joins)}
        goes_on = _going_on(events)
        for event in events:
            if isinstance(event, PolicySet):  # for both: another model, or dropped vectors
                self._evolve(event)
                evolve(self.real, event)
                continue
            begins = isinstance(event, Joined) and self._run_of(event) in out
            self._parted = self._parted or begins or self._departs(event)
            if self._parted:
                self._replay_other(event, more_follow=event.id in goes_on)
            else:
                self._evolve(event)
            evolve(self.real, event)

    def _departs(self, event: AnyEvent) -> bool:
        """Whether the two histories may differ from this event on."""
        return event.id in self._out

    def _evolve(self, event: AnyEvent) -> None:
        """Fold an event into the other history."""
        evolve(self.other, event)
        self._note(event)

    def _note(self, event: AnyEvent) -> None:
        if isinstance(event, Settled):
            self.made[event.subject] = _spoken_by(event, self._voices)
        elif isinstance(event, Decided | Redecided):
            self.made[event.subject] = event

    def _replay_other(self, event: AnyEvent, *, more_follow: bool) -> None:
        advance(self.other, self.other.at(event.time))
        self._replay_changed(event, more_follow=more_follow)
        if not (isinstance(event, Decided) or more_follow):
            self._settle_due(event)

    def _replay_changed(self, event: AnyEvent, *, more_follow: bool) -> None:
        match event:
            case Joined() if (run := self._run_of(event)) is not None:
                self._run_again(event, run)
            case Ran():
                if event.id in self._run_ids:
                    self._run_again(event, self._run_ids[event.id])
                self._evolve(event)
            case Decided() | Settled() | Joined() | Redecided() if event.id in self._out:
                self._take_out(event)
            case Decided():
                self._arrive(event)
            case Settled():
                self._apply_verdicts(_spoken_by(event, self._there(event)))
            case Refused():
                if event.data.command == "settle":
                    self._apply_verdicts(_spoken_by(event, self._there(event)))
            case Joined() | Redecided():
                self._join(event)
            case Reversed() | Reinstated() | Separated() | Composed() | Restored() | ExpirySet():
                self._restate(event, more_follow=more_follow)
            case Confirmed() if event.data.decision_id not in self.other.decisions:
                self.overtaken.append(event.id)
            case _:
                self._evolve(event)

    # -- the joins themselves --------------------------------------------------------------------

    def _take_out(self, event: Decided | Settled | Joined | Redecided) -> None:
        """Leave the new candidate unjoined, and separate the pair, as an un-merge does."""
        match event:
            case Decided():
                alone = structs.replace(event.data, decision="stored", join=None, composition=None)
                self._evolve(structs.replace(event, data=alone))
            case Settled():
                self._evolve(_verdicts_only(_spoken_by(event, self._there(event))))
            case _:
                pass
        join = event.data.join
        assert join is not None, "only joins are taken out"
        self._separate(event, join.to)

    def _separate(self, event: AnyEvent, other_id: str) -> None:
        data = SeparatedData(candidate_id=event.subject, other_id=other_id, rank="person")
        self._evolve(
            Separated(
                id=event_id(event.id, "apart"),
                subject=event.subject,
                time=event.time,
                partitionkey=event.owner_id,
                data=data,
            ),
        )

    # -- arrivals --------------------------------------------------------------------------------

    def _arrive(self, event: Decided) -> None:
        policy, down = self._policies.get(event.data.evidence.policy), event.data.evidence.down
        if (
            event.data.withheld is not None
            or policy is None
            or "search" in (down or ())
            or self._updates_there(event)
        ):
            self._evolve(event)
            return
        self._in_force, admit = policy, self._admit(event, down)
        target = _target(self.other, event, policy)
        neighbours = () if target else self._neighbours(event, admit, policy)
        if self._is_the_same(event, target, neighbours):
            self._evolve(event)
            return
        seeing = structs.replace(admit, neighbours=self._as_compared(event, neighbours))
        for outcome, _ in execute(seeing, self.other, policy, event.time):
            self._note(outcome)

    def _neighbours(self, _event: Decided, admit: Admit, policy: Policy) -> tuple[Neighbour, ...]:
        """The newcomer's neighbours in the other history."""
        return self._search(self.other, admit, policy)

    def _as_compared(self, event: Decided, found: Iterable[Neighbour]) -> tuple[Neighbour, ...]:
        """The neighbours found there, with the guard's recorded findings for the same texts.

        The recorded neighbours of its frame are added: they are candidates, the same in both.
        """
        recorded = event.data.evidence.neighbours
        seen = {neighbour.candidate_id: neighbour for neighbour in recorded}
        near = (
            structs.replace(
                neighbour,
                near_identical=seen[neighbour.candidate_id].near_identical,
                cues=seen[neighbour.candidate_id].cues,
                frame=seen[neighbour.candidate_id].frame,
            )
            if neighbour.candidate_id in seen and self._asks_the_same(neighbour.candidate_id)
            else neighbour
            for neighbour in found
        )
        return (*near, *(n for n in recorded if n.frame == "only" and self._is_there(n)))

    def _updates_there(self, event: Decided) -> bool:
        """Whether an update is still one there, because no other memory has its text."""
        if event.data.join is None or event.data.rank is None:
            return False
        target = _target(self.other, event)
        updated = self.other.entries[event.data.join.to].memory
        if target is None or target.memory is updated:
            return True
        self.overtaken.append(event.id)
        return False

    def _admit(self, event: Decided, down: tuple[str, ...] | None) -> Admit:
        """The candidate as it arrived; a repeat, which has no vector, gets that of its text."""
        content, fields = event.data.content, event.data.candidate
        if content.vector is None and not down:
            twin = self.real.distinct(fields.namespace, identity_of(content))
            vector = twin.vector if twin else None
            content = structs.replace(content, vector=vector)
        return Admit(event.subject, fields, content, digest="", down=down)

    def _is_the_same(
        self, event: Decided, target: Entry | None, found: Iterable[Neighbour]
    ) -> bool:
        """Whether the new candidate meets the same neighbours in both histories."""
        join = event.data.join
        if target is not None:
            return join is not None and (join.to, join.face) == (target.id, "repeat")
        if join is not None and join.face == "repeat":
            return False
        recorded = {_scores(n) for n in event.data.evidence.neighbours if n.frame != "only"}
        return (
            recorded == {_scores(n) for n in found}
            and all(map(self._is_there, event.data.evidence.neighbours))
            and all(self._asks_the_same(candidate_id) for candidate_id, *_ in recorded)
        )

    def _is_there(self, neighbour: Neighbour) -> bool:
        """Whether a candidate was admitted there, too; an update may not be possible there."""
        return neighbour.candidate_id in self.other.entries

    def _asks_the_same(self, candidate_id: str) -> bool:
        """Whether a candidate that both searches find has the same text to compare."""
        if self._in_force.search == "candidates":
            return True
        here, there = self.real.entries[candidate_id], self.other.entries[candidate_id]
        return here.memory.face.hash == there.memory.face.hash

    # -- verdicts --------------------------------------------------------------------------------

    def _apply_verdicts(self, event: Settled | Refused) -> None:
        """Apply the judge's verdicts there, too; their consequences may differ.

        An answer that was freed later has been applied already; if it made the same join there,
        later references are to that join.
        """
        entry = self.other.entries.get(event.data.candidate_id or "")
        verdicts, data = _verdicts(event), event.data
        if entry is None or not verdicts:
            return
        if isinstance(data, SettledData) and data.cause is not None:
            join, made = data.join, arrival_join(entry)
            if join is not None and made is not None and made.older.id == join.to:
                self._called[event.id] = made.id
            return
        settle = Settle(
            command_id=event.id,
            owner_id=event.owner_id,
            actor=data.actor,
            because=data.because,
            candidate_id=entry.id,
            verdicts=verdicts,
            composition=data.composition,
            rank=data.rank or "judge",
        )
        if isinstance(event, Settled) and self._falls_back(event, entry):
            self._evolve(event)
            return
        for outcome in decide(settle, self.other, self._in_force, event.time):
            self._evolve(structs.replace(outcome, id=event.id))

    def _there(self, event: Settled | Refused) -> dict[str, str]:
        """The events that recorded the compared composed texts there, by those of the log."""
        found = {}
        for speaker in {
            verdict.speaker for verdict in _verdicts(event) if verdict.speaker is not None
        }:
            edge = self.real.composed_by.get(speaker)
            if edge is None or speaker in self.other.composed_by:
                continue
            there = same_text(self.other, edge.texts[speaker])
            if there is not None:
                found[speaker], self._voices[there] = there, speaker
        return found

    def _falls_back(self, event: Settled, entry: Entry) -> bool:
        """Whether a fallback that joined can join there, too: then it stays as recorded."""
        join = event.data.join
        if join is None or event.data.decision not in ("fallback_reject", "fallback_supersede"):
            return False
        if join.to not in entry.open or not self._was_compared_alike(entry, join.to):
            return False
        verdicts = event.data.evidence.verdicts
        settled = {verdict.neighbour_id for verdict in verdicts if self._holds(verdict)}
        if join.to not in settled and any(verdict.neighbour_id == join.to for verdict in verdicts):
            return False
        better = set(entry.open[: entry.open.index(join.to)])
        return (
            better <= settled and obstacle(self.other, entry, self.other.entries[join.to]) is None
        )

    def _was_compared_alike(self, entry: Entry, neighbour_id: str) -> bool:
        """Whether a candidate had the same scores and cues with a neighbour in both histories."""
        here, there = (
            [neighbour for neighbour in asked if neighbour.candidate_id == neighbour_id]
            for asked in (self.real.entries[entry.id].asked, entry.asked)
        )
        return here == there

    def _holds(self, verdict: Verdict) -> bool:
        """Whether a verdict concerns its neighbour's text there, too."""
        other = self.other.entries[verdict.neighbour_id]
        return still_about(self.other, other, verdict.speaker or other.id)

    def _settle_due(self, event: AnyEvent) -> None:
        """Settle candidates that an event freed there."""
        while (found := due(self.other, self._in_force)) is not None:
            freed = Freed(event_id(event.id, "freed"), event.id, *found)
            self._evolve(settle_due(freed, self.other, self._in_force, event.time))

    # -- batch runs that the writer carries out ---------------------------------------------------

    def _find_runs(self, events: Sequence[AnyEvent]) -> None:
        """Find the runs that can be executed again from the log alone, and their joins.

        A run whose joins do not name it has the id of its event.
        """
        rans = {e.id: e for e in events if isinstance(e, Ran) and self._rule_of(e) is not None}
        joined = [e for e in events if isinstance(e, Joined) and e.data.cause is not None]
        named = {event_id(cause, "0"): cause for e in joined if (cause := e.data.cause)}
        self._run_ids = {id_: named.get(id_, id_) for id_ in rans}
        self._runs = {run: rans[id_] for id_, run in self._run_ids.items()}
        for event in joined:
            if run := self._run_of(event):
                self._recorded.setdefault(run, []).append(event)

    def _rule_of(self, ran: Ran) -> PairsDedupe | Consolidate | None:
        """The rule of a run, if the writer executed it."""
        policy = self._policies.get(ran.data.policy)
        if policy is None:
            return None
        if ran.data.step == "consolidate":
            return policy.consolidate
        return policy.dedupe if isinstance(policy.dedupe, PairsDedupe) else None

    def _run_of(self, event: Joined) -> str | None:
        """The run of a join, if it can be executed again."""
        return event.data.cause if event.data.cause in self._runs else None

    def _is_of_any(self, joins: Iterable[Joined]) -> bool:
        return any(join.id in self._out for join in joins)

    def _run_again(self, event: Joined | Ran, run: str) -> None:
        """Execute a run there, at its first event; its pairs in `out` are separated."""
        if run in self.again:
            return
        for join in self._recorded.get(run, ()):
            if join.id in self._out:
                self._separate(join, join.data.join.to)
        made = self.again[run] = {}
        ran = self._runs[run]
        for command in self._planned(ran, run):
            for outcome in decide(command, self.other, self._policies[ran.data.policy], event.time):
                self._evolve(outcome)
                if isinstance(outcome, Joined):
                    made[outcome.id] = outcome

    def _planned(self, ran: Ran, run: str) -> Iterator[Combine]:
        """The joins that a run would make there, each to be made before the next."""
        policy, rule = self._policies[ran.data.policy], self._rule_of(ran)
        if isinstance(rule, Consolidate):
            assert ran.data.session_id is not None, "a session's run names it"
            found = plan(self.other, policy, rule, ran.data.session_id)
            yield from joins(self.other, policy, found, run)
        elif rule is not None:
            composed = [*self._composed(run)]
            for planned in by_pairs(self.other, policy, rule, Run(_ignore_progress), composed):
                yield combine_command(self.other, policy, planned, run, self._content)

    def _composed(self, run: str) -> Iterator[ComposedText]:
        """The judge's compositions for a run; for any other text it would have to be asked."""
        for joined in self._recorded.get(run, ()):
            made = joined.data.composition
            if made is not None and joined.data.evidence and joined.data.evidence.verdicts:
                [verdict] = joined.data.evidence.verdicts
                yield ComposedText(sources=made.sources, text=made.content.text, verdict=verdict)

    def _content(self, text: str) -> Content:
        """A text as a run would have recorded it, with its vector if the log has one."""
        alone = content_of(text)
        known = (
            join.data.composition.content
            for joins in self._recorded.values()
            for join in joins
            if join.data.composition is not None
        )
        found = (content for content in known if content.text == text)
        return next(found, alone)

    # -- statements of people and batch runs ------------------------------------------------------

    def _join(self, event: Joined | Redecided) -> None:
        if isinstance(event, Redecided):
            found = redecide(redecided_again(event), self.other, event.time)
            stands = not isinstance(found, Refusal)
        elif event.data.decision == "manual_join":
            stands = self._would_stand(merged_again(event), event)
        else:
            newer = self.other.entries[event.data.candidate_id]
            older = self.other.entries[event.data.join.to]
            stands = hindrance_of(self.other, older, newer) is None
        if stands:
            self._evolve(event)
        else:
            self.overtaken.append(event.id)

    def _would_stand(self, command: Operation, event: AnyEvent) -> bool:
        events = decide(command, self.other, self._in_force, event.time)
        return not any(isinstance(event, Refused) for event in events)

    def _done_with_another(self, command: Operation) -> bool:
        """Whether another event of the command already reinstated the join or undid the update."""
        if not isinstance(command, Reinstate | Undo):
            return False
        edge = self.other.edges.get(command.decision_id)
        return edge is not None and edge.standing is isinstance(command, Reinstate)

    def _restate(
        self,
        event: Reversed | Reinstated | Separated | Composed | Restored | ExpirySet,
        *,
        more_follow: bool,
    ) -> None:
        """Repeat an operator's statement there, with what it frees, or mark it overtaken.

        A recomposed text is not repeated: without the join, no text was lost.
        """
        command = stated_again(event, self.other, self._called)
        if command is not None and self._done_with_another(command):
            return
        if command is None or not self._would_stand(command, event):
            if not isinstance(event, Composed):
                self.overtaken.append(event.id)
            if isinstance(event, Reversed) and event.data.separates:
                newer = self.other.entries[event.data.candidate_id]
                older = self.other.entries[event.data.joined_to]
                if newer.memory is not older.memory:
                    self._separate(structs.replace(event, subject=newer.id), older.id)
            return
        if isinstance(event, Separated):
            self._called[event.id] = event_id(event.id, "0")
        command = command.model_copy(update={"more_follow": more_follow})
        for outcome, _ in execute(command, self.other, self._in_force, event.time):
            self._note(outcome)


def _going_on(events: Sequence[AnyEvent]) -> set[str]:
    """The events of each reinstatement except its last one, which settles what all of them free."""
    back = [
        event for event in events if isinstance(event, Reinstated) and event.data.cause is not None
    ]
    of_request = {(event.data.cause, event.data.decision_id) for event in back}
    found = {
        event.id
        for event in events
        if isinstance(event, Reversed | Redecided)
        and (event.data.cause, event.data.consequence_of) in of_request
    }
    same = (event.id for event, after in pairwise(back) if event.data.cause == after.data.cause)
    return found.union(same)


def _ignore_progress(_what: str, _share: float | None) -> None:
    """Ignore the progress of a replayed run."""


Answered = TypeVar("Answered", Settled, Refused)


def _verdicts(event: Settled | Refused) -> tuple[Verdict, ...]:
    return event.data.evidence.verdicts if isinstance(event, Settled) else event.data.verdicts


def _spoken_by(event: Answered, voices: Mapping[str, str]) -> Answered:
    """The event with the ids that `voices` gives the composed texts that were compared."""
    if voices.keys().isdisjoint(verdict.speaker for verdict in _verdicts(event)):
        return event
    named = tuple(
        structs.replace(verdict, speaker=voices.get(verdict.speaker or "", verdict.speaker))
        for verdict in _verdicts(event)
    )
    if isinstance(event, Settled):
        evidence = structs.replace(event.data.evidence, verdicts=named)
        return structs.replace(event, data=structs.replace(event.data, evidence=evidence))
    return structs.replace(event, data=structs.replace(event.data, verdicts=named))


def _verdicts_only(event: Settled) -> Refused:
    """The answers of a settlement, without its outcome."""
    data = RefusedData(
        command="settle",
        reason="separated",
        detail="its join is taken out",
        candidate_id=event.data.candidate_id,
        verdicts=event.data.evidence.verdicts,
        rank=event.data.rank,
    )
    return Refused(
        id=event.id,
        subject=event.id,
        time=event.time,
        partitionkey=event.owner_id,
        data=data,
    )


def _target(ledger: Ledger, event: Decided, policy: Policy | None = None) -> Entry | None:
    """The candidate that this one repeats, verbatim or by a policy's rules, if there is one."""
    fields, content = event.data.candidate, event.data.content
    target = verbatim_target(ledger, fields.namespace, content)
    if policy is None or (target is not None and target.living):
        return target
    twin = folded_target(ledger, fields, content, policy)
    return twin.entry if twin is not None else target


def _scores(neighbour: Neighbour) -> tuple[str, float | None, float | None]:
    return neighbour.candidate_id, neighbour.cosine, neighbour.jaccard
