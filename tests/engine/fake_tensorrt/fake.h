// SPDX-License-Identifier: Apache-2.0
// What the parts of the stand-in share. It follows the environment of the process:
//   OCTET_FAKE_LOG=FILE     each call that a test asks about is a line of it
//   OCTET_FAKE_DEVICE=NAME  the GPU that timings belong to; "first" where it is unset
//   OCTET_FAKE_MEANWHILE=CMD  what another process does while the engine is built
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "NvInfer.h"
#include "NvOnnxParser.h"

#include "octet/graph.h"

namespace octet::fake {

constexpr int kVersion = NV_TENSORRT_MAJOR >= 10
                             ? NV_TENSORRT_MAJOR * 10000 + NV_TENSORRT_MINOR * 100
                             : NV_TENSORRT_MAJOR * 1000 + NV_TENSORRT_MINOR * 100 + 1;

void log_call(const std::string& line);
std::string setting(const char* variable, const char* otherwise);

/// An input or output as TensorRT has it: 64-bit integers are of 32 bits before 10.
struct Port {
  std::string name;
  nvinfer1::DataType type = nvinfer1::DataType::kFLOAT;
  nvinfer1::Dims dims{}; ///< -1: open
  nvinfer1::Dims least{}, best{}, most{};
};
std::vector<Port> ports_of(const Graph& graph, const std::vector<ValueId>& values);

nvinfer1::Dims dims_of(const Shape& shape);
Shape shape_of(const nvinfer1::Dims& dims);
/// The tensor that lies at an address, as the graph's input.
Tensor tensor_at(const void* address, const Shape& shape, const Port& port, DType wanted);

class Memory final : public nvinfer1::IHostMemory {
 public:
  explicit Memory(std::string bytes) : bytes_(std::move(bytes)) {}
  void* data() const noexcept override { return const_cast<char*>(bytes_.data()); }
  std::size_t size() const noexcept override { return bytes_.size(); }

 private:
  std::string bytes_;
};

/// A line of JSON ("inputs" with their profile, "layers"), then the model.
std::string
engine_bytes(const Graph& graph, const std::vector<Port>& inputs, const std::string& layers);

class Network final : public nvinfer1::INetworkDefinition {
 public:
  explicit Network(uint32_t flags) : flags_(flags) {}
  void set(Graph graph);
  int32_t getNbInputs() const noexcept override { return static_cast<int32_t>(inputs_.size()); }
  nvinfer1::ITensor* getInput(int32_t index) const noexcept override;
  const Graph& graph() const { return graph_; }
  uint32_t flags() const { return flags_; }
  const std::vector<Port>& inputs() const { return ports_; }

 private:
  uint32_t flags_;
  Graph graph_;
  std::vector<Port> ports_;
  std::vector<std::unique_ptr<nvinfer1::ITensor>> inputs_;
};

#if NV_TENSORRT_MAJOR < 11
/// What the builder does with a calibrator: reads its cache if that is of this version and
/// algorithm, else takes its batches in the shapes of `inputs` (Port::best) and has it write one.
/// Empty: it fails.
std::string calibrate(const Graph& graph,
                      const std::vector<Port>& inputs,
                      nvinfer1::IInt8Calibrator& calibrator,
                      nvinfer1::ILogger& logger);
#endif

} // namespace octet::fake
