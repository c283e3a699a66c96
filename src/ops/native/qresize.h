// SPDX-License-Identifier: Apache-2.0
// The attributes of octet.native QResize beside those of Resize.
#pragma once

#include "ops/native/qmap.h"

namespace octet::native {

struct QResizeGrids {
  MapGrid x, y;
};

/// For x of this type, f32, i8 or u8. Errors: mode nearest; a zero point that is no code of its
/// type; a `to` that is neither f32 nor a type of codes.
Result<QResizeGrids> parse_qresize(const Node& node, DType x);

} // namespace octet::native
