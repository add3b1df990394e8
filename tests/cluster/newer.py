"""Children of a next version of Palimpsest, which has one more kind of event.

It writes one for each command whose reason is `FORESEE`. `python -m tests.cluster.newer` changes
the language before all else is imported.
"""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Annotated, Any

from pydantic import ConfigDict, TypeAdapter

from palimpsest.contracts import events
from palimpsest.contracts.event_data import OnCandidateData, UnchangedData
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.light import Tagged

VERSION = "9.2.0"
KIND = "palimpsest.foreseen.v1"
FORESEE = "foresee"
NEWER = (sys.executable, "-m", "tests.cluster.newer")


class Foreseen(events.Event, tag=KIND):
    """`subject` is the candidate."""

    requires: str | None = "9.2"
    data: OnCandidateData


def become_newer() -> None:
    """Know and write the event; nothing that has its own names for what is changed is loaded."""
    assert not any(name.startswith("palimpsest.streams") for name in sys.modules)
    known: Any = events.AnyEvent | Foreseen
    config = ConfigDict(allow_inf_nan=False)
    vars(events).update(AnyEvent=known, EVENT=TypeAdapter(Annotated[known, Tagged], config=config))

    from palimpsest.contracts import wire
    from palimpsest.streams.core import evolve as folding

    wire.VERSION = VERSION
    fold = folding.evolve

    def evolve(ledger: Any, event: Any) -> Any:
        if not isinstance(event, Foreseen):
            return fold(ledger, event)
        head = {name: getattr(event, name) for name in ("id", "subject", "time", "partitionkey")}
        return fold(ledger, events.Unchanged(**head, data=UnchangedData(request="foresee")))

    vars(folding)["evolve"] = evolve

    from palimpsest.streams.core import decide as deciding

    decided = deciding.decide

    def decide(command: Any, ledger: Any, policy: Any, now: datetime) -> Any:
        made = decided(command, ledger, policy, now)
        if not made or getattr(command, "because", None) != FORESEE:
            return made
        about = next(iter(ledger.entries))
        foreseen = Foreseen(
            id=event_id(command.command_id, FORESEE),
            subject=about,
            time=ledger.at(now),
            partitionkey=ledger.owner_id,
            data=OnCandidateData(candidate_id=about),
        )
        return [*made, foreseen]

    vars(deciding)["decide"] = decide


if __name__ == "__main__":
    become_newer()
    from tests.cluster import child
    from tests.reliability.child import main

    child.load()
    main(child.live)
