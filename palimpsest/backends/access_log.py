"""Records that memories were recalled: gathers uses, and leaves them for the writer each minute."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from threading import RLock, Timer
from uuid import uuid4

import orjson

from palimpsest.backends.writer import StoreWriter
from palimpsest.contracts.errors import PalimpsestError
from palimpsest.contracts.events import Accessed, Use
from palimpsest.contracts.light import to_json
from palimpsest.contracts.policy import Policy

_log = logging.getLogger(__name__)

APART_SECONDS = 60.0
"""How long uses are gathered before they are left for the writer."""
SOURCE = "recall"


class Uses:
    """Gathers uses if the policy records them; an answer waits for neither a lock nor the disk.

    `turn` is the lock of the store's calls. The gathered uses are left for the writer a minute
    after the first of them, or when the store is closed; a process that is killed loses them. If
    no writer has recorded them a minute later, the next process that recalls does so when it
    closes its store.
    """

    def __init__(self, writer: StoreWriter, turn: RLock) -> None:
        self._writer = writer
        self._turn = turn
        self._gathered: dict[str, dict[str, Use]] = {}
        self._timer: Timer | None = None

    def note(self, owner_id: str, memory_ids: Sequence[str], policy: Policy) -> None:
        """Note that memories of an owner were recalled, if the policy records uses."""
        writer = self._writer
        if not (memory_ids and policy.recall.accessed) or writer.reader.log.sealed:
            return
        at, found = writer.reader.clock(), self._gathered.setdefault(owner_id, {})
        for memory_id in memory_ids:
            count = found[memory_id].count + 1 if memory_id in found else 1
            found[memory_id] = Use(candidate_id=memory_id, count=count, at=at)
        if self._timer is None:
            self._timer = Timer(APART_SECONDS, self.record)
            self._timer.daemon = True
            self._timer.start()

    def unrecorded(self, owner_id: str, policy: Policy) -> dict[str, datetime]:
        """The last uses of an owner's memories that are not in the log yet, by memory id.

        Empty if the policy does not record uses.
        """
        if not policy.recall.accessed:
            return {}
        gathered = self._gathered.get(owner_id, {}).values()
        latest: dict[str, datetime] = {}
        for use in (*self._writer.reader.uses_left(owner_id), *gathered):
            latest[use.candidate_id] = max(use.at, latest.get(use.candidate_id, use.at))
        return latest

    def record(self) -> None:
        """Leave the gathered uses, and record them unless another process is writing."""
        with self._turn:
            if self._timer is None:
                return  # the store has been closed
            self._timer = None
            try:
                self._leave()
                self._writer.serve_left()
            except PalimpsestError as error:
                _log.warning("accesses are not recorded yet: %s", error)

    def close(self) -> None:
        """Leave the gathered uses for the next writer. Errors are logged: reading must not fail."""
        recalled = self._timer is not None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        try:
            self._leave()
            if recalled and self._writer.reader.inbox.uses_are_overdue():
                self._writer.serve_left()
        except PalimpsestError as error:
            _log.warning("accesses are not recorded: %s", error)

    def _leave(self) -> None:
        """Leave each owner's uses once; if that fails for one, the rest stays gathered."""
        for owner_id, uses in [*self._gathered.items()]:
            self._writer.leave_uses(owner_id, uses_event(owner_id, [*uses.values()]))
            del self._gathered[owner_id]


def uses_event(owner_id: str, uses: Sequence[Use]) -> bytes:
    """An owner's uses as the CloudEvent that a producer would send."""
    data = {
        "owner_id": owner_id,
        "candidate_id": uses[0].candidate_id,
        "uses": [to_json(use) for use in uses],
    }
    event = {
        "specversion": "1.0",
        "type": Accessed.type,
        "id": str(uuid4()),
        "source": SOURCE,
        "data": data,
    }
    return orjson.dumps(event)
