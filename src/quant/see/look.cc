// SPDX-License-Identifier: Apache-2.0
#include "quant/see/look.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/format.h"
#include "ops/evaluate.h"
#include "quant/batch_rows.h"
#include "quant/see/beside.h"

namespace octet {

namespace {

Result<std::vector<TensorView>>
look_at_weights(const Graph& prepared, const Graph& quantized, const ModelPairs& pairs) {
  std::vector<TensorView> out;
  for (const WeightPair& weight : pairs.weights) {
    const Tensor& wanted = *prepared.constant(weight.in_float);
    const Node& dequantize = *quantized.producer(weight.in_quantized);
    const auto codes = constant_value(quantized, dequantize.input(0));
    if (!codes) return error("weight \"{}\": its codes cannot be computed", weight.value);
    const int64_t axis =
        weight.grid.axis.value_or(prepared.value(weight.in_float).type.rank() >= 3 ? 0 : -1);
    out.emplace_back(weight.value, weight.grid, weight.codes, axis);
    if (codes->shape() == wanted.shape()) OCTET_TRY(out.back().add(wanted, *codes));
  }
  return out;
}

double own_error(const QuantizedLayer& layer, const std::map<std::string, double>& errors) {
  double worst = 0;
  for (const std::vector<std::string>* each : {&layer.activations, &layer.weights})
    for (const std::string& value : *each)
      if (const auto found = errors.find(value); found != errors.end())
        worst = std::max(worst, found->second);
  return worst;
}

} // namespace

Result<Looked> look(const Graph& prepared,
                    const Graph& quantized,
                    const ModelPairs& pairs,
                    const CalibrationSource& source,
                    const LookOptions& options) {
  Looked out;
  out.weights = OCTET_TRY(look_at_weights(prepared, quantized, pairs));
  std::vector<std::pair<ValueId, ValueId>> ids;
  for (const ValuePair& value : pairs.values) {
    const TypeInfo& type = prepared.value(value.in_float).type;
    out.values.emplace_back(value.value, value.grid, value.codes,
                            channel_axis(type.has_rank() ? type.rank() : 2));
    ids.emplace_back(value.in_float, value.in_quantized);
  }
  RunBeside runs = OCTET_TRY(RunBeside::create(prepared, quantized, ids, options.executor));
  std::optional<size_t> mask;
  for (size_t i = 0; i < prepared.inputs().size(); ++i)
    if (!options.mask_input.empty() &&
        prepared.value(prepared.inputs()[i]).name == options.mask_input)
      mask = i;
  while (const auto inputs = OCTET_TRY(source())) {
    const Status ran = runs.run(
        *inputs,
        [&](size_t pair, const Tensor& wanted, const Tensor& other) {
          return out.values[pair].add(wanted, other, mask ? &(*inputs)[*mask] : nullptr);
        },
        options.cancel);
    if (!ran.ok() && ran.error().code() == ErrorCode::kCancelled && out.examples > 0) break;
    OCTET_TRY(Status(ran));
    out.examples += examples_in(*inputs);
    if (options.progress) options.progress(out.examples);
  }
  if (out.examples == 0) return error("the data holds no example");
  return out;
}

OutputsLooked outputs_of(const ModelPairs& pairs, const Looked& looked) {
  double noise = 0, cosine = 0;
  int count = 0;
  for (size_t i = 0; i < pairs.values.size(); ++i) {
    if (!pairs.values[i].output) continue;
    noise += std::pow(10, -looked.values[i].sqnr_db() / 10);
    cosine += looked.values[i].cosine();
    ++count;
  }
  if (count == 0) return {decibels(0), 1};
  return {decibels(noise / count), cosine / count};
}

std::vector<QuantizedLayer> by_own_error(std::vector<QuantizedLayer> layers, const Looked& looked) {
  std::map<std::string, double> errors;
  for (const std::vector<TensorView>* each : {&looked.values, &looked.weights})
    for (const TensorView& view : *each)
      if (const auto alone = view.sqnr_alone_db())
        errors[view.value()] = std::pow(10, -*alone / 10);
  std::stable_sort(layers.begin(), layers.end(),
                   [&](const QuantizedLayer& a, const QuantizedLayer& b) {
                     return own_error(a, errors) > own_error(b, errors);
                   });
  return layers;
}

} // namespace octet
