"""What a lazy copy of a ledger reads of the original."""

from __future__ import annotations

from typing import Any

from palimpsest.streams.core.lazy_copy import lazy_copy
from palimpsest.streams.core.ledger import Ledger


class Names(dict[str, Any]):
    """A dict that counts how often it is gone through."""

    reads = 0

    def __iter__(self) -> Any:
        self.reads += 1
        return super().__iter__()


def test_a_dict_is_cleared_without_reading_it_again_for_each_key() -> None:
    ledger = Ledger("ada")
    names = ledger.recomposed = Names({str(number): "x" for number in range(20)})
    copied = lazy_copy(ledger)
    copied.recomposed["new"] = "y"
    copied.recomposed.clear()
    assert (len(copied.recomposed), [*copied.recomposed], len(names)) == (0, [], 20)
    copied.recomposed["1"] = "z"
    assert [*copied.recomposed.items()] == [("1", "z")]
    assert names.reads <= 4
