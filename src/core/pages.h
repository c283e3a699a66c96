// SPDX-License-Identifier: Apache-2.0
// Memory of tensors that are larger than memory should be: what is mapped from a file can be let go
// of and read again.
#pragma once

#include <cstddef>

#include "octet/tensor.h"

namespace octet {

/// Tensors from here on are read in pieces and let go of where whole models pass by.
inline constexpr size_t kLargeTensorBytes = size_t{16} << 20;
/// How much of a large tensor is looked at in one go.
inline constexpr size_t kPieceBytes = size_t{8} << 20;

/// Keeps what is made before it is written: the first of it in memory, the rest mapped from files
/// without a name in the folder for temporary files (TMPDIR or /tmp).
class MadeTensors {
 public:
  explicit MadeTensors(size_t bytes_in_memory = size_t{256} << 20)
      : bytes_in_memory_(bytes_in_memory) {}
  /// The same tensor. Errors: the folder is full or cannot be written.
  Result<Tensor> keep(const Tensor& tensor);

 private:
  size_t bytes_in_memory_;
  size_t bytes_ = 0;
};

/// Gives memory that was freed back to the system, where the C library can. Takes milliseconds.
void give_back_freed_memory();

} // namespace octet
