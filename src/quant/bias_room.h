// SPDX-License-Identifier: Apache-2.0
// Room for biases in the sums of codes. ONNX Runtime rounds the float bias of a Conv, ConvTranspose
// or Gemm between Q and DQ to int32 codes at s_x s_w when it loads a file, and cuts off what does not
// fit: a channel whose weights are tiny beside its bias, as batch norm leaves dead ones, would lose
// the bias without a word.
#pragma once

#include "quant/placement.h"

namespace octet {

/// Widens the ranges of weights, channel by channel, until the codes of their biases fit, where the
/// target is one whose files meet such a runtime (Placement::rounds_biases). What it did stands in
/// the notes of the tensors. The plan has all its ranges.
void make_room_for_biases(const Graph& prepared,
                          const Placement& placement,
                          QuantizationPlan& plan);
/// The same for the scales of trained weights that are still floats in front of Q.
void make_room_for_biases(Graph& trained, const Placement& placement);

} // namespace octet
