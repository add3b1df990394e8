"""What a person types against a cluster: commands that answer at once, and processes."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from palimpsest.cli.main import app
from palimpsest.streams.cluster.connection import Connection
from tests.cluster.cluster import environment, eventually
from tests.reliability.processes import Child, Forge


class Shell:
    """Types commands against one cluster and one store; ends what still runs."""

    def __init__(
        self, folder: Path, connection: Connection, forge: Forge, name: str = "store"
    ) -> None:
        self.folder = folder
        self.connection = connection
        self._forge = forge
        self._store = folder / name
        self._where = ["--bootstrap", connection.bootstrap, "--prefix", connection.prefix]
        self._running: list[Child] = []

    def on(self, connection: Connection, name: str = "store") -> Shell:
        """One for another cluster, or another store."""
        return Shell(self.folder, connection, self._forge, name)

    def start(self, *words: str, **more: str) -> Child:
        """A process; it has its settings from the environment, and `more` of them."""
        return self._start(words, env=more)

    def start_to_crash(self, crash: tuple[str, int], *words: str) -> Child:
        """A process that kills itself at the effect of this name and number."""
        return self._start(words, crash=crash)

    def _start(
        self, words: Sequence[str], env: Mapping[str, str] | None = None, **plan: Any
    ) -> Child:
        told = environment(self.connection) | {"PALIMPSEST_DATA": str(self.folder / "copies")}
        child = self._forge.start(self._store, [*words], env=told | {**(env or {})}, **plan)
        self._running.append(child)
        return child

    def run(self, *words: str, stdin: bytes = b"", cluster: bool = True) -> Any:
        where = self._where if cluster else ()
        typed = ["--store", str(self._store), "--json", *words, *where]
        return CliRunner().invoke(app, typed, input=stdin)

    def drawn(self, *words: str) -> Any:
        """As a person sees it."""
        return CliRunner().invoke(app, ["--store", str(self._store), *words, *self._where])

    def asked(self, *words: str, stdin: bytes = b"", cluster: bool = True, status: int = 0) -> Any:
        ran = self.run(*words, stdin=stdin, cluster=cluster)
        assert ran.exit_code == status, ran.output
        return json.loads(ran.stdout)

    def error(self, status: int, *words: str, stdin: bytes = b"", cluster: bool = True) -> Any:
        return self.asked(*words, stdin=stdin, cluster=cluster, status=status)["error"]

    def until(self, candidates: int) -> Any:
        """The status of the store once it has this number of candidates."""

        def has() -> bool:
            time.sleep(0.2)  # whoever looks holds the lock that the projector wants at its start
            ran = self.run("status", cluster=False)
            return bool(ran.exit_code == 0 and json.loads(ran.stdout)["candidates"] == candidates)

        eventually(has, f"the store has {candidates} candidates")
        return self.asked("status", cluster=False)

    def close(self) -> None:
        for child in self._running:
            child.kill()


def rows(*texts: str) -> bytes:
    """Of one owner, as lines."""
    told = ({"owner_id": "ada", "text": text, "id": str(n)} for n, text in enumerate(texts))
    return b"".join(json.dumps(row).encode() + b"\n" for row in told)
