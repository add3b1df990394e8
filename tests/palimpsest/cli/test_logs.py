"""The logs of long-running processes never quote a memory."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from palimpsest.cli.commands.cluster import _mute
from palimpsest.contracts.errors import StoreError, UsageError
from palimpsest.process import logs
from palimpsest.process.logs import (
    AGAIN_SECONDS,
    FORM,
    Once,
    PrivateFormatter,
    log_to_standard_error,
)

SECRET = "Ada has a big dog."


def fail(error: Exception) -> None:
    raise error


def raised(error: Exception) -> logging.LogRecord:
    """The log record of a caught error, as libraries make it."""
    with pytest.raises(type(error)) as caught:
        fail(error)
    trace = (type(error), error, caught.tb)
    return logging.LogRecord("mode", logging.ERROR, __file__, 1, "crashed: %r", (error,), trace)


def line(record: logging.LogRecord) -> str:
    return PrivateFormatter(FORM).format(record)


def test_an_error_is_logged_with_its_type_and_place() -> None:
    told = line(raised(ValueError(SECRET)))
    assert SECRET not in told
    assert "crashed: 'ValueError'" in told
    assert "test_logs.py" in told
    assert told.endswith("ValueError")


def test_a_library_that_was_silenced_is_heard_again_though_something_failed() -> None:
    library = logging.getLogger("a library")
    with pytest.raises(StoreError), _mute(library.name):
        fail(StoreError("the log is damaged"))
    assert library.isEnabledFor(logging.ERROR)


def test_our_own_sentences_are_logged() -> None:
    told = line(raised(StoreError("the log is damaged")))
    assert "crashed: 'the log is damaged'" in told
    assert told.endswith("StoreError: the log is damaged")


def test_a_sentence_of_ours_is_logged_without_the_name_of_its_class() -> None:
    error = UsageError("the service refuses the key (status 401)")
    said = "the judge is not asked: %s"
    record = logging.LogRecord("settling", logging.WARNING, "", 1, said, (error,), None)
    assert line(record).endswith("the judge is not asked: the service refuses the key (status 401)")


def test_only_the_first_line_of_what_asyncio_logs() -> None:
    record = logging.LogRecord(
        "asyncio", logging.ERROR, "", 1, f"Task failed\nfuture: <Task {SECRET!r}>", (), None
    )
    assert line(record).endswith("asyncio: Task failed")


def test_what_was_formatted_before_is_not_used() -> None:
    record = raised(ValueError(SECRET))
    logging.Formatter(FORM).format(record)
    assert SECRET not in line(record)


@pytest.mark.parametrize(("debug", "shown"), [("", False), ("1", True)])
def test_debugging_shows_all(
    debug: str, shown: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PALIMPSEST_DEBUG", debug)
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    before = root.level
    try:
        log_to_standard_error()
        root.handle(raised(ValueError(SECRET)))
    finally:
        root.setLevel(before)
        root.handlers.clear()
    assert (SECRET in capsys.readouterr().err) is shown


@pytest.mark.parametrize(
    ("level", "least"), [(logging.INFO, logging.WARNING), (logging.ERROR, logging.ERROR)]
)
@pytest.mark.parametrize("debug", ["", "1"])
def test_libraries_are_heard_from_their_warnings_on_and_repeat_nothing(
    level: int, least: int, debug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[dict[str, Any]] = []
    monkeypatch.setenv("PALIMPSEST_DEBUG", debug)
    monkeypatch.setattr(logs, "CHATTY", ("a library of a test",))
    monkeypatch.setattr(logging, "basicConfig", lambda **how: begun.append(how))
    log_to_standard_error(level)
    assert logging.getLogger("a library of a test").level == least
    [how] = begun
    [handler] = how["handlers"]
    assert how["level"] == level
    assert any(isinstance(one, Once) for one in handler.filters) is not bool(debug)


def record(name: str, message: str, value: object) -> logging.LogRecord:
    return logging.LogRecord(name, logging.ERROR, __file__, 1, message, (value,), None)


def test_what_a_library_repeats_is_logged_once_in_a_while_with_how_often_it_came() -> None:
    time = 0.0
    once = Once(lambda: time)
    told = [once.filter(record("aiokafka.conn", "no node %s", n)) for n in range(4)]
    assert told == [True, False, False, False]
    assert once.filter(record("aiokafka.conn", "another message about %s", 1))
    assert once.filter(record("aiokafka", "no node %s", 1))
    time = AGAIN_SECONDS
    again = record("aiokafka.conn", "no node %s", 7)
    assert once.filter(again)
    assert again.getMessage() == "no node 7 (and 3 more like it)"
    assert not once.filter(record("aiokafka.conn", "no node %s", 8))


@pytest.mark.parametrize(
    "name",
    [
        "palimpsest.streams.cluster.worker.manager",
        "palimpsest.backends.projector_service",
        "aiokafkas",
    ],
)
def test_of_ours_and_others_nothing_is_left_out(name: str) -> None:
    once = Once(lambda: 0.0)
    assert all(once.filter(record(name, "ready: partitions %s", 1)) for _ in range(9))
