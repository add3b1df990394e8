"""An owner's history as another policy would have decided it, from the log alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from msgspec import structs

from palimpsest.contracts.commands import Admit
from palimpsest.contracts.events import AnyEvent, Decided
from palimpsest.contracts.evidence import Neighbour
from palimpsest.contracts.policy import Policy
from palimpsest.streams.core.ledger import Entry
from palimpsest.streams.replay.recorded_neighbours import RecordedNeighbours
from palimpsest.streams.replay.without import Search, Without


class AnotherPolicy(Without):
    """The same owner twice: `real` as recorded, and `other` as `policy` would have decided.

    `policy` decides from `since` on. Recorded vectors and verdicts are used, and no model is
    called, so a question that only the other policy asks stays open. Decisions of the same policy
    about the same neighbours stay as they were recorded, and so do the guard's findings about two
    texts, unless the other history `compares_anew`. Statements of people are repeated if they are
    possible.
    """

    def __init__(
        self,
        owner_id: str,
        policy: Policy,
        recorded: Mapping[str, Policy],
        search: Search,
        *,
        since: datetime | None = None,
        compares_anew: bool = False,
    ) -> None:
        super().__init__(owner_id, frozenset(), dict.fromkeys(recorded, policy), search)
        self._policy = policy
        self._recorded_policies = recorded
        self._since = since
        self._anew = compares_anew
        self._found = RecordedNeighbours(self.real, self.other, recorded, policy, search)

    def _departs(self, event: AnyEvent) -> bool:
        return self._since is None or event.time >= self._since

    def _neighbours(self, event: Decided, admit: Admit, policy: Policy) -> tuple[Neighbour, ...]:
        if self._anew:
            return super()._neighbours(event, admit, policy)
        return self._found.of(event, admit)

    def _is_the_same(
        self, event: Decided, target: Entry | None, found: Iterable[Neighbour]
    ) -> bool:
        if self._anew or event.data.evidence.policy != self._policy.hash:
            return False
        near = [neighbour for neighbour in found if neighbour.frame != "only"]
        return super()._is_the_same(event, target, near)

    def _as_compared(self, event: Decided, found: Iterable[Neighbour]) -> tuple[Neighbour, ...]:
        evidence = event.data.evidence
        then = self._recorded_policies[evidence.policy]
        if found is evidence.neighbours or self._anew or then.search != self._policy.search:
            return tuple(found)
        seen = {neighbour.candidate_id: neighbour for neighbour in evidence.neighbours}
        return tuple(
            structs.replace(neighbour, near_identical=known.near_identical, cues=known.cues)
            if (known := seen.get(neighbour.candidate_id)) is not None
            and self._asks_the_same(neighbour.candidate_id)
            else neighbour
            for neighbour in found
        )
