"""The feed's law: what is built from its pages alone is what `list` shows, wherever they end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from palimpsest import Palimpsest
from palimpsest.contracts.events import AnyEvent
from palimpsest.contracts.policy import Policy
from palimpsest.queries import changes as feed
from palimpsest.streams.core.touched import Touched
from tests.laws.histories import Act, changes, expiring, play, policies, retold, stories
from tests.laws.world import BEGIN
from tests.long import elsewhere

OWNERS = ("ada", "bob")
tried = settings(
    max_examples=max(1, elsewhere() // 5),
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)


class Mirror:
    """A consumer: it knows pages as JSON, and nothing of events, joins or ledgers."""

    def __init__(self) -> None:
        self.after: Any = 0
        self.seen: list[str] = []
        self._memories: dict[tuple[str, str], dict[str, Any]] = {}

    def take(self, page: dict[str, Any]) -> bool:
        """Take a page in; whether it had anything."""
        page = json.loads(json.dumps(page))
        self.seen += [change["event_id"] for change in page["changes"]]
        for memory in page["memories"]:
            self._memories[memory["owner_id"], memory["memory_id"]] = memory
        for memory in page["gone"]:
            self._memories.pop((memory["owner_id"], memory["memory_id"]), None)
        self.after = page["next"]
        return bool(page["changes"])

    def shows(self, owner: str, now: datetime) -> dict[str, Any]:
        """The memories that are current now, by id."""
        return {
            key[1]: {name: value for name, value in memory.items() if name != "owner_id"}
            for key, memory in self._memories.items()
            if key[0] == owner
            and ("expires_at" not in memory or datetime.fromisoformat(memory["expires_at"]) > now)
        }


def listed(memories: Palimpsest, owner: str) -> dict[str, Any]:
    """What `list` shows, by id."""
    page = json.loads(json.dumps(memories.list(owner, limit=1000)))
    return {
        memory["memory_id"]: {
            name: value
            for name, value in memory.items()
            if name not in ("confidence", "importance")
        }
        for memory in page["memories"]
    }


@contextmanager
def opened() -> Iterator[Palimpsest]:
    with TemporaryDirectory() as folder, Palimpsest.open(Path(folder), engine="none") as memories:
        yield memories


def interleaved(policy: Policy, told: Sequence[list[Act]]) -> list[AnyEvent]:
    """The events of some stories, one owner each, in turns of three."""
    logs = [
        play(policy, story, owner).world.log for story, owner in zip(told, OWNERS, strict=False)
    ]
    events: list[AnyEvent] = []
    for start in range(0, max(map(len, logs)), 3):
        for log in logs:
            events += log[start : start + 3]
    return events


def the_mirror_is_the_list(policy: Policy, told: list[list[Act]], size: int, limit: int) -> None:
    """After every `size` events, mirrors of each owner and of all are compared with `list`."""
    events = interleaved(policy, told)
    with opened() as memories:
        now = BEGIN
        memories.reader.clock = lambda: now
        of_all, mirrors = Mirror(), {owner: Mirror() for owner in OWNERS}
        late = Mirror()
        for start in range(0, len(events), size):
            chunk = events[start : start + size]
            now = max(event.time for event in events[: start + size])
            with memories.reader.log.transaction():
                memories.reader.log.append(chunk)
            while of_all.take(dict(memories.changes(after=of_all.after, limit=limit))):
                pass
            for owner, mirror in mirrors.items():
                while mirror.take(dict(memories.changes(owner, after=mirror.after, limit=limit))):
                    pass
                assert mirror.shows(owner, now) == listed(memories, owner)
                assert of_all.shows(owner, now) == listed(memories, owner)
        while late.take(dict(memories.changes(after=late.after, limit=limit))):
            pass
        now += timedelta(seconds=3)
        for owner, mirror in mirrors.items():
            assert late.shows(owner, now) == mirror.shows(owner, now) == listed(memories, owner)
            assert mirror.seen == [event.id for event in events if event.owner_id == owner]
        assert of_all.seen == late.seen == [event.id for event in events]


any_story = st.one_of(stories, changes, retold, expiring)
told = st.tuples(any_story, any_story).map(list)
sizes = st.integers(2, 12)


@tried
@given(policies(), told, sizes, sizes)
def test_a_mirror_of_the_feed_is_the_list(
    policy: Policy, told: list[list[Act]], size: int, limit: int
) -> None:
    the_mirror_is_the_list(policy, told, size, limit)


def no_updates(touched: Touched) -> set[str]:
    return {*touched.memories}


def no_gone(_: feed._Replay) -> list[Any]:
    return []


def no_retractions(touched: Touched) -> set[str]:
    """Forgets those that no longer live."""
    return {one for one, memory in touched.memories.items() if memory is not None and memory.living}


def any_kept(store: feed.ChangeFeed, owner_id: str, _: int) -> feed._Replay:
    """Whichever ledger is there, also one that is ahead of the page."""
    kept = store._kept.get(owner_id)
    return kept[-1] if kept else feed._Replay(owner_id)


BREAKS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "displaced by an update elsewhere": lambda p: p.setattr(feed, "_changed", no_updates),
    "joined to another": lambda p: p.setattr(feed._Replay, "gone", no_gone),
    "forgotten": lambda p: p.setattr(feed, "_changed", no_retractions),
    "a ledger that is ahead": lambda p: p.setattr(feed.ChangeFeed, "_take_replay", any_kept),
}


SLOWEST = "displaced by an update elsewhere"  # to find takes three times as long as the law itself


@pytest.mark.parametrize(
    "broken",
    [pytest.param(one, marks=[pytest.mark.long] * (one == SLOWEST)) for one in BREAKS],
)
def test_the_law_can_fail(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    BREAKS[broken](monkeypatch)
    found = settings(
        max_examples=400,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )

    @found
    @given(policies(), told, sizes, sizes)
    def law(policy: Policy, told: list[list[Act]], size: int, limit: int) -> None:
        the_mirror_is_the_list(policy, told, size, limit)

    with pytest.raises((AssertionError, KeyError)):
        law()
