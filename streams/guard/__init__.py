"""The guard: a model-free comparison of two texts that stops false merges (docs/guard.md)."""

from palimpsest.streams.guard.changes import (
    shares_a_word,
    tells_change,
    tells_deed,
    tells_past,
)
from palimpsest.streams.guard.comparison import Comparison, compare, differ_at_sight, passes
from palimpsest.streams.guard.data.tables import Tables, tables_of
from palimpsest.streams.guard.edits.alignment import unlicensed
from palimpsest.streams.guard.frames import begins_otherwise, frame, frame_keys, is_note
from palimpsest.streams.guard.identity import guard_hash
from palimpsest.streams.guard.kept import (
    kept_for_frames,
    kept_frame,
    kept_frame_keys,
    kept_reading,
    kept_saying,
    kept_statements,
    kept_subject,
)
from palimpsest.streams.guard.names import mentioned_name, predicate, said_of_owner, speaks_of
from palimpsest.streams.guard.reading import Reading, read
from palimpsest.streams.guard.text.words import tokens

__all__ = [
    "Comparison",
    "Reading",
    "Tables",
    "begins_otherwise",
    "compare",
    "differ_at_sight",
    "frame",
    "frame_keys",
    "guard_hash",
    "is_note",
    "kept_for_frames",
    "kept_frame",
    "kept_frame_keys",
    "kept_reading",
    "kept_saying",
    "kept_statements",
    "kept_subject",
    "mentioned_name",
    "passes",
    "predicate",
    "read",
    "said_of_owner",
    "shares_a_word",
    "speaks_of",
    "tables_of",
    "tells_change",
    "tells_deed",
    "tells_past",
    "tokens",
    "unlicensed",
]
