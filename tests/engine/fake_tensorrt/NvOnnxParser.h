// SPDX-License-Identifier: Apache-2.0
// What src/tensorrt calls of TensorRT's ONNX parser; see NvInfer.h.
#pragma once

#include "NvInfer.h"

namespace nvonnxparser {

enum class ErrorCode : int { kSUCCESS = 0, kMODEL_DESERIALIZE_FAILED = 3 };

class IParserError {
 public:
  virtual ErrorCode code() const = 0;
  virtual char const* desc() const = 0;
  virtual int node() const = 0;
#if NV_TENSORRT_MAJOR >= 10
  virtual char const* nodeName() const = 0;
  virtual char const* nodeOperator() const = 0;
#endif

 protected:
  virtual ~IParserError() = default;
};

class IParser {
 public:
  virtual ~IParser() = default;
  virtual bool parseFromFile(char const* file, int verbosity) = 0;
  virtual int getNbErrors() const = 0;
  virtual IParserError const* getError(int index) const = 0;
};

IParser* createParser(nvinfer1::INetworkDefinition& network, nvinfer1::ILogger& logger);

} // namespace nvonnxparser
