"""Random quantised blocks that decode to finite values of zero mean and a chosen standard deviation."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import IQ4_NL, quantize
from numpy.typing import NDArray

from engine.errors import UsageError

Bytes = NDArray[np.uint8]

POOL_BYTES = 1 << 18
_PIECE_BYTES = POOL_BYTES // 4
_K_SCALE = 9  # the 6-bit block scale of all K-quant sub-blocks; fits into 4 bits, so packing it is trivial


def block_type(type_name: str) -> GGMLQuantizationType:
    """The ggml type called `type_name` in any case; raises UsageError when no blocks can be made for it."""
    name = type_name.upper()
    if name not in _QUANTIZED and name not in _RANDOM_BITS:
        known = ", ".join((*_QUANTIZED, *_RANDOM_BITS))
        raise UsageError(f"Weights of type “{type_name}” can't be made up.", f"Choose one of {known}.")
    return GGMLQuantizationType[name]


def random_blocks(kind: GGMLQuantizationType, count: int, scale: float, random: np.random.Generator) -> Bytes:
    """`count` blocks as bytes of shape (count, block bytes), values of standard deviation about `scale`."""
    maker = _RANDOM_BITS.get(kind.name)
    if maker is not None:
        return maker(random, count, scale)
    block_values, block_bytes = GGML_QUANT_SIZES[kind]
    values = random.standard_normal((count, block_values), np.float32) * np.float32(scale)
    return np.ascontiguousarray(quantize(values, kind)).view(np.uint8).reshape(count, block_bytes)


class BlockPool:
    """A few thousand random blocks that serve any number of slices, each different.

    Writing fresh random bytes for gigabytes would take minutes; windows of a pool cost only the copy.
    """

    def __init__(self, kind: GGMLQuantizationType, scale: float, seed: int) -> None:
        self._block_bytes = GGML_QUANT_SIZES[kind][1]
        random = np.random.default_rng((seed, int(kind)))
        self._blocks = random_blocks(kind, POOL_BYTES // self._block_bytes, scale, random)
        self._piece_blocks = _PIECE_BYTES // self._block_bytes

    def slices(self, n_slices: int, slice_bytes: int, random: np.random.Generator) -> Iterator[memoryview]:
        """The bytes of `n_slices` slices in pieces; every slice begins at another place of the pool."""
        n_places = len(self._blocks) - self._piece_blocks
        slice_blocks = slice_bytes // self._block_bytes
        for first in random.choice(n_places, n_slices, replace=n_slices > n_places):
            place, left = int(first), slice_blocks
            while left:
                count = min(left, self._piece_blocks)
                yield self._blocks[place : place + count].data.cast("B")
                place, left = int(random.integers(n_places)), left - count


def _half(value: float, count: int) -> Bytes:
    return np.full(count, value, "<f2").view(np.uint8).reshape(count, 2)


def _k_blocks(quant_bits: int) -> Callable[[np.random.Generator, int, float], Bytes]:
    """Maker of Q4_K or Q5_K: d, dmin, 12 bytes of 6-bit scales and minima, then the quants."""
    levels, quant_bytes = 1 << quant_bits, 256 * quant_bits // 8
    deviation = ((levels**2 - 1) / 12) ** 0.5

    def make(random: np.random.Generator, count: int, scale: float) -> Bytes:
        d = scale / deviation / _K_SCALE
        scales = np.array([_K_SCALE] * 8 + [_K_SCALE << 4 | _K_SCALE] * 4, np.uint8)
        quants = random.integers(0, 256, (count, quant_bytes), np.uint8)
        # value = d * scale * quant - dmin * minimum: equal scale and minimum centre the quants on zero
        d_min = d * (levels - 1) / 2
        return np.hstack((_half(d, count), _half(d_min, count), np.tile(scales, (count, 1)), quants))

    return make


def _q6_k_blocks(random: np.random.Generator, count: int, scale: float) -> Bytes:
    """Q6_K: 192 bytes of quants, 16 signed scales, d. Random signs cancel the quants' mean of -0.5."""
    quants = random.integers(0, 256, (count, 192), np.uint8)
    signs = random.integers(0, 2, (count, 16), np.int8) * 2 - 1
    scales = (signs * _K_SCALE).astype(np.int8).view(np.uint8)
    return np.hstack((quants, scales, _half(scale / _K_SCALE / (4095 / 12) ** 0.5, count)))


def _q2_k_blocks(random: np.random.Generator, count: int, scale: float) -> Bytes:
    """Q2_K: 16 bytes of a 4-bit scale and minimum each, 64 bytes of quants from 0 to 3, d, dmin."""
    d = scale / _K_SCALE / ((4**2 - 1) / 12) ** 0.5
    scales = np.full((count, 16), _K_SCALE << 4 | _K_SCALE, np.uint8)
    quants = random.integers(0, 256, (count, 64), np.uint8)
    return np.hstack((scales, quants, _half(d, count), _half(d * 1.5, count)))


def _iq4_nl_blocks(random: np.random.Generator, count: int, scale: float) -> Bytes:
    """IQ4_NL: d, then 16 bytes of indices into 16 levels whose mean is not zero, so signs are random."""
    quants = random.integers(0, 256, (count, 16), np.uint8)
    levels = IQ4_NL.kvalues
    d = np.float32(scale / np.mean(np.square(levels, dtype=np.float64)) ** 0.5)
    signed = np.where(random.integers(0, 2, count), d, -d).astype("<f2")
    return np.hstack((signed.view(np.uint8).reshape(count, 2), quants))


# the gguf package quantises these ...
_QUANTIZED = ("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "MXFP4")
# ... and these it can only read, so their bits are drawn
_RANDOM_BITS: dict[str, Callable[[np.random.Generator, int, float], Bytes]] = {
    "Q2_K": _q2_k_blocks,
    "Q4_K": _k_blocks(4),
    "Q5_K": _k_blocks(5),
    "Q6_K": _q6_k_blocks,
    "IQ4_NL": _iq4_nl_blocks,
}
