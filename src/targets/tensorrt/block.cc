// SPDX-License-Identifier: Apache-2.0
// Scales of several axes: one for each block of a tensor.
#include "core/format.h"
#include "targets/tensorrt/rules.h"

namespace octet::tensorrt {

namespace {

struct Blocks {
  int64_t scales = 0, scale_rank = 0, rank = 0;
  int64_t blocked_axes = 0, volume = 1;
  bool known = true; ///< every dimension of the tensor is

  bool of_one_rank() const { return scale_rank == rank; }
};

/// Of Q and DQ with several scales that do not lie along one axis.
std::optional<Blocks> blocks_of(const CheckContext& context, const Node& node) {
  const Tensor* scale = qdq::written(context.graph, node).scales;
  if (scale == nullptr || scale->count() <= 1 || scale->rank() == 1) return std::nullopt;
  const TypeInfo& x = context.graph.value(node.input(0)).type;
  if (!x.has_rank()) return std::nullopt;
  Blocks out{scale->count(), scale->rank(), x.rank()};
  for (int64_t axis = 0; out.of_one_rank() && axis < out.rank; ++axis) {
    const auto dim = (*x.shape)[static_cast<size_t>(axis)].maybe_value();
    out.known = out.known && dim.has_value();
    if (!dim) continue;
    out.volume *= *dim;
    if (*dim != scale->shape()[static_cast<size_t>(axis)]) ++out.blocked_axes;
  }
  return out;
}

void find_scale_rank(const CheckContext& context, const Node& node, Found& found) {
  const auto blocks = blocks_of(context, node);
  if (blocks && !blocks->of_one_rank())
    found.add(node,
              fmt::format("\"Invalid rank for the scale tensor. Rank = {}.\"", blocks->scale_rank),
              "give a scalar, one scale for each channel, or one for each block");
}

std::optional<Blocks> known_blocks(const CheckContext& context, const Node& node) {
  const auto blocks = blocks_of(context, node);
  return blocks && blocks->of_one_rank() && blocks->known ? blocks : std::nullopt;
}

void find_block_dimensions(const CheckContext& context, const Node& node, Found& found) {
  const auto blocks = known_blocks(context, node);
  if (blocks && blocks->blocked_axes > 1)
    found.add(node, "\"Only a single blocking dimension is allowed.\"", "block one axis");
}

void find_block_size(const CheckContext& context, const Node& node, Found& found) {
  const auto blocks = known_blocks(context, node);
  if (blocks && blocks->blocked_axes <= 1 && blocks->volume % blocks->scales != 0)
    found.add(node,
              fmt::format("\"Inferred block size is not an integer. Input volume = {}, scale "
                          "volume = {}.\"",
                          blocks->volume, blocks->scales),
              "choose a block size that divides the axis");
}

void find_block_int8(const CheckContext& context, const Node& node, Found& found) {
  if (known_blocks(context, node) && qdq::written(context.graph, node).codes_type == DType::kInt8)
    found.add(node, "block quantization is for FP4, FP8 and INT4 only", "use one scale a channel");
}

} // namespace

constexpr TargetRule kScaleRank = {
    .id = "scale-rank", .clause = "1.1 row 19", .find = find_scale_rank};
constexpr TargetRule kBlockDimensions = {
    .id = "block-dimensions", .clause = "1.1 row 17", .find = find_block_dimensions};
constexpr TargetRule kBlockSize = {
    .id = "block-size", .clause = "1.1 row 18", .find = find_block_size};
constexpr TargetRule kBlockInt8 = {
    .id = "block-int8", .clause = "1.4", .find = find_block_int8, .mends = {Mend::kUnblockWeight}};

} // namespace octet::tensorrt
