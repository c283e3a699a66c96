# SPDX-License-Identifier: Apache-2.0
"""Sessions and contexts on numpy arrays."""
import ctypes
import dataclasses
import os
from collections.abc import Mapping
from typing import Any, Optional, Union

import numpy as np

from octet import _abi
from octet._abi import Error, library
from octet._types import STRING, code_of, dtype_of


@dataclasses.dataclass(frozen=True)
class Value:
    """An input or output of a session."""
    name: str
    dtype: Optional[np.dtype]  # object for strings; None where numpy has no such type
    shape: Optional[tuple[Union[int, str, None], ...]]  # open extents by name, or None; None: only a run tells
    text: str  # "f32[N, 3, 224, 224]"


class _Handle:
    """Something of the library's that is freed when nobody holds it."""

    def __init__(self, free):
        self.pointer = ctypes.c_void_p()
        self._free = free

    def __del__(self):
        self._free(self.pointer)


class Session:
    """A model that is ready to run: the path of an ONNX file or of a weight store of `octet pack`, or the bytes of a
    model. `threads`: 0 is one for each core. `isa`: an instruction set, None is the best. `packed`: sequences of
    different lengths one behind the other (docs/embedding.md)."""

    inputs: list[Value]
    outputs: list[Value]

    def __init__(self, model: Union[str, os.PathLike, bytes], *, threads: int = 0, isa: Optional[str] = None,
                 packed: bool = False):
        options = _abi.SessionOptions(size=ctypes.sizeof(_abi.SessionOptions), threads=threads, packed=int(packed),
                                      isa=None if isa is None else isa.encode())
        self._handle = _Handle(library.octet_session_free)
        if isinstance(model, (bytes, bytearray, memoryview)):
            parsed = _Handle(library.octet_model_free)
            data = bytes(model)
            _abi.call(library.octet_model_parse, data, len(data), ctypes.byref(parsed.pointer))
            _abi.call(library.octet_session_create, parsed.pointer, options, ctypes.byref(self._handle.pointer))
        else:
            _abi.call(library.octet_session_open, os.fsencode(model), options, ctypes.byref(self._handle.pointer))
        pointer = self._handle.pointer
        self._codes, self.inputs = self._values(library.octet_session_input, library.octet_session_input_count(pointer))
        _, self.outputs = self._values(library.octet_session_output, library.octet_session_output_count(pointer))
        self._idle = []

    def _values(self, ask, count):
        codes, values = [], []
        for index in range(count):
            info = _abi.ValueInfo(size=ctypes.sizeof(_abi.ValueInfo))
            _abi.call(ask, self._handle.pointer, index, info)
            shape = None
            if info.rank >= 0:
                shape = tuple(info.shape[i] if info.shape[i] >= 0 else info.symbols[i].decode() or None
                              for i in range(info.rank))
            codes.append(info.type)
            values.append(Value(info.name.decode(), dtype_of(info.type), shape, info.text.decode()))
        return codes, values

    @property
    def isa(self) -> str:
        return library.octet_session_isa(self._handle.pointer).decode()

    @property
    def threads(self) -> int:
        return library.octet_session_threads(self._handle.pointer)

    @property
    def warning(self) -> str:
        """Why a weight store beside the model is not used; "": nothing is wrong."""
        return library.octet_session_warning(self._handle.pointer).decode()

    def context(self) -> "Context":
        """A place for one thread to run, whose outputs are not copied."""
        return Context(self)

    def run(self, inputs: Mapping[str, Any], out: Optional[Mapping[str, np.ndarray]] = None) -> dict[str, np.ndarray]:
        """Outputs by name, of `inputs` by name. Arrays that are contiguous are not copied. Outputs are new arrays, or
        those of `out`, which have the right type and shape. Any number of threads may call it at once."""
        out = out or {}
        unknown = set(out) - {value.name for value in self.outputs}
        if unknown:
            raise Error(f'out: the model has no output "{min(unknown)}"; it has {_names(self.outputs)}')
        try:
            context = self._idle.pop()
        except IndexError:
            context = Context(self)
        try:
            return {name: _copy_into(out[name], array, name) if name in out else array.copy()
                    for name, array in context.run(inputs).items()}
        finally:
            self._idle.append(context)


class Context:
    """One thread's place to run a session."""

    def __init__(self, session: Session):
        self._session = session
        self._handle = _Handle(library.octet_context_free)
        _abi.call(library.octet_context_create, session._handle.pointer, ctypes.byref(self._handle.pointer))

    def run(self, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """As Session.run. The outputs are read-only views of the context's memory: the next run writes over them."""
        known = self._session.inputs
        for name in inputs:
            if all(value.name != name for value in known):
                raise Error(f'the model has no input "{name}"; it has {_names(known)}')
        kept, given = [], (_abi.Input * len(known))()
        for i, value in enumerate(known):
            if value.name not in inputs:
                raise Error(f'input "{value.name}" is missing: {value.text}')
            given[i] = _input(inputs[value.name], value, self._session._codes[i], kept)
        outputs = (_abi.Output * len(self._session.outputs))()
        _abi.call(library.octet_run, self._handle.pointer, given, len(given), outputs, len(outputs))
        return {value.name: _view(output, value.name, self)
                for value, output in zip(self._session.outputs, outputs)}


def empty(shape: Union[int, tuple[int, ...]], dtype: Any = "float32") -> np.ndarray:
    """An array at an address that is a multiple of 64. As an input it is read where it lies; others, numpy's own too,
    are first copied within the library."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    memory = np.empty(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start:start + size].view(dtype).reshape(shape)


def _names(values):
    return ", ".join(f'"{value.name}"' for value in values)


def _input(given, value, code, kept):
    """The struct of an array, and in `kept` what has to live until the run ends."""
    if isinstance(given, np.ndarray):
        array = given
    else:
        array = np.asarray(given, dtype=value.dtype)
    if code == STRING or code_of(array.dtype) == STRING:
        texts = [text if isinstance(text, bytes) else str(text).encode() for text in array.reshape(-1).tolist()]
        data = (ctypes.c_char_p * len(texts))(*texts)
        kept.append(data)
        return _struct(STRING, array.shape, ctypes.addressof(data), len(texts) * ctypes.sizeof(ctypes.c_char_p), kept)
    type_code = code_of(array.dtype.newbyteorder("="))
    if type_code is None:
        raise Error(f'input "{value.name}": octet has no type for {array.dtype}; the model wants {value.text}')
    array = np.ascontiguousarray(array, array.dtype.newbyteorder("=")).reshape(array.shape)
    kept.append(array)
    return _struct(type_code, array.shape, array.ctypes.data, array.nbytes, kept)


def _struct(code, shape, address, size, kept):
    extents = (ctypes.c_int64 * len(shape))(*shape)
    kept.append(extents)
    return _abi.Input(code, len(shape), extents, address, size)


def _view(output, name, owner):
    """An array over the context's memory, which holds on to the context; strings are copied."""
    shape = tuple(output.shape[i] for i in range(output.rank))
    if output.type == STRING:
        texts = ctypes.cast(output.data, ctypes.POINTER(ctypes.c_char_p))
        count = output.size_bytes // ctypes.sizeof(ctypes.c_char_p)
        array = np.empty(count, object)
        array[:] = [texts[i].decode(errors="replace") for i in range(count)]
        return array.reshape(shape)
    dtype = dtype_of(output.type)
    if dtype is None:
        raise Error(f'output "{name}" is of a type that numpy has not (small floats need the package ml_dtypes)',
                    "unsupported")
    if output.size_bytes == 0:
        return np.empty(shape, dtype)
    memory = (ctypes.c_char * output.size_bytes).from_address(output.data)
    memory.owner = owner
    array = np.frombuffer(memory, dtype).reshape(shape)
    array.flags.writeable = False
    return array


def _copy_into(out, array, name):
    if not isinstance(out, np.ndarray) or out.dtype != array.dtype or out.shape != array.shape:
        got = f"{out.dtype}{list(out.shape)}" if isinstance(out, np.ndarray) else type(out).__name__
        raise Error(f'out: output "{name}" is {array.dtype}{list(array.shape)} but got {got}')
    np.copyto(out, array)
    return out
