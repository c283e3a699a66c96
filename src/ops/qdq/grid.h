// SPDX-License-Identifier: Apache-2.0
// The numbers of a QuantizeLinear or DequantizeLinear: real = (code - zero) * scale.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ops/qdq/quant_layout.h"

#include "octet/observer.h"
#include "octet/tensor.h"

namespace octet::qdq {

/// A scale that integer kernels divide by: positive, finite and not subnormal as a float.
bool is_usable_scale(double scale);
/// `scale` as the float that is written.
double as_float(double scale);

/// Scales, zero points and the type of the codes. A value type: its tensors are reference counted,
/// so it outlives every edit of the graph that it was read from.
struct Grid {
  Tensor scale; ///< [] or [1]; [C] along `axis`; with blocks the tensor's rank
  Tensor zero;  ///< of the codes' type, shaped as `scale`; empty: none written, 0
  DType codes = DType::kUndefined;
  int64_t axis_written = 1;    ///< the attribute, for those who write it again; 1 with one scale
  std::optional<int64_t> axis; ///< 0 <= axis < rank; none: one scale, or the rank is not known
  int64_t block = 0;           ///< elements along the axis that share a scale; 0: no blocks

  DType real() const { return scale.type(); }
  int64_t count() const { return scale.count(); }
  bool per_tensor() const { return count() == 1; }
  /// Of a grid with one scale, as kernels take them.
  float one_scale() const { return static_cast<float>(scale_at(0)); }
  int64_t one_zero() const { return static_cast<int64_t>(zero_at(0)); }
  double scale_at(int64_t channel) const { return scale.at(per_tensor() ? 0 : channel); }
  double zero_at(int64_t channel) const {
    return zero.empty() ? 0.0 : zero.at(zero.count() == 1 ? 0 : channel);
  }
  std::vector<double> scales() const;
  std::vector<double> zeros() const; ///< as many as scales

  /// Bounds of integer codes; nullopt for floating formats.
  std::optional<CodeRange> code_range() const { return octet::code_range(codes); }
  /// What the codes of all channels can stand for; unbounded for floating formats.
  Range real_range() const;
  /// int8 with every zero point 0, or a floating format: what TensorRT takes.
  bool is_symmetric() const;
  /// is_usable_scale of every scale.
  bool is_usable() const;
  /// Of a tensor of this shape, which the grid fits.
  QuantLayout layout(const Shape& shape) const;

  /// The same layout with other numbers; as many as there are. `zeros` become codes of the type.
  Grid with(const std::vector<double>& scales) const;
  Grid with(DType codes, const std::vector<double>& zeros) const;
  /// With one scale: scale and zero point of rank 0.
  Grid as_scalar() const;

  /// One scale of rank 0 in `real`, int8 with zero point 0.
  static Grid int8(double scale, DType real);
  /// One scale of rank 0 in `real`.
  static Grid per_tensor_of(DType codes, double scale, double zero, DType real);
};

/// When two grids are one.
enum class Same : uint8_t {
  kNumbers, ///< types, scales, zero points and axis as written; a scale of shape [1] is one of []
  kForm,    ///< and the shape of the scales
};
bool same(const Grid& a, const Grid& b, Same how);

/// The code that QuantizeLinear gives of one number, divided and rounded in f32, before it is
/// clamped to the codes' range (docs/numerics.md, "Quantize and dequantize").
double unclamped_code(const Grid& grid, double x);
/// Clamped; of NaN the zero point. For integer codes and one scale.
int64_t code_of(const Grid& grid, float x);
/// What DequantizeLinear gives of one code in f32. For one scale.
float value_of(const Grid& grid, int64_t code);

} // namespace octet::qdq
