// SPDX-License-Identifier: Apache-2.0
#include "models/outliers.h"

#include "core/format.h"

#include "octet/bert.h"

namespace octet {
namespace {

/// Multiplies what belongs to the last `channels` of an axis of an f32 constant.
Status
scale_last(Graph& graph, const std::string& name, int64_t axis, int64_t channels, float factor) {
  const auto id = graph.find_value(name);
  const Tensor* old = id ? graph.constant(*id) : nullptr;
  if (old == nullptr || old->type() != DType::kFloat32 || old->rank() <= axis)
    return error("there is no f32 constant \"{}\" with an axis {}", name, axis);
  const int64_t size = old->dim(axis);
  if (channels > size) return error("\"{}\" has {} channels, fewer than {}", name, size, channels);
  int64_t inner = 1;
  for (int64_t i = axis + 1; i < old->rank(); ++i)
    inner *= old->dim(i);
  Tensor made = old->clone();
  const auto values = made.mutable_data<float>();
  for (size_t i = 0; i < values.size(); ++i)
    if (static_cast<int64_t>(i) / inner % size >= size - channels) values[i] *= factor;
  graph.set_constant(*id, std::move(made));
  return ok_status();
}

} // namespace

Result<Graph> with_outlier_channels(Graph bert, int64_t channels, float factor) {
  const BertOptions options = OCTET_TRY(bert_options(bert));
  if (options.activation != BertActivation::kRelu)
    return error("outlier channels need Relu between the feed-forward products: GELU takes no "
                 "factor");
  if (!(factor > 0)) return error("the factor of outlier channels is {}; above 0", factor);
  for (int64_t i = 0; i < options.layers; ++i) {
    const std::string layer = fmt::format("bert.encoder.layer.{}.", i);
    for (const auto& [maker, reader] : {std::pair{"attention.self.value", "attention.output.dense"},
                                        std::pair{"intermediate.dense", "output.dense"}}) {
      OCTET_TRY(scale_last(bert, layer + maker + ".weight", 1, channels, factor));
      OCTET_TRY(scale_last(bert, layer + maker + ".bias", 0, channels, factor));
      OCTET_TRY(scale_last(bert, layer + reader + ".weight", 0, channels, 1 / factor));
    }
  }
  return bert;
}

} // namespace octet
