"""One owner of a runtime that tests share: what is said, and the memories that there are."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

import orjson

from palimpsest.contracts.answers import MemoryPicture
from palimpsest.contracts.events import AnyEvent
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requests import AnyRequest, PolicyRequest, SettleRequest, UnmergeRequest
from palimpsest.contracts.wire import decode
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.core.picture import picture
from palimpsest.streams.policies import load_policy
from tests.conformance.runtime import Runtime

IN_FORCE: WeakKeyDictionary[Runtime, str] = WeakKeyDictionary()
"""The policy of each running runtime: setting one takes a cluster seconds."""


class Owner:
    """Says texts in a runtime and asks for what became of them; `policy` is put in force."""

    def __init__(self, runtime: Runtime, name: str, policy: str | Policy) -> None:
        self.runtime = runtime
        self.name = name
        self._said = 0
        rules = load_policy(policy) if isinstance(policy, str) else policy
        if IN_FORCE.get(runtime) != rules.hash:
            self.ask(PolicyRequest(request_id=fresh(), policy=rules.model_dump(mode="json")))
            IN_FORCE[runtime] = rules.hash

    def say(self, *texts: str, **fields: Any) -> list[Mapping[str, Any]]:
        """Offer texts in order; what became of each."""
        rows = []
        for text in texts:
            self._said += 1
            row = {"owner_id": self.name, "source": "test", "id": str(self._said), "text": text}
            rows.append(orjson.dumps(row | fields))
        return self.runtime.submit(rows)

    def ask(self, request: AnyRequest) -> Mapping[str, Any]:
        """Carry out a request."""
        return self.runtime.ask(request)

    def judged(
        self,
        newer: Mapping[str, Any],
        older: Mapping[str, Any],
        answer: Any,
        text: str | None = None,
    ) -> Mapping[str, Any]:
        """Bring the judge's verdict on a pending candidate, as the verifier does."""
        verdict = Verdict(neighbour_id=older["candidate_id"], answer=answer)
        request = SettleRequest(
            request_id=fresh(),
            candidate_id=newer["candidate_id"],
            verdicts=(verdict,),
            composed=text,
        )
        return self.ask(request)

    def unmerge(self, decision_id: str, *, dry_run: bool = False, **more: Any) -> Mapping[str, Any]:
        """Take a join out, or see what would be."""
        request = UnmergeRequest(
            request_id=fresh(), decision_id=decision_id, dry_run=dry_run, **more
        )
        return self.runtime.dry_run(request) if dry_run else self.ask(request)

    def events(self) -> list[AnyEvent]:
        """The owner's log."""
        found = (decode(line) for line in self.runtime.log())
        return [event for event in found if event.owner_id == self.name]

    def memories(self) -> list[MemoryPicture]:
        """The owner's memories, by folding the log."""
        ledger = Ledger(self.name)
        for event in self.events():
            evolve(ledger, event)
        return [picture(memory) for memory in ledger.memories()]

    def faces(self) -> list[str]:
        """The texts that speak, in the order of the memories' earliest members."""
        return [memory["face"] for memory in self.memories()]


def fresh() -> str:
    """The id of an invocation."""
    return str(uuid4())


def session_ended(owner_id: str, session_id: str) -> bytes:
    """What a producer sends when a session ends."""
    data = {"owner_id": owner_id, "session_id": session_id}
    event = {"specversion": "1.0", "type": "palimpsest.session_ended.v1", "source": "test"}
    return orjson.dumps(event | {"id": fresh(), "data": data})


def accessed(owner_id: str, uses: Mapping[str, tuple[int, datetime]]) -> bytes:
    """What is published of memories that were recalled: how often each, and when last."""
    told = [
        {"candidate_id": one, "count": count, "at": at.isoformat()}
        for one, (count, at) in uses.items()
    ]
    data = {"owner_id": owner_id, "candidate_id": next(iter(uses)), "uses": told}
    event = {"specversion": "1.0", "type": "palimpsest.accessed.v1", "source": "test"}
    return orjson.dumps(event | {"id": fresh(), "data": data})
