"""Answers to requests as records, and what several partitions' answers say together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from palimpsest.contracts.answers import Answer, Done, Failed, JsonObject, Refused, SoFar
from palimpsest.streams.cluster.records import Outgoing
from palimpsest.streams.cluster.topics import LARGEST

MOST_BYTES = LARGEST - 64 * 1024
"""Of an answer; the rest of what a record may have is for its key and its frame."""
SO_FAR = "/so-far"
"""Behind the request's id in the key of a record that says how far a long request is."""


def answer_record(topic: str, request_id: str, answer: Answer | SoFar) -> Outgoing:
    """What became of a request, or how far it is.

    Of what it did the longest lists are cut until a record can hold it, their ends are kept, and
    `left_out` says how many entries of each are missing.
    """
    body = orjson.dumps(answer.to_json())
    while (
        len(body) > MOST_BYTES and isinstance(answer, Done) and (shorter := _shorter(answer.result))
    ):
        answer = Done(shorter)
        body = orjson.dumps(answer.to_json())
    key = f"{request_id}{SO_FAR}" if isinstance(answer, SoFar) else request_id
    return Outgoing(topic, body, key.encode())


def _shorter(done: JsonObject) -> JsonObject | None:
    """The first half of what takes most room cut off; None where there is no list to cut."""
    lists = [name for name, value in done.items() if isinstance(value, list) and value]
    if not lists:
        return None
    longest = max(lists, key=lambda name: len(orjson.dumps(done[name])))
    cut = (len(done[longest]) + 1) // 2
    left_out = dict(done.get("left_out", {}))
    left_out[longest] = left_out.get(longest, 0) + cut
    return {**done, longest: done[longest][cut:], "left_out": left_out}


def merged(answers: Sequence[Answer]) -> Answer:
    """What the partitions did, together; a refusal only where none did anything.

    A bug that one of them met is told whatever the others did. Of several refusals the one that is
    not about an unknown id says most.
    """
    for answer in answers:
        if isinstance(answer, Failed):
            return answer
    done = [answer.result for answer in answers if isinstance(answer, Done)]
    if done:
        return Done(_together(done))
    return next((answer for answer in answers if not _is_unknown(answer)), answers[0])


def _is_unknown(answer: Answer) -> bool:
    return isinstance(answer, Refused) and (
        answer.reason.startswith("unknown_") or answer.reason == "wrong_partition"
    )


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
