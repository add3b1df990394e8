"""Batch runs over existing memories, planned for `palimpsest dedupe` (docs/policies.md).

A rule reads a ledger, asks the judge and proposes requests; the owner's writer decides on each.
"""

from palimpsest.streams.dedupe.rules import proposals
from palimpsest.streams.dedupe.run import Progress, Proposal, Run

__all__ = ["Progress", "Proposal", "Run", "proposals"]
