"""A server under load: ended by a signal it finishes what it began; killed, it loses nothing."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from palimpsest.client.shim import connect
from palimpsest.server.endpoint import Endpoint
from palimpsest.server.starting import ready_server
from tests.reliability.processes import Child, Forge, until

KILLS = int(os.environ.get("PALIMPSEST_KILLS", "3"))
SEED = int(os.environ.get("PALIMPSEST_SEED") or int.from_bytes(os.urandom(4), "big"))
CLIENTS = 4


@contextmanager
def serving(forge: Forge, store: Path) -> Iterator[tuple[Child, Endpoint]]:
    """A server, ready; it is killed where it still runs."""
    child = forge.start(store, ["serve", "--port", "0"], window=512)
    try:
        endpoint = until(lambda: child.has_ended() or _of(child, store))
        assert isinstance(endpoint, Endpoint), child.printed(0, 2)
        yield child, endpoint
    finally:
        child.kill()


def _of(child: Child, store: Path) -> Endpoint | None:
    found = ready_server(store)
    return found if found is not None and found.pid == child.pid else None


def ask(
    endpoint: Endpoint, method: str, path: str, said: Any = None, key: str | None = None
) -> tuple[int, Any]:
    """One request over a connection of its own."""
    connection = connect(endpoint, 60.0)
    headers = {
        "authorization": f"Bearer {endpoint.agent}",
        "content-type": "application/json",
        **({"idempotency-key": key} if key else {}),
    }
    try:
        connection.request(method, path, None if said is None else json.dumps(said), headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


class Load:
    """Clients that write without a pause, and ask again under the same key until they know."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._stop = threading.Event()
        self.acknowledged: dict[str, str] = {}

    def run(self, number: int) -> None:
        """Be one client, until it is told to stop."""
        for count in itertools.count():
            if self._stop.is_set():
                return
            self._write(f"c{number}-{count}", number)

    def stop(self) -> None:
        """Let each client end after its write."""
        self._stop.set()

    def _write(self, key: str, number: int) -> None:
        path = f"/v1/owners/owner{number % 2}/memories"
        text = f"client {number} writes {key} {key[::-1]}"
        while True:
            endpoint = ready_server(self._store)
            try:
                if endpoint is not None:
                    status, answer = ask(endpoint, "POST", path, {"text": text}, key)
                    if status == 200:
                        self.acknowledged[key] = answer["candidate_id"]
                        return
                    assert status in (401, 503), (status, answer)
            except (OSError, http.client.HTTPException, json.JSONDecodeError):
                pass
            if endpoint is None and self._stop.is_set():
                return  # nobody serves any more: it was not acknowledged
            time.sleep(0.01)


@pytest.mark.long
@pytest.mark.crash
@pytest.mark.timeout(3600)
def test_killed_at_random_moments_every_acknowledged_write_is_there_once(
    forge: Forge, tmp_path: Path
) -> None:
    print(f"PALIMPSEST_SEED={SEED}")
    chance, store = random.Random(SEED), tmp_path / "store"
    load = Load(store)
    with ThreadPoolExecutor(CLIENTS) as threads:
        clients = [threads.submit(load.run, number) for number in range(CLIENTS)]
        try:
            for _ in range(KILLS):
                with serving(forge, store) as (child, _endpoint):
                    before = len(load.acknowledged)
                    until(lambda before=before: len(load.acknowledged) > before)
                    time.sleep(chance.uniform(0.0, 0.5))
                    child.kill()
                    assert child.wait() == -signal.SIGKILL
            with serving(forge, store) as (child, _endpoint):
                until(lambda: len(load.acknowledged) > KILLS * CLIENTS)
                load.stop()
                for client in clients:
                    client.result()
                child.kill(signal.SIGTERM)
                assert child.wait() == 0, child.printed(0, 2)
        finally:
            load.stop()
    checked = forge.run(store, ["verify", "--json"])
    assert checked.answer()["differences"] == 0
    listed = forge.run(store, ["sql", "--json", "SELECT candidate_id, text FROM candidates"])
    found = listed.answer()
    assert len({row["text"] for row in found}) == len(found), "a write is there twice"
    missing = set(load.acknowledged.values()) - {row["candidate_id"] for row in found}
    assert missing == set()
    print(f"{KILLS} kills, {len(load.acknowledged)} acknowledged: none lost, none doubled")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=["SIGTERM", "SIGHUP"])
def test_stopped_it_answers_what_it_began_and_ends_with_0(
    forge: Forge, tmp_path: Path, number: int
) -> None:
    store = tmp_path / "store"
    with serving(forge, store) as (child, endpoint), ThreadPoolExecutor(9) as threads:
        path = "/v1/owners/ada/memories"
        ask(endpoint, "POST", path, {"text": "the first"})
        news_path = "/v1/owners/ada/decisions"
        _, page = ask(endpoint, "GET", news_path)
        newer = f"{news_path}?after={page['next']}&wait=30"
        waiting = threads.submit(ask, endpoint, "GET", newer)
        writes = [
            threads.submit(ask, endpoint, "POST", path, {"text": f"note {n} of {n}"})
            for n in range(8)
        ]
        for write in writes[:2]:
            write.result()
        child.kill(number)
        assert child.wait() == 0, child.printed(0, 2)
        status, news = waiting.result()
        assert status == 200
        assert len(news["decisions"]) <= 8
        done = [one.result()[0] for one in writes if one.exception() is None]
        assert set(done) <= {200, 503}
        assert not (store / "serve.json").exists()
    listed = forge.run(store, ["sql", "--json", "SELECT text FROM candidates"])
    assert len(listed.answer()) >= 1 + done.count(200)


def test_a_second_server_of_a_store_is_refused_and_says_where_the_first_is(
    forge: Forge, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    with serving(forge, store) as (child, endpoint):
        second = forge.run(store, ["serve", "--port", "0"])
        assert second.wait() == 1
        assert endpoint.url in second.printed(0, 2)
        assert ready_server(store) == endpoint
        child.kill(signal.SIGTERM)
        assert child.wait() == 0


def test_nobody_asks_and_it_ends(forge: Forge, tmp_path: Path) -> None:
    store = tmp_path / "store"
    ended = forge.run(store, ["serve", "--port", "0", "--idle", "1"])
    assert ended.wait() == 0
    assert not (store / "serve.json").exists()
