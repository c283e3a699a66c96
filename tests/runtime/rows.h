// SPDX-License-Identifier: Apache-2.0
// Part of a batch.
#pragma once

#include <cstring>

#include "octet/tensor.h"

namespace octet::test {

/// Elements begin to begin + count of the first axis.
inline Tensor rows(const Tensor& t, int64_t begin, int64_t count) {
  Shape shape = t.shape();
  const auto row = t.bytes().size() / static_cast<size_t>(shape[0]);
  shape[0] = count;
  Tensor out = Tensor::zeros(t.type(), shape).value();
  std::memcpy(out.mutable_bytes().data(), t.bytes().data() + static_cast<size_t>(begin) * row,
              static_cast<size_t>(count) * row);
  return out;
}

} // namespace octet::test
