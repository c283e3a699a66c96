// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/format.h"
#include "core/hash.h"
#include "ops/infer.h"
#include "quant/calibrate.h"
#include "quant/one_at_a_time.h"

#include "octet/range_shards.h"
#include "octet/version.h"

namespace octet {

namespace {

/// Every float input and float result.
std::vector<ValueId> observed_values(const Graph& typed) {
  std::vector<ValueId> out;
  for (int32_t i = 0; i < typed.value_bound(); ++i) {
    const Value& value = typed.value(ValueId{i});
    const bool computed = value.kind == ValueKind::kNodeOutput && value.producer.valid() &&
                          typed.constant(value.id) == nullptr;
    const bool is_real = value.type.type == DType::kFloat32 || value.type.type == DType::kFloat16 ||
                         value.type.type == DType::kBfloat16;
    if (is_real && (computed || value.kind == ValueKind::kInput)) out.push_back(value.id);
  }
  return out;
}

/// Tells data sets apart at the cost of a few examples; descriptions name files, which lie in
/// another place on each machine.
Result<uint64_t> hash_of_examples(const Dataset& data, int64_t samples) {
  constexpr int64_t kLookedAt = 16;
  uint64_t hash = hash_value(static_cast<uint64_t>(data.size()), 0);
  for (int64_t i = 0; i < samples; ++i)
    hash = hash_value(static_cast<uint64_t>(data.length(i * data.size() / samples)), hash);
  const int64_t looked_at = std::min(samples, kLookedAt);
  for (int64_t i = 0; i < looked_at; ++i) {
    const int64_t index = i * data.size() / looked_at;
    const Batch example = OCTET_TRY(data.batch({&index, 1}));
    for (const auto& [name, tensor] : example.inputs)
      hash = hash_value(tensor.content_hash(), hash_bytes(std::string_view(name), hash));
  }
  return hash;
}

/// What observe_shard gives, without the hashes of graph and data.
Result<RangeShard> observe_part(const Graph& graph,
                                const Dataset& data,
                                const QuantizeOptions& options,
                                const Shard& shard) {
  if (std::holds_alternative<Auto>(options.calibrator))
    return error(
        "calibrate: auto compares quantized networks, and ranges alone make none; plan with "
        "it, and name the calibrator that the plan took");
  Graph typed = graph;
  OCTET_TRY_WITH(infer_types(typed), "calibrate");
  const Scheme scheme{DType::kInt8, options.symmetric.value_or(true), false};
  std::vector<ObserveRequest> requests;
  for (const ValueId value : observed_values(typed))
    requests.push_back({value, scheme});
  if (requests.empty()) return error("calibrate: the graph computes no floats");
  const bool alone = OCTET_TRY(mixes_examples(typed, data, options));
  const Batches batches(typed, data, options.samples, alone ? 1 : options.batch_size);
  const int64_t first = (shard.index - 1) * batches.count() / shard.count;
  const int64_t end = shard.index * batches.count() / shard.count;
  Observed observed = OCTET_TRY(observe(typed, requests, batches.source(first, end), options,
                                        std::min((end - first) * batches.size(), batches.samples()),
                                        shard.count > 1 ? Nothing::kFine : Nothing::kError));
  RangeShard out;
  out.run = {.octet = std::string(version()),
             .data = data.description(),
             .calibrator = options.calibrator,
             .scheme = scheme,
             .mask_input = options.mask_input,
             .samples = batches.samples(),
             .batch_size = batches.size()};
  out.shard = shard;
  out.samples = observed.samples;
  for (size_t i = 0; i < requests.size(); ++i)
    out.tensors.emplace_back(typed.value(requests[i].value).name, std::move(observed.observers[i]));
  return out;
}

} // namespace

Result<RangeShard> observe_shard(const Graph& graph,
                                 const Dataset& data,
                                 const QuantizeOptions& options,
                                 const Shard& shard) {
  if (shard.count < 1 || shard.count > kMostShards || shard.index < 1 || shard.index > shard.count)
    return error("calibrate: there is no shard {} of {}", shard.index, shard.count);
  RangeShard out = OCTET_TRY(observe_part(graph, data, options, shard));
  out.run.graph_hash = graph.content_hash();
  out.run.data_hash = OCTET_TRY_WITH(hash_of_examples(data, out.run.samples), "calibrate");
  return out;
}

Result<std::vector<TensorRange>> ranges_of(const RangeShard& shard,
                                           const std::optional<Calibrator>& by,
                                           const std::function<bool()>& go_on) {
  std::vector<TensorRange> out;
  out.reserve(shard.tensors.size());
  for (const auto& [tensor, observer] : shard.tensors) {
    if (go_on && !go_on())
      return error(ErrorCode::kCancelled, "calibration: stopped after {} ranges", out.size());
    const bool other = by && *by != shard.run.calibrator;
    const auto ranges = OCTET_TRY_WITH(other ? observer.ranges_by(*by) : observer.ranges(),
                                       fmt::format("calibration: value \"{}\"", tensor));
    out.push_back({tensor, ranges.at(0)});
  }
  return out;
}

Result<std::vector<std::string>> calibrated_tensors(const Graph& graph) {
  Graph typed = graph;
  OCTET_TRY_WITH(infer_types(typed), "calibrate");
  std::vector<std::string> out;
  for (const ValueId value : observed_values(typed))
    out.push_back(typed.value(value).name);
  return out;
}

Result<bool>
mixes_examples(const Graph& graph, const Dataset& data, const QuantizeOptions& options) {
  const Batches batches(graph, data, options.samples, options.batch_size);
  if (batches.count() == 0) return false;
  const CalibrationSource source = batches.source(0, 1);
  const auto first = OCTET_TRY(source());
  return first && mixes_examples_of(graph, *first, options);
}

Result<std::vector<TensorRange>>
observe_ranges(const Graph& graph, const Dataset& data, const QuantizeOptions& options) {
  const RangeShard all = OCTET_TRY(observe_part(graph, data, options, {}));
  return ranges_of(
      all, {}, [&] { return !options.progress || options.progress(all.samples, all.run.samples); });
}

} // namespace octet
