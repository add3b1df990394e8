"""A failure to write is said in words of ours: what is intact, and what to do."""

from __future__ import annotations

import errno
import os

import pyarrow as pa
import pytest

from palimpsest.contracts.errors import StoreError
from palimpsest.projections.base.files import store_errors

LANCE = (
    "lance error: LanceError(IO): {what}, /build/.cargo/registry/src/index-0a1b/lance-file-13.0.0"
    "/src/writer/structural.rs:258:9"
)


@pytest.mark.parametrize(
    "failure",
    [
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
        OSError(errno.EDQUOT, os.strerror(errno.EDQUOT)),
        RuntimeError(LANCE.format(what="No space left on device (os error 28)")),
        pa.ArrowException("IOError: write failed. Detail: [errno 28] No space left on device"),
    ],
)
def test_a_full_disk_says_what_is_intact_and_what_to_do(failure: Exception) -> None:
    with pytest.raises(StoreError) as raised, store_errors():
        raise failure
    assert "the disk is full" in str(raised.value)
    assert "The log has everything" in str(raised.value)
    assert "free some space" in str(raised.value)


def test_any_other_failure_is_passed_on_without_a_place_in_a_library() -> None:
    with pytest.raises(StoreError) as raised, store_errors():
        raise RuntimeError(LANCE.format(what="permission denied"))
    assert str(raised.value) == (
        "the projections could not be written: lance error: LanceError(IO): permission denied"
    )
