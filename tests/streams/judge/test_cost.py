"""What a call cost is divided among its pairs, and nothing of it is lost or made."""

from __future__ import annotations

import pytest

from palimpsest.streams.judge.models import NOTHING, Cost


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("tokens", [0, 1, 6, 7, 20])
def test_the_parts_are_the_whole(count: int, tokens: int) -> None:
    whole = Cost(tokens, 2 * tokens, usd=0.5, seconds=3.0, calls=1.0)
    parts = whole.parts(count)
    assert len(parts) == count
    together = sum(parts, NOTHING)
    assert (together.input_tokens, together.output_tokens) == (tokens, 2 * tokens)
    assert together.usd == pytest.approx(0.5)
    assert (together.seconds, together.calls) == pytest.approx((3.0, 1.0))
    shares = [part.input_tokens for part in parts]
    assert max(shares) - min(shares) <= 1
    assert shares == sorted(shares, reverse=True)


def test_of_one_price_that_is_not_known_no_sum_is() -> None:
    unknown = Cost(1, 1, usd=None)
    assert (unknown + NOTHING).usd is None
    assert [part.usd for part in unknown.parts(2)] == [None, None]
