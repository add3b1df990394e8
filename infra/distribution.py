"""Kafka's jars, a formatted data folder and a class archive: fetched or made once, then cached.

The cache is `.kafka/` in the repository, or the folder that `PALIMPSEST_BROKER_CACHE` names.
Several processes may fill it at once: they take turns under a lock, and each part appears complete
or not at all.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
POM = Path(__file__).parent / "kafka" / "pom.xml"
LOGGING = Path(__file__).parent / "kafka" / "log4j2.properties"
OLDEST_JAVA = 17
CLUSTER_ID = "cGFsaW1wc2VzdC1rYWZrYQ"
"""Any 16 bytes in base64: these brokers know no other broker."""
FETCHING_SECONDS = 600
FORMATTING_SECONDS = 120


class NotAvailableError(Exception):
    """Something a broker needs is not on this machine, or could not be fetched; says what to do."""


@dataclass(frozen=True)
class Distribution:
    """The parts that a broker is started from: the java command and folders of the cache."""

    java: str
    lib: Path
    made: Path

    @property
    def template(self) -> Path:
        """A formatted data folder to be copied: formatting takes a second."""
        return self.made / "template"

    @property
    def archive(self) -> Path:
        """The JVM's archive of loaded classes, which halves the time of a start."""
        return self.made / "kafka.jsa"

    @property
    def tools(self) -> Path:
        """The jar of Kafka's command-line tools, if `obtain_tools` has fetched it."""
        return self.lib.with_name("tools")

    def command(self, *words: str) -> list[str]:
        """The java command on Kafka's jars; `words` are options, a class and its arguments."""
        return self._on(f"{self.lib}/*", *words)

    def tool(self, name: str) -> list[str]:
        """The command of one of Kafka's tools, by the name of its class."""
        return self._on(f"{self.lib}/*:{self.tools}/*", f"org.apache.kafka.tools.{name}")

    def _on(self, jars: str, *words: str) -> list[str]:
        return [self.java, f"-Dlog4j2.configurationFile={LOGGING}", "-cp", jars, *words]


def cache_folder() -> Path:
    """The folder of the cache."""
    return Path(os.environ.get("PALIMPSEST_BROKER_CACHE") or ROOT / ".kafka").absolute()


def kafka_version() -> str:
    """The version that pom.xml names."""
    found = re.search(r"<kafka\.version>(.+)</kafka\.version>", POM.read_text())
    assert found
    return found[1]


@contextmanager
def locked(cache: Path) -> Iterator[None]:
    """Let one process at a time fill the cache."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def fill(target: Path, make: Callable[[Path], object]) -> None:
    """Make a file or folder of the cache if it is missing: whole, or not at all."""
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=target.parent, prefix="part-") as folder:
        part = Path(folder) / target.name
        make(part)
        part.rename(target)


def obtain(cache: Path) -> Distribution:
    """The jars and the template, fetched or made if missing; the caller must hold the lock.

    NotAvailableError if there is no Java 17, or if jars must be fetched and there is no Maven.
    """
    java, version = find_java()
    kafka = kafka_version()
    made = cache / f"kafka-{kafka}-java-{version}"
    distribution = Distribution(java, cache / f"kafka-{kafka}" / "lib", made)
    fill(distribution.lib, _fetch)
    fill(distribution.template, lambda folder: _format(distribution, folder))
    return distribution


def obtain_tools(cache: Path) -> Distribution:
    """Like `obtain`, with Kafka's command-line tools, which no broker needs."""
    distribution = obtain(cache)
    fill(distribution.tools, _fetch_tools)
    return distribution


def find_java() -> tuple[str, str]:
    """The java command (of JAVA_HOME, else of PATH) and its version as a file's name."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin") if home else None)
    if java is None:
        raise NotAvailableError(f"a Kafka broker needs Java {OLDEST_JAVA} or newer: none found")
    printed = _run([java, "-version"], 60)
    found = re.search(r'version "(\d+)[^"]*"', printed)
    if found is None or int(found[1]) < OLDEST_JAVA:
        first_line = printed.partition("\n")[0]
        raise NotAvailableError(
            f"a Kafka broker needs Java {OLDEST_JAVA} or newer; {java}: {first_line}"
        )
    build = re.search(r"\(build ([^,)]+)", printed)
    return java, re.sub(r"[^\w.+-]", "_", build[1] if build else found[0])


def _fetch(lib: Path) -> None:
    _maven("dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={lib}")


def _fetch_tools(folder: Path) -> None:
    jar = f"org.apache.kafka:kafka-tools:{kafka_version()}"
    _maven("dependency:copy", f"-Dartifact={jar}", f"-DoutputDirectory={folder}")


def _maven(*words: str) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise NotAvailableError("Maven (mvn) is needed once, to fetch Kafka's jars: none found")
    _run([maven, "--quiet", "--batch-mode", "--file", str(POM), *words], FETCHING_SECONDS)


def _format(distribution: Distribution, folder: Path) -> None:
    settings = folder.with_suffix(".properties")
    settings.write_text(
        "process.roles=broker,controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n"
        "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\n"
        f"controller.quorum.voters=1@127.0.0.1:9093\nlog.dirs={folder}\n"
    )
    words = ["kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(settings)]
    _run(distribution.command(*words), FORMATTING_SECONDS)


def _run(command: list[str], seconds: float) -> str:
    """Run a command; returns its output. NotAvailableError, with its last output, if it fails."""
    try:
        ran = subprocess.run(
            command,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        raise NotAvailableError(f"{command[0]} did not end in {seconds} seconds") from None
    if ran.returncode != 0:
        raise NotAvailableError(f"{command[0]} failed:\n{ran.stdout[-2000:]}")
    return ran.stdout
