"""`backtest` at the command line."""

from __future__ import annotations

from pathlib import Path

from tests.palimpsest.cli.conftest import CommandLine
from tests.palimpsest.cli.test_statements import PARIS, submit


def test_it_says_what_would_be_different_and_writes_a_page(
    palimpsest: CommandLine, tmp_path: Path
) -> None:
    submit(palimpsest, PARIS, PARIS.rstrip(".") + "!", PARIS.lower())
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
    assert palimpsest("backtest", "layered", "--guard", "old").status == 2
    assert palimpsest("backtest", "layered", "--owner", "(").status == 2
