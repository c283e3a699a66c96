// SPDX-License-Identifier: Apache-2.0
// How much a layer computes, to weigh layers against one another.
#pragma once

#include "octet/graph.h"

namespace octet {

/// Multiply-adds of a product (Conv, ConvTranspose, Gemm, MatMul and their integer forms, LSTM, GRU
/// and RNN with all steps of every sequence) for the shapes of the graph; dimensions that are not
/// known count as 1, other operators as 0. Saturates.
int64_t multiply_adds(const Graph& graph, const Node& node);

/// Of these, what stays in float where the layer runs in int8: the products with the states of an
/// LSTM, GRU or RNN, and those around the softmax of com.microsoft's Attention and QAttention.
int64_t float_multiply_adds(const Graph& graph, const Node& node);

} // namespace octet
