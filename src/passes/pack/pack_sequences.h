// SPDX-License-Identifier: Apache-2.0
// Packing: a lowered graph for batches of sequences, [batch, length, ..] with padding and a mask,
// becomes one for their tokens one behind the other, [tokens, ..], and the offsets at which each
// sequence begins. docs/architecture.md, "Packed sequences".
#pragma once

#include <string_view>

#include "octet/graph.h"

namespace octet {

/// The input that a packed graph has behind those of the model: i64 [sequences + 1].
inline constexpr std::string_view kOffsetsInput = "offsets";

/// Gives the sizes of all inputs, which are [batch, length], the names that pack_sequences goes by.
/// To be called before the graph is lowered. Errors: an input that is no batch of sequences.
Status name_sequence_axes(Graph& graph);

/// The packed form. Each input keeps its name and has the shape [tokens]; those that are nothing but
/// masks go, and `offsets` comes last. Outputs of tokens become [tokens, ..], those of sequences
/// stay [sequences, ..]. Each sequence gets the bits that it gets alone, with a mask of ones, and
/// those that it gets in a padded batch: it is proved that a masked key counts exactly nothing.
/// Errors name the node that mixes tokens in another way than attention within a sequence, or say
/// why the mask is not known to be padding alone.
Result<Graph> pack_sequences(const Graph& lowered);

} // namespace octet
