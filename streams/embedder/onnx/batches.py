"""Batches of texts of about the same length, so that next to nothing is computed for padding.

Measured with all-MiniLM-L6-v2 (docs/embedder.md): from 96 tokens in a batch on, a token costs the
same; from 1024 on, it costs more, because what is computed leaves the processor's cache.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FULL = 512
"""Tokens of a batch, padding included; only a single text may have more."""

ENOUGH = 128
"""From so many tokens on, a batch takes only texts of the same length."""


def batches_by_length(lengths: Sequence[int]) -> list[list[int]]:
    """Group texts, given by their numbers of tokens, into batches of indices, the longest first.

    Longest first, so that threads that share the batches end at about the same time.
    """
    batches: list[list[int]] = []
    longest = 0
    for text in sorted(range(len(lengths)), key=lambda text: -lengths[text]):
        if not batches or not _takes(len(batches[-1]), longest, lengths[text]):
            batches.append([])
            longest = lengths[text]
        batches[-1].append(text)
    return batches


def _takes(texts: int, longest: int, length: int) -> bool:
    """Whether a batch of so many `texts` takes one more, which is not longer than the longest."""
    if texts * longest >= ENOUGH and length < longest:
        return False
    return (texts + 1) * longest <= FULL


def padded(texts: Sequence[Sequence[int]]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Token ids, padded with 0 on the right, and the mask: 1 where there is a token."""
    shape = len(texts), max(len(ids) for ids in texts)
    ids, mask = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    for row, text in enumerate(texts):
        ids[row, : len(text)] = text
        mask[row, : len(text)] = 1
    return ids, mask
