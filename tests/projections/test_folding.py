"""A fold lets go of each owner before the next."""

from __future__ import annotations

import gc

from projections.folding import folded, owner_rows
from tests.projections.histories import History


def test_a_dissolved_ledger_leaves_the_collector_nothing() -> None:
    log = History(3).steps(120).log
    gc.collect()
    gc.disable()
    try:
        for owner in log.owners():
            assert owner_rows(log, owner, 0, log.head()) is not None
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_the_collector_runs_again_after_a_fold() -> None:
    log = History(4).steps(20).log
    for _ in folded(log, 0, log.head()):
        assert not gc.isenabled()
    assert gc.isenabled()
