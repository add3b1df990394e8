"""An owner who submits texts to a store that others may share, and inspects the results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from palimpsest import Palimpsest
from palimpsest.contracts.identity import decision_id_of
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.shown import ShownMemory
from palimpsest.streams.log.verifications import Waiting
from tests.cluster.cluster import eventually, stderr_of
from tests.reliability.processes import Child


@dataclass(frozen=True)
class Installation:
    """An open store, and the command line's options for the same store.

    The store decides itself, or follows a cluster whose `worker` does.
    """

    store: Palimpsest
    options: tuple[str, ...]
    worker: Child | None = None

    def logged(self, here: str) -> str:
        """The log of the deciding process; `here` is this process's log."""
        return here if self.worker is None else stderr_of(self.worker)


class Speaker:
    """One owner. All counts are only the owner's: there may be others."""

    def __init__(self, store: Palimpsest, name: str, policy: Policy) -> None:
        self.store = store
        self.name = name
        self.under(policy)

    def under(self, policy: Policy) -> None:
        """Put a policy in force."""
        if self.store.policy.hash != policy.hash:
            self.store.set_policy(policy)

    def say(self, *texts: str, source: str = "python", **fields: Any) -> list[str]:
        """Offer texts in order; return the candidates' ids."""
        return self.submit(*({"text": text, **fields} for text in texts), source=source)

    def submit(self, *rows: Mapping[str, Any], source: str = "python") -> list[str]:
        """Offer rows in order; return the candidates' ids, once the store shows them."""
        offered = [{"owner_id": self.name, **row} for row in rows]
        ids = [str(one.candidate_id) for one in self.store.submit(offered, source=source)]
        eventually(lambda: all(map(self.has, ids)), "the store has what was said")
        eventually(self._is_shown, "the store shows what was said")
        return ids

    def has(self, candidate_id: str) -> bool:
        """Whether the store's log has the decision on a candidate."""
        return self.store.reader.log.find(decision_id_of(candidate_id)) is not None

    def _is_shown(self) -> bool:
        writer = self.store.writer
        writer.reader.refresh()
        return min(writer.reader.positions().values()) == writer.reader.log.head()

    def rows(self, view: str, columns: str = "*", where: str = "true") -> list[dict[str, Any]]:
        """Rows of a view about this owner."""
        own = f"owner_id = '{self.name}' AND {where}"
        return self.store.sql(f"SELECT {columns} FROM {view} WHERE {own} ORDER BY ALL")

    def faces(self) -> list[str]:
        """The faces, sorted."""
        return [row["face"] for row in self.rows("memories", "face")]

    def memories(self) -> list[ShownMemory]:
        """The memories with their members."""
        return [self.store.show(row["memory_id"]) for row in self.rows("memories", "memory_id")]

    def waiting(self) -> list[Waiting]:
        """The questions for the verifier."""
        waiting = self.store.reader.log.verifications.waiting(10_000)
        return [one for one in waiting if one.owner_id == self.name]

    def recall(self, question: str, session_id: str) -> list[str]:
        """The faces that a session recalls."""
        found = self.store.recall(self.name, question, session_id=session_id)
        return [memory["face"] for memory in found]
