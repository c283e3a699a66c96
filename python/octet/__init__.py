# SPDX-License-Identifier: Apache-2.0
"""Runs 8-bit (and other) ONNX models in octet, on numpy arrays.

    import numpy, octet
    session = octet.Session("model.onnx")
    y = session.run({"x": numpy.zeros((1, 3, 224, 224), "float32")})["y"]

A session may be used by many threads at once. See docs/embedding.md.
"""
from octet._abi import Error, version
from octet._session import Context, Session, Value, empty

__version__ = version()
__all__ = ["Context", "Error", "Session", "Value", "empty", "version"]
