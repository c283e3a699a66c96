// SPDX-License-Identifier: Apache-2.0
// What the products of rows x [.., K] with weights [N, K] share.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ops/native/epilogue.h"

namespace octet::native {

/// [.., N]; nullopt while a rank is not known. Errors: inner sizes that differ.
Result<std::optional<std::vector<Dim>>> rows_shape(const TypeInfo& x, const TypeInfo& w);

/// Scales of weights: one, or one for each channel in input `scales`; a bias in input `bias`, which
/// may be omitted.
Status
check_channel_scales(const InferContext& ctx, size_t scales, size_t bias, const Dim& channels);

/// The `count` exact sums of codes x [.., K] and w [N, K].
std::vector<int64_t> rows_sums(std::span<const int32_t> x,
                               std::span<const int32_t> w,
                               const Shape& w_shape,
                               int64_t count);

} // namespace octet::native
