"""Moves costs between verdicts, so that the log counts each call once."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from palimpsest.contracts.evidence import FirstAnswer, Verdict

_COSTS = ("calls", "input_tokens", "output_tokens", "cost_usd", "seconds")


def at_no_cost(verdict: Verdict) -> Verdict:
    """The verdict on equal texts, whose cost another verdict carries."""
    first = verdict.first and structs.replace(verdict.first, **_zeros(verdict.first))
    return structs.replace(verdict, first=first, **_zeros(verdict))


def costs_of_both(one: Verdict | FirstAnswer, other: Verdict | FirstAnswer) -> dict[str, Any]:
    """The fields with the costs of two; the price is unknown if that of either's calls is."""
    costs = {name: _sum(getattr(one, name), getattr(other, name)) for name in _COSTS}
    if any(said.calls and said.cost_usd is None for said in (one, other)):
        costs["cost_usd"] = None
    return costs


def with_costs_of(verdict: Verdict, earlier: Verdict) -> Verdict:
    """The verdict, also with the cost of an earlier attempt that ended without an answer.

    That attempt may have been answered in part: by the first of two judges, or in one order.
    """
    whole = structs.replace(verdict, **costs_of_both(verdict, earlier))
    if earlier.first is None:
        return whole
    if verdict.certificate is not None:  # the first judge answers, so its costs are the verdict's
        return structs.replace(whole, **costs_of_both(whole, earlier.first))
    if verdict.first is None:
        return structs.replace(whole, first=earlier.first)
    both = structs.replace(verdict.first, **costs_of_both(verdict.first, earlier.first))
    return structs.replace(whole, first=both)


def is_paid(verdict: Verdict) -> bool:
    """Whether any call was answered for it."""
    return bool(verdict.calls or (verdict.first and verdict.first.calls))


def _zeros(said: Verdict | FirstAnswer) -> dict[str, int]:
    return {name: 0 for name in _COSTS if getattr(said, name) is not None}


def _sum(a: float | None, b: float | None) -> float | None:
    return b if a is None else a if b is None else a + b
