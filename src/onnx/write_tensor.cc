// SPDX-License-Identifier: Apache-2.0
// Tensor to TensorProto: raw data, external data, or string_data. Source: onnx.proto, TensorProto.
#include "onnx/write_tensor.h"

#include "onnx/schema.h"

namespace octet::onnx {
namespace {

/// Large tensors start on a page, so that a reader can map them alone.
constexpr int64_t kPageBytes = 4096, kLineBytes = 64, kLargeBytes = int64_t{1} << 20;

int64_t round_up(int64_t value, int64_t step) {
  return (value + step - 1) / step * step;
}

} // namespace

int64_t ExternalPlan::place(const Tensor& tensor) {
  const auto size_bytes = static_cast<int64_t>(tensor.bytes().size());
  const int64_t offset = round_up(end_, size_bytes >= kLargeBytes ? kPageBytes : kLineBytes);
  const auto [at, is_new] =
      offsets_.emplace(std::pair{tensor.bytes().data(), tensor.bytes().size()}, offset);
  if (is_new) {
    placed_.push_back({offset, tensor});
    end_ = offset + size_bytes;
  }
  return at->second;
}

Encoder encode_entry(std::string_view key, std::string_view value) {
  Encoder out;
  out.bytes(entry::kKey, key);
  out.bytes(entry::kValue, value);
  return out;
}

Encoder encode_tensor(const Tensor& tensor,
                      std::string_view name,
                      std::string_view fields,
                      ExternalPlan* external) {
  Encoder out;
  for (const int64_t d : tensor.shape())
    out.integer(tensor_proto::kDims, d);
  out.integer(tensor_proto::kDataType, static_cast<int64_t>(tensor.type()));
  out.text(tensor_proto::kName, name);
  out.raw(fields);
  if (tensor.type() == DType::kString) {
    for (const std::string& s : tensor.string_values())
      out.bytes(tensor_proto::kStringData, s);
  } else if (external != nullptr && external->takes(tensor)) {
    const auto add = [&](std::string_view key, std::string_view value) {
      out.message(tensor_proto::kExternalData, encode_entry(key, value));
    };
    add("location", external->location());
    add("offset", std::to_string(external->place(tensor)));
    add("length", std::to_string(tensor.bytes().size()));
    out.integer(tensor_proto::kDataLocation, 1);
  } else {
    out.blob(tensor_proto::kRawData, tensor);
  }
  return out;
}

} // namespace octet::onnx
