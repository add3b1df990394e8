"""Operations that numpy lacks or is slow at, mostly in ONNX Runtime sessions of all scopes.

Each session has one thread, so that the embedder keeps its own. Widening is exact, integer products
are not rounded, and the error of float products is within what callers allow for any order of sums.
"""

from functools import cache
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from palimpsest.streams.onnx import runtime

ZERO: Final = 64
"""How a query's code 0 is stored: codes -63..63 become 1..127.

Seven bits, because without VNNI ONNX Runtime adds two products in 16 bits, and 2 * 127 * 127 fits.
"""

NUMPY_WIDENS_FASTER_UP_TO: Final = 16 * 384
"""In elements: a call of ONNX Runtime costs 13 us, numpy 1.9 ns per element without F16C."""

BLAS_SHARES_FROM: Final = 2**18
"""Above this number of multiplications, numpy's BLAS splits a product among all cores.

Its threads spin for a while afterwards: on a busy machine 100 by 100 rows took 1 ms, not .2.
"""

Float = TypeVar("Float", np.float32, np.float64)
_Products = NDArray[np.float32]
_SHIFT: Final = np.int32(13)
_SIGN_AND_NUMBER: Final = np.array(0x8FFFFFFF, np.uint32).view(np.int32)
"""A mask without the bits that the sign fills when 16 bits are extended to 32."""
_SCALE: Final = np.float32(2.0**112)
_AT_ONCE: Final = 128
"""Number of rows whose shifted bits stay in the processor's cache."""


def products(a: NDArray[Float], b: NDArray[Float]) -> NDArray[Float]:
    """The products of all rows of (n, d) with all rows of (m, d), as (n, m)."""
    if a.size * len(b) <= BLAS_SHARES_FROM:
        return a @ b.T
    answer: NDArray[Float] = _products(a.dtype == np.float64).run(None, {"a": a, "b": b})[0]
    return answer


def widened(vectors: NDArray[np.float16]) -> NDArray[np.float32]:
    """The same numbers as float32; exact."""
    if vectors.size <= NUMPY_WIDENS_FASTER_UP_TO:
        return vectors.astype(np.float32)
    answer: NDArray[np.float32] = _widening().run(None, {"narrow": vectors})[0]
    return answer


def products_with(vectors: NDArray[np.float16], single: NDArray[np.float32]) -> _Products:
    """The products of vectors (n, d) with one (d,), rounded like those of their float32 values.

    Widening them would take five times as long. Instead the bits of a float16 are shifted to their
    places in a float32, which gives its number divided by 2**112; the other factor compensates.
    """
    bits, scaled = vectors.view(np.int16), single * _SCALE
    answer: _Products = np.empty(len(vectors), np.float32)
    room = np.empty((min(len(bits), _AT_ONCE), bits.shape[1]), np.int32)
    for first in range(0, len(bits), _AT_ONCE):
        some = bits[first : first + _AT_ONCE]
        placed = room[: len(some)]
        np.left_shift(some, _SHIFT, out=placed, dtype=np.int32)
        placed &= _SIGN_AND_NUMBER
        np.vecdot(placed.view(np.float32), scaled, out=answer[first : first + _AT_ONCE])
    return answer


def scaled_products(
    queries: NDArray[np.uint8],
    codes: NDArray[np.int8],
    steps: NDArray[np.float32],
    offsets: NDArray[np.float32],
) -> NDArray[np.float32]:
    """`(queries @ codes) * steps + offsets`, the product in integers.

    Shapes (b, d), (d, n), (n,), (n,) to (b, n). Few queries go one at a time: ONNX Runtime
    multiplies a vector without packing the matrix first (2 ms for 100,000 rows; two queries 6 ms).
    """
    if 1 < len(queries) < 4:
        each = [scaled_products(query[None], codes, steps, offsets) for query in queries]
        return np.concatenate(each)
    inputs = {"queries": queries, "codes": codes, "steps": steps, "offsets": offsets}
    answer: NDArray[np.float32] = _multiplying().run(None, inputs)[0]
    return answer


@cache
def _widening() -> Any:
    from palimpsest.streams.search.cosine.kernel_graphs import widening

    return _session(widening())


@cache
def _products(double: bool) -> Any:
    from palimpsest.streams.search.cosine.kernel_graphs import products_of_rows

    return _session(products_of_rows(double=double))


@cache
def _multiplying() -> Any:
    from palimpsest.streams.search.cosine.kernel_graphs import scaled_integer_products

    return _session(scaled_integer_products())


def _session(model: bytes) -> Any:
    ort = runtime()
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # With fusion, the product of a single query is four times slower.
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
