"""What a process reads of a store: the log, ledgers, the policy and the projections."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NoReturn

from palimpsest.backends.paths import PROJECTIONS_FOLDER
from palimpsest.backends.upkeep import POLL_SECONDS, Upkeep, follows
from palimpsest.contracts.answers import result
from palimpsest.contracts.errors import StoreError, TransientError, UsageError
from palimpsest.contracts.events import Use
from palimpsest.contracts.policy import Policy, recorded_policy
from palimpsest.contracts.requests import Request
from palimpsest.contracts.wire import Recorded
from palimpsest.projections.duckdb.segments import reached
from palimpsest.projections.lancedb.files import is_kept
from palimpsest.projections.lancedb.store import FOLDER as LANCE_FOLDER
from palimpsest.projections.lancedb.store import read_state
from palimpsest.projections.live import LiveProjections
from palimpsest.projections.recall.from_ledger import Recollections
from palimpsest.projections.recall.ledger_cache import LedgerCache
from palimpsest.projections.recall.mentions import MentionIndex
from palimpsest.projections.recall.presumed import PresumedNames
from palimpsest.projections.shown.event_index import EventIndex
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.embedded.inbox import Inbox, gathered_uses
from palimpsest.streams.embedded.session import WriterSession
from palimpsest.streams.embedder import (
    Embedder,
    EmbedderSettings,
    EmbedderSource,
    EmbedFunction,
    Engine,
    require_local,
)
from palimpsest.streams.log.log import Log
from palimpsest.streams.write.answered import answer_of
from palimpsest.streams.write.dry_run import DryRun
from palimpsest.streams.write.owners import Owners
from palimpsest.streams.write.serve import execute
from palimpsest.streams.write.uses import summed
from palimpsest.streams.write.writer import Writer

FOLDED_EVENTS = 25_000
"""Longest history folded for a recall: folding 20,000 events takes half as long as LanceDB."""

Wait = Literal["durable", "visible"]
"""When a writing call returns: once its events are durable, or once all readers see them."""


class Reader:
    """One process's view of a store; it builds no writer until the projections need upkeep.

    `of_cluster`: a cluster decides, and a projector fills the store. Until it has done so, reading
    ledgers and projections raises StoreError.
    """

    def __init__(
        self,
        folder: Path,
        log: Log,
        policy: Policy,
        load: Callable[[], Embedder] | EmbedderSource,
        wait: Wait = "durable",
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        *,
        of_cluster: bool = False,
    ) -> None:
        self.folder = folder
        self.clock = clock
        self.log = log
        self.inbox = Inbox(log)
        self.projections = folder / PROJECTIONS_FOLDER
        self.upkeep = Upkeep(folder, log, clock, self._open_session, visible=wait == "visible")
        self._wanted = self._known = policy
        self._load = load
        self._embedders: dict[str, Embedder] = {}
        self._of_cluster = of_cluster
        self.recollections = Recollections()
        self.mention_indexes = LedgerCache(MentionIndex)
        self._presumed = LedgerCache(PresumedNames)
        self._event_indexes = LedgerCache(EventIndex)

    def close(self) -> None:
        """Flush the projections, stop the threads and close the files."""
        try:
            self.upkeep.close()
        finally:
            for embedder in self._embedders.values():
                embedder.close()
            self.log.close()

    def _open_session(self, live: LiveProjections) -> WriterSession:
        session = WriterSession(
            self.log,
            self._owners,
            self._wanted,
            lambda: self.embedder_of(session.writer.policy.model),
            self.clock,
            live,
        )
        return session

    def embedder(self) -> Embedder:
        """The embedder of the model in force, loaded when it is first needed.

        UsageError if the policy keeps texts local but the embedder may send them elsewhere.
        """
        policy = self.policy_in_force()
        found = self.embedder_of(policy.model)
        require_local(found.engine, policy)
        return found

    def embedder_of(self, model: str) -> Embedder:
        """The embedder of a model that is or was in force; ModelError if it cannot be loaded.

        A store without a recorded policy uses the configured embedder, if there is one, else that
        of the policy that it will record.
        """
        if model not in self._embedders:
            if not isinstance(self._load, EmbedderSource):
                made = self._load()
            elif self.log.last_policy() is None:
                made = Embedder(self._load.engine(model))
            else:
                made = self._load.of(model)
            self._embedders[model] = made
        return self._embedders[model]

    def engine_of(
        self, model: str | None, given: EmbedderSettings | EmbedFunction | None
    ) -> Engine:
        """The engine of a model that is not in force yet, or of a service or function."""
        assert isinstance(self._load, EmbedderSource), "the reader of an opened store has one"
        return EmbedderSource(self._load.load, model, given).engine()

    @contextmanager
    def embedding_by(self, engine: Engine) -> Iterator[None]:
        """Embed with another engine of the model while the block runs."""
        model, usual = self.policy_in_force().model, self.embedder()
        own = self._embedders[model] = Embedder(engine)
        try:
            yield
        finally:
            own.close()
            self._embedders[model] = usual

    def policy_in_force(self) -> Policy:
        """The recorded policy; before the first candidate, the one that it will record."""
        recorded = self.log.last_policy()
        if recorded is None:
            return self._wanted
        if recorded.data.hash != self._known.hash:
            self._known = recorded_policy(recorded.data)
        return self._known

    def policy_as_of(self, position: int) -> Policy:
        """The policy in force at a position; if none was recorded by then, the one in force now."""
        recorded = self.log.last_policy(position)
        return self.policy_in_force() if recorded is None else recorded_policy(recorded.data)

    def owners(self, only: str | None = None) -> list[str]:
        """The owners with events: all of them, or `only` this one."""
        return [owner for owner in self.log.owners() if only in (None, owner)]

    def follows(self) -> bool:
        """Whether the store's decisions come from a cluster."""
        return follows(self.log)

    def refresh(self) -> None:
        """Repair the projections and catch up, as `Upkeep.refresh` does."""
        self._require_readable()
        self.upkeep.refresh()

    def wait_for(self, position: int, timeout: float) -> None:
        """Wait until the projections have the log up to a position.

        Raises UsageError if the log ends before it, and TransientError after `timeout` seconds.
        """
        self.refresh()
        head = self.log.head()
        if position > head:
            raise UsageError(f"wait_for: the log ends at position {head}, before {position}")
        deadline = time.monotonic() + timeout
        while min(self.positions().values()) < position:
            if time.monotonic() > deadline:
                raise TransientError(
                    f"position {position} is still not readable after {timeout:g} s: another"
                    " process has not projected it yet"
                )
            time.sleep(POLL_SECONDS)
            self.refresh()

    def ledger(self, owner_id: str) -> Ledger:
        """An owner's current ledger; needs neither the lock nor a projection."""
        self._require_readable()
        owners = self._owners
        owners.catch_up()
        ledger = owners.get(owner_id).ledger
        owners.trim()
        return ledger

    def ledger_if_small(self, owner_id: str) -> Ledger | None:
        """Like `ledger`, but None for a large owner not in memory: folding would take too long."""
        self._require_readable()
        owners = self._owners
        owners.catch_up()
        if owners.loaded(owner_id) is None:
            events = self.log.count_of(owner_id, FOLDED_EVENTS + 1)
            if not events:
                return Ledger(owner_id)
            if events > FOLDED_EVENTS:
                return None
        ledger = owners.get(owner_id).ledger
        owners.trim()
        return ledger

    def events_about(
        self, owner_id: str, names: Iterable[str], upto: int | None = None
    ) -> list[Recorded]:
        """The events about any of some candidates of an owner, in order, up to a position.

        Only these are read: an index, which reads each event of the owner once, says where they
        are. The decision of a join is a name, too: that of its reversals.
        """
        index = self._event_indexes.of(self.ledger(owner_id))
        end = self._owners.position
        for recorded in self.log.of_owner(owner_id, after=index.position, upto=end):
            index.note(recorded)
        return self.log.at(index.of(names, end if upto is None else upto))

    def names_for_order(self, ledger: Ledger) -> tuple[str, ...]:
        """The names by which hits are put in order: declared, or else presumed.

        None are presumed for a large owner, whose hits LanceDB finds without reading the ledger.
        Names presumed for a former time are not kept, and do not replace the current ones.
        """
        if ledger.names or ledger.seen > FOLDED_EVENTS:
            return ledger.names
        is_current = self._owners.loaded(ledger.owner_id) is ledger
        return (self._presumed.of(ledger) if is_current else PresumedNames(ledger)).now()

    @cached_property
    def _owners(self) -> Owners:
        """The ledgers in memory: reading and deciding share them."""
        return Owners(self.log)

    def _require_readable(self) -> None:
        """Raise StoreError if the log is not in its place, or no projector has filled the store."""
        self.log.require_in_place()
        if self._of_cluster and not self.log.head() and not self.follows():
            raise StoreError(nothing_follows(self.folder))

    def answered(self, request_id: str) -> Any:
        """The answer of a recorded request; RefusedError if it was refused."""
        return result(answer_of(self.log, self.log.of_request(request_id)))

    def uses_left(self, owner_id: str) -> tuple[Use, ...]:
        """An owner's uses that were left but are not recorded yet."""
        return summed(gathered_uses(item.body for item in self.inbox.uses(owner_id)))

    def trial(self) -> DryRun:
        """An executor on the committed state that writes nothing."""
        self._owners.catch_up()
        return DryRun(self.log, self.policy_in_force(), self.clock, owners=self._owners)

    def rehearse(self, *requests: Request[Any]) -> None:
        """Raise RefusedError if one of these requests, carried out in order, would be refused."""
        trial = self.trial()
        for request in requests:
            execute(trial, request)

    def onlooker(self) -> Writer:
        """A writer that decides and cannot write, for checks without the lock."""
        self._owners.catch_up()
        policy = self.policy_in_force()
        return Writer(
            self.log, self._owners, _append, policy, self.embedder, self.clock, committed=_append
        )

    def positions(self) -> dict[str, int]:
        """The log position that each projection has reached; read without a lock."""
        found = {"duckdb": reached(self.projections)}
        if is_kept(self.projections):
            found["lancedb"] = read_state(self.projections / LANCE_FOLDER)["position"]
        return found


def _append(_decided: object) -> NoReturn:
    raise StoreError("a check writes nothing")


def nothing_follows(folder: Path) -> str:
    """What to do if no projector fills the requested store."""
    return (
        f"no store at {folder} follows the cluster, and reading needs one:"
        f" start `palimpsest --store {folder} project`"
    )
