// SPDX-License-Identifier: Apache-2.0
// A local function, read: FunctionProto to a graph whose attributes may stand for the function's.
#pragma once

#include "octet/graph.h"

namespace octet::onnx {

struct Function {
  Graph body;          ///< with the operator sets that the function imports
  Attributes defaults; ///< values of attributes that a call may leave out
};

/// Errors: a broken message, an input that nothing defines, a cycle.
Result<Function> read_function(const LocalFunction& function);

} // namespace octet::onnx
