"""Batches of texts of similar length, so that little is computed for padding.

Measured with all-MiniLM-L6-v2 (docs/embedder.md): from 96 tokens per batch on, the cost per token
is constant; from 1024 on, it rises, because the computation exceeds the processor's cache.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FULL = 512
"""Maximum tokens of a batch, with padding; only a single text may exceed it."""

ENOUGH = 128
"""From this number of tokens on, a batch takes only texts of the same length."""


def batches_by_length(lengths: Sequence[int], enough: int = ENOUGH) -> list[list[int]]:
    """Group texts, given by their numbers of tokens, into batches of indices, the longest first.

    From `enough` tokens on, a batch takes only texts of the same length; with 0, nothing is padded.
    Because the longest come first, threads that share the batches finish at about the same time.
    """
    batches: list[list[int]] = []
    longest = 0
    for text in sorted(range(len(lengths)), key=lambda text: -lengths[text]):
        if not batches or not _takes(len(batches[-1]), longest, lengths[text], enough):
            batches.append([])
            longest = lengths[text]
        batches[-1].append(text)
    return batches


def _takes(texts: int, longest: int, length: int, enough: int) -> bool:
    """Whether a batch of `texts` texts has room for another, whose length is at most `longest`."""
    if texts * longest >= enough and length < longest:
        return False
    return (texts + 1) * longest <= FULL


def padded(texts: Sequence[Sequence[int]]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Token ids, padded with 0 on the right, and the mask: 1 for each token."""
    shape = len(texts), max(len(ids) for ids in texts)
    ids, mask = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    for row, text in enumerate(texts):
        ids[row, : len(text)] = text
        mask[row, : len(text)] = 1
    return ids, mask
