// SPDX-License-Identifier: Apache-2.0
// Tensors that gave their bytes back: type and shape stay. A session packs weights and keeps no
// second copy of them in its graph.
#pragma once

#include <memory>

#include "octet/tensor.h"

namespace octet {

/// A tensor of the same type and shape without memory of its own: its bytes read as 0, all such
/// tensors look at the same ones. `tensor` itself where there is no address space for them, and
/// for strings.
Tensor released(const Tensor& tensor);
/// Whether `tensor` was made by `released`: its bytes mean nothing.
bool is_released(const Tensor& tensor);
/// So many bytes that read as 0 without memory of their own, at addresses of their own: tensors that
/// look at them are released, and can be told apart. Null where there is no address space.
std::shared_ptr<Buffer> released_space(size_t size_bytes);

} // namespace octet
