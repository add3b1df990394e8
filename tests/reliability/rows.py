"""Rows of made-up memories: new ones, exact repeats, rewordings, changed numbers, broken ones."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

WHO = ("Ada", "Ben", "Cleo", "Dora", "Emil", "Frida", "Gus", "Hedda")
DOES = ("likes", "avoids", "repairs", "paints", "collects", "teaches", "plants", "studies")
BEGINNINGS = (
    "ba be bo da do fa fi ga go ka ki la lo ma mi na no pa pe ra ri sa so ta ti va vo za".split()
)
ENDINGS = ("lten", "rmak", "ssel", "ndor", "pplin", "ckert", "vrey", "stona", "gglim", "mbrick")
SESSIONS = 4
ROWS = 96
"""Six commits of sixteen: enough for every effect, few enough for dozens of runs."""

Row = dict[str, Any]


def rows(count: int, owners: int = 5, seed: int = 7) -> list[Row]:
    """Valid rows, about a third of them repeats or rewordings of earlier ones."""
    chance = random.Random(seed)
    made: list[Row] = []
    for number in range(count):
        owner = f"owner {chance.randrange(owners)}"
        earlier = [row for row in made[-200:] if row["owner_id"] == owner]
        text = _again(chance, chance.choice(earlier)["text"]) if earlier else _new(chance)
        made.append(
            {
                "id": str(number),
                "source": "made-up",
                "owner_id": owner,
                "text": text if chance.random() < 0.4 else _new(chance),
                "namespace": chance.choice(("default", "default", "work")),
                "session_id": f"{owner}, {chance.randrange(SESSIONS)}",
            }
        )
    return made


def resting_rows() -> list[Row]:
    """Twenty words that a newer text replaced, and texts that are nearer to the replaced one.

    Under `replace-or-merge`, where nineteen words of twenty are .95 and eighteen .90.
    """
    words = [f"{beginning}lten" for beginning in BEGINNINGS[:20]]
    texts = [words, [*words[:-1], "newer"], ["beside", "that", *words[2:]], ["one", *words[1:]]]
    return [
        {"id": str(number), "source": "resting", "owner_id": "ann", "text": " ".join(text)}
        for number, text in enumerate(texts)
    ]


def _new(chance: random.Random) -> str:
    things = " and ".join(f"{_name(chance)} {_name(chance)}" for _ in range(2))
    verb = f"{chance.choice(WHO)} {chance.choice(DOES)}"
    return f"{verb} {things} in the {_name(chance)}, {chance.randrange(2, 90)} times a year."


def _name(chance: random.Random) -> str:
    return chance.choice(BEGINNINGS) + chance.choice(ENDINGS)


def _again(chance: random.Random, text: str) -> str:
    """The same text, with its last stop or without, or with another number in it."""
    match chance.randrange(5):
        case 0:
            return text.removesuffix(".") if text.endswith(".") else f"{text}."
        case 1:
            return f" {text}"
        case 2:
            return text.replace(" times a year", "0 times a year")
        case _:
            return text


BROKEN: Sequence[bytes] = (
    b"no json",
    b"[1, 2]",
    b'{"owner_id": "owner 1"}',
    b'{"owner_id": "owner 1", "text": "  "}',
    b'{"owner_id": "owner 1", "text": "a\\u0000b"}',
    b'{"owner_id": "owner 1", "text": "\xff"}',
    b'{"specversion": "1.0", "type": "palimpsest.candidate.v9", "id": "1", "source": "s"}',
    b'{"owner_id": "owner 1", "text": "confident", "confidence": 7}',
)
"""Rows that cannot be read, each for another reason."""


def lines(valid: Sequence[Row], broken: Sequence[bytes] = BROKEN) -> Iterator[bytes]:
    """Rows as lines of a file, the broken ones spread among the others."""
    every = max(1, len(valid) // (len(broken) + 1))
    left = list(broken)
    for number, row in enumerate(valid):
        if left and number % every == every - 1:
            yield left.pop(0)
        yield orjson.dumps(row)
    yield from left


def write(path: Path, valid: Sequence[Row], broken: Sequence[bytes] = BROKEN) -> Path:
    """A file of rows."""
    path.write_bytes(b"".join(line + b"\n" for line in lines(valid, broken)))
    return path
