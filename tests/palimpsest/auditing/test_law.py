"""The law of an audit in rounds: errors are un-merged, and a fresh seed certifies the rest."""

from __future__ import annotations

import random
from collections.abc import Callable

from palimpsest.auditing.bound import ErrorBound
from palimpsest.auditing.order import sealed_order

DELTA, TARGET = 0.1, 0.02
JOINS, WRONG, RUNS = 400, 16, 200
FIRST_LOOK = 120
"""Labels of the first round, which only finds errors, to be un-merged."""
PAIRS = [f"pair {number}" for number in range(JOINS)]

Reorder = Callable[[str, str, list[str]], list[str]]


def certifies_wrongly(run: int, reorder: Reorder) -> bool:
    """Whether the second of two rounds certifies at most 2 % although more joins are wrong."""
    wrong = set(random.Random(run).sample(PAIRS, WRONG))
    first, second = f"first {run}", f"second {run}"
    looked_at = sealed_order(first, PAIRS)[:FIRST_LOOK]
    standing = [pair for pair in PAIRS if pair not in looked_at or pair not in wrong]
    left = wrong & set(standing)
    allowed = int(TARGET * len(standing))
    bound = ErrorBound(len(standing), DELTA)
    for pair in reorder(first, second, standing)[:200]:
        bound.see(wrong=pair in left)
        if bound.most <= allowed:
            return len(left) > allowed
    return False


def wrong_certificates(reorder: Reorder) -> float:
    return sum(certifies_wrongly(run, reorder) for run in range(RUNS)) / RUNS


def test_with_a_fresh_seed_a_certificate_is_wrong_in_delta_of_the_runs_at_most() -> None:
    assert wrong_certificates(lambda _first, second, pairs: sealed_order(second, pairs)) <= DELTA


def test_the_trap_the_old_order_without_the_errors_found_certifies_nearly_always() -> None:
    """The pairs looked at before are clean now and come first again, which proves nothing."""
    assert wrong_certificates(lambda first, _second, pairs: sealed_order(first, pairs)) > 0.8


def test_the_order_is_of_the_seed_alone() -> None:
    order = sealed_order("dice 4 2 6", PAIRS)
    assert order == sealed_order("dice 4 2 6", reversed(PAIRS))
    assert sorted(order) == sorted(PAIRS)
    assert order != sealed_order("dice 4 2 5", PAIRS)
    fewer = sealed_order("dice 4 2 6", PAIRS[::2])
    assert fewer == [pair for pair in order if pair in set(PAIRS[::2])]


def test_the_order_of_a_seed_is_for_ever() -> None:
    """Anybody can compute it again: `printf '%s\\n%s' 7 a | sha256sum`."""
    assert sealed_order("7", ["a", "b", "c", "d"]) == ORDER_OF_SEVEN


ORDER_OF_SEVEN = ["c", "d", "b", "a"]
