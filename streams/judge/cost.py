"""What answers cost, added up over calls and divided among the pairs that shared one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens, USD, seconds and calls; `usd` is None where the model's prices are not known."""

    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0
    seconds: float = 0.0
    calls: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            None if self.usd is None or other.usd is None else self.usd + other.usd,
            self.seconds + other.seconds,
            self.calls + other.calls,
        )

    def parts(self, count: int) -> list[Cost]:
        """The cost in equal parts; the first have the tokens that cannot be divided."""
        return [
            Cost(
                _part(self.input_tokens, count, number),
                _part(self.output_tokens, count, number),
                None if self.usd is None else self.usd / count,
                self.seconds / count,
                self.calls / count,
            )
            for number in range(count)
        ]


NOTHING = Cost()
"""What is known already costs nothing."""


def _part(whole: int, count: int, number: int) -> int:
    return whole // count + (number < whole % count)
