// SPDX-License-Identifier: Apache-2.0
// What the repairs share: reading and writing Q and DQ, and what is known of the values between.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/quant_layout.h"
#include "targets/checks.h"
#include "targets/repair/rule.h"

namespace octet {

/// What a Q or DQ node says: value = (code - zero) * scale.
struct Coding {
  std::vector<double> scales; ///< one, or one for each channel of `axis`
  std::vector<double> zeros;  ///< as many
  DType codes = DType::kInt8;
  DType real = DType::kFloat32; ///< of the scale
  int64_t axis = 1;             ///< as written; counts only with several scales
  bool vector = false;          ///< scale and zero point have rank 1

  bool per_channel() const { return scales.size() > 1; }
  bool operator==(const Coding&) const = default;
};

/// Nullopt where a parameter is computed or missing, is no float, is not positive and finite, does
/// not fit the other, or belongs to blocks.
std::optional<Coding> coding_of(const Graph& graph, const Node& node);
/// The same whatever the scales are.
std::optional<Coding> raw_coding_of(const Graph& graph, const Node& node);
/// int8 (or a float format) with every zero point 0: what TensorRT takes.
bool is_symmetric(const Coding& coding);
/// int8, zero point 0, one scale.
Coding int8_coding(double scale, DType real);

/// The DQ nodes that read `codes` when nothing else does and all of them say the same, which is
/// then `coding`; else empty.
std::vector<const Node*>
dequantizers(const RepairContext& context, ValueId codes, const Coding& coding);

ValueId emit_quantize(Patch& patch, const Coding& coding, ValueId x, const std::string& name);
ValueId emit_dequantize(Patch& patch, const Coding& coding, ValueId codes, const std::string& name);

/// What DQ gives, by Cast, Sub and Mul: the same bits. `rank`: of the codes; counts only with
/// several scales.
ValueId emit_decoded(
    Patch& patch, const Coding& coding, ValueId codes, int64_t rank, const std::string& name);

/// The node once more with another value at `input`.
ValueId emit_with_input(Patch& patch, const Node& node, size_t input, ValueId value);
/// x + number.
ValueId emit_shift(Patch& patch, ValueId x, double number, DType type, const std::string& name);

/// Relu, or Clip in the form of the operator set; without bounds x itself.
struct Bounds {
  std::optional<double> lo, hi;
};
ValueId emit_clip(Patch& patch,
                  const Graph& graph,
                  ValueId x,
                  const Bounds& bounds,
                  DType type,
                  std::string name);

/// What the operators before a value say of its range: Relu, Clip, Sigmoid, Softmax, a DQ's codes,
/// through what only moves values.
Range range_by_operators(const Graph& graph, ValueId value);
/// An operator that takes elements of input 0 (and of no other) without computing.
bool moves_values(const Node& node);
/// The elements of `rounded`, which is constant_value of it; those of codes behind one DQ are not
/// rounded to float: ONNX Runtime's products and sums of codes do not round them either.
std::vector<double> constant_numbers(const Graph& graph, ValueId value, const Tensor& rounded);
/// A scale that TensorRT divides by: positive, finite and not subnormal as a float.
bool is_usable_scale(double scale);

/// clip (where given), Q, DQ of one float value; a shift is taken off before Q and added behind DQ.
Graph probe_graph(const Coding& coding, const Bounds& bounds = {}, double shift = 0);

/// How far both are apart on `x`; nullopt where one of them gives no number.
std::optional<double> probe_difference(const Graph& before, const Graph& after, const Tensor& x);
/// The largest magnitude of a - b, infinite where only one is a number.
double largest_difference(const Tensor& a, const Tensor& b);

/// `scale` as the float that is written.
double as_float(double scale);
Tensor scale_tensor(const Coding& coding);
Tensor zero_tensor(const Coding& coding);

} // namespace octet
