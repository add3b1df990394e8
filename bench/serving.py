"""A server compared with the facade in process: its calls, clients, start and memory.

Clients are plain connections that send what a client of HTTP or of MCP sends, so that the server's
share is measured. Like the server, they run in their own process.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import numpy as np

from bench.figure import Measured, Scale
from bench.opened import OWNER, ms, row
from bench.scratch import scratch_folder
from bench.sentences import sentences
from palimpsest import Palimpsest

CLIENTS = 32
WARM = 20
REST_SECONDS = 0.1
"""Pause after each timed call, in which its events are projected."""
HEADERS = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2025-11-25",
}

Door = Literal["HTTP", "MCP"]
What = Literal["add", "search"]


@dataclass(frozen=True)
class Running:
    """A running server: its address, its tokens, and the time until it was ready."""

    url: str
    token: str
    operator: str
    pid: int
    seconds: float


@contextmanager
def serving(folder: Path) -> Iterator[Running]:
    """Start a store's server, and yield it once it is ready."""
    command = [sys.executable, "-m", "palimpsest", "--json", "--store", str(folder)]
    begun = time.perf_counter()
    with (folder.parent / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "serve", "--port", "0"], stdout=subprocess.PIPE, stderr=log
        )
    try:
        assert process.stdout is not None
        printed = json.loads(process.stdout.readline())
        seconds = time.perf_counter() - begun
        endpoint = json.loads((folder / "serve.json").read_text())
        tokens = endpoint["agent"], endpoint["operator"]
        yield Running(printed["url"], *tokens, printed["pid"], seconds)
    finally:
        process.terminate()
        process.communicate()


class Client:
    """One connection."""

    def __init__(self, url: str, token: str, door: Door) -> None:
        at = urlsplit(url)
        assert at.hostname
        self._connection = http.client.HTTPConnection(at.hostname, at.port)
        self._headers = HEADERS | {"authorization": f"Bearer {token}"}
        self._mcp = door == "MCP"

    def add(self, text: str) -> None:
        """Add a memory."""
        self._ask("add_memory", f"/v1/owners/{OWNER}/memories", {"text": text})

    def search(self, query: str) -> None:
        """Search for memories."""
        path = f"/v1/owners/{OWNER}/memories/search"
        self._ask("search_memories", path, {"query": query})

    def _ask(self, tool: str, path: str, arguments: dict[str, Any]) -> None:
        if self._mcp:
            path = f"/mcp/{OWNER}"
            params = {"name": tool, "arguments": arguments}
            arguments = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        self._connection.request("POST", path, json.dumps(arguments), self._headers)
        response = self._connection.getresponse()
        body = response.read()
        assert response.status == 200, body
        assert b'"isError":true' not in body, body


def serve(scale: Scale) -> list[Measured]:
    """Measure all figures of a server."""
    held, rounds = scale.of(100, 10_000, 10_000), scale.of(10, 200, 500)
    texts = sentences()
    with scratch_folder() as folder:
        own, served = folder / "own", folder / "served" / "store"
        with Palimpsest.open(own, wait="visible") as store:
            store.submit([row(text) for text in islice(texts, held)], source="bench")
        shutil.copytree(own, served)
        with Palimpsest.open(own) as store, serving(served) as server:
            idle = _resident_mb(server.pid)
            found = _one_by_one(store, server, texts, rounds, held)
            found += _at_once(store, server, texts, scale.of(64, 640, 3_200))
        starts = []
        for _ in range(3):
            with serving(served) as server:
                starts.append(server.seconds)
    note = f"{held:,} memories of one owner"
    return [
        *found,
        Measured("a server from start to ready", "s", starts, 3.5, at_most=True, note=note),
        Measured("a server's resident memory, idle", "MB", [idle], 480, at_most=True, note=note),
    ]


def _one_by_one(
    store: Palimpsest, server: Running, texts: Iterator[str], rounds: int, held: int
) -> list[Measured]:
    """Milliseconds of calls in turns: in process, over HTTP, over MCP."""
    doors: tuple[Door, ...] = ("HTTP", "MCP")
    own: dict[What, Callable[[str], object]] = {
        "add": lambda text: store.submit(row(text)),
        "search": partial(store.recall, OWNER),
    }
    reach = {("add", "HTTP"): 2.0, ("add", "MCP"): 4.0, ("search", "MCP"): 4.0}
    note = f"{held:,} memories of one owner, {rounds} calls of each in turns"
    found = []
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        for what, call in own.items():
            calls: dict[str, Callable[[str], float]] = {"own": partial(ms, call)}
            for door in doors:
                calls[door] = partial(_through, process, server, door, what)
            took = _in_turns(calls, texts, rounds)
            facade = float(np.median(took["own"]))
            for door in doors:
                through = float(np.median(took[door]))
                found.append(
                    Measured(
                        f"one {what} over {door}, p50, beyond the facade's",
                        "ms",
                        [through - facade],
                        reach.get((what, door)),
                        at_most=True,
                        note=note,
                        beside={"facade, ms": facade, "door, ms": through},
                    )
                )
    return found


def _through(
    process: ProcessPoolExecutor, server: Running, door: Door, what: What, text: str
) -> float:
    """Milliseconds of a call over a door, by a client in its own process."""
    return process.submit(_timed_through, server, door, what, text).result()


def _timed_through(server: Running, door: Door, what: What, text: str) -> float:
    return ms(getattr(_connected(server, door), what), text)


@cache
def _connected(server: Running, door: Door) -> Client:
    return Client(server.url, server.token, door)


def _in_turns(
    calls: dict[str, Callable[[str], float]], texts: Iterator[str], rounds: int
) -> dict[str, list[float]]:
    """The times of calls, each begun once the events of the one before it are projected."""
    for call in calls.values():
        for text in islice(texts, WARM):
            call(text)
    took: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            time.sleep(REST_SECONDS)
            took[name].append(call(next(texts)))
    return took


def _at_once(
    store: Palimpsest, server: Running, texts: Iterator[str], count: int
) -> list[Measured]:
    """Adds per second of 32 clients, divided by those of 32 threads on the facade."""
    found = []
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        process.submit(_rate_over, server, "HTTP", [*islice(texts, CLIENTS)]).result()
        reaches: dict[Door, float] = {"HTTP": 0.75, "MCP": 0.5}
        for door, reach in reaches.items():
            ratios, beside = [], {}
            for _ in range(3):
                own = _rate(lambda _: lambda text: store.submit(row(text)), [*islice(texts, count)])
                through = process.submit(_rate_over, server, door, [*islice(texts, count)]).result()
                ratios.append(through / own)
                beside = {"facade, adds/s": own, "door, adds/s": through}
            name = f"adds/s of {CLIENTS} clients over {door}, divided by the facade's"
            note = f"{count} new texts a round, {CLIENTS} threads on the facade"
            found.append(Measured(name, "", ratios, reach, note=note, beside=beside))
    return found


def _rate_over(server: Running, door: Door, texts: Sequence[str]) -> float:
    return _rate(lambda _: Client(server.url, server.token, door).add, texts)


def _rate(made: Callable[[int], Callable[[str], object]], texts: Sequence[str]) -> float:
    """Calls per second of many callers, each with its share of the texts."""

    def call_all(number: int) -> None:
        call = made(number)
        for text in texts[number::CLIENTS]:
            call(text)

    with ThreadPoolExecutor(CLIENTS) as threads:
        begun = time.perf_counter()
        list(threads.map(call_all, range(CLIENTS)))
        return len(texts) / (time.perf_counter() - begun)


def _resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
