"""Times are UTC wherever the reader is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime, timedelta, timezone

import pytest

from tests.long import long_but
from tests.palimpsest.cli.conftest import CommandLine

MAIN = "from palimpsest.cli.main import main; main()"


@pytest.mark.parametrize("hours", [-11, 0, 14])
def test_since_may_be_written_in_any_zone(palimpsest: CommandLine, hours: int) -> None:
    palimpsest.holds(*({"owner_id": "ada", "text": f"Ada has {n} cats."} for n in (2, 3, 4)))
    decided = palimpsest("--json", "decisions").documents
    moment = datetime.fromisoformat(decided[1]["decided_at"])
    since = moment.astimezone(timezone(timedelta(hours=hours))).isoformat()
    assert palimpsest("--json", "decisions", "--since", since).documents == decided[1:]


@pytest.mark.parametrize("zone", long_but("Asia/Tokyo", of=["Asia/Tokyo", "America/New_York"]))
def test_since_means_the_same_moment_in_every_zone(palimpsest: CommandLine, zone: str) -> None:
    palimpsest.holds(*({"owner_id": "ada", "text": f"Ada has {n} cats."} for n in (2, 3, 4)))
    decided = palimpsest("--json", "decisions").documents
    since = decided[1]["decided_at"]
    assert since.endswith("+00:00")
    command = ["--store", str(palimpsest.store), "--json", "decisions", "--since", since]
    ran = subprocess.run(
        [sys.executable, "-c", MAIN, *command],
        env=os.environ | {"TZ": zone},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert [json.loads(line) for line in ran.stdout.splitlines()] == decided[1:]
