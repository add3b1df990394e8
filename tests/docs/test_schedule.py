"""The schedule that docs/designs/store-time.md shows: a step that fails does not stop the next."""

from __future__ import annotations

import os
import re
import subprocess
from configparser import ConfigParser
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "designs" / "store-time.md"
FAILING = '#!/bin/sh\necho "$@" >> "$CALLS"\nexit 1\n'


def test_the_janitor_runs_after_a_review_that_failed(tmp_path: Path) -> None:
    [line] = re.findall(r"^0 3 \* \* \*\s+(.+)$", PAGE.read_text(), re.MULTILINE)
    command, calls = tmp_path / "palimpsest", tmp_path / "calls"
    command.write_text(FAILING)
    command.chmod(0o755)
    paths = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    subprocess.run(
        ["/bin/sh", "-c", line], env={"PATH": paths, "CALLS": str(calls)}, timeout=60, check=False
    )
    told = [words.split(maxsplit=2)[2] for words in calls.read_text().splitlines()]
    assert told == ["review run", "dedupe"]


def test_the_janitors_unit_wants_the_review_and_does_not_require_it() -> None:
    [units] = re.findall(r"```ini\n(.+?)```", PAGE.read_text(), re.DOTALL)
    parts = re.split(r"^# (\S+\.(?:service|timer))$", units, flags=re.MULTILINE)
    files = dict(zip(parts[1::2], parts[2::2], strict=True))
    janitor = ConfigParser(strict=True)
    janitor.optionxform = str  # type: ignore[assignment,method-assign]
    janitor.read_string(files["janitor.service"])
    assert dict(janitor["Unit"]) == {"Wants": "review.service", "After": "review.service"}
    assert janitor["Service"]["ExecStart"].endswith(" dedupe")
    assert "review run" in files["review.service"]
