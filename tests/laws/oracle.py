"""What a log says, read from its lines alone: an oracle that shares no code with the product."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from typing import Any

Scope = tuple[str, str]


@dataclass
class Oracle:
    """Candidates with their scopes and texts, who is living, and the joins that stand."""

    scopes: dict[str, Scope] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    living: set[str] = field(default_factory=set)
    joins: dict[str, tuple[str, str]] = field(default_factory=dict)
    standing: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, lines: Iterable[bytes]) -> Oracle:
        """The oracle of a log's lines."""
        oracle = cls()
        for line in lines:
            event = json.loads(line)
            oracle.take(event["type"].split(".")[1], event, event["data"])
        return oracle

    def take(self, kind: str, event: dict[str, Any], data: dict[str, Any]) -> None:
        """Take the next event in."""
        if kind == "decided":
            about = event["subject"]
            self.scopes[about] = event["partitionkey"], data["candidate"]["namespace"]
            self.texts[about] = data["content"]["text"]
            if data.get("withheld") is None:
                self.living.add(about)
        if data.get("join") is not None:
            about = data.get("candidate_id") or event["subject"]
            self.joins[event["id"]] = about, data["join"]["to"]
            self.standing.add(event["id"])
        if kind == "reversed":
            self.standing.discard(data["decision_id"])
        if kind == "reinstated":
            self.standing.add(data["decision_id"])
        if kind == "retracted":
            self.living.discard(data["candidate_id"])
        if kind == "restored":
            self.living.add(data["candidate_id"])

    def memories(self, owner_id: str) -> set[frozenset[str]]:
        """The memories of an owner: what standing joins connect."""
        home = {one: {one} for one, (owner, _) in self.scopes.items() if owner == owner_id}
        for one in self.standing & self.joins.keys():
            a, b = self.joins[one]
            if a in home and home[a] is not home[b]:
                home[a] |= home[b]
                for other in home[b]:
                    home[other] = home[a]
        return {frozenset(members) for members in home.values()}

    def faults(self, owner_id: str, faces: dict[str, str], expired: Set[str]) -> list[str]:
        """What is wrong with an owner's memories, of whose candidates some have expired.

        `faces` are the texts that memories say by composition, by any member's id.
        """
        found = [
            f"the join {one} leaves its scope"
            for one, (a, b) in self.joins.items()
            if self.scopes[a] != self.scopes[b]
        ]
        homes: dict[tuple[Scope, str], set[frozenset[str]]] = defaultdict(set)
        for members in self.memories(owner_id):
            alive = members & self.living - expired
            said = {self.texts[one] for one in alive}
            if alive:
                said |= {faces[member] for member in members if member in faces}
            for text in said:
                homes[self.scopes[min(members)], text].add(members)
        found += [
            f"{len(several)} memories of {owner_id} say one text"
            for several in homes.values()
            if len(several) > 1
        ]
        return found
