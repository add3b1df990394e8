"""The command line with the stub engine, as a process: `python -m tests.cluster.command_line`."""

from __future__ import annotations

import streams.embedder
from palimpsest import cli, store
from tests.stub_engine import load_stub

if __name__ == "__main__":
    vars(streams.embedder)["load_engine"] = load_stub
    vars(store)["load_engine"] = load_stub
    cli.main()
