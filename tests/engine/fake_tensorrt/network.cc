// SPDX-License-Identifier: Apache-2.0
// The stand-in's network and parser: the graph as octet's own reader has it.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>

#include "fake.h"

#include "octet/onnx.h"

namespace octet::fake {
namespace {

class Input final : public nvinfer1::ITensor {
 public:
  explicit Input(const Port& port) : port_(port) {}
  char const* getName() const noexcept override { return port_.name.c_str(); }
  nvinfer1::Dims getDimensions() const noexcept override { return port_.dims; }
  nvinfer1::DataType getType() const noexcept override { return port_.type; }

 private:
  Port port_;
};

nvinfer1::DataType type_of(DType type) {
  switch (type) {
  case DType::kFloat16:
    return nvinfer1::DataType::kHALF;
  case DType::kInt32:
    return nvinfer1::DataType::kINT32;
  case DType::kInt64:
#if NV_TENSORRT_MAJOR >= 10
    return nvinfer1::DataType::kINT64;
#else
    return nvinfer1::DataType::kINT32;
#endif
  case DType::kBool:
    return nvinfer1::DataType::kBOOL;
  default:
    return nvinfer1::DataType::kFLOAT;
  }
}

class ParserError final : public nvonnxparser::IParserError {
 public:
  explicit ParserError(std::string text) : text_(std::move(text)) {}
  nvonnxparser::ErrorCode code() const override {
    return nvonnxparser::ErrorCode::kMODEL_DESERIALIZE_FAILED;
  }
  char const* desc() const override { return text_.c_str(); }
  int node() const override { return -1; }
#if NV_TENSORRT_MAJOR >= 10
  char const* nodeName() const override {
    return "n";
  }
  char const* nodeOperator() const override {
    return "Op";
  }
#endif

 private:
  std::string text_;
};

class Parser final : public nvonnxparser::IParser {
 public:
  explicit Parser(Network& network) : network_(network) {}
  bool parseFromFile(char const* file, int /*verbosity*/) override {
    Result<Graph> graph = load_onnx(file);
    if (!graph.ok()) {
      error_ = std::make_unique<ParserError>(graph.error().text());
      return false;
    }
    network_.set(std::move(*graph));
    return true;
  }
  int getNbErrors() const override { return error_ == nullptr ? 0 : 1; }
  nvonnxparser::IParserError const* getError(int /*index*/) const override { return error_.get(); }

 private:
  Network& network_;
  std::unique_ptr<ParserError> error_;
};

} // namespace

std::string setting(const char* variable, const char* otherwise) {
  const char* value = std::getenv(variable);
  return value == nullptr ? otherwise : value;
}

void log_call(const std::string& line) {
  if (const std::string file = setting("OCTET_FAKE_LOG", ""); !file.empty())
    std::ofstream(file, std::ios::app) << line << "\n";
}

nvinfer1::Dims dims_of(const Shape& shape) {
  nvinfer1::Dims out{};
  for (const int64_t size : shape)
    out.d[out.nbDims++] = static_cast<std::remove_reference_t<decltype(out.d[0])>>(size);
  return out;
}

Shape shape_of(const nvinfer1::Dims& dims) {
  return {dims.d, dims.d + dims.nbDims};
}

std::vector<Port> ports_of(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<Port> out;
  for (const ValueId id : values) {
    const Value& value = graph.value(id);
    Port& port = out.emplace_back();
    port.name = value.name;
    port.type = type_of(value.type.type);
    Shape shape;
    if (value.type.has_rank())
      for (const Dim& dim : *value.type.shape)
        shape.push_back(dim.maybe_value().value_or(-1));
    port.dims = port.least = port.best = port.most = dims_of(shape);
  }
  return out;
}

Tensor tensor_at(const void* address, const Shape& shape, const Port& port, DType wanted) {
  Tensor out = Tensor::zeros(wanted, shape).value();
  const bool narrow = wanted == DType::kInt64 && port.type == nvinfer1::DataType::kINT32;
  if (!narrow) {
    std::memcpy(out.mutable_bytes().data(), address, out.bytes().size());
    return out;
  }
  const auto* values = static_cast<const int32_t*>(address);
  for (int64_t& value : out.mutable_data<int64_t>())
    value = *values++;
  return out;
}

void Network::set(Graph graph) {
  graph_ = std::move(graph);
  ports_ = ports_of(graph_, graph_.inputs());
  for (const Port& port : ports_)
    inputs_.push_back(std::make_unique<Input>(port));
}

nvinfer1::ITensor* Network::getInput(int32_t index) const noexcept {
  return inputs_[static_cast<size_t>(index)].get();
}

} // namespace octet::fake

nvonnxparser::IParser* nvonnxparser::createParser(nvinfer1::INetworkDefinition& network,
                                                  nvinfer1::ILogger& /*logger*/) {
  return new octet::fake::Parser(static_cast<octet::fake::Network&>(network));
}
