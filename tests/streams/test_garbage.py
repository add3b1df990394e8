"""The collector rests while millions of objects are made, and does not walk them right after."""

from __future__ import annotations

import gc

from palimpsest.streams.garbage import PYTHON_FREEZES, collector_at_rest


def _is_old(one: object) -> bool:
    return any(known is one for known in gc.get_objects(generation=2))


def test_what_was_made_meanwhile_is_old_afterwards() -> None:
    assert gc.isenabled()
    with collector_at_rest():
        assert not gc.isenabled()
        made: list[object] = [[]]
        assert not _is_old(made)
    assert gc.isenabled()
    assert _is_old(made)


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with collector_at_rest():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_the_program_froze_stays_frozen() -> None:
    gc.freeze()
    try:
        with collector_at_rest():
            made: list[object] = [[]]
        assert gc.get_freeze_count() > PYTHON_FREEZES
        assert not _is_old(made)
    finally:
        gc.unfreeze()
