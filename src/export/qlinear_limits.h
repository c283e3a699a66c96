// SPDX-License-Identifier: Apache-2.0
// Where ONNX Runtime's operators on codes of com.microsoft compute something else than the float
// operator between DQ and Q. Source: measured with 1.31 on x64; docs/export.md.
#pragma once

#include "export/coded_product.h"

namespace octet {

/// False: the operator with this input and output has to stay between DQ and Q.
bool computes_on_codes(const Graph& graph,
                       const Node& node,
                       const qdq::Site& in,
                       const CodedOutput& out);

/// Scales and zero points of one element become scalars, as com.microsoft's operators want them.
void make_parameters_scalar(Graph& graph);

} // namespace octet
