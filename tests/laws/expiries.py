"""The laws of expiry as checks, and an oracle that reads a log's lines alone."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from palimpsest.contracts.events import Decided
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.wire import encode
from tests.laws.histories import ASKING, Act, Playback, Renew, Say, play
from tests.laws.oracle import Oracle
from tests.laws.world import World, fold
from tests.projections.oracle import verbatim

LONG = 100_000
"""Seconds that no story lasts."""


VERBATIM = ASKING.model_copy(update={"exact": "verbatim"})
PINNED_AGAIN: list[Act] = [
    *(Say(0, ttl=2), Say(11), Say(11, "!"), Say(0, ttl=2), Say(11, "?"), Say(10)),
    *(Renew(which=0), Say(0)),
]
"""A text expires, is said again and expires again; the first is pinned, and is said once more."""


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


@dataclass
class Expiries:
    """When each candidate expires, by a log's lines; `now` is the time of the last one."""

    ends: dict[str, datetime | None] = field(default_factory=dict)
    now: datetime | None = None

    def take(self, event: dict[str, Any]) -> None:
        """Take the next event in."""
        data, kind = event["data"], event["type"].split(".")[1]
        at = _time(event["time"])
        self.now = at if self.now is None or (at is not None and at > self.now) else self.now
        if kind == "decided":
            self.ends[event["subject"]] = _time(data.get("expires_at"))
        if kind == "expiry_set":
            self.ends[data["candidate_id"]] = _time(data.get("expires_at"))

    def expired(self, candidate_id: str, at: datetime | None) -> bool:
        """Whether a candidate has expired at a moment."""
        ends = self.ends.get(candidate_id)
        return ends is not None and at is not None and ends <= at


def _lines(log: Iterable[Any]) -> list[dict[str, Any]]:
    return [json.loads(encode(event)) for event in log]


def decisions_see_nobody_expired(policy: Policy, story: list[Act]) -> None:
    """At the moment of its event, nothing that a newcomer is compared with or joins has expired.

    A face speaks for its memory, so under `search: memories` it is the memory that has not; so does
    a composed text, which is repeated. A repeat may join somebody who is retracted.
    """
    expiries, told = Expiries(), Oracle()
    for event in _lines(play(policy, story).world.log):
        data, at = event["data"], _time(event["time"])
        if event["type"] == "palimpsest.decided.v1" and data.get("rank") is None:
            looked_at = {n["candidate_id"] for n in data["evidence"].get("neighbours", [])}
            if data.get("join"):
                looked_at.add(data["join"]["to"])
            homes = told.memories(event["partitionkey"])
            repeats = (data.get("join") or {}).get("face") == "repeat"
            for one in looked_at:
                home = next(members for members in homes if one in members) & told.living
                whole = policy.search == "memories" or repeats
                seen = home | {one} if whole else {one}
                assert not all(expiries.expired(other, at) for other in seen), (one, seen)
        expiries.take(event)
        told.take(event["type"].split(".")[1], event, data)


def one_current_memory_per_text(policy: Policy, story: list[Act]) -> None:
    """At every moment, one memory of a scope says a text by a candidate that has not expired.

    Or by the composed face of a memory of which anybody has not.
    """
    told, expiries, oracle, read = Playback(World(policy)), Expiries(), Oracle(), 0
    for act in story:
        told.follow(act)
        for event in _lines(told.world.log[read:]):
            expiries.take(event)
            oracle.take(event["type"].split(".")[1], event, event["data"])
        read = len(told.world.log)
        at = expiries.now
        homes: dict[tuple[Any, str], set[frozenset[str]]] = defaultdict(set)
        faces = {
            member.id: memory.face.text
            for memory in told.world.ledger.memories()
            if memory.face.composition is not None
            for member in memory.members
        }
        for members in oracle.memories("ada"):
            current = {one for one in members & oracle.living if not expiries.expired(one, at)}
            texts = {oracle.texts[one] for one in current}
            if current:
                texts |= {faces[one] for one in members if one in faces}
            for text in texts:
                homes[oracle.scopes[min(members)], verbatim(text)].add(members)
        assert all(len(memories) == 1 for memories in homes.values())


def hidden_with_the_last_one(policy: Policy, story: list[Act]) -> None:
    """A memory expires when its last living member does, after whatever joined or parted it."""
    told, expiries, oracle, read = Playback(World(policy)), Expiries(), Oracle(), 0
    for act in story:
        told.follow(act)
        for event in _lines(told.world.log[read:]):
            expiries.take(event)
            oracle.take(event["type"].split(".")[1], event, event["data"])
        read = len(told.world.log)
        entries = fold("ada", told.world.log).entries
        for members in oracle.memories("ada"):
            ends = [expiries.ends[one] for one in members & oracle.living]
            known = [one for one in ends if one is not None]
            last = max(known) if known and len(known) == len(ends) else None
            assert entries[min(members)].memory.expires_at == last
        at = expiries.now
        if at is not None:
            expired = {one for one in entries if expiries.expired(one, at)}
            assert {one for one, entry in entries.items() if entry.expired} == expired


def long_lived_is_for_ever(policy: Policy, story: list[Act]) -> None:
    """Candidates that outlive the story are decided on as if they never expired."""
    plain = [act for act in story if not isinstance(act, Renew)]
    logs = [
        play(policy, [replace(a, ttl=ttl) if isinstance(a, Say) else a for a in plain]).world.log
        for ttl in (None, LONG)
    ]
    told = [
        [
            (e.id, e.type, getattr(e.data, "decision", None), getattr(e.data, "join", None))
            for e in log
        ]
        for log in logs
    ]
    assert told[0] == told[1]
    assert all(e.data.expires_at is None for e in logs[0] if isinstance(e, Decided))
