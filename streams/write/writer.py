"""The writer of the embedded runtime: inputs in, events in the log (design section 7).

Only who holds the writer's lock uses it. A window is looked up, embedded on the embedder's thread,
decided on candidate by candidate (`Decider`, which drafts events), and its draft is committed in
one transaction. Deciding and committing are two steps: a runtime may publish in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime

from palimpsest.contracts.commands import Admit, Operation
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.events import AnyEvent, Vector
from palimpsest.contracts.identity import policy_id
from palimpsest.contracts.policy import Policy
from palimpsest.streams.core.touched import Touched
from palimpsest.streams.core.word import policy_event
from palimpsest.streams.embedder import Embedder, Embedding
from palimpsest.streams.log.dead_letters import DeadLetters
from palimpsest.streams.log.log import Log
from palimpsest.streams.write.awaited import Awaited
from palimpsest.streams.write.deciding import Decider
from palimpsest.streams.write.draft import Draft
from palimpsest.streams.write.inputs import Input, Outcome
from palimpsest.streams.write.owners import Owners
from palimpsest.streams.write.telling import tell

Committed = Callable[[Sequence[tuple[int, AnyEvent, Touched]]], None]
Effect = Callable[[str], None]


def no_effect(_name: str) -> None:
    """Called before each effect; tests stop the process there."""


@dataclass(slots=True)
class Window:
    """Inputs that are decided on and committed together; `texts` are being embedded meanwhile."""

    inputs: Sequence[Input]
    texts: Sequence[str]
    embeddings: Future[list[Embedding]] | None
    also: Callable[[list[Outcome]], None] | None = None

    def embedded(self) -> dict[str, Embedding]:
        """The texts with their embeddings; waits for them, and raises what went wrong."""
        found = self.embeddings.result() if self.embeddings else []
        return dict(zip(self.texts, found, strict=True))


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
        self.owners = Owners(log)
        self._decider = Decider(log, self.owners, policy, embedder, clock)
        self._dead_letters = DeadLetters(log)
        self._embedder = embedder
        self.clock = clock
        self._committed = committed
        self._effect = effect
        self._awaited = Awaited()
        self._policy_is_recorded = False

    @property
    def policy(self) -> Policy:
        """What it decides by."""
        return self._decider.policy

    # -- windows of inputs ---------------------------------------------------------------------

    def open_window(
        self, inputs: Sequence[Input], also: Callable[[list[Outcome]], None] | None = None
    ) -> Window:
        """Look the inputs up and have the new texts embedded; nothing is decided yet.

        `also` runs in the transaction that commits the window.
        """
        texts = list(dict.fromkeys(self._awaited.new_texts(inputs, self.owners)))
        future = self._embedder().submit(texts) if texts else None
        return Window(inputs, texts, future, also)

    def close_window(self, window: Window) -> list[Outcome]:
        """Decide on a window's inputs in order, commit them, and say what became of each."""
        also = window.also
        try:
            outcomes = self._decider.decide(window.inputs, window.embedded())
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
        self._awaited.arrived(window.inputs)

    # -- commands ------------------------------------------------------------------------------

    def run(self, command: Admit | Operation) -> list[AnyEvent]:
        """Decide on a command and fold its events; `commit` makes them last."""
        return self._decider.run(command)

    def refuse(self, command: Operation, refusal: RefusedError) -> None:
        """Have `refused` recorded of a command that was tried elsewhere."""
        self._decider.refuse(command, refusal)

    def embed(self, text: str) -> Vector:
        """The vector of a composed text, at once."""
        return self._decider.embed(text)

    def set_policy(self, policy: Policy, event_id: str, actor: str | None) -> None:
        """Decide by this policy from now on; the next commit records it."""
        self._decider.set_policy(policy, event_id, actor)

    def use_policy(self, policy: Policy) -> None:
        """Decide by a policy that the log holds already."""
        self._decider.use_policy(policy)

    # -- what was decided ----------------------------------------------------------------------

    def abandon(self) -> None:
        """Undo what was decided but not committed: its owners are folded anew from the log."""
        self._decider.undo(self._decider.take())

    def commit(self, also: Callable[[], None] | None = None) -> None:
        """Append what was decided, in one transaction with `also`; on failure nothing happened."""
        draft = self._decider.take()
        if draft.done and not self._records_policy(draft):
            first = policy_event(self.policy, policy_id(self.policy.hash), None, self.clock())
            draft.done.insert(0, (first, Touched()))
        try:
            positions = self._append(draft, also)
        except BaseException:
            self._decider.undo(draft)
            raise
        self._effect("log:committed")
        if positions:
            self.owners.position = positions[-1]
            for event, _ in draft.done:
                tell(event)
            done = zip(positions, draft.done, strict=True)
            self._committed([(position, *what) for position, what in done])

    def _records_policy(self, draft: Draft) -> bool:
        """Whether the log names a policy once it has these events; another process may have."""
        self._policy_is_recorded = self._policy_is_recorded or self.log.last_policy() is not None
        return self._policy_is_recorded or draft.policy_before is not None

    def _append(self, draft: Draft, also: Callable[[], None] | None) -> list[int]:
        self._effect("log:append")
        with self.log.transaction():
            positions = self.log.append([event for event, _ in draft.done])
            for position, (event, touched) in zip(positions, draft.done, strict=True):
                self.log.follow_touched(event.owner_id, touched, position)
            for event_id, (one, error) in draft.invalid.items():
                self._dead_letters.add(event_id, one.row.raw, error, one.row.source, self.clock())
            if also is not None:
                also()
        return positions
