"""A judge of your own: settles pending candidates with anything that can compare two texts.

Run `python examples/own_judge.py`. `judge` only compares numbers; put a person or a language model
in its place. It is asked about each pair, the best first, until an answer is not *different*.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any
from uuid import uuid4

from palimpsest import Palimpsest, SettleRequest, Verdict
from palimpsest.contracts.evidence import Answer

TEXTS = (
    "Ada owns 2 cats.",
    "Ada owns 3 cats.",
    "The meeting with Grace is on Monday at noon.",
    "The meeting with Grace is at noon on a Monday.",
)
WAITING = """
SELECT candidate_id, new_text, existing_id, existing_text FROM review_queue
WHERE waits_as = 'pending' ORDER BY candidate_id, similarity DESC
"""


def judge(new: str, existing: str) -> Answer:
    """A different number is an update; any other difference is only another wording."""
    return "same" if re.findall(r"\d+", new) == re.findall(r"\d+", existing) else "update"


def verdicts(pairs: list[dict[str, Any]]) -> Iterator[Verdict]:
    """The answers about one candidate, up to the first that settles it."""
    for pair in pairs:
        answer = judge(pair["new_text"], pair["existing_text"])
        yield Verdict(neighbour_id=pair["existing_id"], answer=answer, model="numbers")
        if answer != "different":
            return


def main() -> None:
    """Offer some texts, and settle the pending ones."""
    with Palimpsest.open("judged-store") as memories:
        for outcome in memories.submit([{"owner_id": "ada", "text": text} for text in TEXTS]):
            print(f"{outcome.decision}")
        waiting = memories.sql(WAITING)
        requests = [
            SettleRequest(
                request_id=str(uuid4()), candidate_id=candidate, verdicts=tuple(verdicts([*pairs]))
            )
            for candidate, pairs in groupby(waiting, key=itemgetter("candidate_id"))
        ]
        memories.settle(requests)
        for memory in memories.sql("SELECT face, members FROM memories ORDER BY created_at"):
            print(f"{memory['members']} members: {memory['face']}")


if __name__ == "__main__":
    main()
