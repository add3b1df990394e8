"""Law: a dry run on a lazy copy does what it does on a ledger that was folded for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest.contracts.errors import RefusedError, UsageError
from palimpsest.contracts.requests import AnyRequest
from palimpsest.streams.core import lazy_copy
from palimpsest.streams.core.lazy_copy import glance
from palimpsest.streams.core.ledger import Ledger, Memory, Statement
from palimpsest.streams.core.picture import picture
from palimpsest.streams.write.dry_run import DryRun
from palimpsest.streams.write.owners import Owners
from palimpsest.streams.write.serve import execute
from tests.laws.asking import LOOKS, OWNERS, Story, untimed

STEPS = 40
TRIED = 12
SAME = range(6)
KEPT_OF_MEMORY = "members last_place texted apart divided updated seen".split()
EXAMPLES = max(8, settings().max_examples // 10)


def dumped(ledger: Ledger) -> list[Any]:
    """All that a ledger says, without what is only kept to find it faster."""
    numbers: dict[int, int] = {}
    found: list[Any] = []
    left: list[Any] = [ledger]

    def named(value: Any) -> Any:
        match value:
            case str() | None | int() | float():
                return value
            case Mapping():
                return [(name, named(one)) for name, one in value.items()]
            case tuple() | Sequence():
                return [named(one) for one in value]
            case Set():
                return sorted(str(getattr(one, "id", one)) for one in value)
            case Memory() | msgspec.Struct():
                pass
            case _ if not is_dataclass(value):
                return value
            case _:
                pass
        if id(value) not in numbers:
            numbers[id(value)] = len(numbers)
            left.append(value)
        return "object", numbers[id(value)]

    while left:
        one = left.pop()
        match one:
            case Memory():
                names = (*KEPT_OF_MEMORY,)
                found.append(one.text)
            case msgspec.Struct():
                names = one.__struct_fields__
            case _:
                names = tuple(field.name for field in fields(one))
        found += [(type(one).__name__, name, named(getattr(one, name))) for name in names]
    return found


def glanced(ledger: Ledger) -> list[Any]:
    """What is seen of a ledger without copying it."""
    seen = glance(ledger.entries)
    return [(one.id, one.open, picture(one.memory)) for one in seen]


def looked(dry_run: DryRun, request: Any) -> Any:
    """What a dry run answers."""
    try:
        return untimed(execute(dry_run, request))
    except (RefusedError, UsageError) as error:
        return repr(error)


class Tried(Story):
    """A story after which requests are tried both ways; `changed` counts the changed ledgers."""

    changed = 0

    def check(self) -> None:
        for _ in range(TRIED):
            request = self.drawn(LOOKS)
            if request is not None:
                self._try(request.model_copy(update={"dry_run": True}))

    def _try(self, request: AnyRequest) -> None:
        log, writer = self.house.log, self.house.writer
        owners = Owners(log)
        before = {owner: dumped(owners.get(owner).ledger) for owner in OWNERS}
        ways = [DryRun(log, writer.policy, writer.clock, owners=kept) for kept in (owners, None)]
        one, other = (looked(way, request) for way in ways)
        assert one == other, request.request
        for owner in OWNERS:
            seen, read = (glanced(way.ledger(owner)) for way in ways)
            assert seen == read, request.request
            after, folded = (dumped(way.ledger(owner)) for way in ways)
            assert after == folded, request.request
            assert dumped(owners.get(owner).ledger) == before[owner], "a trial changes the original"
            self.changed += after != before[owner]


def tried(seed: int) -> int:
    """Compare both ways after a story; returns how many ledgers the dry runs changed."""
    with TemporaryDirectory() as folder:
        story = Tried(Path(folder), seed)
        story.play(STEPS)
        return story.changed


@settings(max_examples=EXAMPLES)
@given(seed=st.integers(min_value=1_000))
def test_a_lazy_copy_is_like_a_ledger_folded_anew(seed: int) -> None:
    tried(seed)


def test_the_requests_change_ledgers() -> None:
    assert sum(tried(seed) for seed in SAME) >= 25


def copies_only_what_is_named(patch: pytest.MonkeyPatch) -> None:
    """What an object refers to is the original's."""
    patch.setattr(lazy_copy._Copies, "_finish", lambda _copies, _made: None)


def shares_statements(patch: pytest.MonkeyPatch) -> None:
    """A statement that is withdrawn in a trial is withdrawn."""
    real = lazy_copy._Copies._begin

    def begun(copies: Any, original: Any) -> Any:
        return original if isinstance(original, Statement) else real(copies, original)

    patch.setattr(lazy_copy._Copies, "_begin", begun)


def leaves_out_what_is_new(patch: pytest.MonkeyPatch) -> None:
    """Only what the original has is gone through."""
    patch.setattr(lazy_copy._LazyDict, "_added", lambda _own: [])


@pytest.mark.parametrize(
    "broken",
    [copies_only_what_is_named, shares_statements, leaves_out_what_is_new],
)
def test_a_break_is_noticed(
    broken: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch)
    with pytest.raises((AssertionError, KeyError, AttributeError)):
        sum(map(tried, SAME))
