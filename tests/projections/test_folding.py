"""A fold lets go of each owner before the next."""

from __future__ import annotations

import gc

import pytest

from palimpsest.projections import fold as folding
from tests.projections.histories import History


@pytest.mark.usefixtures("set_aside")
def test_a_dissolved_ledger_leaves_the_collector_nothing() -> None:
    log = History(3).steps(120).log
    while gc.collect():
        pass  # since Python 3.12 some of it goes in a second pass
    gc.disable()
    try:
        for owner in log.owners():
            assert folding.owner_rows(log, owner, 0, log.head()) is not None
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        kinds = {type(one) for one in gc.garbage}  # threads of other tests may leave theirs
        assert not {kind for kind in kinds if kind.__module__.startswith("palimpsest.")}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def test_the_collector_rests_while_batches_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "ROWS_AT_ONCE", 10)
    log = History(4).steps(40).log
    on = [gc.isenabled() for _ in folding.folded(log, 0, log.head())]
    assert len(on) > 2
    assert not any(on[:-1])
    assert gc.isenabled()
