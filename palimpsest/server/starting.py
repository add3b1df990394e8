"""Finding the server of a store by its file, or starting it under a lock."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from palimpsest.contracts.errors import TransientError
from palimpsest.server.endpoint import STARTING_LOCK, Endpoint, read_endpoint
from palimpsest.streams.embedded.lock import WriterLock

PROGRAM = (sys.executable, "-m", "palimpsest")
IDLE_SECONDS = 900
"""A server that was started for an agent ends after so long without a request."""
PATIENCE_SECONDS = 120.0
"""For a server to be ready: the first time a model may have to be fetched."""
LOOK_SECONDS = 0.05
LOG_FILE = "serve.log"
_started: list[subprocess.Popen[bytes]] = []
"""Servers outlive who started them; one that is forgotten while it runs would be a leak."""


def find_or_start(folder: Path, options: Sequence[str] = ()) -> Endpoint:
    """Where a store's server is, ready; started with the command's `options` if there is none.

    TransientError where it does not start; its log is in the store's folder.
    """
    found = ready_server(folder)
    if found is not None:
        return found
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock, until = WriterLock(folder, STARTING_LOCK), time.monotonic() + PATIENCE_SECONDS
    while not lock.try_acquire():
        found = ready_server(folder)
        if found is not None:
            return found
        _require_time(until, folder)
        time.sleep(LOOK_SECONDS)
    try:
        return ready_server(folder) or _start(folder, options, until)
    finally:
        lock.release()


def ready_server(folder: Path) -> Endpoint | None:
    """Where the server is, if it is ready."""
    found = read_endpoint(folder)
    return found if found is not None and _is_ready(found) else None


def connect(endpoint: Endpoint, seconds: float) -> http.client.HTTPConnection:
    """A connection to a server, each wait of which is bounded."""
    at = urlsplit(endpoint.url)
    assert at.hostname, "a server's URL has a host"
    return http.client.HTTPConnection(at.hostname, at.port, timeout=seconds)


def _is_ready(endpoint: Endpoint) -> bool:
    connection = connect(endpoint, 2.0)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _start(folder: Path, options: Sequence[str], until: float) -> Endpoint:
    command = [*PROGRAM, "--store", str(folder), *options]
    command += ["serve", "--port", "0", "--idle", str(IDLE_SECONDS)]
    log = os.open(folder / LOG_FILE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
        )
    finally:
        os.close(log)
    _started.append(process)
    while True:
        found = ready_server(folder)
        if found is not None:
            return found
        if process.poll() is not None:
            raise _not_started(folder)
        _require_time(until, folder)
        time.sleep(LOOK_SECONDS)


def _require_time(until: float, folder: Path) -> None:
    if time.monotonic() > until:
        raise _not_started(folder)


def _not_started(folder: Path) -> TransientError:
    """With the error that the server ended with, if it said one: no error has a memory's text."""
    log = folder / LOG_FILE
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    why = f"{errors[-1]} ({log})" if errors else f"{log} says why"
    return TransientError(f"the server does not start: {why}")
