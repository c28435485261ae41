# SPDX-License-Identifier: Apache-2.0
"""What callers hand over as the library takes it: numpy's arrays, numbers, words.

What the library cannot see behind an address is checked here, and what ctypes would cut off without a word.
"""
from __future__ import annotations

import operator
import os
from typing import Any

import numpy as np

from ._c import Error

# What the library calls the types of values, and what numpy keeps them in: it has no bf16, so bits.
DTYPES: dict[str, np.dtype[Any]] = {"fp16": np.dtype(np.float16), "bf16": np.dtype(np.uint16),
                                    "fp32": np.dtype(np.float32)}
OPS = {"gemm": 0, "dual": 1}
ACTIVATIONS = {"nvfp4": 0, "fp16": 1, "bf16": 2}
OUTPUTS = {"fp16": 0, "bf16": 1, "fp32": 2}


def number_of(word: str, words: dict[str, int], what: str) -> int:
    if not isinstance(word, str) or word not in words:
        raise Error(f"{what} = {word!r} is none of {', '.join(words)}")
    return words[word]


def need_int(value: Any, what: str, bits: int = 64, *, signed: bool = True) -> int:
    """A whole number that a field of so many bits holds."""
    try:
        number = operator.index(value)
    except TypeError:
        raise Error(f"{what} = {value!r} is a {type(value).__name__}, not a whole number") from None
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    if not least <= number <= most:
        raise Error(f"{what} = {number} is not between {least} and {most}")
    return number


def need_float(value: Any, what: str) -> float:
    """One number; what is too large for float32 becomes infinite, as everywhere."""
    try:
        if not isinstance(value, (str, bytes)) and np.ndim(value) == 0:
            return float(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise Error(f"{what} = {value!r} is not a number")


def need_bool(value: Any, what: str) -> bool:
    if isinstance(value, (bool, np.bool_)) or isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise Error(f"{what} = {value!r} is neither True nor False")


def need_text(value: Any, what: str) -> bytes:
    """A text as C has it, which ends at its first NUL."""
    if not isinstance(value, str):
        raise Error(f"{what} = {value!r} is a {type(value).__name__}, not a text")
    return _without_nul(value.encode(errors="surrogateescape"), what)


def need_path(value: Any, what: str) -> bytes:
    try:
        return _without_nul(os.fsencode(value), what)
    except TypeError:
        raise Error(f"{what} = {value!r} is a {type(value).__name__}, not a path") from None


def _without_nul(text: bytes, what: str) -> bytes:
    if b"\0" in text:
        raise Error(f"{what} = {text!r} has a NUL inside")
    return text


def type_of_values(array: np.ndarray, what: str) -> str:
    """"fp16", "bf16" or "fp32": the type of an array's values; uint16 stands for the bits of bf16."""
    if array.dtype.name == "bfloat16":  # of ml_dtypes
        return "bf16"
    for name, dtype in DTYPES.items():
        if array.dtype == dtype:
            return name
    raise Error(f"{what} is of {array.dtype}; it can be float32, float16, or bfloat16 as its bits in uint16")


def need_array(value: Any, what: str, *, rank: int) -> np.ndarray:
    """A C-contiguous array of `rank` dimensions, as it is: nothing is copied behind the caller's back."""
    if not isinstance(value, np.ndarray):
        raise Error(f"{what} is a {type(value).__name__}, not a numpy array")
    if value.ndim != rank:
        raise Error(f"{what} has {value.ndim} dimensions instead of {rank}: its shape is {value.shape}")
    if not value.flags.c_contiguous:
        raise Error(f"{what} is not contiguous (strides {value.strides}); numpy.ascontiguousarray makes a copy that is")
    if not value.dtype.isnative:
        raise Error(f"{what} is of {value.dtype.str}, the other byte order; "
                    f"{what}.astype({what}.dtype.newbyteorder('=')) turns it")
    return value


def need_dtype(array: np.ndarray, dtype: Any, what: str) -> np.ndarray:
    if array.dtype != np.dtype(dtype):
        raise Error(f"{what} is of {array.dtype} instead of {np.dtype(dtype)}")
    return array


def need_shape(array: np.ndarray, shape: tuple[int, ...], what: str) -> np.ndarray:
    if array.shape != shape:
        raise Error(f"{what} has shape {array.shape} instead of {shape}")
    return array


def need_output(out: Any, shape: tuple[int, int], dtype: np.dtype, what: str) -> int:
    """Checks an array to write to, whose rows may be further apart than they are long; the stride in elements."""
    if not isinstance(out, np.ndarray):
        raise Error(f"{what} is a {type(out).__name__}, not a numpy array")
    need_shape(out, shape, what)
    need_dtype(out.view(np.uint16) if out.dtype.name == "bfloat16" else out, dtype, what)
    if not out.flags.writeable:
        raise Error(f"{what} is read-only")
    rows, columns = shape
    row_stride, column_stride = out.strides
    if rows == 0 or columns == 0:
        return columns
    if columns > 1 and column_stride != out.itemsize:
        raise Error(f"values in a row of {what} are {column_stride} bytes apart instead of {out.itemsize}")
    if rows > 1 and (row_stride % out.itemsize != 0 or row_stride < columns * out.itemsize):
        raise Error(f"rows of {what} are {row_stride} bytes apart, which is no whole number of values that holds a row")
    return row_stride // out.itemsize if rows > 1 else columns


def to_bf16(values: Any) -> np.ndarray:
    """float32 values rounded to bfloat16, ties to even, as bits in uint16.

    >>> to_bf16(np.float32([1.0, 1.00390625, -2.5])).tolist()
    [16256, 16256, 49184]
    """
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = (bits + (0x7FFF + ((bits >> 16) & 1))) >> 16
    quiet_nan = (bits >> 16) | 0x40
    is_nan = (bits & 0x7FFFFFFF) > 0x7F800000
    return np.where(is_nan, quiet_nan, rounded).astype(np.uint16)


def from_bf16(bits: Any) -> np.ndarray:
    """The float32 values of bfloat16 bits.

    >>> from_bf16(np.uint16([16256, 49184])).tolist()
    [1.0, -2.5]
    """
    return (np.ascontiguousarray(bits).view(np.uint16).astype(np.uint32) << 16).view(np.float32)
