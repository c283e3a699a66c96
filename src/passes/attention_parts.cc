// SPDX-License-Identifier: Apache-2.0
#include "passes/attention_parts.h"

#include <limits>

namespace octet {

std::optional<HeadSizes> head_sizes(const Node& node, int64_t columns) {
  HeadSizes h{node.attr_int("num_heads", 0), columns / 3, columns / 3};
  const auto sizes = node.attr_ints("qkv_hidden_sizes");
  if (sizes.size() == 3) {
    h.query = sizes[0];
    h.value = sizes[2];
    if (sizes[1] != sizes[0]) return std::nullopt;
  }
  if (h.count < 1 || h.query < 1 || h.value < 1 || 2 * h.query + h.value != columns ||
      h.query % h.count != 0 || h.value % h.count != 0)
    return std::nullopt;
  return h;
}

ValueId AttentionParts::split(
    ValueId x, const char* part, int64_t count, int64_t size, std::vector<int64_t> order) const {
  const std::string base = name(part) + "_heads";
  const ValueId shape = emit_ints(patch_, base + "/shape", {0, 0, count, size});
  const ValueId apart = patch_.emit("Reshape", {x, shape}, {}, base + "/split");
  Attributes perm;
  perm["perm"].value = std::move(order);
  return patch_.emit("Transpose", {apart}, std::move(perm), base);
}

ValueId AttentionParts::join(ValueId x, int64_t columns, const std::string& as) const {
  Attributes perm;
  perm["perm"].value = std::vector<int64_t>{0, 2, 1, 3};
  const ValueId back = patch_.emit("Transpose", {x}, std::move(perm), name("transpose"));
  return patch_.emit("Reshape", {back, emit_ints(patch_, name("shape"), {0, 0, columns})}, {}, as);
}

ValueId AttentionParts::softmax(ValueId scores) const {
  Attributes axis;
  axis["axis"].value = int64_t{g_.opset() < 11 ? 3 : -1};
  return patch_.emit("Softmax", {scores}, std::move(axis), name("softmax"));
}

ValueId AttentionParts::mask_term(ValueId given, SizedBy keys) const {
  const TypeInfo& mask = g_.value(given).type;
  if (!mask.has_rank() || mask.rank() < 1 || mask.rank() > 3 || mask.type != DType::kInt32)
    return {};
  // Whether a single column is a mask depends on how many steps and rows there are.
  if (mask.rank() == 2 && (*mask.shape)[1] == Dim(1)) return {};
  const ValueId counts =
      mask.rank() == 1 ? within_length(given, keys) : positive(given, mask.rank());
  if (!counts.valid()) return {};
  const double filter = static_cast<double>(node_.attr_float("mask_filter_value", -10000));
  return patch_.emit("Where",
                     {counts, emit_number(patch_, name("mask_zero"), type_, 0),
                      emit_number(patch_, name("mask_filter"), type_, filter)},
                     {}, name("mask"));
}

ValueId AttentionParts::positive(ValueId mask, int64_t rank) const {
  const ValueId zero = patch_.constant(name("mask_none"), Tensor::scalar<int32_t>(0));
  const ValueId counts = patch_.emit("Greater", {mask, zero}, {}, name("mask_counts"));
  if (rank == 3) return emit_unsqueeze(patch_, g_, name("mask_by_head"), counts, 1);
  const ValueId shape = emit_ints(patch_, name("mask_shape"), {0, 1, 1, -1});
  return patch_.emit("Reshape", {counts, shape}, {}, name("mask_by_head"));
}

/// Key k counts when k is below the length of its row.
ValueId AttentionParts::within_length(ValueId given, SizedBy by) const {
  const TypeInfo& x = g_.value(node_.input(0)).type;
  const TypeInfo& mask = g_.value(given).type;
  if (!((*mask.shape)[0] == (*x.shape)[0])) return {};
  if (!by.value.valid()) {
    // Codes should have no other reader than DQ: what they are made from has the same sizes.
    const Node* made = g_.producer(node_.input(0));
    const bool codes =
        made != nullptr && (made->is("QuantizeLinear") || made->is("DynamicQuantizeLinear"));
    by = {codes ? made->input(0) : node_.input(0), 1};
  }
  const ValueId steps = emit_size(patch_, name("mask_steps"), by.value, by.axis);
  Attributes to;
  to["to"].value = static_cast<int64_t>(DType::kInt32);
  const ValueId limit = patch_.emit("Cast", {steps}, std::move(to), name("mask_limit"));
  const ValueId keys =
      patch_.emit("Range",
                  {patch_.constant(name("mask_first"), Tensor::scalar<int32_t>(0)), limit,
                   patch_.constant(name("mask_step"), Tensor::scalar<int32_t>(1))},
                  {}, name("mask_keys"));
  const ValueId lengths =
      patch_.emit("Reshape", {given, emit_ints(patch_, name("mask_shape"), {-1, 1, 1, 1})}, {},
                  name("mask_lengths"));
  return patch_.emit("Less", {keys, lengths}, {}, name("mask_counts"));
}

ValueId AttentionParts::causal_term(SizedBy queries, SizedBy keys, SizedBy past) const {
  ValueId rows = emit_count(patch_, name("causal_rows"),
                            emit_size(patch_, name("causal_queries"), queries.value, queries.axis));
  if (past.value.valid())
    rows = patch_.emit("Add", {rows, emit_size(patch_, name("causal_past"), past.value, past.axis)},
                       {}, name("causal_places"));
  const ValueId columns = emit_count(patch_, name("causal_columns"),
                                     emit_size(patch_, name("causal_keys"), keys.value, keys.axis));
  const ValueId later =
      patch_.emit("Greater", {columns, emit_unsqueeze(patch_, g_, name("causal_by_row"), rows, 1)},
                  {}, name("causal_later"));
  constexpr double kLowest = std::numeric_limits<float>::lowest();
  return patch_.emit("Where",
                     {later, emit_number(patch_, name("causal_filter"), type_, kLowest),
                      emit_number(patch_, name("causal_zero"), type_, 0)},
                     {}, name("causal"));
}

} // namespace octet
