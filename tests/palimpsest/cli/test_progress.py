"""Long work shows its progress; short work shows nothing."""

from __future__ import annotations

from io import StringIO
from threading import Event
from unittest.mock import Mock

import pytest
from rich.console import Console
from rich.text import Text

from palimpsest.cli.commands.ingestion import _row_progress
from palimpsest.jobs.ingest import IngestProgress
from palimpsest.process import output
from palimpsest.process.output import Output


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> StringIO:
    """The output that a terminal gets."""
    sent = StringIO()
    console = Console(file=sent, force_terminal=True, width=80)
    monkeypatch.setattr(output, "_console", lambda **_: console)
    return sent


def appeared(monkeypatch: pytest.MonkeyPatch) -> Event:
    """Set when a bar has been started, at once instead of after a second."""
    event = Event()
    started = output._start_bar

    def start(console: Console) -> object:
        progress = started(console)
        event.set()
        return progress

    monkeypatch.setattr(output, "PATIENCE", 0.0)
    monkeypatch.setattr(output, "_start_bar", start)
    return event


def test_a_bar_appears_though_no_progress_is_reported(
    screen: StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = appeared(monkeypatch)
    out = Output(as_json=False)
    with out.progress():
        assert event.wait(30)
    assert "working" in screen.getvalue()


def test_one_bar_serves_all_and_ends_with_the_answer(
    screen: StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = appeared(monkeypatch)
    out = Output(as_json=False)
    with out.progress() as tell, out.progress() as inner:
        assert event.wait(30)
        inner("half of it", 0.5)
        out.answer({}, lambda: Text("the answer"))
        after = len(screen.getvalue())
        tell("more", 0.9)
    assert "half of it" in screen.getvalue()
    assert screen.getvalue()[after:] == ""


def test_a_bar_whose_time_comes_after_the_answer_stays_away(
    screen: StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its timer may already run when the answer is given, and can then not be cancelled."""
    timer = Mock()
    monkeypatch.setattr(output, "Timer", timer)
    out = Output(as_json=False)
    with out.progress():
        out.answer({}, lambda: Text("the answer"))
        _, appear = timer.call_args.args
        appear()
    assert screen.getvalue() == "the answer\n"


def test_quick_work_shows_nothing(screen: StringIO) -> None:
    out = Output(as_json=False)
    with out.progress() as tell:
        tell("done at once", 1.0)
    assert screen.getvalue() == ""


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("shown", [False, True])
@pytest.mark.parametrize("typed", [False, True])
def test_a_person_is_asked_who_reads_and_types_at_a_terminal(
    as_json: bool, shown: bool, typed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    console = Console(file=StringIO(), force_terminal=shown)
    monkeypatch.setattr(output, "_console", lambda **_: console)
    stdin = Mock(isatty=lambda: typed)
    monkeypatch.setattr(output, "typer", Mock(get_text_stream=lambda _: stdin))
    assert Output(as_json=as_json).asks is (shown and typed and not as_json)


def test_rows_are_counted_by_what_became_of_them() -> None:
    told: list[tuple[str, float | None]] = []
    tell = _row_progress(lambda what, share: told.append((what, share)))
    kinds = {"stored": 2, "pending": 1, "hash_exact": 3, "auto_reject": 4}
    tell(IngestProgress(1_010, 5, 20, kinds))
    tell(IngestProgress(1_010, 5, None, {}))
    assert told == [
        ("1,010 rows: 2 stored, 7 joined, 1 pending", 0.25),
        ("1,010 rows: 0 stored, 0 joined, 0 pending", None),
    ]
