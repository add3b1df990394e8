"""Many threads use one store with one model: their calls take turns, and no call is lost."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from palimpsest import Palimpsest
from palimpsest.backends.embedded import EmbeddedWriter
from palimpsest.streams.embedded.inbox import Inbox
from palimpsest.streams.write.inputs import Input, Outcome

THREADS = 60


def test_sixty_threads_submit_recall_and_show_at_once(memories: Palimpsest) -> None:
    begin = Barrier(THREADS)

    def use(number: int) -> tuple[str, list[str], str]:
        begin.wait()
        text = f"note {number} of thread {number}"
        [outcome] = memories.submit({"owner_id": f"owner {number % 7}", "text": text})
        assert outcome.candidate_id
        found = memories.recall(f"owner {number % 7}", text, k=60)
        shown = memories.show(outcome.candidate_id)
        return text, [one["face"] for one in found], shown["owner_id"]

    with ThreadPoolExecutor(THREADS) as threads:
        done = list(threads.map(use, range(THREADS)))
    assert [owner for _, _, owner in done] == [f"owner {n % 7}" for n in range(THREADS)]
    assert all(text in faces for text, faces, _ in done)
    assert memories.status()["candidates"] == THREADS
    assert memories.verify()["differences"] == 0


def test_add_takes_its_turn_to_store(memories: Palimpsest, monkeypatch: pytest.MonkeyPatch) -> None:
    submit, seen = EmbeddedWriter.submit, []

    def is_free() -> bool:
        taken = memories.turn.lock.acquire(blocking=False)
        if taken:
            memories.turn.lock.release()
        return taken

    def submitted(writer: EmbeddedWriter, inputs: Sequence[Input]) -> list[Outcome]:
        with ThreadPoolExecutor(1) as other:
            seen.append(other.submit(is_free).result())
        return submit(writer, inputs)

    monkeypatch.setattr(EmbeddedWriter, "submit", submitted)
    memories.add("Ada has a dog", "ada", infer=False)
    assert seen == [False]


def test_what_came_to_the_inbox_during_a_call_is_answered_before_it_ends(
    memories: Palimpsest,
) -> None:
    writer = memories.writer
    assert isinstance(writer, EmbeddedWriter)
    inbox = Inbox(writer.reader.log)
    with writer.reader.upkeep.writing():
        item = inbox.put("request", "cli", b"no request")
    assert inbox.take_answers([item]).get(item) is not None
