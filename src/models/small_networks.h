// SPDX-License-Identifier: Apache-2.0
// Small networks of the kinds that people quantize, which train in seconds: what experiments over
// many networks are made of.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "octet/graph.h"

namespace octet {

struct SmallNetwork {
  std::string_view name;   ///< "depthwise"
  std::string_view family; ///< "mlp", "cnn" or "bert"
  /// Of generated tokens (data/token_tasks.h) what a BERT learns; empty: images of 28 x 28 pixels.
  std::string_view task;
  bool batch_norm = false;
};

/// Multilayer perceptrons, convolutional networks with and without batch normalization,
/// depthwise and grouped windows and shortcuts, and BERTs of two layers for each task.
std::span<const SmallNetwork> small_networks();

/// The network with fresh weights: input `x` f32[N, 1, 28, 28], or `input_ids` and
/// `attention_mask` i64[N, S]; output `logits` f32[N, classes]. Errors: a name that is in no row.
Result<Graph> make_small_network(std::string_view name, uint64_t seed);

} // namespace octet
