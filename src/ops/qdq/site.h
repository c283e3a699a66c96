// SPDX-License-Identifier: Apache-2.0
// What a QuantizeLinear or DequantizeLinear says and where it stands: the one place that reads the
// scale, the zero point and the attributes of Q and DQ, of ONNX and of com.microsoft.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graph/domains.h"
#include "ops/qdq/grid.h"

#include "octet/graph.h"

namespace octet {

inline bool is_quantize(const Node& node) {
  return node.is("QuantizeLinear") || node.is("QuantizeLinear", kMicrosoft);
}
inline bool is_dequantize(const Node& node) {
  return node.is("DequantizeLinear") || node.is("DequantizeLinear", kMicrosoft);
}
inline bool is_qdq(const Node& node) {
  return is_quantize(node) || is_dequantize(node);
}
/// The codes that Q makes or DQ takes.
inline ValueId codes_of_qdq(const Node& node) {
  return is_quantize(node) ? node.output(0) : node.input(0);
}

namespace qdq {

/// Why a Q or DQ, or what belongs to it, cannot be read.
enum class WhyNot : uint8_t {
  kNotQdq,
  kOtherDomain,   ///< com.microsoft, and the reader takes ONNX's only
  kScaleComputed, ///< no constant
  kZeroComputed,
  kZeroMissing, ///< not written, and the reader wants it
  kScaleEmpty,
  kScaleType,      ///< no float, or none that the reader takes
  kCodesType,      ///< not known, or none that the reader takes
  kZeroCount,      ///< not as many zero points as scales
  kGranularity,    ///< an axis or blocks where the reader takes less, or scales of another shape
  kAxis,           ///< out of range, or of a tensor whose rank is not known
  kScaleNotUsable, ///< zero, negative, no number, infinite or (where the reader asks) subnormal
  kSeveralZeros,   ///< zero points that differ, where all codes are shifted by one
  kOutOfInt8,      ///< a code less its zero point that int8 does not hold
  kCodesComputed,  ///< weights that are no constants
  kOtherReaders,   ///< the codes are read by something else too, or are an output
  kOtherGrid,      ///< the two sides do not say the same
};
/// "its scale is computed": for a sentence whose subject is the Q or DQ.
std::string_view text(WhyNot why);

/// A value or the reason why there is none. Matching says no most of the time: a reason costs no
/// allocation.
template <class T>
class [[nodiscard]] Found {
 public:
  Found(T value) : state_(std::move(value)) {} // NOLINT(google-explicit-constructor)
  Found(WhyNot why) : state_(why) {}           // NOLINT(google-explicit-constructor)
  explicit operator bool() const { return std::holds_alternative<T>(state_); }
  const T& operator*() const { return std::get<T>(state_); }
  T& operator*() { return std::get<T>(state_); }
  const T* operator->() const { return &std::get<T>(state_); }
  T* operator->() { return &std::get<T>(state_); }
  WhyNot why() const { return std::get<WhyNot>(state_); }

 private:
  std::variant<T, WhyNot> state_;
};

/// The inputs and attributes of a Q or DQ as they stand, whatever they are worth.
struct Written {
  ValueId real, codes;                  ///< Q: input 0, output 0. DQ: output 0, input 0
  ValueId scale, zero;                  ///< the zero point may be invalid
  const Tensor* scales = nullptr;       ///< null: computed. Valid until the graph changes
  const Tensor* zeros = nullptr;        ///< null: computed or not written
  DType codes_type = DType::kUndefined; ///< as inference has it; undefined: not known
  bool has_axis = false;
  int64_t axis = 1, block = 0;
};
/// Nothing of a node that is no Q or DQ.
Written written(const Graph& graph, const Node& node);

/// Whether two Q or DQ read scales and zero points of the same bytes: one constant, equal ones, or
/// neither has a zero point.
bool have_same_parameters(const Graph& graph, const Node& a, const Node& b);

/// Where a Q or DQ stands, with its numbers. Ids stay valid while the node is there.
struct Site {
  NodeId node;
  bool quantizes = false; ///< else it dequantizes
  ValueId real, codes;    ///< as in Written
  ValueId scale, zero;    ///< the zero point may be invalid
  Grid grid;
};

/// What a reader can use.
struct Reading {
  enum class Most : uint8_t {
    kTensor, ///< one element, of any rank
    kAxis,   ///< rank 0 or 1
    kAny,    ///< blocks too
  };
  Most most = Most::kAxis;
  bool usable_scales = false;   ///< every scale: is_usable_scale
  bool positive_scales = false; ///< every scale: above 0 and finite
  bool written_zero = true;
  bool f32_scale = false;
  bool byte_codes = false;
  bool known_axis = false; ///< with several scales: the axis is one of the tensor's
  bool lone_zero = false;  ///< one zero point may stand for all scales
  bool folded = false;     ///< what constants alone lead to counts as constant, too
  bool microsoft = true;   ///< com.microsoft's too
};
/// Repairs: what may be written again.
inline constexpr Reading kUsable{.usable_scales = true};
/// Whatever the scales are.
inline constexpr Reading kAnyScale{};
/// Never touches more than the node's own inputs; the cost grows with the scales only where
/// `reading` asks for them.
Found<Site> read(const Graph& graph, const Node& node, const Reading& reading = kUsable);
/// Only the numbers.
Found<Grid> grid_of(const Graph& graph, const Node& node, const Reading& reading = kUsable);
/// Of the DQ that makes a value; an absent value has none.
Found<Site> read_dequantize(const Graph& graph, ValueId real, const Reading& reading = kUsable);

/// The DQ nodes that read `codes` when nothing else does and all of them are kUsable and say the
/// numbers of `grid`; at least one. `readers`: the uses of `codes`.
Found<std::vector<const Node*>> dequantizers(const Graph& graph,
                                             std::span<const Uses::Use> readers,
                                             ValueId codes,
                                             const Grid& grid);

} // namespace qdq
} // namespace octet
