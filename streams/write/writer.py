"""The writer of both runtimes: inputs and commands in, commits out (docs/design.md, Two runtimes).

A window is looked up, embedded on the embedder's thread, and decided on candidate by candidate
(`Decider`, which fills a `Commit`). A runtime adds its answers, dead letters and offsets to that
value; then its `Append` makes all of it last, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from palimpsest.contracts.commands import Admit, Operation
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.events import AnyEvent, Vector
from palimpsest.contracts.identity import policy_id
from palimpsest.contracts.policy import Policy
from palimpsest.streams.core.touched import Touched
from palimpsest.streams.core.word import policy_event
from palimpsest.streams.embedder import Embedder
from palimpsest.streams.log.log import Log
from palimpsest.streams.write.commit import Address, Commit, Reply
from palimpsest.streams.write.deciding import Decider
from palimpsest.streams.write.decision_log import log_decision
from palimpsest.streams.write.inputs import Input, Outcome
from palimpsest.streams.write.owners import Owners
from palimpsest.streams.write.windows import PendingTexts, Window

Committed = Callable[[Sequence[tuple[int, AnyEvent, Touched]]], None]
Append = Callable[[Commit], list[int]]
"""Makes a commit last and returns its events' positions; where it raises, nothing happened."""
Effect = Callable[[str], None]


def no_effect(_name: str) -> None:
    """Called before each effect; tests stop the process there."""


class Writer:
    """Decides inputs and commands, has them appended, and tells `committed` about the events."""

    def __init__(
        self,
        log: Log,
        append: Append,
        policy: Policy,
        embedder: Callable[[], Embedder],
        clock: Callable[[], datetime],
        committed: Committed,
        effect: Effect = no_effect,
    ) -> None:
        self.log = log
        self.owners = Owners(log)
        self._decider = Decider(log, self.owners, policy, embedder, clock)
        self._embedder = embedder
        self.clock = clock
        self._committed = committed
        self._append = append
        self._effect = effect
        self._pending_texts = PendingTexts()
        self._policy_is_recorded = False

    @property
    def policy(self) -> Policy:
        """What it decides by."""
        return self._decider.policy

    # -- windows of inputs ---------------------------------------------------------------------

    def open_window(self, inputs: Sequence[Input]) -> Window:
        """Look the inputs up and have the new texts embedded; nothing is decided yet."""
        texts = list(dict.fromkeys(self._pending_texts.new_texts(inputs, self.owners)))
        future = self._embedder().submit(texts) if texts else None
        return Window(inputs, texts, future)

    def close_window(self, window: Window, reply_to: Address | None = None) -> list[Outcome]:
        """Decide on a window's inputs in order, commit them, and return what became of each.

        That is committed as the answer to `reply_to`, where there is one.
        """
        with self.undone_on_failure():
            outcomes = self.decide(window)
            if reply_to is not None:
                self.pending.answers.append(Reply(reply_to, outcomes))
            self.commit()
        return outcomes

    def decide(self, window: Window) -> list[Outcome]:
        """Decide on a window's inputs in order; `commit` makes it last."""
        try:
            return self._decider.decide(window.inputs, window.embedded())
        finally:
            self.forget_window(window)

    def forget_window(self, window: Window) -> None:
        """Nobody waits for its texts any more: it was decided on, or never will be."""
        self._pending_texts.arrived(window.inputs)

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

    @property
    def pending(self) -> Commit:
        """What was decided and is not committed yet; a runtime adds to it what goes with that."""
        return self._decider.pending

    @contextmanager
    def undone_on_failure(self) -> Iterator[None]:
        """Where the block raises, undo what it decided and did not commit."""
        try:
            yield
        except BaseException:
            self.abandon()
            raise

    def abandon(self) -> None:
        """Undo what was decided but not committed: its owners are folded anew from the log."""
        self._decider.undo(self._decider.take())

    def commit(self) -> None:
        """Append what was decided, then let owners leave memory; on failure nothing happened."""
        commit = self._decider.take()
        try:
            self._record_policy(commit)
            self._effect("log:append")
            positions = self._append(commit)
        except BaseException:
            self._decider.undo(commit)
            raise
        self._effect("log:committed")
        if positions:
            self.owners.position = positions[-1]
            for event, _ in commit.events:
                log_decision(event)
            done = zip(positions, commit.events, strict=True)
            self._committed([(position, *what) for position, what in done])
        self.owners.trim()

    def _record_policy(self, commit: Commit) -> None:
        """Put the policy before the first events; another process may have recorded it."""
        self._policy_is_recorded = self._policy_is_recorded or self.log.last_policy() is not None
        if commit.events and not self._policy_is_recorded and commit.policy_before is None:
            first = policy_event(self.policy, policy_id(self.policy.hash), None, self.clock())
            commit.events.insert(0, (first, Touched()))
