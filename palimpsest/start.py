"""Where the process `palimpsest` begins: it can be told to end before all else is imported."""

from __future__ import annotations

from palimpsest.interrupts import end_when_told


def main() -> None:
    """Run the command line and end the process with its exit status."""
    end_when_told()
    from palimpsest import cli

    cli.main()
