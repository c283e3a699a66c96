// SPDX-License-Identifier: Apache-2.0
// What a slot points at: the packed elements of a value; of strings, which have none, the Tensor.
#pragma once

#include "runtime/step.h"

namespace octet::runtime {

/// The slot of a value of strings.
inline std::byte* string_slot(const Tensor& tensor) {
  return static_cast<std::byte*>(static_cast<void*>(const_cast<Tensor*>(&tensor)));
}

inline std::byte* slot_of(const Tensor& tensor) {
  if (tensor.type() == DType::kString) return string_slot(tensor);
  return const_cast<std::byte*>(tensor.bytes().data());
}

/// A tensor of strings in its slot.
inline Tensor& string_at(std::byte* slot) {
  return *static_cast<Tensor*>(static_cast<void*>(slot));
}

/// The value of a present operand, not copied: valid as long as the slot's bytes.
inline Result<Tensor> tensor_at(const Operand& operand, Slots slots) {
  std::byte* slot = slots[static_cast<size_t>(operand.id)];
  if (operand.type == DType::kString) return string_at(slot);
  const auto size_bytes = static_cast<size_t>(bytes_for(operand.type, operand.count()));
  return Tensor::view(operand.type, operand.shape, Buffer::borrow({slot, size_bytes}), 0);
}

} // namespace octet::runtime
