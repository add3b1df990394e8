"""Answers to requests as records, and what several partitions' answers say together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from palimpsest.streams.cluster.records import Outgoing
from palimpsest.streams.cluster.topics import LARGEST
from palimpsest.streams.write.desk import Answer

MOST_BYTES = LARGEST - 64 * 1024
"""Of an answer; the rest of what a record may have is for its key and its frame."""
SO_FAR = "/so-far"
"""Behind the request's id in the key of a record that says how far a long request is."""


def answer_record(topic: str, request_id: str, answer: Answer) -> Outgoing:
    """What became of a request, or how far it is: `so_far` commands of it were run.

    Of what it did the longest lists are cut until a record can hold it, their ends are kept, and
    `left_out` says how many entries of each are missing.
    """
    body = orjson.dumps(answer)
    while len(body) > MOST_BYTES and (shorter := _shorter(answer.get("done", {}))):
        answer = {"done": shorter}
        body = orjson.dumps(answer)
    key = f"{request_id}{SO_FAR}" if "so_far" in answer else request_id
    return Outgoing(topic, body, key.encode())


def _shorter(done: Answer) -> Answer | None:
    """The first half of what takes most room cut off; None where there is no list to cut."""
    lists = [name for name, value in done.items() if isinstance(value, list) and value]
    if not lists:
        return None
    longest = max(lists, key=lambda name: len(orjson.dumps(done[name])))
    cut = (len(done[longest]) + 1) // 2
    left_out = dict(done.get("left_out", {}))
    left_out[longest] = left_out.get(longest, 0) + cut
    return {**done, longest: done[longest][cut:], "left_out": left_out}


def merged(answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the partitions did, together; a refusal only where none did anything.

    A bug that one of them met is told whatever the others did. Of several refusals the one that is
    not about an unknown id says most.
    """
    failed = next((answer for answer in answers if "failed" in answer), None)
    if failed is not None:
        return dict(failed)
    done = [answer["done"] for answer in answers if "done" in answer]
    if done:
        return {"done": _together(done)}
    telling = [a for a in answers if not _is_unknown(a)] or answers
    return dict(telling[0])


def _is_unknown(answer: Mapping[str, Any]) -> bool:
    reason: str = answer.get("refused", {}).get("reason", "")
    return reason.startswith("unknown_") or reason == "wrong_partition"


def _together(done: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Lists one after the other, numbers added, also within `left_out`; all else is the same."""
    total = dict(done[0])
    for one in done[1:]:
        for name, value in one.items():
            if isinstance(value, dict):
                total[name] = _together([total.get(name, {}), value])
            elif isinstance(value, list | int) and not isinstance(value, bool):
                total[name] = total.get(name, type(value)()) + value
    return total
