"""One broker for all test processes: it ends when the last of them has.

`python -m tests.cluster.shared_broker DIR` runs it. Those who use it hold a lock, which they lose
however they end; it waits for the lock of all.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infra.broker import BrokerError
from infra.distribution import NotAvailableError, locked
from tests.cluster.secured import broker_with_listeners

ADDRESS = "address.json"
USERS = "users"


@contextmanager
def shared_broker(folder: Path) -> Iterator[dict[str, str]]:
    """Where the broker of a folder listens (secured.py); started where none runs.

    NotAvailableError if there is no Java; BrokerError if it does not start.
    """
    with (folder / USERS).open("a") as users:
        with locked(folder):
            fcntl.flock(users, fcntl.LOCK_SH)
            if not (folder / ADDRESS).exists():
                _start(folder)
        told = json.loads((folder / ADDRESS).read_text())
        if "missing" in told:
            raise NotAvailableError(told["missing"])
        yield told


def _start(folder: Path) -> None:
    with (folder / "said").open("ab") as said:
        command = [sys.executable, "-m", __name__, str(folder)]
        subprocess.run(
            command, cwd=Path(__file__).parents[2], stdout=said, stderr=said, check=False
        )
    if not (folder / ADDRESS).exists():
        raise BrokerError(f"no broker came up: see {folder / 'said'}")


def _serve(folder: Path) -> None:
    """Run the broker until nobody uses it any more; whoever asked for it knows it at once."""
    if serving := os.fork():
        while not (folder / ADDRESS).exists() and os.waitpid(serving, os.WNOHANG) == (0, 0):
            time.sleep(0.02)
        return
    os.setsid()
    broker, told = broker_with_listeners(folder / "broker")
    try:
        broker.start()
        _publish_address(folder, told)
    except NotAvailableError as error:
        _publish_address(folder, {"missing": str(error)})
        return
    with (folder / USERS).open("a") as users:
        fcntl.flock(users, fcntl.LOCK_EX)
        (folder / ADDRESS).unlink()
        broker.stop()


def _publish_address(folder: Path, what: dict[str, str]) -> None:
    """Whole, or not at all."""
    beside = folder / f"{ADDRESS}.new"
    beside.write_text(json.dumps(what))
    beside.rename(folder / ADDRESS)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
