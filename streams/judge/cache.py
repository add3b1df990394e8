"""Verdicts that were paid for, by the hashes of the two texts, the prompt and the model."""

from __future__ import annotations

from pathlib import Path


class VerdictCache:
    """A file of answers. It can be deleted at any time: what is needed again is asked again."""

    def __init__(self, file: Path) -> None:
        raise NotImplementedError
