"""Batch runs over the memories that are there: what `palimpsest dedupe` plans (design section 5).

A rule reads ledgers and asks the judge; what follows from it are requests, and nothing else: the
owner's one writer decides on each.
"""

from palimpsest.streams.dedupe.rules import proposals
from palimpsest.streams.dedupe.run import Pairing, Proposal, Run, Tell

__all__ = ["Pairing", "Proposal", "Run", "Tell", "proposals"]
