// SPDX-License-Identifier: Apache-2.0
// What a reader needs beside the bytes of its message: the buffer that they lie in, so that tensors
// can be views of it, and the external data files.
#pragma once

#include <memory>

#include "onnx/external.h"
#include "onnx/wire.h"

#include "octet/tensor.h"

namespace octet::onnx {

struct Source {
  std::shared_ptr<const Buffer> buffer;
  ExternalFiles* external; ///< null: external data is refused

  const char* origin() const { return reinterpret_cast<const char*>(buffer->bytes().data()); }
  Bytes all() const { return {origin(), buffer->bytes().size()}; }
  Reader reader(Bytes message) const { return {message, origin()}; }
  size_t offset(Bytes bytes) const { return static_cast<size_t>(bytes.data() - origin()); }
};

} // namespace octet::onnx
