"""The writer of the embedded runtime: inputs in, events in the log (design section 7).

Only who holds the writer's lock uses it. A window is looked up, embedded on the embedder's thread
and then decided on, candidate by candidate, and committed in one transaction.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime

from contracts.commands import Admit, Operation
from contracts.errors import InvalidInputError, UsageError
from contracts.events import AnyEvent, Content, Decided, Invalid, InvalidData, Vector
from contracts.identity import digest, invalid_id, policy_id
from contracts.policy import Policy
from streams.core.decide import execute
from streams.core.ledger import Ledger
from streams.core.text import NORMALISER
from streams.core.touched import Touched
from streams.core.word import policy_event
from streams.embedded.dead_letters import DeadLetters
from streams.embedded.inputs import Input, Outcome
from streams.embedded.log import Log
from streams.embedded.owners import Owners
from streams.embedder import Embedder, Embedding
from streams.intake import Prepared, Word
from streams.retrieval import vector_of

_RECORDED = set(Vector.model_fields)
"""The set of fields that each vector would hold a copy of: 700 bytes."""

Committed = Callable[[Sequence[tuple[int, AnyEvent, Touched]]], None]
Effect = Callable[[str], None]


def no_effect(_name: str) -> None:
    """Called before each effect; tests stop the process there."""


@dataclass(slots=True)
class Window:
    """Inputs that are decided on and committed together; `texts` are being embedded meanwhile."""

    inputs: Sequence[Input]
    texts: dict[str, int]
    embeddings: Future[list[Embedding]] | None
    also: Callable[[list[Outcome]], None] | None = None


@dataclass(slots=True)
class _Draft:
    """Events decided but not committed yet, and what must be committed with them."""

    done: list[tuple[AnyEvent, Touched]] = field(default_factory=list)
    owners: set[str] = field(default_factory=set)
    invalid: dict[str, tuple[Input, InvalidInputError]] = field(default_factory=dict)
    policy_before: Policy | None = None


class Writer:
    """Decides inputs and commands, appends their events, and tells `committed` about them."""

    def __init__(
        self,
        log: Log,
        policy: Policy,
        embedder: Callable[[], Embedder],
        clock: Callable[[], datetime],
        committed: Committed,
        effect: Effect = no_effect,
    ) -> None:
        self.log = log
        self.policy = policy
        self.owners = Owners(log)
        self._dead_letters = DeadLetters(log)
        self._embedder = embedder
        self._clock = clock
        self._committed = committed
        self._effect = effect
        self._awaited: dict[tuple[str, str, str], int] = {}
        self._policy_is_recorded = False
        self._draft = _Draft()

    # -- windows of inputs ---------------------------------------------------------------------

    def open_window(
        self, inputs: Sequence[Input], also: Callable[[list[Outcome]], None] | None = None
    ) -> Window:
        """Look the inputs up and have the new texts embedded; nothing is decided yet.

        `also` runs in the transaction that commits the window.
        """
        texts: dict[str, int] = {}
        for one in inputs:
            if isinstance(one.meaning, Prepared) and self._is_new_text(one.meaning):
                texts.setdefault(one.meaning.candidate.text, len(texts))
        future = self._embedder().submit(list(texts)) if texts else None
        return Window(inputs, texts, future, also)

    def _is_new_text(self, prepared: Prepared) -> bool:
        """Whether nobody has this text: not the ledger, not a candidate that is on its way."""
        candidate = prepared.candidate
        key = (candidate.owner_id, candidate.namespace, prepared.hash)
        waiting = self._awaited.get(key, 0)
        self._awaited[key] = waiting + 1
        if waiting:
            return False
        ledger = self.owners.get(candidate.owner_id).ledger
        if prepared.candidate_id in ledger.entries:
            return False
        distinct = ledger.distinct(candidate.namespace, prepared.hash)
        return distinct is None or distinct.target is None

    def close_window(self, window: Window) -> list[Outcome]:
        """Decide on a window's inputs in order, commit them, and say what became of each."""
        also = window.also
        try:
            embeddings = window.embeddings.result() if window.embeddings else []
            vectors = {t: self._vector(embeddings[i]) for t, i in window.texts.items()}
            self._look_ahead(window, vectors)
            outcomes = [self._decide_input(one, vectors) for one in window.inputs]
            self.commit(None if also is None else lambda: also(outcomes))
        except BaseException:
            self.abandon()
            raise
        finally:
            self.forget_window(window)
        self.owners.trim()
        return outcomes

    def forget_window(self, window: Window) -> None:
        """Nobody waits for its texts any more: it was decided on, or never will be."""
        for one in window.inputs:
            self._arrived(one)

    def _arrived(self, one: Input) -> None:
        if isinstance(one.meaning, Prepared):
            candidate = one.meaning.candidate
            key = (candidate.owner_id, candidate.namespace, one.meaning.hash)
            self._awaited[key] -= 1
            if not self._awaited[key]:
                del self._awaited[key]

    def _vector(self, embedding: Embedding) -> Vector:
        engine = self._embedder().engine
        if engine.model != self.policy.model:
            raise UsageError(
                f"the policy {self.policy.name} has thresholds for {self.policy.model},"
                f" not for {engine.model}: set a policy for that model in a new store"
            )
        return Vector.model_construct(
            _RECORDED,
            model=engine.model,
            engine=engine.name,
            dimension=engine.dimension,
            data=base64.b64encode(embedding.vector.astype("<f2").tobytes()).decode(),
            truncated=embedding.truncated,
            unknown=embedding.unknown,
        )

    def _look_ahead(self, window: Window, vectors: dict[str, Vector]) -> None:
        """Search each scope once for all of the window's newcomers."""
        queries: dict[tuple[str, str], list[Prepared]] = {}
        for one in window.inputs:
            if isinstance(one.meaning, Prepared) and one.meaning.candidate.text in vectors:
                c = one.meaning.candidate
                queries.setdefault((c.owner_id, c.namespace), []).append(one.meaning)
        for (owner_id, namespace), news in queries.items():
            if len(news) > 1:
                dimension = vectors[news[0].candidate.text].dimension
                index = self.owners.get(owner_id).index(namespace, self.policy, dimension)
                texts = {p.candidate_id: vectors[p.candidate.text] for p in news}
                index.look_ahead([(i, vector_of(v)) for i, v in texts.items()])

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
            self._draft.done.append((event, Touched()))
            self._draft.invalid[event_id] = (one, error)
        return _rejected(event_id, error)

    def _is_rejected(self, event_id: str) -> bool:
        """Whether these bytes are invalid already, for whatever reason: they are told of once."""
        return event_id in self._draft.invalid or self.log.find(event_id) is not None

    def _hear(self, word: Word) -> Outcome:
        self.run(word)
        return Outcome("heard")

    def _admit(self, one: Input, prepared: Prepared, vectors: dict[str, Vector]) -> Outcome:
        candidate = prepared.candidate
        ledger = self.owners.get(candidate.owner_id).ledger
        known = ledger.entries.get(prepared.candidate_id)
        if known is not None and known.fingerprint == prepared.fingerprint:
            return Outcome(
                "known", known.id, known.decision, known.decision_id, None, known.memory.id
            )
        if known is not None and self._is_rejected(invalid_id(digest(one.row.raw))):
            return self._outcome(one, None)
        distinct = ledger.distinct(candidate.namespace, prepared.hash)
        repeats = distinct is not None and distinct.target is not None
        vector = None if known or repeats else self._vector_for(candidate.text, vectors)
        admit = Admit(
            candidate_id=prepared.candidate_id,
            candidate=candidate,
            content=Content(
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

    def _run_admit(self, admit: Admit, ledger: Ledger) -> AnyEvent | None:
        vector = admit.content.vector
        if vector is not None:
            owner = self.owners.get(ledger.owner_id)
            index = owner.index(admit.candidate.namespace, self.policy, vector.dimension)
            admit = Admit(
                admit.candidate_id,
                admit.candidate,
                admit.content,
                admit.digest,
                index.neighbours(ledger, admit),
            )
        events = self.run(admit)
        return events[0] if events else None

    def _outcome(self, one: Input, event: AnyEvent | None) -> Outcome:
        if isinstance(event, Decided):
            data = event.data
            entry = self.owners.get(event.owner_id).ledger.entries[event.subject]
            joined_to = data.join.to if data.join else None
            return Outcome("decided", entry.id, data.decision, event.id, joined_to, entry.memory.id)
        error = InvalidInputError("id_conflict", "its id is known with other content")
        event_id = invalid_id(digest(one.row.raw))
        if event is not None:
            self._draft.invalid[event_id] = (one, error)
        return _rejected(event_id, error)

    # -- commands ------------------------------------------------------------------------------

    def run(self, command: Admit | Operation) -> list[AnyEvent]:
        """Decide on a command and fold its events; `commit` makes them last."""
        owner_id = command.candidate.owner_id if isinstance(command, Admit) else command.owner_id
        ledger = self.owners.get(owner_id).ledger
        self._draft.owners.add(owner_id)
        done = execute(command, ledger, self.policy, self._clock())
        self._draft.done.extend(done)
        return [event for event, _ in done]

    def embed(self, text: str) -> Vector:
        """The vector of a composed text, at once."""
        return self._vector(self._embedder().submit([text]).result()[0])

    def set_policy(self, policy: Policy, event_id: str, actor: str | None) -> None:
        """Decide by this policy from now on; the next commit records it."""
        event = policy_event(policy, event_id, actor, self._clock())
        self._draft.done.append((event, Touched()))
        self._draft.policy_before = self._draft.policy_before or self.policy
        self.use_policy(policy)

    def use_policy(self, policy: Policy) -> None:
        """Decide by a policy that the log holds already."""
        self.policy = policy
        self.owners.forget_indexes()

    def abandon(self) -> None:
        """Undo what was decided but not committed: its owners are folded anew from the log."""
        draft, self._draft = self._draft, _Draft()
        self._undo(draft)

    def _undo(self, draft: _Draft) -> None:
        self.owners.forget(draft.owners)
        if draft.policy_before is not None:
            self.use_policy(draft.policy_before)

    def _records_policy(self, draft: _Draft) -> bool:
        """Whether the log names a policy once it has these events; another process may have."""
        self._policy_is_recorded = self._policy_is_recorded or self.log.last_policy() is not None
        return self._policy_is_recorded or draft.policy_before is not None

    def commit(self, also: Callable[[], None] | None = None) -> None:
        """Append what was decided, in one transaction with `also`; on failure nothing happened."""
        draft, self._draft = self._draft, _Draft()
        if draft.done and not self._records_policy(draft):
            first = policy_event(self.policy, policy_id(self.policy.hash), None, self._clock())
            draft.done.insert(0, (first, Touched()))
        try:
            self._effect("log:append")
            with self.log.transaction():
                positions = self.log.append([event for event, _ in draft.done])
                for event_id, (one, error) in draft.invalid.items():
                    self._dead_letters.add(
                        event_id, one.row.raw, error, one.row.source, self._clock()
                    )
                if also is not None:
                    also()
        except BaseException:
            self._undo(draft)
            raise
        self._effect("log:committed")
        if positions:
            self.owners.position = positions[-1]
            done = zip(positions, draft.done, strict=True)
            self._committed([(position, *what) for position, what in done])


def _rejected(event_id: str, error: InvalidInputError) -> Outcome:
    return Outcome(
        "invalid",
        decision="invalid",
        decision_id=event_id,
        reason=error.reason,
        detail=error.detail,
    )
