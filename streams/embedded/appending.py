"""Commits in the embedded runtime, all in one transaction of the store's file."""

from __future__ import annotations

import orjson

from palimpsest.streams.embedded.inbox import Inbox
from palimpsest.streams.log.dead_letters import DeadLetters
from palimpsest.streams.log.log import Log
from palimpsest.streams.write.commit import Commit


def append(log: Log, commit: Commit) -> list[int]:
    """Append a commit's events, questions, dead letters and answers; returns the positions.

    Uses that came too soon wait in the inbox. When this returns, all of it is on the disk; if it
    raises, none of it is.
    """
    inbox, dead_letters = Inbox(log), DeadLetters(log)
    with log.transaction():
        positions = log.append([event for event, _ in commit.events])
        for position, (event, touched) in zip(positions, commit.events, strict=True):
            log.follow_touched(event.owner_id, touched, position)
        for letter in commit.dead_letters:
            dead_letters.add(letter)
        inbox.keep_uses(commit.uses)
        for reply in commit.answers:
            assert isinstance(reply.address, int)
            inbox.answer(reply.address, orjson.dumps(reply.to_json()))
    return positions
