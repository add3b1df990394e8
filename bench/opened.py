"""Stores as their users open them, in temporary folders, and the times of single calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bench.scratch import scratch_folder
from palimpsest import Palimpsest
from palimpsest.backends.embedded import EmbeddedWriter
from palimpsest.backends.reader import Reader
from palimpsest.contracts.policy import Policy
from palimpsest.streams.embedder import Embedder, Engine
from palimpsest.streams.log.log import Log
from palimpsest.streams.policies import load_policy

OWNER = "owner"


@contextmanager
def scratch_palimpsest(**options: Any) -> Iterator[Palimpsest]:
    """A store that is removed afterwards."""
    with scratch_folder() as folder, Palimpsest.open(folder, **options) as store:
        yield store


def writer_with(
    engine: Engine, log: Log, policy: Policy | None = None, **options: Any
) -> EmbeddedWriter:
    """The writer of a store whose texts are embedded by an engine of the benchmark."""
    policy = policy or load_policy("standard")
    return EmbeddedWriter(Reader(log.path.parent, log, policy, lambda: Embedder(engine), **options))


def row(text: str) -> dict[str, str]:
    """A row of the only owner."""
    return {"owner_id": OWNER, "text": text}


def ms(call: Callable[..., object], *words: object, **named: object) -> float:
    """Milliseconds of a call."""
    begun = time.perf_counter()
    call(*words, **named)
    return (time.perf_counter() - begun) * 1e3


def busy_ms(call: Callable[..., object], *words: object) -> float:
    """Milliseconds of processor time of a call, in all threads."""
    begun = time.process_time()
    call(*words)
    return (time.process_time() - begun) * 1e3
