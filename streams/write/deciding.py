"""Deciding by one writer: inputs and commands fill a commit, which nothing here appends."""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from palimpsest.contracts.commands import Admit, Operation
from palimpsest.contracts.errors import InvalidInputError, RefusedError, SearchError, UsageError
from palimpsest.contracts.events import (
    AnyEvent,
    Content,
    Decided,
    Invalid,
    InvalidData,
    Settled,
    Vector,
)
from palimpsest.contracts.identity import digest, invalid_id
from palimpsest.contracts.model import unchecked
from palimpsest.contracts.policy import Policy
from palimpsest.streams.core.decide import execute, refused
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.core.text import NORMALISER
from palimpsest.streams.core.touched import Touched
from palimpsest.streams.core.word import policy_event
from palimpsest.streams.embedder import Embedder, Embedding
from palimpsest.streams.intake import Prepared, Word, said_before
from palimpsest.streams.log.dead_letters import NewDeadLetter
from palimpsest.streams.log.log import Log
from palimpsest.streams.write.commit import Commit
from palimpsest.streams.write.inputs import Input, Outcome
from palimpsest.streams.write.owners import Loaded, Owners

_log = logging.getLogger(__name__)


class Decider:
    """Decides inputs and commands on the ledgers in memory; `pending` is what came of it so far.

    The ledgers are ahead of the log until that is appended; whoever takes it appends or undoes it.
    """

    def __init__(
        self,
        log: Log,
        owners: Owners,
        policy: Policy,
        embedder: Callable[[], Embedder],
        clock: Callable[[], datetime],
    ) -> None:
        self.policy = policy
        self.pending = Commit()
        self._log = log
        self._owners = owners
        self._embedder = embedder
        self._clock = clock

    def take(self) -> Commit:
        """What was decided since it was last taken."""
        taken, self.pending = self.pending, Commit()
        return taken

    # -- inputs --------------------------------------------------------------------------------

    def decide(self, inputs: Sequence[Input], embeddings: Mapping[str, Embedding]) -> list[Outcome]:
        """Decide on a window's inputs in order; `embeddings` are those of its new texts."""
        vectors = {text: self._vector(embedding) for text, embedding in embeddings.items()}
        self._look_ahead(inputs, vectors)
        return [self._decide_input(one, vectors) for one in inputs]

    def _look_ahead(self, inputs: Sequence[Input], vectors: dict[str, Vector]) -> None:
        """Search each scope once for all of the window's newcomers."""
        scopes: dict[tuple[str, str], dict[str, Vector]] = {}
        for one in inputs:
            if isinstance(one.meaning, Prepared):
                c = one.meaning.candidate
                vector = vectors.get(c.text)
                if vector is not None:
                    newcomers = scopes.setdefault((c.owner_id, c.namespace), {})
                    # An id that comes again with another text is refused: the first one counts.
                    newcomers.setdefault(one.meaning.candidate_id, vector)
        for (owner_id, namespace), newcomers in scopes.items():
            dimension = next(iter(newcomers.values())).dimension
            owner = self._owners.get(owner_id)
            try:
                owner.index(namespace, self.policy, dimension).look_ahead(newcomers)
            except SearchError as error:
                self._go_on_without(owner, namespace, error)

    def _decide_input(self, one: Input, vectors: dict[str, Vector]) -> Outcome:
        match one.meaning:
            case InvalidInputError() as error:
                return self._reject(one, error)
            case Prepared() as prepared:
                return self._admit(one, prepared, vectors)
            case word:
                return self._hear(word)

    def _reject(self, one: Input, error: InvalidInputError) -> Outcome:
        sha = digest(one.row.raw)
        event_id = invalid_id(sha)
        if not self._is_rejected(event_id):
            data = InvalidData(
                reason=error.reason, detail=error.detail, digest=sha, origin=one.row.source
            )
            event = Invalid(
                id=event_id, subject=sha, time=self._clock(), partitionkey="", data=data
            )
            self.pending.events.append((event, Touched()))
            self._bury(one, error, event_id)
        return _rejected(event_id, error)

    def _bury(self, one: Input, error: InvalidInputError, event_id: str) -> None:
        raw, source = one.row.raw, one.row.source
        letter = NewDeadLetter(event_id, raw, error, source, self._clock(), digest(raw), len(raw))
        self.pending.rejected.add(event_id)
        self.pending.dead_letters.append(letter)

    def _is_rejected(self, event_id: str) -> bool:
        """Whether these bytes are invalid already, for whatever reason: they are told of once."""
        return event_id in self.pending.rejected or self._log.find(event_id) is not None

    def _hear(self, word: Word) -> Outcome:
        self.run(word)
        return Outcome("heard")

    def _admit(self, one: Input, prepared: Prepared, vectors: dict[str, Vector]) -> Outcome:
        candidate = prepared.candidate
        ledger = self._owners.get(candidate.owner_id).ledger
        known = ledger.entries.get(prepared.candidate_id)
        if known is not None and (
            known.fingerprint == prepared.fingerprint
            or said_before(one.row.raw, prepared, known.fingerprint)
        ):
            return Outcome(
                "known", known.id, known.decision, known.decision_id, None, known.memory.id
            )
        if known is not None and self._is_rejected(invalid_id(digest(one.row.raw))):
            return self._outcome(one, ())
        distinct = ledger.distinct(candidate.namespace, prepared.hash)
        repeats = distinct is not None and distinct.target is not None
        vector = None if known or repeats else self._vector_for(candidate.text, vectors)
        admit = Admit(
            candidate_id=prepared.candidate_id,
            candidate=candidate,
            content=unchecked(
                Content,
                text=candidate.text,
                hash=prepared.hash,
                normaliser=NORMALISER,
                fingerprint=prepared.fingerprint,
                vector=vector,
            ),
            digest=digest(one.row.raw),
        )
        return self._outcome(one, self._run_admit(admit, ledger))

    def _vector_for(self, text: str, vectors: dict[str, Vector]) -> Vector:
        """The window's vector, or one made now: the candidate that had this text was refused."""
        found = vectors.get(text)
        if found is None:
            found = vectors[text] = self.embed(text)
        return found

    def _run_admit(self, admit: Admit, ledger: Ledger) -> list[AnyEvent]:
        vector = admit.content.vector
        if vector is None:
            return self.run(admit)
        events = self.run(self._with_neighbours(admit, ledger, vector.dimension))
        self._follow(ledger.owner_id, admit.candidate.namespace)
        return events

    def _with_neighbours(self, admit: Admit, ledger: Ledger, dimension: int) -> Admit:
        owner, namespace = self._owners.get(ledger.owner_id), admit.candidate.namespace
        try:
            index = owner.index(namespace, self.policy, dimension)
            return replace(admit, neighbours=index.neighbours(ledger, admit))
        except SearchError as error:
            self._go_on_without(owner, namespace, error)
            return replace(admit, down=("search",))

    def _follow(self, owner_id: str, namespace: str) -> None:
        owner = self._owners.get(owner_id)
        index = owner.indexes.get(namespace)
        try:
            if index is not None:
                index.follow()
        except SearchError as error:
            self._go_on_without(owner, namespace, error)

    def _go_on_without(self, owner: Loaded, namespace: str, error: SearchError) -> None:
        """Fail open where the policy says so, else stop; a broken scope is told of once."""
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

    def _outcome(self, one: Input, events: Sequence[AnyEvent]) -> Outcome:
        """What an admission led to: where it was settled at once, that, and not `pending`."""
        last = events[-1] if events else None
        if isinstance(last, Decided | Settled):
            data = last.data
            entry = self._owners.get(last.owner_id).ledger.entries[last.subject]
            joined_to = data.join.to if data.join else None
            return Outcome("decided", entry.id, data.decision, last.id, joined_to, entry.memory.id)
        error = InvalidInputError("id_conflict", "its id is known with other content")
        event_id = invalid_id(digest(one.row.raw))
        if last is not None:
            self._bury(one, error, event_id)
        return _rejected(event_id, error)

    def _vector(self, embedding: Embedding) -> Vector:
        engine = self._embedder().engine
        if engine.model != self.policy.model:
            raise UsageError(
                f"the policy {self.policy.name} has thresholds for {self.policy.model},"
                f" not for {engine.model}: set a policy for that model in a new store"
            )
        return unchecked(
            Vector,
            model=engine.model,
            engine=engine.name,
            dimension=engine.dimension,
            data=base64.b64encode(embedding.vector.astype("<f2").tobytes()).decode(),
            truncated=embedding.truncated,
            unknown=embedding.unknown,
        )

    # -- commands ------------------------------------------------------------------------------

    def run(self, command: Admit | Operation) -> list[AnyEvent]:
        """Decide on a command and fold its events."""
        owner_id = command.candidate.owner_id if isinstance(command, Admit) else command.owner_id
        ledger = self._owners.get(owner_id).ledger
        self.pending.owners.add(owner_id)
        done = execute(command, ledger, self.policy, self._clock())
        self.pending.events.extend(done)
        return [event for event, _ in done]

    def refuse(self, command: Operation, refusal: RefusedError) -> None:
        """Record that a command could not be, where it was tried elsewhere."""
        ledger = self._owners.get(command.owner_id).ledger
        self.pending.owners.add(command.owner_id)
        event = refused(command, refusal, ledger.at(self._clock()))
        self.pending.events.append((event, evolve(ledger, event)))

    def embed(self, text: str) -> Vector:
        """The vector of a text, at once."""
        return self._vector(self._embedder().embed_now(text))

    def set_policy(self, policy: Policy, event_id: str, actor: str | None) -> None:
        """Decide by this policy from now on."""
        event = policy_event(policy, event_id, actor, self._clock())
        self.pending.events.append((event, Touched()))
        self.pending.policy_before = self.pending.policy_before or self.policy
        self.use_policy(policy)

    def use_policy(self, policy: Policy) -> None:
        """Decide by a policy that the log holds already."""
        self.policy = policy
        self._owners.forget_indexes()

    def undo(self, commit: Commit) -> None:
        """Nothing of a commit happened: its owners are folded anew from the log."""
        self._owners.forget(commit.owners)
        if commit.policy_before is not None:
            self.use_policy(commit.policy_before)


def _rejected(event_id: str, error: InvalidInputError) -> Outcome:
    return Outcome(
        "invalid",
        decision="invalid",
        decision_id=event_id,
        reason=error.reason,
        detail=error.detail,
    )
