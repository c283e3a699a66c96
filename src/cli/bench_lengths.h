// SPDX-License-Identifier: Apache-2.0
// Batches of sequences of given lengths: packed, and padded beside it.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

#include "octet/graph.h"

namespace octet::cli {

/// Lengths of the sequences of each batch, in tokens.
using LengthBatches = std::vector<std::vector<int64_t>>;

/// `12,57,128`, or a file with such a line for each batch. Errors name it and what is no length.
Result<LengthBatches> parse_lengths(const std::string& lengths);

struct LengthTimes {
  int64_t batches = 0, sequences = 0, tokens = 0;
  int64_t padded_tokens = 0;     ///< what the same batches take with padding
  std::vector<double> packed_ms; ///< of all batches, a pass each
  std::vector<double> padded_ms; ///< empty: not asked for
  std::string isa;
  int threads = 0;
};

enum class Beside { kNothing, kPadded };

/// Passes over all batches, on random tokens, for so many seconds, two at least: the first warms up
/// and is not counted. Errors: why the model cannot run packed.
Result<LengthTimes> time_lengths(const Graph& graph,
                                 const LengthBatches& batches,
                                 Beside beside,
                                 double seconds,
                                 const Common& common);

std::string text(const LengthTimes& times);
std::string json(const LengthTimes& times);

} // namespace octet::cli
