// SPDX-License-Identifier: Apache-2.0
// The attributes of octet.native QMap.
#pragma once

#include <span>
#include <vector>

#include "core/numerics/program.h"

#include "octet/graph.h"
#include "octet/tensor.h"

namespace octet::native {

/// How an input or the result of a QMap is stored: f32, or codes of (code - zero) * scale. Codes
/// that are written stay within [lo, hi].
struct MapGrid {
  DType type = DType::kFloat32;
  float scale = 1;
  int32_t zero = 0, lo = 0, hi = 0;

  bool coded() const { return type != DType::kFloat32; }
  bool operator==(const MapGrid&) const = default;
};

/// The numbers that a tensor stands for.
Result<std::vector<float>> read_stored(const Tensor& x, const MapGrid& grid);
/// `numbers` into y, which is of the grid's type.
void write_stored(std::span<const float> numbers, const MapGrid& grid, Tensor& y);

struct QMapAttrs {
  numerics::Program program;
  std::vector<MapGrid> inputs;
  MapGrid y;
};

/// For inputs of these types, f32, i8 or u8. Errors: what parse_program finds; not one scale and
/// zero point for each input; a zero point or a bound that is no code of its type.
Result<QMapAttrs> parse_qmap(const Node& node, std::span<const DType> inputs);

} // namespace octet::native
