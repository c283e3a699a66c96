// SPDX-License-Identifier: Apache-2.0
// Memory for values that are made again and again while the last one is still read: what nobody
// holds any more is given out again.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "octet/tensor.h"

namespace octet {

/// One thread's.
class SpareBuffers {
 public:
  /// So many writable bytes or more, aligned to 64, contents unspecified; given out again once nobody
  /// else holds the buffer. Null: no memory.
  std::shared_ptr<Buffer> get(size_t size_bytes) {
    for (const std::shared_ptr<Buffer>& one : made_)
      if (one.use_count() == 1 && one->bytes().size() >= size_bytes) return one;
    // Those that are free are too small: sizes grow.
    std::erase_if(made_, [](const std::shared_ptr<Buffer>& one) { return one.use_count() == 1; });
    std::shared_ptr<Buffer> made = Buffer::allocate(size_bytes);
    if (made) made_.push_back(made);
    return made;
  }

 private:
  std::vector<std::shared_ptr<Buffer>> made_;
};

} // namespace octet
