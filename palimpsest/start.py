"""Where the process `palimpsest` begins: it can be stopped before all else is imported."""

from __future__ import annotations

from palimpsest.interrupts import end_on_signals


def main() -> None:
    """Run the command line and end the process with its exit status."""
    end_on_signals()
    from palimpsest import cli

    cli.main()
