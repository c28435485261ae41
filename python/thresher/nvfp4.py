# SPDX-License-Identifier: Apache-2.0
"""NVFP4 matrices: what a checkpoint stores, how to make one, how to read one back."""
from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from . import _c
from ._arrays import need_array, need_dtype, need_float, need_shape, type_of_values
from ._c import Error

_QUANTIZE = {"fp32": _c.lib.thresher_quantize, "fp16": _c.lib.thresher_quantize_fp16,
             "bf16": _c.lib.thresher_quantize_bf16}


class Matrix:
    """rows x k values in NVFP4, in the order of checkpoints: somebody's arrays, not copied.

    codes: rows x k/2 bytes, two E2M1 codes each, element 2i in the low nibble; scales: rows x k/16 E4M3
    bytes; a value is code * scale * global_scale. Views of other one-byte types, such as float8_e4m3fn,
    are welcome.

    >>> m = quantize(np.full((2, 32), 3.0, np.float32), global_scale=None)
    >>> m
    thresher.Matrix(2 x 32, global_scale=1.0)
    >>> m.codes.shape, m.scales.shape, float(m.dequantize().sum())
    ((2, 16), (2, 2), 192.0)
    """

    __slots__ = ("_codes", "_scales", "_global_scale", "_view")

    def __init__(self, codes: np.ndarray, scales: np.ndarray, global_scale: float = 1.0):
        self._codes = _bytes_of(codes, "codes")
        self._scales = _bytes_of(scales, "scales")
        self._global_scale = need_float(global_scale, "global_scale")
        rows, k = self._codes.shape[0], 2 * self._codes.shape[1]
        if k % 16:
            raise Error(f"codes have {self._codes.shape[1]} bytes per row, which is no multiple of 8")
        need_shape(self._scales, (rows, k // 16), "scales")
        self._view = _c.Nvfp4View(self._codes.ctypes.data, self._scales.ctypes.data, rows, k, self._global_scale)

    # Read-only, because the view is what the library sees: another array needs another Matrix.
    @property
    def codes(self) -> np.ndarray:
        return self._codes

    @property
    def scales(self) -> np.ndarray:
        return self._scales

    @property
    def global_scale(self) -> float:
        return self._global_scale

    def __reduce__(self) -> Any:
        """For copy, deepcopy and pickle: the arrays go along, and a view of them is made there."""
        return Matrix, (self._codes, self._scales, self._global_scale)

    @property
    def shape(self) -> tuple[int, int]:
        """rows, k."""
        return self.codes.shape[0], 2 * self.codes.shape[1]

    def dequantize(self) -> np.ndarray:
        """The values that it stands for, float32."""
        values = np.empty(self.shape, np.float32)
        _c.lib.thresher_dequantize(ctypes.byref(self._view), values.ctypes.data)
        return values

    def __repr__(self) -> str:
        rows, k = self.shape
        return f"thresher.Matrix({rows} x {k}, global_scale={self.global_scale!r})"


_GLOBAL_SCALES: dict[Any, int] = {None: 0, "amax": 1}
_GIVEN = 2


def quantize(values: np.ndarray, global_scale: str | float | None = "amax") -> Matrix:
    """Rounds rows x k values (float32, float16, or bfloat16 bits in uint16) to NVFP4.

    global_scale: "amax" makes it amax / (6 * 448), as makers of checkpoints do; None leaves it 1; a number is taken, as
    for activations whose scale was calibrated, and values too large for it saturate.
    k must be a multiple of 16, and values finite.

    >>> quantize(np.zeros((1, 17), np.float32))
    Traceback (most recent call last):
    ...
    thresher.Error: quantize: k_elements = 17 is not a multiple of 16
    """
    array = need_array(values, "values", rank=2)
    kind = type_of_values(array, "values")
    how, given = _scaling_of(global_scale)
    rows, k = array.shape
    codes = np.empty((rows, k // 2), np.uint8)
    scales = np.empty((rows, k // 16), np.uint8)
    out = _c.Nvfp4Buffer(codes.ctypes.data, scales.ctypes.data, rows, k, given)
    _QUANTIZE[kind](array.ctypes.data, how, ctypes.byref(out))
    return Matrix(codes, scales, out.global_scale)


def _scaling_of(global_scale: Any) -> tuple[int, float]:
    """How the library finds the global scale, and the one that is given."""
    if global_scale is None or isinstance(global_scale, str) and global_scale == "amax":
        return _GLOBAL_SCALES[global_scale], 1.0
    if isinstance(global_scale, str):
        raise Error(f"global_scale = {global_scale!r} is neither 'amax' nor None nor a number")
    return _GIVEN, need_float(global_scale, "global_scale")


def _bytes_of(value: Any, what: str) -> np.ndarray:
    array = need_array(value, what, rank=2)
    return need_dtype(array.view(np.uint8) if array.dtype.name.startswith("float8") else array, np.uint8, what)
