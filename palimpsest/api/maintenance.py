"""The policy in force, projections, the log, dead letters and audits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from palimpsest.api.arguments import Id, Place
from palimpsest.api.calls import check_calls
from palimpsest.api.opened import OpenedStore
from palimpsest.auditing.audits import Audits
from palimpsest.contracts.answers import PolicyInForce
from palimpsest.contracts.candidate import Name
from palimpsest.contracts.limits import MOST
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requested import request_id
from palimpsest.jobs import log_files as exchange
from palimpsest.jobs.embed import policy_request
from palimpsest.streams.embedder import ignore_progress
from palimpsest.streams.home_path import expand_home
from palimpsest.streams.log.dead_letters import DeadLetterState
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write.answered import digest_of


@check_calls
class Maintenance(OpenedStore):
    """Looks after the store itself."""

    def dead_letters(
        self,
        state: DeadLetterState | None = None,
        *,
        limit: Annotated[int, Field(ge=1, le=MOST)] | None = None,
        after: Id | None = None,
    ) -> list[dict[str, Any]]:
        """Unreadable inputs, the oldest first, without their bytes.

        For pagination: at most `limit`, starting after the one with the id `after`; RefusedError if
        that is unknown.
        """
        return exchange.dead_letters(self._reader, state, limit, after)

    def dead_letter(self, letter_id: Id) -> tuple[dict[str, Any], bytes]:
        """An unreadable input, with its original bytes; RefusedError if the id is unknown."""
        return exchange.dead_letter(self._reader, letter_id)

    def audits(
        self,
        *,
        actor: Name | None = None,
        progress: Callable[[str, float | None], None] | None = None,
    ) -> Audits:
        """A handle for audits, which bound the share of wrong automatic joins (docs/proof.md).

        Its main calls are `open`, `next`, `label`, `status`, `certify` and `check`. Keep it while
        you label, because it caches what it has read. `actor` is recorded with its requests.
        """
        return Audits(self._writer, self.turn, progress or ignore_progress, actor)

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self._reader.policy_in_force()

    def set_policy(self, policy: str | Policy, *, actor: str | None = None) -> PolicyInForce:
        """Put a policy in force from here on: a preset's name, a file, or a policy.

        Earlier decisions stay. Raises UsageError for an unknown name or a wrong file, RefusedError
        if the policy is for a model of which a text lacks its vector.
        """
        wanted = load_policy(policy)
        request = policy_request(self._writer, wanted, actor)
        asked = digest_of(request.model_copy(update={"former": None}))  # by then it is its own
        return self._writer.ask(
            request.model_copy(update={"request_id": request_id(), "asked": asked})
        )

    def rebuild(
        self,
        which: Sequence[str] = (),
        progress: Callable[[str, float], None] | None = None,
    ) -> dict[str, Any]:
        """Recreate projections from the log beside the live ones, then swap them in.

        If none is named, all that are kept are recreated. Raises UsageError for an unknown name, or
        if LanceDB is named but not installed; TransientError if another process is writing.
        """
        return self._reader.upkeep.rebuild(which, progress)

    def verify(self, progress: Callable[[str, float], None] | None = None) -> dict[str, Any]:
        """Fold the log and compare it with everything in the projections.

        Raises TransientError if another process is writing, StoreError if the log is damaged.
        """
        return self._reader.upkeep.verify(progress)

    def export_log(self, file: Place, progress: Callable[[int], None] | None = None) -> int:
        """Write the log as CloudEvents lines, byte for byte; returns their number.

        Raises UsageError if the file cannot be written, StoreError if the log is damaged.
        """
        return exchange.export_log(self._reader, Path(file), progress)

    @staticmethod
    def import_log(path: Place, file: Place, progress: Callable[[int], None] | None = None) -> int:
        """Create a store at `path` from exported lines, exactly as they are; returns their number.

        Raises UsageError if the file cannot be read or the store has events, StoreError if the file
        is not an exported log, or the store cannot be created, TransientError if another
        process is writing.
        """
        return exchange.import_log(expand_home(path), Path(file), progress)
