// SPDX-License-Identifier: Apache-2.0
// Batches of a data set as TensorRT's calibrators ask for them: all in one shape.
#include <algorithm>

#include "core/format.h"
#include "quant/calibrate.h"

#include "octet/engine_calibration.h"

namespace octet {
namespace {

std::string shape_text(const Shape& shape) {
  return fmt::format("{}", fmt::join(shape, "x"));
}

} // namespace

EngineCalibration EngineCalibration::from_cache(std::string cache) {
  EngineCalibration out;
  out.cache_ = std::move(cache);
  return out;
}

Result<EngineCalibration> EngineCalibration::from_data(const Graph& graph,
                                                       std::shared_ptr<const Dataset> data,
                                                       Data options) {
  EngineCalibration out;
  const int64_t wanted =
      options.samples > 0 ? std::min(options.samples, data->size()) : data->size();
  if (wanted == 0) return error("{}: no examples to calibrate with", data->description());
  const Batches all(graph, *data, wanted, std::clamp<int64_t>(options.batch, 1, wanted));
  out.batch_ = all.size();
  out.samples_ = all.fixed() ? wanted : wanted / out.batch_ * out.batch_;
  out.left_out_ = wanted - out.samples_;
  out.source_ = batches_of(graph, *data, out.samples_, out.batch_);
  out.data_ = std::move(data);
  out.options_ = std::move(options);
  out.first_ = OCTET_TRY_WITH(out.source_(), "calibration: batch 0");
  for (size_t i = 0; out.first_ && i < out.first_->size(); ++i)
    out.shapes_.emplace_back(graph.value(graph.inputs()[i]).name, (*out.first_)[i].shape());
  return out;
}

Status EngineCalibration::check_shapes(const std::vector<Tensor>& batch) const {
  for (size_t i = 0; i < batch.size(); ++i)
    if (const auto& [input, shape] = shapes_[i]; batch[i].shape() != shape)
      return error("input \"{}\" has the shape {}, in the first batch {}; TensorRT calibrates in "
                   "one shape",
                   input, shape_text(batch[i].shape()), shape_text(shape));
  return ok_status();
}

Result<std::optional<std::vector<Tensor>>>
EngineCalibration::next(std::span<const char* const> names) {
  if (!source_)
    return Error("TensorRT does not take the calibration cache and asks for data; let it calibrate "
                 "(--calibrate entropy --data D with another --calibration-cache)");
  const std::string where = fmt::format("calibration: batch {}", batches_);
  std::optional<std::vector<Tensor>> batch = std::exchange(first_, std::nullopt);
  if (!batch && batches_ > 0) batch = OCTET_TRY_WITH(source_(), where);
  if (!batch) return std::optional<std::vector<Tensor>>();
  OCTET_TRY_WITH(check_shapes(*batch), where);
  std::vector<Tensor> out;
  for (const std::string_view wanted : names) {
    const auto found = std::find_if(shapes_.begin(), shapes_.end(),
                                    [&](const auto& input) { return input.first == wanted; });
    if (found == shapes_.end())
      return error("{}: TensorRT asks for the input \"{}\", which the model does not have", where,
                   wanted);
    out.push_back((*batch)[static_cast<size_t>(found - shapes_.begin())]);
  }
  ++batches_;
  given_ = std::min(given_ + batch_, samples_);
  if (options_.progress && !options_.progress(given_, samples_))
    return error(ErrorCode::kCancelled, "calibration: stopped after {} examples", given_);
  return std::optional(std::move(out));
}

void EngineCalibration::store(std::string_view cache) const {
  if (source_ && options_.store) options_.store(cache);
}

} // namespace octet
