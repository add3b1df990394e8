"""A server's heaviest requests: others go on meanwhile, and the work grows as the request does."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from palimpsest.client.shim import connect
from palimpsest.server.endpoint import Endpoint
from tests.reliability.processes import Child, Forge
from tests.reliability.test_server_kills import ask, serving

LONGEST_ERROR = 4 * 1024
"""Bytes: what is wrong is said once, not of each item."""
SOME_SECONDS = 0.5
"""Processor time that a server may take for anything else."""
MEMORIES = "/v1/owners/{}/memories"


def find(size: int) -> tuple[str, Any]:
    """Words of which a scanner that looks ahead at each would read the rest again."""
    return f"{MEMORIES.format('ada')}/find", {"query": "x.y." * (4 * 1024 * size)}


def filters(size: int) -> tuple[str, Any]:
    """mem0's filters, with almost as many conditions as a body may have values."""
    some = [{"agent_id": str(number)} for number in range(10_000 * size)]
    return "/mem0/v3/memories/", {"filters": {"AND": [{"user_id": "ada"}, {"OR": some}]}}


def wrong_rows(size: int) -> tuple[str, Any]:
    """Half a megabyte or a whole one, and each item breaks a rule."""
    return f"{MEMORIES.format('ada')}/batch", {"memories": [{"text": 10**30}] * (10_000 * size)}


def wrong_fields(size: int) -> tuple[str, Any]:
    """An object of unknown fields."""
    return MEMORIES.format("ada"), {f"field {number}": 1 for number in range(20_000 * size)}


HEAVY = {"find": find, "filters": filters, "rows": wrong_rows, "fields": wrong_fields}


@pytest.fixture(scope="module")
def server(
    forge: Forge, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Child, Endpoint]]:
    """A server with a memory that is as long as any."""
    with serving(forge, tmp_path_factory.mktemp("served") / "store") as served:
        status, _ = ask(served[1], "POST", MEMORIES.format("ada"), {"text": "x.y." * 8 * 1024})
        assert status == 200
        yield served


def asked(endpoint: Endpoint, path: str, document: Any) -> tuple[int, bytes]:
    """The status and the bytes of an answer."""
    connection = connect(endpoint, 100.0)
    headers = {
        "authorization": f"Bearer {endpoint.agent}",
        "content-type": "application/json",
    }
    try:
        connection.request("POST", path, json.dumps(document), headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def seconds(child: Child, endpoint: Endpoint, path: str, document: Any) -> float:
    """The server's processor time for a request, the least of three times."""
    found = []
    for _ in range(3):
        before = _spent(child)
        status, answer = asked(endpoint, path, document)
        found.append(_spent(child) - before)
        assert status < 500, answer
        assert status == 200 or len(answer) <= LONGEST_ERROR
    return min(found)


def _spent(child: Child) -> float:
    fields = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(sys.platform != "linux", reason="the time of another process is read there")
@pytest.mark.parametrize("kind", HEAVY)
def test_twice_as_much_takes_no_more_than_three_times_as_long(
    server: tuple[Child, Endpoint], kind: str
) -> None:
    once, twice = (seconds(*server, *HEAVY[kind](size)) for size in (1, 2))
    assert twice <= 3 * once + SOME_SECONDS


@pytest.mark.parametrize("kind", HEAVY)
def test_another_owners_adds_go_on_meanwhile(server: tuple[Child, Endpoint], kind: str) -> None:
    _, endpoint = server
    path, document = HEAVY[kind](2)
    done, begun = threading.Event(), threading.Semaphore(0)

    def heavily() -> int:
        answered = 0
        while not done.is_set():
            begun.release()
            status, _ = asked(endpoint, path, document)
            assert status < 500
            answered += 1
        return answered

    with ThreadPoolExecutor(2) as threads:
        running = [threads.submit(heavily) for _ in range(2)]
        try:
            for number in range(6):
                begun.acquire()
                text = f"bob's note {number} beside {kind}"
                status, added = ask(endpoint, "POST", MEMORIES.format("bob"), {"text": text})
                assert (status, added["result"]) == (200, "decided")
        finally:
            done.set()
        assert all(one.result() >= 1 for one in running)
