// SPDX-License-Identifier: Apache-2.0
// Rules, and parts of rules, that hold for several families of targets.
#pragma once

#include "targets/rule.h"

namespace octet {

/// Codes of a type that ONNX's operator does not take in the file's operator set.
extern const TargetRule kCodesOfLaterOpset;
/// What to do about a type that the node's operator does not take.
std::string fix_of_type(const Graph& graph, const Node& node);

/// A constant scale that no parser refuses and that quantizes nothing: 0, negative or NaN;
/// infinite.
FindInNode find_scale_not_positive, find_scale_infinite;
/// What is declared of an intermediate or output and contradicts what is computed: an element type;
/// a shape alone.
FindInModel find_declared_type, find_declared_shape;
/// What to write instead of one that is not positive.
std::string fix_of_scale(const Node& node, const Tensor& scale, int64_t index);

} // namespace octet
