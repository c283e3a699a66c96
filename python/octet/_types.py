# SPDX-License-Identifier: Apache-2.0
"""Element types of octet as those of numpy. Small floats are those of the package ml_dtypes, where it is there."""
import numpy as np

STRING = 8

_NUMPY = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool",
          10: "float16", 11: "float64", 12: "uint32", 13: "uint64", 14: "complex64", 15: "complex128"}
_ML_DTYPES = {16: "bfloat16", 17: "float8_e4m3fn", 18: "float8_e4m3fnuz", 19: "float8_e5m2", 20: "float8_e5m2fnuz",
              24: "float8_e8m0fnu"}


def _table():
    types = {code: np.dtype(name) for code, name in _NUMPY.items()}
    try:
        import ml_dtypes
    except ImportError:
        return types
    return types | {code: np.dtype(getattr(ml_dtypes, name)) for code, name in _ML_DTYPES.items()
                    if hasattr(ml_dtypes, name)}


_types = _table()
_codes = {dtype: code for code, dtype in _types.items()}


def dtype_of(code):
    """The dtype of octet's type, `object` for strings; None where numpy has none."""
    return np.dtype(object) if code == STRING else _types.get(code)


def code_of(dtype):
    """Octet's type of a dtype; None where it has none."""
    return STRING if dtype.kind in "OUST" else _codes.get(dtype)
