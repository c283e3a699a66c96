// SPDX-License-Identifier: Apache-2.0
// Tensor to TensorProto, and where the bytes of large ones go.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onnx/wire.h"

#include "octet/tensor.h"

namespace octet::onnx {

/// Which constants go to the external data file, and where in it they lie.
class ExternalPlan {
 public:
  ExternalPlan(std::string location, int64_t minimum_bytes)
      : location_(std::move(location)), minimum_bytes_(minimum_bytes) {}

  bool takes(const Tensor& tensor) const {
    return tensor.type() != DType::kString &&
           static_cast<int64_t>(tensor.bytes().size()) >= minimum_bytes_;
  }
  /// The offset of the tensor's bytes, the same one for bytes that were placed before.
  int64_t place(const Tensor& tensor);
  const std::string& location() const { return location_; }
  struct Placed {
    int64_t offset;
    Tensor tensor;
  };
  /// In ascending order of offsets.
  const std::vector<Placed>& placed() const { return placed_; }

 private:
  std::string location_;
  int64_t minimum_bytes_;
  int64_t end_ = 0;
  std::vector<Placed> placed_;
  std::map<std::pair<const std::byte*, size_t>, int64_t> offsets_;
};

/// A TensorProto. `fields`: serialized ones to add. `external` may be null.
Encoder encode_tensor(const Tensor& tensor,
                      std::string_view name,
                      std::string_view fields,
                      ExternalPlan* external);
Encoder encode_entry(std::string_view key, std::string_view value);

} // namespace octet::onnx
