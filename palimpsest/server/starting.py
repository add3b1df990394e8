"""Finds the server of a store by its file, or starts it under a lock."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from palimpsest.client.shim import connect
from palimpsest.contracts.errors import TransientError
from palimpsest.server.endpoint import STARTING_LOCK, Endpoint, read_endpoint
from palimpsest.streams.embedded.lock import WriterLock

PROGRAM = (sys.executable, "-m", "palimpsest")
IDLE_SECONDS = 900
"""Seconds without a request after which a server started for an agent ends."""
PATIENCE_SECONDS = 120.0
"""Seconds to wait until a server is ready: the first start may download a model."""
LOOK_SECONDS = 0.05
LOG_FILE = "serve.log"
_started: list[subprocess.Popen[bytes]] = []
"""The servers started here, which outlive this process; kept so that Python does not warn."""


def find_or_start(folder: Path, options: Sequence[str] = ()) -> Endpoint:
    """The address of a store's ready server; starts one with `options` if there is none.

    Raises TransientError if it does not start; its log is in the store's folder.
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
    """The address of the server, if it is ready."""
    found = read_endpoint(folder)
    return found if found is not None and _is_ready(found) else None


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
    """The error; it quotes the server's last one, which never contains a memory's text."""
    log = folder / LOG_FILE
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    why = f"{errors[-1]} ({log})" if errors else f"{log} says why"
    return TransientError(f"the server does not start: {why}")
