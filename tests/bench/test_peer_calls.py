"""The comparison of single calls ends if a system cannot be opened."""

from __future__ import annotations

import pytest

from bench import peer_calls


def test_a_process_that_dies_ends_the_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_calls, "SYSTEMS", ("no such system",))
    with pytest.raises((EOFError, BrokenPipeError, ConnectionResetError)):
        peer_calls.measure(["Ada rows a boat"], held=1, rounds=1)
