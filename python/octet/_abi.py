# SPDX-License-Identifier: Apache-2.0
"""octet.h for ctypes: structs, functions, and errors as exceptions."""
import ctypes
import pathlib
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_size_t, c_void_p


class Error(RuntimeError):
    """What octet answers; `kind` is "invalid", "unsupported", "not found", "refused", "cancelled" or "internal"."""

    def __init__(self, text: str, kind: str = "invalid"):
        super().__init__(text)
        self.kind = kind


KINDS = {1: "invalid", 2: "unsupported", 3: "not found", 4: "refused", 5: "cancelled", 6: "internal"}


class SessionOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("threads", c_int32), ("packed", c_int32), ("isa", c_char_p),
                ("parallel_for", c_void_p), ("parallel_for_user", c_void_p)]


class ValueInfo(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("text", c_char_p), ("type", c_int32), ("rank", c_int32),
                ("shape", POINTER(c_int64)), ("symbols", POINTER(c_char_p))]


class Input(ctypes.Structure):
    _fields_ = [("type", c_int32), ("rank", c_int32), ("shape", POINTER(c_int64)), ("data", c_void_p),
                ("size_bytes", c_size_t)]


class Output(ctypes.Structure):
    _fields_ = [("buffer", c_void_p), ("buffer_bytes", c_size_t), ("type", c_int32), ("rank", c_int32),
                ("shape", POINTER(c_int64)), ("data", c_void_p), ("size_bytes", c_size_t)]


def _load():
    """The library of this package, else the one that is installed on the system."""
    beside = pathlib.Path(__file__).parent / "lib" / "liboctet.so.0"
    library = ctypes.CDLL(str(beside) if beside.exists() else "liboctet.so.0")
    handle, error = POINTER(c_void_p), POINTER(c_void_p)
    signatures = {
        "octet_version": (c_char_p, []),
        "octet_error_text": (c_char_p, [c_void_p]),
        "octet_error_free": (None, [c_void_p]),
        "octet_model_parse": (c_int32, [c_char_p, c_size_t, handle, error]),
        "octet_model_free": (None, [c_void_p]),
        "octet_session_create": (c_int32, [c_void_p, POINTER(SessionOptions), handle, error]),
        "octet_session_open": (c_int32, [c_char_p, POINTER(SessionOptions), handle, error]),
        "octet_session_free": (None, [c_void_p]),
        "octet_session_isa": (c_char_p, [c_void_p]),
        "octet_session_threads": (c_int32, [c_void_p]),
        "octet_session_warning": (c_char_p, [c_void_p]),
        "octet_session_input_count": (c_size_t, [c_void_p]),
        "octet_session_output_count": (c_size_t, [c_void_p]),
        "octet_session_input": (c_int32, [c_void_p, c_size_t, POINTER(ValueInfo), error]),
        "octet_session_output": (c_int32, [c_void_p, c_size_t, POINTER(ValueInfo), error]),
        "octet_context_create": (c_int32, [c_void_p, handle, error]),
        "octet_context_free": (None, [c_void_p]),
        "octet_run": (c_int32, [c_void_p, POINTER(Input), c_size_t, POINTER(Output), c_size_t, error]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


library = _load()


def call(function, *arguments):
    """Calls a function that can fail; its error is raised. The lock of the interpreter is free meanwhile."""
    error = c_void_p()
    code = function(*arguments, ctypes.byref(error))
    if code != 0:
        text = library.octet_error_text(error).decode(errors="replace")
        library.octet_error_free(error)
        raise Error(text, KINDS.get(code, "internal"))


def version() -> str:
    """Version of the library: "major.minor.patch"."""
    return library.octet_version().decode()
