"""The entry point of the process `palimpsest`.

It can be interrupted while other modules are imported, and exits without freeing every object.
"""

from __future__ import annotations

import atexit
import os
import sys

from palimpsest.process.signals import end_on_signals


class _QuickEnd:
    """Ends the process at its exit, after all exit handlers of the imported modules have run.

    Otherwise the interpreter would spend 0.2 s on freeing a hundred thousand objects.
    """

    status: int | None = None
    """The exit status; None if an error ends the process, which the interpreter reports."""

    def __call__(self) -> None:
        if self.status is None:
            return
        try:
            for stream in filter(None, (sys.stdout, sys.stderr)):
                stream.flush()
        except (OSError, ValueError):
            return  # the interpreter flushes once more, and reports the error
        os._exit(self.status)


def main() -> None:
    """Run the command line and end the process with its exit status."""
    end_on_signals()
    _replace_closed_streams()
    _read_arguments_as_utf8()
    end = _QuickEnd()
    atexit.register(end)  # before a command's own handlers, so that it runs after them
    from palimpsest.cli import main as cli

    try:
        cli.main()
    except SystemExit as exit_:
        if exit_.code is None or isinstance(exit_.code, int):
            end.status = exit_.code or 0
        raise


def _read_arguments_as_utf8() -> None:
    """Start again in Python's UTF-8 mode if a locale without UTF-8 cannot read an argument."""
    unread = [word for word in sys.argv[1:] if any("\udc80" <= c <= "\udcff" for c in word)]
    if not unread or sys.getfilesystemencoding() == "utf-8":
        return
    try:
        for word in unread:
            os.fsencode(word).decode()
    except UnicodeDecodeError:
        return  # it is not UTF-8 either: the code that reads the argument reports it
    again = [sys.executable, "-X", "utf8", *sys.orig_argv[1:]]
    os.execv(again[0], again)  # noqa: S606 - the same command once more


def _replace_closed_streams() -> None:
    """Connect each standard stream that was closed (`>&-`) to the null device, in order.

    A file that is opened gets the lowest free number, from 0 to 2: otherwise a store's file could
    get the number of a stream, and its output.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(nowhere, mode, encoding="utf-8"))
