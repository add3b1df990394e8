"""The command line without a model, for the processes of tests.

Run it as `python -m tests.palimpsest.server.child`.
"""

from __future__ import annotations

import sys

from palimpsest.cli import main as cli
from palimpsest.process.signals import end_on_signals

PROGRAM = (sys.executable, "-m", "tests.palimpsest.server.child")


def main() -> None:
    """Run a command; a server that it starts also has no model."""
    end_on_signals()
    if not {"serve", "import"}.isdisjoint(sys.argv):
        _without_a_model()
    else:
        from palimpsest.server import starting

        vars(starting)["PROGRAM"] = PROGRAM
    cli.main()


def _without_a_model() -> None:
    from tests.light import lighten

    lighten()
    from palimpsest.api import store
    from tests.stub_engine import load_stub

    vars(store)["load_engine"] = load_stub


if __name__ == "__main__":
    main()
