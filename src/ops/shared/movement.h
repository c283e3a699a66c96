// SPDX-License-Identifier: Apache-2.0
// Moving elements without looking at them: index lists over any element type, sub-byte types and
// strings included, and the broadcast rule. Indices are linear, row-major element numbers.
#pragma once

#include <span>
#include <vector>

#include "octet/graph.h"

namespace octet {

/// Row-major strides, in elements.
Shape strides_of(std::span<const int64_t> shape);
/// For each element of `shape`, in order: offset + sum of coordinate * stride.
std::vector<int64_t>
strided_index(std::span<const int64_t> shape, std::span<const int64_t> strides, int64_t offset = 0);
/// For each element of `to`: the element of `from` that it repeats. `from` broadcasts to `to`.
std::vector<int64_t> broadcast_index(std::span<const int64_t> from, std::span<const int64_t> to);

/// Tensor of `shape` whose element i is element index[i] of the concatenated elements of `sources`
/// (all of one type). Errors: types that differ, a shape of another count; an index out of range
/// is a programmer error.
Result<Tensor> take(std::span<const Tensor> sources, Shape shape, std::span<const int64_t> index);
Result<Tensor> take(const Tensor& source, Shape shape, std::span<const int64_t> index);

/// The shape that shapes broadcast to, by NumPy's rule. Errors: two that do not fit, with both.
Result<Shape> broadcast_shapes(std::span<const Shape> shapes);
/// The same on dimensions; a constant other than 1 wins over a symbol, two different symbols give
/// an unknown dimension.
Result<std::vector<Dim>> broadcast_dims(std::span<const std::vector<Dim>> shapes);

} // namespace octet
