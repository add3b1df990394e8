"""`backtest` at the command line."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.palimpsest.cli.conftest import CommandLine, row
from tests.palimpsest.cli.test_statements import PARIS, submit
from tests.palimpsest.cli.test_status_and_streams import inherited


def test_it_says_what_would_be_different_and_writes_a_page(
    palimpsest: CommandLine, tmp_path: Path
) -> None:
    submit(palimpsest, PARIS, PARIS.rstrip(".") + " <b>!", PARIS.lower())
    before = palimpsest.json("status")["position"]
    page = tmp_path / "page.html"
    drawn = palimpsest("backtest", "layered", "--html", str(page)).out
    assert "Nothing was written." in drawn
    assert "Decisions that would be different" in drawn
    found = palimpsest.json("backtest", "layered", "--guard", "new", "--owner", "ada")
    assert found["candidates"] == 3
    assert found["changed"] > 0
    assert palimpsest.json("status")["position"] == before
    html = page.read_text(encoding="utf-8")
    assert "This history under layered" in html
    assert "<svg" in html
    assert "http" not in html.replace("http://www.w3.org", "")
    assert "&lt;b&gt;!" in html
    assert "<b>!" not in html
    assert re.search(r"<ins>[^<]+</ins><br><small>would join</small> .*<del>[^<]+</del>", html)
    assert palimpsest("backtest", "layered", "--guard", "old").status == 2
    assert palimpsest("backtest", "layered", "--owner", "(").status == 2
    nobody = palimpsest("backtest", "layered", "--owner", "ad*")
    assert (nobody.status, "no owner matches the regular expression ad*" in nobody.err) == (2, True)


INTERRUPTED = """
import os, signal, sys
from palimpsest import Palimpsest
from palimpsest.streams.policies import load_policy
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it

def interrupt(*_):
    os.killpg(0, signal.SIGINT)

with Palimpsest.open(sys.argv[1]) as store:
    try:
        store.backtest(load_policy("layered"), processes=2, progress=interrupt)
    except KeyboardInterrupt:
        print("interrupted")
"""
"""A process whose group is interrupted, as by a terminal, once the first part is decided again."""


def test_an_interrupt_ends_all_its_processes_without_a_traceback(palimpsest: CommandLine) -> None:
    palimpsest.ingest(*(row(PARIS, f"owner {number}") for number in range(40)))
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(palimpsest.store)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        start_new_session=True,
        env=inherited(),
    )
    assert (done.stdout, done.stderr) == ("interrupted\n", "")
