// SPDX-License-Identifier: Apache-2.0
// The stand-in's calibration. Extremes are taken here; where the algorithm is entropy the range of
// the same values is octet's, since what is tested is the way of data and caches.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <memory>

#include "fake.h"
#include <fmt/format.h>

#include "octet/executor.h"
#include "octet/observer.h"

#if NV_TENSORRT_MAJOR < 11

namespace octet::fake {
namespace {

class Ranges {
 public:
  explicit Ranges(bool entropy) : entropy_(entropy) {}

  void see(const std::string& name, const Tensor& values) {
    if (values.type() != DType::kFloat32) return;
    const Tensor aligned = values.aligned();
    float& largest = extremes_[name];
    for (const float value : aligned.data<float>())
      largest = std::max(largest, std::fabs(value));
    if (!entropy_) return;
    auto found = observers_.find(name);
    if (found == observers_.end())
      found = observers_.emplace(name, Observer::create(Entropy{}).value()).first;
    (void)found->second.observe(values);
  }

  std::string text() const {
    std::string out;
    for (const auto& [name, extreme] : extremes_) {
      float largest = extreme;
      if (entropy_) {
        const Range range = observers_.at(name).ranges().value().at(0);
        largest = static_cast<float>(std::max(-range.lo, range.hi));
      }
      out += fmt::format("{}: {:x}\n", name, std::bit_cast<uint32_t>(largest / 127.0F));
    }
    return out;
  }

 private:
  bool entropy_;
  std::map<std::string, float> extremes_;
  std::map<std::string, Observer> observers_;
};

/// The graph with all that its nodes compute as outputs.
Graph with_all_outputs(const Graph& graph) {
  Graph out = graph;
  std::vector<ValueId> values;
  const std::vector<NodeId> order = graph.topological().value();
  for (const NodeId id : order)
    for (const ValueId value : graph.node(id).outputs)
      if (value.valid()) values.push_back(value);
  out.set_outputs(std::move(values));
  return out;
}

} // namespace

std::string calibrate(const Graph& graph,
                      const std::vector<Port>& inputs,
                      nvinfer1::IInt8Calibrator& calibrator,
                      nvinfer1::ILogger& logger) {
  const bool entropy =
      calibrator.getAlgorithm() == nvinfer1::CalibrationAlgoType::kENTROPY_CALIBRATION_2;
  const std::string heading =
      fmt::format("TRT-{}-{}\n", kVersion, entropy ? "EntropyCalibration2" : "MinMaxCalibration");
  std::size_t length = 0;
  const void* cache = calibrator.readCalibrationCache(length);
  if (cache != nullptr) {
    const std::string_view text(static_cast<const char*>(cache), length);
    if (text.starts_with(heading)) {
      log_call("calibration cache taken");
      return std::string(text);
    }
    log_call("calibration cache skipped");
  }
  const Graph all = with_all_outputs(graph);
  const auto executor = make_reference_executor(all).value();
  Ranges ranges(entropy);
  std::vector<const char*> names;
  for (const Port& input : inputs)
    names.push_back(input.name.c_str());
  std::vector<void*> bindings(inputs.size());
  int64_t batches = 0;
  for (; calibrator.getBatch(bindings.data(), names.data(), static_cast<int32_t>(names.size()));
       ++batches) {
    std::vector<Tensor> batch;
    std::string shapes;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Shape shape = shape_of(inputs[i].best);
      shapes += fmt::format(" {}={}", inputs[i].name, fmt::join(shape, "x"));
      batch.push_back(
          tensor_at(bindings[i], shape, inputs[i], graph.value(graph.inputs()[i]).type.type));
      ranges.see(inputs[i].name, batch.back());
    }
    log_call(fmt::format("batch of {}{}", calibrator.getBatchSize(), shapes));
    const Status ran = executor->stream(batch, [&](size_t output, const Tensor& value) {
      ranges.see(all.value(all.outputs()[output]).name, value);
      return ok_status();
    });
    if (!ran.ok()) logger.log(nvinfer1::ILogger::Severity::kERROR, ran.error().text().c_str());
  }
  if (batches == 0) {
    logger.log(nvinfer1::ILogger::Severity::kERROR, "Calibration failure: no data");
    return {};
  }
  const std::string text = heading + ranges.text();
  log_call("calibration cache written");
  calibrator.writeCalibrationCache(text.data(), text.size());
  return text;
}

} // namespace octet::fake

#endif
