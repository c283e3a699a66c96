// SPDX-License-Identifier: Apache-2.0
#include "models/outliers.h"

#include "core/format.h"

#include "octet/bert.h"

namespace octet {
namespace {

/// Multiplies the last `channels` columns of [rows, columns], or elements of a vector.
Status scale_columns(Graph& graph, const std::string& name, int64_t channels, float factor) {
  const auto id = graph.find_value(name);
  const Tensor* old = id ? graph.constant(*id) : nullptr;
  if (old == nullptr || old->type() != DType::kFloat32)
    return error("there is no f32 constant \"{}\"", name);
  const int64_t columns = old->shape().back();
  if (channels > columns)
    return error("\"{}\" has {} channels, fewer than {}", name, columns, channels);
  Tensor made = old->clone();
  const auto values = made.mutable_data<float>();
  for (size_t i = 0; i < values.size(); ++i)
    if (static_cast<int64_t>(i) % columns >= columns - channels) values[i] *= factor;
  graph.set_constant(*id, std::move(made));
  return ok_status();
}

/// Multiplies the last `channels` rows of [rows, columns].
Status scale_rows(Graph& graph, const std::string& name, int64_t channels, float factor) {
  const auto id = graph.find_value(name);
  const Tensor* old = id ? graph.constant(*id) : nullptr;
  if (old == nullptr || old->type() != DType::kFloat32 || old->rank() != 2)
    return error("there is no f32 matrix \"{}\"", name);
  if (channels > old->dim(0))
    return error("\"{}\" has {} rows, fewer than {}", name, old->dim(0), channels);
  Tensor made = old->clone();
  const auto values = made.mutable_data<float>();
  const auto first = static_cast<size_t>((old->dim(0) - channels) * old->dim(1));
  for (size_t i = first; i < values.size(); ++i)
    values[i] *= factor;
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
      OCTET_TRY(scale_columns(bert, layer + maker + ".weight", channels, factor));
      OCTET_TRY(scale_columns(bert, layer + maker + ".bias", channels, factor));
      OCTET_TRY(scale_rows(bert, layer + reader + ".weight", channels, 1 / factor));
    }
  }
  return bert;
}

} // namespace octet
