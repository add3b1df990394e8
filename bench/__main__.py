"""`python -m bench [NAME…]`: each figure in a process of its own, as a table or as JSON lines.

Other measurements have a command of their own. With `--data DIR`: `python -m bench designs` runs
the presets on real streams (designs.py), `day` runs them on a day of an agent (remembering.py),
`unrelated` shows what a minimum score leaves out (unrelated.py), `peers --quality` runs other
systems' rules (peers.py), and `hour` an operator's hour with audits and thresholds (hour.py).
Without data: `soak` runs a worker for half an hour (enduring.py), and `installed` lists the sizes
of all packages of an installation (installed.py).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench import designs, enduring, hour, installed, peers, remembering, unrelated
from bench.against import against
from bench.figure import Measured, Scale
from bench.machine import machine
from bench.printing import print_line, print_wide
from bench.registry import FIGURES, measure

OTHERS: dict[str, Callable[[Sequence[str]], int | None]] = {
    "designs": designs.main,
    "day": remembering.main,
    "unrelated": unrelated.main,
    "peers": peers.main,
    "hour": hour.main,
    "installed": installed.main,
}
"""Measurements with a command of their own."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the named figures, or all."""
    words = sys.argv[1:] if arguments is None else arguments
    if words and words[0] in OTHERS:
        sys.exit(OTHERS[words[0]](words[1:]))
    if words[:1] == ["soak"]:
        _print(_table(enduring.main(words[1:])))
        return
    asked = _asked(words)
    if asked.against:
        _compare(asked)
        return
    scale = Scale("small" if asked.small else "full" if asked.full else "normal", asked.data)
    measured: list[Measured] = []
    for name in asked.names or FIGURES:
        _report(f"measuring {name} ...")
        found = measure(name, scale)
        measured += found
        if asked.json:
            for one in found:
                rates = {"figure": name, "median": one.median, "holds": one.holds}
                print_line(asdict(one) | rates)
    if not asked.json:
        _print(_table(measured))


def _print(table: Table) -> None:
    print_wide(table)
    print_wide(f"[dim]{escape(machine())}[/]")


def _report(what: str) -> None:
    Console(stderr=True).print(what, style="dim")


def _compare(asked: argparse.Namespace) -> None:
    """Print the medians of two commits side by side."""
    options = [f"--{name}" for name in ("small", "full") if vars(asked)[name]]
    options += ["--data", str(asked.data.absolute())] if asked.data else []
    try:
        compared = against(asked.against, asked.names or [*FIGURES], options, _report, asked.rounds)
    except subprocess.CalledProcessError as error:
        sys.exit(f"nothing was compared: `{' '.join(map(str, error.cmd))}` failed")
    if asked.json:
        for one in compared:
            print_line(asdict(one) | {"times": one.times})
        return
    table = Table("figure", asked.against, "here", "times better")
    for one in compared:
        medians = (
            f"{_format(median(runs))} {one.unit}" if runs else "-" for runs in (one.before, one.now)
        )
        table.add_row(one.name, *medians, "-" if one.times is None else f"{one.times:.2f}")
    _print(table)


def _asked(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    known = f"of {', '.join(FIGURES)}; default: all"
    parser.add_argument("names", nargs="*", metavar="NAME", help=known)
    parser.add_argument("--small", action="store_true", help="only try whether everything runs")
    parser.add_argument("--full", action="store_true", help="a million events; half an hour")
    parser.add_argument(
        "--against", metavar="REF", help="also measure another commit, in turns, and compare"
    )
    parser.add_argument(
        "--rounds", type=int, default=3, help="rounds of --against; the medians are taken over them"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--data", type=Path, help="a folder with real texts in streams/")
    asked = parser.parse_args(arguments)
    for name in asked.names:
        if name not in FIGURES:
            parser.error(f"there is no figure {name}: there are {', '.join(FIGURES)}")
    return asked


def _table(measured: Sequence[Measured]) -> Table:
    table = Table("figure", "to reach", "median", "min - max of n", "", "notes")
    for one in measured:
        sign = {None: "", True: "yes", False: "NO"}[one.holds]
        reach = "" if one.reach is None else f"{'<=' if one.at_most else '>='} {_format(one.reach)}"
        spread = f"{_format(min(one.runs))} - {_format(max(one.runs))} of {len(one.runs)}"
        beside = [f"{name} {_format(value)}" for name, value in one.beside.items()]
        note = "; ".join([*beside, one.note] if one.note else beside)
        median = f"{_format(one.median)} {one.unit}".strip()
        table.add_row(one.name, reach, median, spread if len(one.runs) > 1 else "", sign, note)
    return table


def _format(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    main()
