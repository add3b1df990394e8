"""A real Kafka broker for tests and trials, without Docker: one node that is its own controller.

`python -m infra.broker --data DIR` runs one until Ctrl-C. It needs Java 17 or newer and, the first
time, Maven. It listens only on the loopback, and has no replicas: do not rely on it.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from infra.distribution import Distribution, NotAvailableError, cache_folder, fill, locked, obtain

PORTS = range(20_000, 32_000)
"""Ports below those that the system gives to clients. Otherwise a client that looks for the broker
while it is down could get the broker's port and connect to itself, and the broker could not
return."""
STARTING_SECONDS = 60.0
STOPPING_SECONDS = 15.0
STARTED = b"Kafka Server started"
MEMORY = ("-Xms96m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={data}
auto.create.topics.enable=false

# one node
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
min.insync.replicas=1

# small and quick
offsets.topic.num.partitions=1
transaction.state.log.num.partitions=1
log.cleaner.dedupe.buffer.size=2097152
# An idle leader writes a record for its followers twice a second by default: it has none here.
metadata.max.idle.interval.ms=10000
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000

# A killed broker may come back once its registration has expired: after 11 s by default, 3 s here.
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=500
"""


class BrokerError(Exception):
    """A broker did not start; has the end of its output."""


class Broker:
    """A broker with its own folder: `data/`, `server.properties` and `broker.log`.

    As a context it runs while the block does. After `stop` or `kill`, `start` continues with the
    same data on the same port. `more_settings` override `SETTINGS`, and may use the same
    placeholders.
    """

    def __init__(
        self,
        folder: Path,
        port: int | None = None,
        distribution: Distribution | None = None,
        more_settings: str = "",
    ) -> None:
        self.folder = folder.absolute()
        self._more_settings = more_settings
        self._port = port or free_port()
        self._distribution = distribution
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        """The address for clients."""
        return f"127.0.0.1:{self._port}"

    @property
    def pid(self) -> int | None:
        """The id of the running process, if there is one."""
        return self._process.pid if self._process else None

    @property
    def log(self) -> Path:
        """The broker's output, over all of its starts."""
        return self.folder / "broker.log"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, *, options: tuple[str, ...] = ()) -> None:
        """Start it, and return when it answers; does nothing if it already runs.

        `options` are further arguments for the JVM. NotAvailableError if there is no Java;
        BrokerError if it ends, or does not answer within a minute.
        """
        if self._process is not None and self._process.poll() is None:
            return
        distribution = self._distribution or distribution_with_archive()
        settings = self._prepare(distribution.template)
        shared = (f"-XX:SharedArchiveFile={distribution.archive}", "-Xshare:auto")
        words = (*MEMORY, *(shared if distribution.archive.exists() else ()), *options)
        with self.log.open("ab") as log:
            # Its own session, so that Ctrl-C reaches only the caller, which then stops it properly.
            self._process = subprocess.Popen(
                distribution.command(*words, "kafka.Kafka", str(settings)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                start_new_session=True,
            )
            offset = log.tell()
        self._await_start(offset)

    def stop(self, patience: float = STOPPING_SECONDS) -> None:
        """End it properly, or with SIGKILL after `patience` seconds."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None

    def kill(self) -> None:
        """End it at once, with SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _prepare(self, template: Path) -> Path:
        """Write the formatted data folder and the settings; returns the settings' file."""
        data = self.folder / "data"
        self.folder.mkdir(parents=True, exist_ok=True)
        if not data.exists():
            fill(data, partial(shutil.copytree, template))
        settings = self.folder / "server.properties"
        lines = SETTINGS + self._more_settings
        settings.write_text(
            lines.format(port=self._port, controller=free_port(self._port), data=data)
        )
        return settings

    def _await_start(self, offset: int) -> None:
        assert self._process is not None
        last = time.monotonic() + STARTING_SECONDS
        while STARTED not in self._log_since(offset):
            ended = self._process.poll()
            if ended is not None or time.monotonic() > last:
                self.kill()
                what = f"did not start in {STARTING_SECONDS:g} s" if ended is None else "ended"
                lines = self._log_since(offset).decode(errors="replace").splitlines()
                wrong = [line for line in lines if " INFO " not in line] or lines
                words = "\n".join(wrong[-30:])
                raise BrokerError(f"the Kafka broker {what}; {self.log} ends with:\n{words}")
            time.sleep(0.02)

    def _log_since(self, since: int) -> bytes:
        with self.log.open("rb") as log:
            log.seek(since)
            return log.read()


def distribution_with_archive() -> Distribution:
    """The files that brokers are started from; adds what is missing to the cache."""
    cache = cache_folder()
    with locked(cache):
        distribution = obtain(cache)
        fill(distribution.archive, lambda archive: _archive(distribution, archive))
    return distribution


def _archive(distribution: Distribution, archive: Path) -> None:
    """Run a broker once: at its end the JVM records the loaded classes."""
    with TemporaryDirectory(prefix="palimpsest-kafka-") as folder:
        broker = Broker(Path(folder), distribution=distribution)
        broker.start(options=(f"-XX:ArchiveClassesAtExit={archive}",))
        broker.stop(patience=120)
    if not archive.exists():
        raise NotAvailableError("the JVM wrote no class archive at its end")


def free_port(*taken: int) -> int:
    """A free port of the loopback."""
    for port in random.sample(PORTS, 100):
        with socket.socket() as attempt, suppress(OSError):
            attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if port not in taken:
                attempt.bind(("127.0.0.1", port))
                return port
    raise BrokerError(f"no free port between {PORTS.start} and {PORTS.stop}")


def main() -> None:
    """Run a broker in the foreground until Ctrl-C or SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m infra.broker", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="kept when it ends")
    parser.add_argument("--port", type=int, metavar="P", help="default: a free one")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with Broker(options.data, options.port) as broker:
            print(broker.bootstrap, flush=True)
            signal.pause()
    except (NotAvailableError, BrokerError) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
