"""The writer of both runtimes: inputs and commands in, commits out (docs/design.md, Two runtimes).

A window is looked up, embedded on the embedder's thread, and decided on candidate by candidate.
Deciding fills a `Commit` with events, dead letters and the reply to a window. A runtime adds the
answers of requests; the cluster also adds input offsets, and replaces the dead letters by one per
record. The runtime's `Append` makes all of it durable, or nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from itertools import islice
from time import perf_counter
from typing import Literal, Protocol

from msgspec import structs
from pydantic import ValidationError

from palimpsest.contracts.answers import OTHER_MODEL
from palimpsest.contracts.commands import (
    Access,
    Admit,
    Embed,
    EndSession,
    Operation,
    Update,
)
from palimpsest.contracts.counting import counted
from palimpsest.contracts.errors import (
    InvalidInputError,
    RefusedError,
    SearchError,
    UsageError,
)
from palimpsest.contracts.events import (
    AnyEvent,
    Content,
    Decided,
    DecidedData,
    Invalid,
    InvalidData,
    JudgeSet,
    PolicySet,
    Refused,
    Settled,
    Vector,
)
from palimpsest.contracts.evidence import RecordedJudge
from palimpsest.contracts.identity import digest, event_id, invalid_id, policy_id
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requests import CheckRequest, PolicyRequest
from palimpsest.streams.core.decide import decide, execute, refused
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.exact import verbatim_target
from palimpsest.streams.core.expiry import advance
from palimpsest.streams.core.lazy_copy import lazy_copy
from palimpsest.streams.core.ledger import Distinct, Entry, Ledger
from palimpsest.streams.core.models import lacking, no_longer_unembedded
from palimpsest.streams.core.record import judge_event, policy_event
from palimpsest.streams.core.text import content_of, identity_of
from palimpsest.streams.core.touched import Touched
from palimpsest.streams.embedder import Embedder
from palimpsest.streams.garbage import collector_at_rest
from palimpsest.streams.intake import (
    Prepared,
    RawRow,
    matches_former_fingerprint,
    understand,
)
from palimpsest.streams.log.dead_letters import NewDeadLetter
from palimpsest.streams.log.log import Log
from palimpsest.streams.search.scope_index import prepare
from palimpsest.streams.write.answered import carried_out, earlier_outcomes, record_outcomes
from palimpsest.streams.write.commit import Address, Commit, Reply
from palimpsest.streams.write.decision_log import log_decision
from palimpsest.streams.write.handlers.session_end import consolidate
from palimpsest.streams.write.inputs import (
    CONFLICT,
    Input,
    Outcome,
    by_submission,
    earlier_of_frame,
    forgotten_again,
    rejected,
    similar_facts,
    why_hidden,
    why_invalid,
    window_count,
)
from palimpsest.streams.write.owners import Loaded, Owners
from palimpsest.streams.write.recompose import recompose
from palimpsest.streams.write.uses import added_up, comes_too_soon, is_due
from palimpsest.streams.write.vectors import Vectors
from palimpsest.streams.write.windows import PendingTexts, Window

_log = logging.getLogger(__name__)

Committed = Callable[[Sequence[tuple[int, AnyEvent, Touched]]], None]
Append = Callable[[Commit], list[int]]
"""Makes a commit durable and returns its events' positions; if it raises, nothing happened."""
Effect = Callable[[str], None]
"""Called with the name of a step, such as `log:append`, when the writer reaches it."""
MANY = 64
"""While a window with at least this many inputs is decided on, garbage collection pauses: it would
scan all ledgers."""
LATE = 64
"""Maximum number of texts without vectors that are embedded after a new candidate, once the model
is back; that takes about 0.5 s."""
LATE_LONG = 4
"""Maximum number of long texts embedded at once; meanwhile a worker decides nothing."""

CheckType = Literal["exact", "semantic", "total"]
CheckTimer = Callable[[CheckType, float], None]
"""Receives the duration of a check in milliseconds; embedding a window is not part of it."""


def no_effect(_name: str) -> None:
    """Do nothing. Tests pass one that stops the process at a step."""


def ignore_timing(_check: CheckType, _milliseconds: float) -> None:
    """Ignore the duration of a check."""


def _since(begun: float) -> float:
    return (perf_counter() - begun) * 1000.0


class Oversight(Protocol):
    """A partition of a cluster, which has only some of the owners and may be revoked."""

    def require(self) -> None:
        """Raise if the request has to stop here."""

    def step(self, owner_id: str) -> None:
        """Count the next command.

        Raises as `require` does, and RefusedError if its owner is in another partition.
        """

    def commit_part(self) -> None:
        """Commit what the request has done so far, and report it; then raise as `require` does."""


class Writer:
    """Decides on inputs and commands, appends the events, and passes them to `committed`.

    It decides by `policy`, on the ledgers in memory. `pending` has the decisions that are not
    committed yet, with what a runtime adds to them; the ledgers are ahead of the log by these.
    `oversight` supervises the current request.
    """

    def __init__(
        self,
        log: Log,
        owners: Owners,
        append: Append,
        policy: Policy,
        embedder: Callable[[], Embedder],
        clock: Callable[[], datetime],
        committed: Committed,
        effect: Effect = no_effect,
    ) -> None:
        self._timed: CheckTimer = ignore_timing
        self.oversight: Oversight | None = None
        self.log = log
        self.owners = owners
        self.policy = policy
        self.pending = Commit()
        self._vectors = Vectors(embedder)
        self.clock = clock
        self._committed = committed
        self._append = append
        self._effect = effect
        self._pending_texts = PendingTexts()
        self._policy_is_recorded = False

    def time_checks(self, timer: CheckTimer) -> None:
        """Report the duration of each check to `timer` from now on."""
        self._timed = timer

    # -- windows of inputs ---------------------------------------------------------------------

    def open_window(self, inputs: Sequence[Input], *, ahead: bool = True) -> Window:
        """Look the inputs up and submit new texts to the embedder; nothing is decided yet.

        `ahead`: other windows are opened or closed before this one is closed.
        """
        try:
            texts = list(dict.fromkeys(self._pending_texts.new_texts(inputs, self.owners)))
            future = self._vectors.submit(texts, self.policy, ahead=ahead)
        except BaseException:
            self._pending_texts.note_arrived(inputs)
            raise
        return Window(inputs, texts if future else (), future)

    def close_window(self, window: Window, reply_to: Address | None = None) -> list[Outcome]:
        """Decide on a window's inputs in order, commit them, and return the outcome of each.

        With `reply_to`, the outcomes are committed as the answer to that address.
        """
        with self.undone_on_failure():
            outcomes = self.decide(window)
            if reply_to is not None:
                self.pending.answers.append(Reply(reply_to, outcomes))
            self.commit()
        return outcomes

    def decide(self, window: Window) -> list[Outcome]:
        """Decide on a window's inputs in order; `commit` makes that durable."""
        many = len(window.inputs) >= MANY
        with ExitStack() as during:
            during.callback(self.forget_window, window)
            vectors = self._vectors.of(window, self.policy)
            if many:
                during.enter_context(collector_at_rest())
            self._prefetch(window.inputs, vectors)
            outcomes: list[Outcome] = []
            for submission, inputs in by_submission(window.inputs):
                decided = None if submission is None else earlier_outcomes(self, submission)
                if decided is None:
                    start = len(self.pending.events)
                    decided = [self._decide_input(item, vectors) for item in inputs]
                    if submission is not None:
                        record_outcomes(self, submission, inputs, decided, start)
                outcomes += decided
            return outcomes

    def forget_window(self, window: Window) -> None:
        """Drop a window's texts from the pending ones: it was decided on, or never will be."""
        self._pending_texts.note_arrived(window.inputs)

    # -- inputs --------------------------------------------------------------------------------

    def _prefetch(self, inputs: Sequence[Input], vectors: dict[str, Vector]) -> None:
        """Search each scope once for all new candidates of the window."""
        prepare(vectors.values())
        scopes: dict[tuple[str, str], dict[str, Vector]] = {}
        for item in inputs:
            if not isinstance(item.meaning, Prepared):
                continue
            candidate = item.meaning.candidate
            vector = vectors.get(candidate.text)
            if vector is not None:
                newcomers = scopes.setdefault((candidate.owner_id, candidate.namespace), {})
                # A repeated id with another text is refused: the first one counts.
                newcomers.setdefault(item.meaning.candidate_id, vector)
        for (owner_id, namespace), newcomers in scopes.items():
            owner = self.owners.get(owner_id)
            try:
                owner.index(namespace, self.policy).prefetch(newcomers)
            except SearchError as error:
                self._continue_without(owner, namespace, error)

    def _decide_input(self, item: Input, vectors: dict[str, Vector]) -> Outcome:
        match item.meaning:
            case InvalidInputError() as error:
                return self._reject(item, error)
            case Prepared() as prepared:
                return self._admit(item, prepared, vectors)
            case notice:
                ledger = self.ledger(notice.owner_id)
                if comes_too_soon(notice, ledger, self.clock()):
                    self.pending.uses.append(item)
                else:
                    self.apply(notice)
                return Outcome("heard")

    def _reject(self, item: Input, error: InvalidInputError) -> Outcome:
        sha = digest(item.row.raw)
        event_id = invalid_id(sha)
        if not self._is_rejected(event_id):
            data = InvalidData(
                reason=error.reason, detail=error.detail, digest=sha, origin=item.row.source
            )
            event = Invalid(id=event_id, subject=sha, time=self.clock(), partitionkey="", data=data)
            self.pending.events.append((event, Touched()))
            self._dead_letter(item, error, event_id)
        return rejected(item, error)

    def _dead_letter(self, item: Input, error: InvalidInputError, event_id: str) -> None:
        raw, source = item.row.raw, item.row.source
        letter = NewDeadLetter(event_id, raw, error, source, self.clock(), digest(raw), len(raw))
        self.pending.rejected.add(event_id)
        self.pending.dead_letters.append(letter)

    def _is_rejected(self, event_id: str) -> bool:
        """Whether these bytes are already recorded as invalid, for any reason."""
        return event_id in self.pending.rejected or self.log.find(event_id) is not None

    def record_uses(self, owner_id: str, notices: Iterable[Access]) -> bool:
        """Record an owner's gathered uses as one event; False if they must wait longer."""
        ledger = self.ledger(owner_id)
        if not is_due(ledger, self.clock()):
            return False
        whole = added_up(notices, ledger)
        if whole is not None:
            self.apply(whole)
        return True

    def _admit(self, item: Input, prepared: Prepared, vectors: dict[str, Vector]) -> Outcome:
        begun = perf_counter()
        owner = self.owners.get(prepared.candidate.owner_id)
        ledger = owner.ledger
        known = ledger.entries.get(prepared.candidate_id)
        if known is not None and _is_known(item, prepared, known):
            return _known(known, self.clock())
        if known is not None and self._is_rejected(invalid_id(digest(item.row.raw))):
            return self._outcome(item, ledger, ())
        now = self.clock()
        admit = self._admission(item, prepared, owner, vectors, now)
        events = self.apply(admit, now)
        if known is None and (not events or isinstance(events[0], Refused)):
            return forgotten_again(prepared.candidate_id)
        self._follow(owner, admit)
        self._timed("total", _since(begun))
        if admit.content.vector is not None and ledger.unembedded:
            self._embed_late(ledger)
        return self._outcome(item, ledger, events)

    def embed_late(self, owner_id: str, *, long: bool) -> tuple[int, int]:
        """Embed some of an owner's texts that lack a vector, even if the model was just down.

        With `long`, texts that lack windows. Returns how many were embedded, and how many are left.
        """
        if self.oversight is not None:
            self.oversight.step(owner_id)
        self._vectors.try_again()
        ledger = self.ledger(owner_id)
        if not long:
            return self._embed_late(ledger), len(ledger.unembedded)
        lacking = ledger.without_windows()
        done = self._embed_each(ledger, lacking[:LATE_LONG], "windows")
        return done, len(lacking) - done

    def _embed_late(self, ledger: Ledger) -> int:
        """Embed texts that were stored while the model was down; returns their number.

        At most `LATE` at once, oldest first. Their candidates are not decided on again.
        """
        return self._embed_each(ledger, [*islice(ledger.unembedded.values(), LATE)], "embedded")

    def _embed_each(self, ledger: Ledger, lacking: Sequence[Distinct], what: str) -> int:
        firsts = [distinct.members[0] for distinct in lacking]
        found = self._vectors.all([first.text for first in firsts], self.policy)
        late = [
            Embed(
                command_id=event_id(first.id, f"{what}:{vector.model}"),
                owner_id=ledger.owner_id,
                candidate_id=first.id,
                vector=vector,
            )
            for first in firsts
            if (vector := found.get(first.text)) is not None
        ]
        return sum(bool(self.apply(command)) for command in late)

    def _admission(
        self,
        item: Input,
        prepared: Prepared,
        owner: Loaded,
        vectors: dict[str, Vector],
        now: datetime,
    ) -> Admit:
        """The command that admits a candidate, with its vector and its neighbours if it is new.

        The neighbours are those that have not expired at `now`, the time of the decision.
        """
        candidate, ledger = prepared.candidate, owner.ledger
        advance(ledger, ledger.at(now))
        begun = perf_counter()
        known = prepared.candidate_id in ledger.entries
        target = verbatim_target(ledger, candidate.namespace, prepared.content)
        compared = not known and target is None
        self._timed("exact", _since(begun))
        vector = self._vector_for(candidate.text, vectors) if compared else None
        admit = Admit(
            candidate_id=prepared.candidate_id,
            candidate=candidate.fields(),
            content=structs.replace(prepared.content, vector=vector),
            digest=digest(item.row.raw) if known else "",
            down=("embedder",) if compared and vector is None else None,
        )
        if not compared or (vector is None and not self.policy.compares_words):
            return admit
        begun = perf_counter()
        admit = self._with_neighbours(admit, owner)
        self._timed("semantic", _since(begun))
        return admit

    def _vector_for(self, text: str, vectors: dict[str, Vector]) -> Vector | None:
        """The window's vector, or a new one if the candidate that had this text was refused.

        None if the model is down and the policy allows that.
        """
        found = vectors.get(text) or self._vectors.now(text, self.policy)
        if found is not None:
            vectors[text] = found
        return found

    def _with_neighbours(self, admit: Admit, owner: Loaded) -> Admit:
        namespace = admit.candidate.namespace
        try:
            index = owner.index(namespace, self.policy)
            found = index.surroundings(owner.ledger, admit)
            neighbours = index.with_framed(admit, found.neighbours, owner.ledger.names)
            forgotten = index.forgotten(admit)
        except SearchError as error:
            self._continue_without(owner, namespace, error)
            return structs.replace(admit, down=(*(admit.down or ()), "search"))
        if found.nearest is None and not (neighbours or forgotten):
            return admit
        return structs.replace(
            admit, neighbours=neighbours, forgotten=forgotten, nearest=found.nearest
        )

    def compared(self, update: Update) -> Update:
        """An agent's update with its neighbours, if forgotten texts may come back reworded.

        Any other update is returned unchanged.
        """
        owner = self.owners.get(update.owner_id)
        scope = owner.ledger.scope(update.candidate.namespace)
        distinct = scope.by_hash.get(identity_of(update.content))
        known = distinct is not None and distinct.current is not None
        if update.rank != "agent" or known or not scope.forgotten:
            return update
        admit = Admit(update.candidate_id, update.candidate.fields(), update.content, digest="")
        admit = self._with_neighbours(admit, owner)
        near = {"neighbours": admit.neighbours, "forgotten": admit.forgotten}
        return update.model_copy(update=near)

    def _follow(self, owner: Loaded, admit: Admit) -> None:
        if admit.content.vector is None:
            return
        namespace = admit.candidate.namespace
        index = owner.indexes.get(namespace)
        try:
            if index is not None:
                index.follow()
        except SearchError as error:
            self._continue_without(owner, namespace, error)

    def _continue_without(self, owner: Loaded, namespace: str, error: SearchError) -> None:
        """Fail open if the policy allows it, else stop; a broken scope is logged once."""
        if self.policy.search_fails == "stop":
            raise error
        if namespace not in owner.broken:
            _log.warning(
                "DEDUP_FAIL: search failed, newcomers are stored uncompared: owner %s,"
                " namespace %s: %s",
                owner.ledger.owner_id,
                namespace,
                error,
            )
            owner.give_up(namespace, error)

    def _outcome(self, item: Input, ledger: Ledger, events: Sequence[AnyEvent]) -> Outcome:
        """The outcome of an admission; if it was settled at once, the settlement, not `pending`."""
        last = events[-1] if events else None
        if not isinstance(last, Decided | Settled):
            if last is not None:
                self._dead_letter(item, CONFLICT, invalid_id(digest(item.row.raw)))
            return rejected(item, CONFLICT)
        entry, join, first = ledger.entries[last.subject], last.data.join, events[0].data
        evidence = first.evidence if isinstance(first, DecidedData) else None
        return Outcome(
            "decided",
            entry.id,
            last.data.decision,
            last.id,
            join.to if join else None,
            entry.memory.id,
            **why_hidden(entry, last.time),
            similar_facts=similar_facts(evidence, ledger.entries)
            if evidence and evidence.similar
            else None,
            windows=window_count(entry),
            frame=earlier_of_frame(evidence, ledger, entry.memory) if evidence else None,
        )

    def foresee(self, request: CheckRequest) -> Outcome | list[AnyEvent]:
        """The events that would decide on a candidate, or its outcome if there are none.

        Nothing is changed; the candidate is compared with the committed state. Raises UsageError if
        the row has another owner than the request.
        """
        if self.oversight is not None:
            self.oversight.step(request.owner_id)
        row = RawRow(request.row.encode(), request.source, 1, request.request_id)
        item = Input(row, understand(row))
        prepared = item.meaning
        if not isinstance(prepared, Prepared):
            return rejected(item, why_invalid(prepared))
        if prepared.candidate.owner_id != request.owner_id:
            raise UsageError("the row names another owner than the request")
        owner = self.owners.get(request.owner_id)
        ledger = owner.ledger
        known = ledger.entries.get(prepared.candidate_id)
        if known is not None:
            same = _is_known(item, prepared, known)
            return _known(known, self.clock()) if same else rejected(item, CONFLICT)
        now = self.clock()
        admit = self._admission(item, prepared, owner, {}, now)
        decided = decide(admit, ledger, self.policy, now)
        if not decided:
            return forgotten_again(admit.candidate_id)
        [event] = decided
        if isinstance(event, Refused):
            return forgotten_again(admit.candidate_id)
        asks = isinstance(event, Decided) and event.data.evidence.asked
        if self.policy.judge.enabled or not asks:
            return [event]
        # Without a judge, a question is settled at once, which needs a ledger for the fold.
        done = execute(admit, lazy_copy(ledger), self.policy, now)
        return [event for event, _ in done]

    # -- commands ------------------------------------------------------------------------------

    def ledger(self, owner_id: str) -> Ledger:
        """The owner's ledger, including uncommitted changes, as of now."""
        if self.oversight is not None:
            self.oversight.require()
        ledger = self.owners.get(owner_id).ledger
        if ledger.expiring:
            advance(ledger, ledger.at(self.clock()))
        return ledger

    def recorded(self, owner_id: str) -> list[AnyEvent]:
        """The owner's committed events."""
        return [recorded.event for recorded in self.log.of_owner(owner_id)]

    def run(self, command: Operation) -> list[AnyEvent]:
        """Decide on a request's command and fold its events; returns them as `carried_out` does.

        Raises RefusedError if the command is refused; the refusal is recorded.
        """
        if self.oversight is not None:
            self.oversight.step(command.owner_id)
        return carried_out(self.log, command, self.apply(command))

    def apply(self, command: Admit | Operation, now: datetime | None = None) -> list[AnyEvent]:
        """Decide on a command and fold its events; `commit` makes them durable.

        The events include the joins that the end of a session causes. `now` is the moment as of
        which the command was made; by default it is read from the clock.
        """
        owner_id = command.candidate.owner_id if isinstance(command, Admit) else command.owner_id
        ledger, now = self.owners.get(owner_id).ledger, now or self.clock()
        self.pending.owners.add(owner_id)
        done = execute(command, ledger, self.policy, now)
        done += recompose(command, ledger, self.policy, now, self.content)
        self.pending.events.extend(done)
        events = [event for event, _ in done]
        if isinstance(command, EndSession) and events:
            joins = consolidate(command, ledger, self.policy, ledger.at(self.clock()))
            events += [event for join in joins for event in self.apply(join)]
        return events

    def refuse(self, command: Operation, refusal: RefusedError) -> None:
        """Record the refusal of a command, by a dry run or by a check of its request's handler."""
        ledger = self.ledger(command.owner_id)
        self.pending.owners.add(command.owner_id)
        event = refused(command, refusal, ledger.at(self.clock()))
        self.pending.events.append((event, evolve(ledger, event)))

    def content(self, text: str) -> Content:
        """A composed text with its hash and vector. Raises the model's errors."""
        vector = self._vectors.required(text, self.policy)
        return content_of(text, vector=vector)

    def new_text(self, text: str) -> Content:
        """A new candidate's text with its hash and vector.

        If the model is down, it has no vector, or if the policy does not allow that
        (`embedder_fails`), the model's error is raised.
        """
        vector = self._vectors.now(text, self.policy)
        return content_of(text, vector=vector)

    def set_policy(self, request: PolicyRequest) -> None:
        """Record the policy. If it has another model, every text must have a vector of that model.

        Raises UsageError if it is not a policy, and RefusedError if vectors are missing, or if
        `drops` names its model.
        """
        try:
            policy = Policy.model_validate(request.policy)
        except ValidationError as error:
            raise UsageError(f"not a policy: {counted(error.error_count(), 'error')}") from None
        if policy.model in request.drops:
            raise RefusedError("model_in_force", f"{policy.model} is in force: it is not dropped")
        changes = policy.model != self.policy.model and bool(self.log.head())
        touched = self._with_vectors(policy.model) if changes else Touched()
        event = policy_event(
            policy,
            event_id(request.request_id, "0"),
            request.actor,
            self.clock(),
            former=self.policy.model if changes else request.former,
            drops=request.drops or None,
        )
        self.pending.events.append((event, touched))
        self.pending.policy_before = self.pending.policy_before or self.policy
        self.use_policy(policy)

    def _with_vectors(self, model: str) -> Touched:
        """The texts that no longer wait for a vector. Raises RefusedError if any lacks one."""
        missing, touched = 0, Touched()
        for owner_id in self.log.owners():
            ledger = self.owners.get(owner_id).ledger
            missing += sum(1 for _ in lacking(ledger, model))
            touched.unembedded |= no_longer_unembedded(ledger, model)
            self.owners.trim()
        if missing:
            raise RefusedError(
                OTHER_MODEL,
                f"a vector of {model} is missing for {counted(missing, 'text')}: run"
                f" `palimpsest embed --model {model}`, again if texts came after it, then switch",
            )
        return touched

    def set_judge(self, judge: RecordedJudge, request_id: str) -> JudgeSet | None:
        """Record the judge that answers from here on; None if it is the same as before."""
        pending = (event for event, _ in reversed(self.pending.events))
        last = next((event for event in pending if isinstance(event, JudgeSet)), None)
        last = last or self.log.last_judge()
        former = None if last is None else last.data.hash
        if former == judge.hash:
            return None
        event = judge_event(judge, event_id(request_id, "judge"), self.clock(), former)
        self.record(event)
        return event

    def record(self, event: AnyEvent) -> None:
        """Record an event of the store, which no ledger folds."""
        self.pending.events.append((event, Touched()))

    def use_policy(self, policy: Policy) -> None:
        """Decide by a policy that is already in the log."""
        self.policy = policy
        self.owners.forget_indexes()

    # -- decisions and commits ---------------------------------------------------------------------

    @contextmanager
    def undone_on_failure(self) -> Iterator[None]:
        """If the block raises, undo its uncommitted decisions."""
        try:
            yield
        except BaseException:
            self.abandon()
            raise

    def abandon(self) -> None:
        """Undo uncommitted decisions: their owners are folded again from the log."""
        self._undo(self._take())

    def commit(self) -> None:
        """Append the decisions, pass them to `committed`, and evict owners beyond the limit.

        If the log refuses them, the error is raised, and nothing has happened.
        """
        commit = self._take()
        try:
            self._record_policy(commit)
            self._effect("log:append")
            positions = self._append(commit)
        except BaseException:
            self._undo(commit)
            raise
        self._effect("log:committed")
        if positions:
            self.owners.position = positions[-1]
            for event, _ in commit.events:
                log_decision(event, self.policy.judge)
                if isinstance(event, PolicySet) and event.data.changes_models:
                    self.owners.follow(event)
            done = zip(positions, commit.events, strict=True)
            self._committed([(position, *what) for position, what in done])
        self.owners.trim()

    def commit_part(self) -> None:
        """Commit what a request has done so far, before it continues."""
        if self.oversight is None:
            self.commit()
        else:
            self.oversight.commit_part()

    def _record_policy(self, commit: Commit) -> None:
        """Put the policy before the first events; another process may have recorded it."""
        self._policy_is_recorded = self._policy_is_recorded or self.log.last_policy() is not None
        if commit.events and not self._policy_is_recorded and commit.policy_before is None:
            first = policy_event(self.policy, policy_id(self.policy.hash), None, self.clock())
            commit.events.insert(0, (first, Touched()))

    def _take(self) -> Commit:
        taken, self.pending = self.pending, Commit()
        return taken

    def _undo(self, commit: Commit) -> None:
        """Drop the owners of a failed commit: they are folded again from the log."""
        self.owners.forget(commit.owners)
        if commit.policy_before is not None:
            self.use_policy(commit.policy_before)


def _is_known(item: Input, prepared: Prepared, known: Entry) -> bool:
    """Whether the known candidate with this id has the same contents; else the id conflicts."""
    same = known.fingerprint == prepared.fingerprint
    return same or matches_former_fingerprint(item.row.raw, prepared, known.fingerprint)


def _known(known: Entry, now: datetime) -> Outcome:
    return Outcome(
        "known",
        known.id,
        known.decision,
        known.decision_id,
        None,
        known.memory.id,
        **why_hidden(known, now),
        windows=window_count(known),
    )
