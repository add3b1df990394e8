"""One batch is written while the next is made; what goes wrong in either is raised."""

from __future__ import annotations

import threading
from collections.abc import Generator

import pytest

from palimpsest.projections.overlap import write_overlapped


def test_items_are_written_in_order_beside_the_one_who_makes_them() -> None:
    written: list[tuple[int, bool]] = []
    here = threading.get_ident()
    write_overlapped(
        (n for n in range(5)), lambda n: written.append((n, threading.get_ident() == here))
    )
    assert written == [(n, False) for n in range(5)]


def test_the_next_is_made_while_one_is_written() -> None:
    made = threading.Event()

    def items() -> Generator[int, None, None]:
        yield 1
        made.set()
        yield 2

    write_overlapped(items(), lambda n: made.wait(60) or pytest.fail("nobody made the next"))


def test_a_failure_to_write_ends_it_and_closes_what_makes() -> None:
    closed: list[bool] = []
    written: list[int] = []

    def items() -> Generator[int, None, None]:
        try:
            yield from range(100)
        finally:
            closed.append(True)

    def write(number: int) -> None:
        written.append(number)
        if number == 1:
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        write_overlapped(items(), write)
    assert (written, closed) == ([0, 1], [True])


def test_a_failure_to_make_comes_after_what_was_made() -> None:
    written: list[int] = []

    def items() -> Generator[int, None, None]:
        yield 1
        raise ValueError("no event")

    with pytest.raises(ValueError, match="no event"):
        write_overlapped(items(), written.append)
    assert written == [1]
