"""An id that was copied with its surroundings is read; a date or a word among others is none."""

from __future__ import annotations

import pytest

from palimpsest import Palimpsest
from palimpsest.queries.ids import bare

ID = "1a2b3c4d-5e6f-5a7b-8c9d-0e1f2a3b4c5d"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (f"the memory {ID}", ID),
        (f"(id {ID[:13]}, 2026-01-31)", ID[:13]),
        (f"(id {ID[:13]}, 20260131)", ID[:13]),
        (f"id {ID[:8]}", ID[:8]),
        ("(id 12345678-1234, 2026-01-31)", "12345678-1234"),
        (ID.replace("-", "").upper(), ID),
        ('"20260131"', "20260131"),
        ("deadbeef", "deadbeef"),
        ("backup 20260131", "backup 20260131"),
        ("call 4915112345678 back", "call 4915112345678 back"),
        ("the beef is deadbeef", "the beef is deadbeef"),
        ("a facade of 2026-01-31", "a facade of 2026-01-31"),
        (f"{ID} {ID[::-1]}", f"{ID} {ID[::-1]}"),
    ],
)
def test_among_words_only_what_looks_like_an_id_is_one(
    memories: Palimpsest, text: str, read: str
) -> None:
    assert bare(memories.reader, text) == read
